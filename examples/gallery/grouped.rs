//! Products of matrices in groups: a list of inputs, a list of weights, a list of outputs, one function.
//!
//! Mixtures of experts use them, where each expert has its own number of rows (Gale et al., 2022, arXiv 2211.15841):
//! yₖ = xₖ wₖ.

use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

#[custom_function(
    gradcheck(x = [[2, 3], [1, 3]], w = [[3, 2], [3, 4]]),
    grad(x) = grad_output.iter().zip(w).map(|(g, w)| g.dot(&w.t())).collect(),
    grad(w) = grad_output.iter().zip(x).map(|(g, x)| x.t().dot(g)).collect(),
)]
pub fn grouped(x: &[ArrayView2<f64>], w: &[ArrayView2<f64>]) -> Vec<Array2<f64>> {
    assert_eq!(x.len(), w.len(), "a weight for each group");
    x.iter().zip(w).map(|(x, w)| x.dot(w)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;
    use pullback::ndarray::Axis;

    #[test]
    fn as_in_pytorch() {
        Case::of("grouped").check(|case| {
            let leaves = |name| {
                (0..3)
                    .map(|k| case.leaf(&format!("{name}{k}")))
                    .collect::<Vec<Tensor2<f64>>>()
            };
            let (x, w) = (leaves("x"), leaves("w"));
            let y = grouped(&x, &w);
            let all = y.iter().map(|y| y.sum_axis(Axis(0))).sum::<Tensor1<f64>>();
            (
                all.into_dyn(),
                x.into_iter().chain(w).map(Tensor::into_dyn).collect(),
            )
        });
    }
}
