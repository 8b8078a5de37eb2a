//! Quantization with a learned step: an estimator, whose gradients are chosen and not derived.
//!
//! Esser et al., *Learned Step Size Quantization*, 2020: y = s · round(clamp(x/s, low, high)). Rounding is treated as
//! the identity, so ∂y/∂x is 1 where x is not clamped, elsewhere 0, and ∂y/∂s is round(x/s) − x/s there, elsewhere the
//! bound.

use pullback::ndarray::{Array1, ArrayView0, ArrayView1, Zip, arr0};
use pullback::prelude::*;

#[custom_function(
    grad(x) = Zip::from(&grad_output).and(&x).map_collect(|g, x| if is_within(x / step[()], *bits) { *g } else { 0.0 }),
    grad(step) = arr0(Zip::from(&grad_output).and(&x).fold(0.0, |sum, g, x| {
        let (x, [low, high]) = (x / step[()], bounds(*bits));
        let slope = if is_within(x, *bits) { x.round_ties_even() - x } else { x.clamp(low, high) };
        sum + g * slope
    })),
)]
pub fn lsq(x: ArrayView1<f64>, step: ArrayView0<f64>, bits: u32) -> Array1<f64> {
    let [low, high] = bounds(bits);
    x.mapv(|x| (x / step[()]).clamp(low, high).round_ties_even() * step[()])
}

/// Returns the smallest and the largest whole number of `bits` bits.
fn bounds(bits: u32) -> [f64; 2] {
    let half = f64::from(1 << (bits - 1));
    [-half, half - 1.0]
}

fn is_within(x: f64, bits: u32) -> bool {
    let [low, high] = bounds(bits);
    (low..=high).contains(&x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("lsq").check(|case| {
            let (x, step) = (case.leaf("x"), case.leaf("step"));
            (
                lsq(&x, &step, 3).into_dyn(),
                vec![x.into_dyn(), step.into_dyn()],
            )
        });
    }

    #[test]
    fn what_is_out_of_range_is_clamped() {
        let x = Tensor::from(Array1::linspace(-9.0, 9.0, 5));
        let step: Tensor0<f64> = Tensor::from(1.0);
        assert_eq!(
            lsq(&x, &step, 3).to_array().to_vec(),
            [-4.0, -4.0, 0.0, 3.0, 3.0]
        );
    }
}
