//! Attention as two functions of pairs, to second order and in forward mode.
//!
//! The logarithm Lᵢ of the sum of the exponentials of a row's scores, and then Σⱼ e^(sᵢⱼ − Lᵢ) vⱼ (Rabe and Staats, 2021,
//! arXiv 2112.05682). `attention.rs` has the same by hand, for any length of heads, and differentiable once.

use pullback::prelude::*;

#[custom_function(pairs(reduce = log_sum_exp), gradcheck(q = [3, 3], k = [5, 3]))]
pub fn log_normalizer<T: Real>(#[row] q: [T; 3], #[column] k: [T; 3]) -> T {
    (q[0] * k[0] + q[1] * k[1] + q[2] * k[2]) / 3.0_f64.sqrt()
}

#[custom_function(pairs, gradcheck(q = [3, 3], l = [3], k = [5, 3], v = [5, 2]))]
pub fn mixed<T: Real>(
    #[row] q: [T; 3],
    #[row] l: T,
    #[column] k: [T; 3],
    #[column] v: [T; 2],
) -> [T; 2] {
    let score = (q[0] * k[0] + q[1] * k[1] + q[2] * k[2]) / 3.0_f64.sqrt();
    let weight = (score - l).exp();
    v.map(|v| weight * v)
}

/// Returns the means of v, weighted by the softmax of the scores.
pub fn attention(q: &Tensor2<f64>, k: &Tensor2<f64>, v: &Tensor2<f64>) -> Tensor2<f64> {
    mixed(q, &log_normalizer(q, k), k, v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("attention").check(|case| {
            let (q, k, v) = (case.leaf("q"), case.leaf("k"), case.leaf("v"));
            (
                attention(&q, &k, &v).into_dyn(),
                vec![q.into_dyn(), k.into_dyn(), v.into_dyn()],
            )
        });
    }
}
