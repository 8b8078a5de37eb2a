//! Sparsemax: like softmax, with exact zeros.
//!
//! Martins and Astudillo, *From Softmax to Sparsemax*, 2016: the point of the simplex that is nearest to x,
//! yᵢ = max(xᵢ − τ, 0) with Σ yᵢ = 1. On the support S of y the gradient is gᵢ − mean of g over S, elsewhere 0.

use pullback::ndarray::{Array2, ArrayView2, Zip};
use pullback::prelude::*;

/// Computes sparsemax of each row.
#[custom_function(gradcheck(x = [3, 4]), grad(x) = {
    let mut grad = grad_output.to_owned();
    for (mut grad, y) in grad.rows_mut().into_iter().zip(output.rows()) {
        let support = y.iter().filter(|y| **y > 0.0).count() as f64;
        let mean = Zip::from(&grad).and(y).fold(0.0, |sum, g, y| if *y > 0.0 { sum + g } else { sum }) / support;
        Zip::from(&mut grad).and(y).for_each(|g, y| *g = if *y > 0.0 { *g - mean } else { 0.0 });
    }
    grad
})]
pub fn sparsemax(x: ArrayView2<f64>) -> Array2<f64> {
    let mut y = x.to_owned();
    for mut row in y.rows_mut() {
        let mut sorted = row.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        // The largest k whose k-th number is still above the threshold that the first k give.
        let (mut sum, mut tau) = (0.0, 0.0);
        for (k, x) in (1..).zip(sorted) {
            sum += x;
            let threshold = (sum - 1.0) / f64::from(k);
            if x > threshold {
                tau = threshold;
            }
        }
        row.mapv_inplace(|x| (x - tau).max(0.0));
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("sparsemax").check(|case| {
            let x = case.leaf("x");
            (sparsemax(&x).into_dyn(), vec![x.into_dyn()])
        });
    }
}
