//! The mean, the squares of deviations, the standard deviation and the Euclidean norm of a slice.

use super::max::max;
use super::pairwise::pairwise;
use super::sum::sum_slice;
use crate::element::Element;

/// Returns the mean, and Σ (x − mean)²: in two passes, which a large mean does not make inexact. The mean of no
/// elements is NaN.
pub fn mean_var<T: Element>(x: &[T]) -> (T, T) {
    let mean = mean(x);
    (mean, pairwise(x, x, |x, _| (x - mean) * (x - mean)))
}

/// Returns the mean, also where only the sum is out of range.
fn mean<T: Element>(x: &[T]) -> T {
    let mean = sum_slice(x) / T::from_f64(x.len() as f64);
    if mean.is_finite() || !x.iter().all(|x| x.is_finite()) {
        return mean;
    }
    mean_of_large(x)
}

#[cold]
fn mean_of_large<T: Element>(x: &[T]) -> T {
    let Some(&first) = x.first() else {
        return T::nan();
    };
    // Differences from the first, so that the mean of equal elements is exact, as division by a power of two is.
    let power = x.len().next_power_of_two() as f64;
    let [half, divisor] = [2.0, power].map(T::from_f64);
    let sum = pairwise(x, x, |x, _| (x / half - first / half) / divisor);
    (first / half + sum * T::from_f64(power / x.len() as f64)) * half
}

/// Returns √Σx², also where the squares are too large or too small to be represented.
pub fn norm<T: Element>(x: &[T]) -> T {
    let (scale, squares) = scaled_squares(x, T::zero());
    scale * squares.sqrt()
}

/// Returns √(Σ (x − mean)² / `freedom`), also where the sum, differences or squares are too large or too small to be
/// represented.
pub fn std<T: Element>(x: &[T], freedom: T) -> T {
    let std = std_in_range(x, freedom);
    if std.is_infinite() && x.iter().all(|x| x.is_finite()) {
        // A difference is out of range. Those of the fourths are not.
        let fourth = T::from_f64(0.25);
        let fourths: Vec<T> = x.iter().map(|&x| x * fourth).collect();
        return std_in_range(&fourths, freedom) / fourth;
    }
    std
}

fn std_in_range<T: Element>(x: &[T], freedom: T) -> T {
    let (scale, squares) = scaled_squares(x, mean(x));
    scale * (squares / freedom).sqrt()
}

/// Returns a scale, and Σ ((x − center) / scale)², which is inside the range.
fn scaled_squares<T: Element>(x: &[T], center: T) -> (T, T) {
    let squares = pairwise(x, x, |x, _| (x - center) * (x - center));
    // Well inside the range: no square that matters has underflowed.
    let range = T::min_positive_value() / T::epsilon() / T::epsilon()..T::max_value();
    if x.is_empty() || range.contains(&squares) {
        return (T::one(), squares);
    }
    let largest = max(&x.iter().map(|x| (*x - center).abs()).collect::<Vec<T>>());
    if largest.is_zero() || !largest.is_finite() {
        return (T::one(), squares);
    }
    let scaled = |x: T| (x - center) / largest;
    (largest, pairwise(x, x, |x, _| scaled(x) * scaled(x)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_of_numbers_whose_squares_are_out_of_range() {
        for scale in [1e-320_f64, 1e-300, 1e-160, 1.0, 1e160, 1e300] {
            let norm = norm(&[3.0 * scale, 0.0, -4.0 * scale]);
            assert!((norm / scale - 5.0).abs() < 1e-3, "{scale}: {norm}");
        }
        assert!((norm(&[6e-23_f32, 8e-23]) / 1e-22 - 1.0).abs() < 1e-6);
        assert_eq!(norm::<f32>(&[]), 0.0);
        assert_eq!(norm(&[0.0, -0.0]), 0.0);
        assert_eq!(norm(&[1.0, f64::NEG_INFINITY]), f64::INFINITY);
        assert!(norm(&[1.0, f64::NAN]).is_nan());
    }

    #[test]
    fn deviations_whose_squares_are_out_of_range() {
        for scale in [1e-44_f32, 1e-30, 1.0, 1e30, 1e37] {
            let std = std(&[2.0 * scale, 3.0 * scale, 4.0 * scale], 2.0);
            assert!((std / scale - 1.0).abs() < 1e-5, "{scale}: {std}");
        }
        assert_eq!(std(&[5.0, 5.0], 1.0), 0.0);
        // The sum is out of range, and the difference of the last element.
        assert_eq!(std(&[3e38_f32, 3e38, 3e38], 2.0), 0.0);
        assert_eq!(std(&[3e38_f32, 3e38, 3e38, -3e38], 3.0), 3e38);
        assert_eq!(std(&[3e38_f32, -3e38], 1.0), f32::INFINITY);
        assert_eq!(std(&[1.0, 2.0], 0.0), f64::INFINITY);
        assert!(std(&[1.0, f64::INFINITY], 1.0).is_nan());
        assert!(std::<f64>(&[], 0.0).is_nan());
    }

    #[test]
    fn a_large_mean_costs_nothing() {
        let x: Vec<f64> = (0..1000).map(|i| 1e9 + f64::from(i % 2)).collect();
        assert_eq!(mean_var(&x), (1e9 + 0.5, 250.0));
        assert!(mean_var::<f64>(&[]).0.is_nan());
    }

    #[test]
    fn a_mean_whose_sum_is_out_of_range() {
        assert_eq!(mean_var(&[3e38_f32; 5]), (3e38, 0.0));
        assert_eq!(mean_var(&[-1.5e308, -1.0e308, -0.5e308]).0, -1.0e308);
        assert_eq!(mean_var(&[1.0, f64::INFINITY]).0, f64::INFINITY);
        assert!(mean_var(&[f64::NAN, 1e308, 1e308]).0.is_nan());
    }
}
