//! Sums of exponentials that neither overflow nor vanish: the maximum is subtracted first.

use super::max::max;
use super::sum::sum_slice;
use super::wide::map_in_place;
use crate::element::Element;
use crate::math::exp;

/// Returns ln Σ eˣ: −∞ if there are no elements, or all are −∞.
pub fn log_sum_exp<T: Element>(x: &[T]) -> T {
    let largest = max(x);
    if largest.is_infinite() {
        return largest;
    }
    let mut exponentials = x.to_vec();
    shifted_exp(largest, &mut exponentials);
    largest + sum_slice(&exponentials).ln()
}

/// Replaces each element by eˣ / Σ eˣ: NaN if all are −∞, or one is ∞.
///
/// ```
/// use pullback::kernels::softmax;
///
/// let mut x = [0.0, 0.0, f64::NEG_INFINITY];
/// softmax(&mut x);
/// assert_eq!(x, [0.5, 0.5, 0.0]);
/// ```
pub fn softmax<T: Element>(x: &mut [T]) {
    softmax_and_log_sum(x);
}

/// Replaces each element by x − ln Σ eˣ: NaN if all are −∞, or one is ∞.
pub fn log_softmax<T: Element>(x: &mut [T]) {
    let largest = max(x);
    map_in_place(x, |x| x - largest);
    let mut exponentials = x.to_vec();
    map_in_place(&mut exponentials, exp);
    let log_sum = sum_slice(&exponentials).ln();
    map_in_place(x, |x| x - log_sum);
}

/// Computes [`softmax`], and returns the maximum m and ln Σ eˣ⁻ᵐ. Their sum is [`log_sum_exp`]; x minus m, and then
/// minus the logarithm, is [`log_softmax`].
pub fn softmax_and_log_sum<T: Element>(x: &mut [T]) -> (T, T) {
    let largest = max(x);
    shifted_exp(largest, x);
    let sum = sum_slice(x);
    map_in_place(x, |x| x / sum);
    (largest, sum.ln())
}

/// Replaces each element by eˣ⁻ˡᵃʳᵍᵉˢᵗ. In two loops: the exponential becomes vector code if it is alone in a loop.
fn shifted_exp<T: Element>(largest: T, x: &mut [T]) {
    map_in_place(x, |x| x - largest);
    map_in_place(x, exp);
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFINITY: f64 = f64::INFINITY;

    #[test]
    fn large_and_small_elements_do_not_overflow() {
        for shift in [-1e300, -1000.0, 0.0, 1000.0, 1e300] {
            let mut x = [shift, shift, shift];
            assert_eq!(log_sum_exp(&x), shift + 3.0_f64.ln());
            log_softmax(&mut x);
            assert_eq!(x, [-3.0_f64.ln(); 3]);
            let mut x = [shift, shift];
            softmax(&mut x);
            assert_eq!(x, [0.5; 2]);
        }
        assert_eq!(log_sum_exp::<f64>(&[]), -INFINITY);
        softmax::<f64>(&mut []);
        log_softmax::<f64>(&mut []);
    }

    #[test]
    fn infinities_and_nan_go_where_they_belong() {
        assert_eq!(log_sum_exp(&[0.0, INFINITY]), INFINITY);
        assert_eq!(log_sum_exp(&[0.0, -INFINITY]), 0.0);
        assert!(log_sum_exp(&[f64::NAN, INFINITY]).is_nan());
        for bad in [[-INFINITY; 2], [INFINITY, 0.0], [f64::NAN, 0.0]] {
            let (mut x, mut y) = (bad, bad);
            softmax(&mut x);
            log_softmax(&mut y);
            assert!(x[0].is_nan() && y[0].is_nan(), "{bad:?}");
        }
    }

    #[test]
    fn the_logarithm_is_exact_where_one_element_is_nearly_all() {
        let mut x = [0.0, -50.0];
        log_softmax(&mut x);
        assert!(x[1] + 50.0 < 1e-15);
        let mut x = [1e8_f32, 1e8 - 8.0];
        log_softmax(&mut x);
        assert!((x[1] + 8.000_335).abs() < 1e-5);
    }
}
