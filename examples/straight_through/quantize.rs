//! Weights of a few bits, as a custom function.

use std::marker::PhantomData;

use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

/// The distance between two levels that distorts normally distributed weights least, in units of
/// their root mean square, for 1 to 5 bits (Max, Quantizing for minimum distortion, 1960).
const STEPS: [f64; 5] = [1.596, 0.9957, 0.586, 0.3352, 0.1881];

pub const MOST_BITS: usize = STEPS.len();

/// Rounds each weight to the nearest of 2^bits levels, which are evenly spaced around 0. Their distance is
/// chosen for each row, by its root mean square.
///
/// The slope of rounding is 0 wherever it exists: with the true gradient, nothing would be learned. So
/// backward treats it as the identity, the straight-through estimator (Bengio, Léonard and Courville, 2013):
/// small steps add up in weights of full precision until a rounded one moves.
pub struct Quantize<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Quantize<T> {
    #[forward(outputs(rounded))]
    pub fn forward(weight: ArrayView2<T>, bits: usize) -> Array2<T> {
        assert!(
            (1..=MOST_BITS).contains(&bits),
            "quantize to {bits} bits: 1 to {MOST_BITS} are possible"
        );
        let half = T::from_f64((1_usize << (bits - 1)) as f64);
        let between = T::from_f64(0.5);
        let mut rounded = weight.to_owned();
        for mut row in rounded.rows_mut() {
            let square = row.dot(&row) / T::from_f64(row.len() as f64);
            let step = square.sqrt() * T::from_f64(STEPS[bits - 1]);
            if step > T::zero() {
                row.mapv_inplace(|w| {
                    let level = (w / step).floor().max(-half).min(half - T::one());
                    (level + between) * step
                });
            }
        }
        rounded
    }

    // Owned, so the same buffer is passed on.
    #[backward(weight)]
    fn backward(grad_rounded: Array2<T>) -> Array2<T> {
        grad_rounded
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use pullback::ndarray::{Array1, Axis, array};

    use super::*;

    #[test]
    fn there_are_as_many_levels_as_bits_allow() {
        for bits in 1..=MOST_BITS {
            // With tails that reach the outermost levels.
            let weights = Array1::linspace(-3.0_f64, 3.0, 2001).powi(5);
            let weights = weights.insert_axis(Axis(0));
            let rounded = Quantize::forward(weights.view(), bits);
            let mut levels = rounded.row(0).to_vec();
            levels.dedup();
            assert_eq!(levels.len(), 1 << bits);
            let widest = levels
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .fold(0.0, f64::max);
            assert!((widest - (levels[1] - levels[0])).abs() < 1e-12);
            assert!((levels[0] + levels[levels.len() - 1]).abs() < 1e-12);
        }
    }

    #[test]
    fn rows_have_levels_of_their_own() {
        let rounded = Quantize::forward(array![[1.0, -1.0], [10.0, -10.0], [0.0, 0.0]].view(), 1);
        assert_eq!(rounded, array![[0.798, -0.798], [7.98, -7.98], [0.0, 0.0]]);
    }

    /// The mean square error at the steps of the table is not above those nearby.
    #[test]
    fn the_steps_distort_normal_weights_least() {
        let distortion = |bits: usize, step: f64| -> f64 {
            let half = f64::from(1_u32 << (bits - 1));
            let points = (-60_000..=60_000).map(|i| f64::from(i) * 1e-4);
            let errors = points.map(|x| {
                let level = ((x / step).floor().clamp(-half, half - 1.0) + 0.5) * step;
                (x - level).powi(2) * (-0.5 * x * x).exp() / TAU.sqrt()
            });
            errors.sum::<f64>() * 1e-4
        };
        for (bits, step) in (1..).zip(STEPS) {
            let least = distortion(bits, step);
            assert!(least < distortion(bits, step * 1.005), "{bits} bits");
            assert!(least < distortion(bits, step * 0.995), "{bits} bits");
        }
    }

    #[test]
    fn gradients_go_straight_through() {
        let weight = Tensor::from(array![[0.3, -0.1], [5.0, 0.0]]).set_requires_grad(true);
        let loss =
            (Quantize::apply(&weight, 2) * Tensor::from(array![[1.0, 2.0], [3.0, 4.0]])).sum();
        loss.backward().unwrap();
        assert_eq!(weight.grad(), Some(array![[1.0, 2.0], [3.0, 4.0]]));
    }

    /// The one function here that must fail a gradcheck.
    #[test]
    fn the_estimator_is_no_derivative() {
        let weight = Tensor::from(array![[0.3, -0.1], [1.0, 0.7]]).set_requires_grad(true);
        let outcome = Gradcheck::new().run(|(w,)| Quantize::apply(w, 2), (&weight,));
        assert!(outcome.unwrap_err().mismatch().is_some());
    }

    #[test]
    #[should_panic(expected = "quantize to 6 bits: 1 to 5 are possible")]
    fn more_bits_than_there_are_steps_for_are_refused() {
        Quantize::forward(array![[1.0]].view(), 6);
    }
}
