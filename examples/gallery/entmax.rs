//! α-entmax: between softmax (α = 1) and sparsemax (α = 2).
//!
//! Peters, Niculae and Martins, *Sparse Sequence-to-Sequence Models*, 2019: yᵢ = max((α − 1)xᵢ − τ, 0)^(1/(α − 1)),
//! with τ such that Σ yᵢ = 1, found by bisection. With sᵢ = yᵢ^(2 − α) on the support, the gradient is
//! s ∘ (g − (s·g) / Σs).

use pullback::ndarray::{Array2, ArrayView2, Zip};
use pullback::prelude::*;

/// Computes α-entmax of each row, for α > 1.
#[custom_function(gradcheck(x = [2, 4], alpha = 1.5), grad(x) = {
    let mut grad = output.mapv(|y| if y > 0.0 { y.powf(2.0 - alpha) } else { 0.0 });
    for (mut s, g) in grad.rows_mut().into_iter().zip(grad_output.rows()) {
        let mean = s.dot(&g) / s.sum();
        Zip::from(&mut s).and(g).for_each(|s, g| *s *= g - mean);
    }
    grad
})]
pub fn entmax(x: ArrayView2<f64>, alpha: f64) -> Array2<f64> {
    let mut y = &x * (alpha - 1.0);
    for mut row in y.rows_mut() {
        let largest = row.fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let at = |tau: f64, x: f64| (x - tau).max(0.0).powf(1.0 / (alpha - 1.0));
        let (mut low, mut high) = (largest - 1.0, largest);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            let sum: f64 = row.iter().map(|x| at(middle, *x)).sum();
            if sum < 1.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        row.mapv_inplace(|x| at(low, x));
        let sum = row.sum();
        row /= sum;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("entmax").check(|case| {
            let x = case.leaf("x");
            (entmax(&x, 1.5).into_dyn(), vec![x.into_dyn()])
        });
    }
}
