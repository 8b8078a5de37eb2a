//! The size of errors.

/// Returns the largest absolute value: 0 if there are no values, NaN if one of them is NaN.
pub fn largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().fold(0.0, |most: f64, value| {
        if most.is_nan() || value.abs() <= most {
            most
        } else {
            value.abs()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_not_passed_over() {
        assert_eq!(largest(&[1.0, -3.0, 2.0]), 3.0);
        assert_eq!(largest(&[]), 0.0);
        assert!(largest(&[1.0, f64::NAN, 2.0]).is_nan());
        assert!(largest(&[f64::NAN]).is_nan());
    }
}
