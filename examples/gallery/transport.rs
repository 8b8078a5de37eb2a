//! Optimal transport between clouds of points, without the matrix of costs.
//!
//! Sinkhorn's iteration on logarithms (Feydy et al., 2019, arXiv 1810.08278): f = −ε log Σⱼ bⱼ e^((gⱼ − C(xᵢ, yⱼ))/ε), and
//! the same for g, with C half the squared distance. The value is Σᵢ aᵢ fᵢ + Σⱼ bⱼ gⱼ. `sinkhorn.rs` has the plan for a matrix
//! of costs, differentiated at the optimum.

use pullback::ndarray::Axis;
use pullback::prelude::*;

/// log Σⱼ e^(hⱼ − C(xᵢ, yⱼ)/ε)
#[custom_function(
    pairs(reduce = log_sum_exp),
    gradcheck(x = [4, 2], y = [5, 2], h = [5], epsilon = 0.5)
)]
fn log_sum<T: Real>(#[row] x: [T; 2], #[column] y: [T; 2], #[column] h: T, epsilon: f64) -> T {
    h - ((x[0] - y[0]).square() + (x[1] - y[1]).square()) / (2.0 * epsilon)
}

/// Returns the cost of moving points of equal weights, after so many iterations.
pub fn transport(
    x: &Tensor2<f64>,
    y: &Tensor2<f64>,
    epsilon: f64,
    iterations: usize,
) -> Tensor0<f64> {
    let logarithm = |points: &Tensor2<f64>| -(points.shape()[0] as f64).ln();
    let (log_a, log_b) = (logarithm(x), logarithm(y));
    let mut g = y.sum_axis(Axis(1)).detach() * 0.0;
    let mut f = x.sum_axis(Axis(1)).detach() * 0.0;
    for _ in 0..iterations {
        f = -log_sum(x, y, &(&g / epsilon + log_b), epsilon) * epsilon;
        g = -log_sum(y, x, &(&f / epsilon + log_a), epsilon) * epsilon;
    }
    f.mean() + g.mean()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("transport").check(|case| {
            let (x, y) = (case.leaf("x"), case.leaf("y"));
            (
                transport(&x, &y, 0.3, 40).into_dyn(),
                vec![x.into_dyn(), y.into_dyn()],
            )
        });
    }
}
