//! Soft dynamic time warping: the smoothed cost of the best alignment of two series.
//!
//! Cuturi and Blondel, *Soft-DTW*, 2017: rᵢⱼ = dᵢⱼ + m(rᵢ₋₁ⱼ, rᵢⱼ₋₁, rᵢ₋₁ⱼ₋₁), with m(…) = −γ log Σ e^(−r/γ). The
//! gradient with respect to d is the probability that an alignment passes each cell, by a recursion from the last cell.

use pullback::ndarray::{Array0, Array2, ArrayView0, ArrayView2, arr0};
use pullback::prelude::*;

pub struct SoftDtw;

#[custom_function(gradcheck(d = [3, 4], gamma = 0.7))]
impl SoftDtw {
    /// Computes the cost for the distances `d` of all pairs of points.
    #[forward(outputs(cost), saves(r))]
    pub fn forward(d: ArrayView2<f64>, gamma: f64) -> (Array0<f64>, Array2<f64>) {
        let (n, m) = d.dim();
        // With a row and a column more at each side.
        let mut r = Array2::from_elem((n + 2, m + 2), f64::INFINITY);
        r[[0, 0]] = 0.0;
        for i in 1..=n {
            for j in 1..=m {
                let before = [r[[i - 1, j]], r[[i, j - 1]], r[[i - 1, j - 1]]];
                let least = before.iter().copied().fold(f64::INFINITY, f64::min);
                let sum: f64 = before.iter().map(|r| ((least - r) / gamma).exp()).sum();
                r[[i, j]] = d[[i - 1, j - 1]] + least - gamma * sum.ln();
            }
        }
        (arr0(r[[n, m]]), r)
    }

    #[backward(d)]
    fn backward(
        grad_cost: ArrayView0<f64>,
        d: ArrayView2<f64>,
        r: ArrayView2<f64>,
        gamma: f64,
    ) -> Array2<f64> {
        let (n, m) = d.dim();
        let mut passes = Array2::zeros((n + 2, m + 2));
        passes[[n, m]] = grad_cost[()];
        for i in (1..=n).rev() {
            for j in (1..=m).rev() {
                for [k, l] in [[i + 1, j], [i, j + 1], [i + 1, j + 1]] {
                    if k <= n && l <= m {
                        let share = (r[[k, l]] - r[[i, j]] - d[[k - 1, l - 1]]) / gamma;
                        passes[[i, j]] += passes[[k, l]] * share.exp();
                    }
                }
            }
        }
        Array2::from_shape_fn((n, m), |(i, j)| passes[[i + 1, j + 1]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("soft_dtw").check(|case| {
            let d = case.leaf("d");
            (SoftDtw::apply(&d, 0.5).into_dyn(), vec![d.into_dyn()])
        });
    }
}
