//! The maximum and the minimum; both are NaN if an element is NaN.

use crate::element::Element;

/// Independent candidates, which the processor compares side by side.
const LANES: usize = 16;

/// Returns the maximum: NaN if an element is NaN, −∞ if there are no elements.
pub fn max<T: Element>(x: &[T]) -> T {
    extreme(x, T::neg_infinity(), |x, best| x > best)
}

/// Returns the minimum: NaN if an element is NaN, ∞ if there are no elements.
pub fn min<T: Element>(x: &[T]) -> T {
    extreme(x, T::infinity(), |x, best| x < best)
}

/// Returns the index of the first maximum, or of the first NaN; `None` if there are no elements.
pub fn argmax<T: Element>(x: &[T]) -> Option<usize> {
    index_of(x, max(x))
}

/// Returns the index of the first minimum, or of the first NaN; `None` if there are no elements.
pub fn argmin<T: Element>(x: &[T]) -> Option<usize> {
    index_of(x, min(x))
}

fn index_of<T: Element>(x: &[T], found: T) -> Option<usize> {
    x.iter().position(|&x| x == found || x.is_nan())
}

#[inline]
fn extreme<T: Element>(x: &[T], start: T, is_better: impl Fn(T, T) -> bool) -> T {
    // No comparison with NaN is true, so NaN stays once it is found.
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
    fn the_first_of_equals_and_of_nans() {
        for length in [1, 2, 15, 16, 17, 40] {
            for best in 0..length {
                let mut x: Vec<f64> = vec![0.0; length];
                x[best] = 1.0;
                *x.last_mut().unwrap() = 1.0;
                assert_eq!((max(&x), argmax(&x)), (1.0, Some(best)));
                let negative: Vec<f64> = x.iter().map(|x| -x).collect();
                assert_eq!(min(&negative), -1.0);
                assert_eq!(argmin(&negative), Some(best));
                x[best] = f64::NAN;
                assert!(max(&x).is_nan() && min(&x).is_nan());
                assert_eq!(argmax(&x), Some(best));
                assert_eq!(argmin(&x), Some(best));
            }
        }
        assert_eq!(argmax(&[f32::NEG_INFINITY; 3]), Some(0));
        assert_eq!(argmax::<f32>(&[]), None);
    }
}
