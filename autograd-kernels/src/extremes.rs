//! The largest and the smallest element. What is not a number is both.

use crate::element::Element;

/// Independent candidates, which the processor compares side by side.
const LANES: usize = 16;

/// The largest element; not a number if one is not; −∞ of none.
///
/// ```
/// use autograd_kernels::largest;
///
/// assert_eq!(largest(&[1.0, 3.0, 2.0]), 3.0);
/// assert!(largest(&[1.0, f64::NAN, 2.0]).is_nan());
/// ```
pub fn largest<T: Element>(x: &[T]) -> T {
    extreme(x, T::neg_infinity(), |x, best| x > best)
}

/// The smallest element; not a number if one is not; ∞ of none.
///
/// ```
/// use autograd_kernels::smallest;
///
/// assert_eq!(smallest(&[1.0, 3.0, 2.0]), 1.0);
/// ```
pub fn smallest<T: Element>(x: &[T]) -> T {
    extreme(x, T::infinity(), |x, best| x < best)
}

/// The place of the first of the largest elements, or of the first that is not a number; `None` of none.
///
/// ```
/// use autograd_kernels::place_of_largest;
///
/// assert_eq!(place_of_largest(&[1.0, 3.0, 3.0]), Some(1));
/// assert_eq!(place_of_largest(&[1.0, f64::NAN, 3.0]), Some(1));
/// ```
pub fn place_of_largest<T: Element>(x: &[T]) -> Option<usize> {
    place(x, largest(x))
}

/// The place of the first of the smallest elements, or of the first that is not a number; `None` of none.
///
/// ```
/// use autograd_kernels::place_of_smallest;
///
/// assert_eq!(place_of_smallest(&[2.0, 1.0, 1.0]), Some(1));
/// ```
pub fn place_of_smallest<T: Element>(x: &[T]) -> Option<usize> {
    place(x, smallest(x))
}

fn place<T: Element>(x: &[T], found: T) -> Option<usize> {
    x.iter().position(|&x| x == found || x.is_nan())
}

#[inline]
fn extreme<T: Element>(x: &[T], start: T, is_better: impl Fn(T, T) -> bool) -> T {
    // Nothing is better than what is not a number, which therefore stays.
    let choose = |best: T, x: T| {
        if is_better(x, best) || x.is_nan() {
            x
        } else {
            best
        }
    };
    let mut lanes = [start; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = choose(*lane, x);
        }
    }
    let rest = rest.iter().copied().fold(start, choose);
    lanes.into_iter().fold(rest, choose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_and_of_what_is_no_number() {
        for length in [1, 2, 15, 16, 17, 40] {
            for best in 0..length {
                let mut x: Vec<f64> = vec![0.0; length];
                x[best] = 1.0;
                *x.last_mut().unwrap() = 1.0;
                assert_eq!((largest(&x), place_of_largest(&x)), (1.0, Some(best)));
                let negative: Vec<f64> = x.iter().map(|x| -x).collect();
                assert_eq!(smallest(&negative), -1.0);
                assert_eq!(place_of_smallest(&negative), Some(best));
                x[best] = f64::NAN;
                assert!(largest(&x).is_nan() && smallest(&x).is_nan());
                assert_eq!(place_of_largest(&x), Some(best));
                assert_eq!(place_of_smallest(&x), Some(best));
            }
        }
        assert_eq!(place_of_largest(&[f32::NEG_INFINITY; 3]), Some(0));
        assert_eq!(place_of_largest::<f32>(&[]), None);
    }
}
