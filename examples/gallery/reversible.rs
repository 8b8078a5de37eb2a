//! A network that saves no activations: each block's input is recomputed from its output.
//!
//! Gomez et al., *The Reversible Residual Network*, 2017: y₁ = x₁ + f(x₂), y₂ = x₂ + g(y₁), undone by
//! x₂ = y₂ − g(y₁), x₁ = y₁ − f(x₂). Here f(x) = tanh(x w), with one weight for each half of each block.

use pullback::Error;
use pullback::prelude::*;

pub struct Reversible;

#[custom_function(gradcheck(x1 = [2, 3], x2 = [2, 3], weights = [[3, 3], [3, 3], [3, 3], [3, 3]]))]
impl Reversible {
    /// Applies all blocks in order, with two weights for each block.
    #[forward(outputs(y1, y2))]
    pub fn forward(
        x1: &Tensor2<f64>,
        x2: &Tensor2<f64>,
        weights: &[&Tensor2<f64>],
    ) -> (Tensor2<f64>, Tensor2<f64>) {
        let (mut y1, mut y2) = (x1.clone(), x2.clone());
        for pair in weights.chunks(2) {
            y1 = y1 + branch(&y2, pair[0]);
            y2 = y2 + branch(&y1, pair[1]);
        }
        (y1, y2)
    }

    #[backward(x1, x2, weights, once)]
    fn backward(
        grad_y1: Tensor2<f64>,
        grad_y2: Tensor2<f64>,
        y1: &Tensor2<f64>,
        y2: &Tensor2<f64>,
        weights: &[&Tensor2<f64>],
    ) -> Result<(Tensor2<f64>, Tensor2<f64>, Vec<Tensor2<f64>>), Error> {
        let (mut y1, mut y2) = (y1.clone(), y2.clone());
        let (mut grad_y1, mut grad_y2) = (grad_y1, grad_y2);
        let mut grads = Vec::new();
        for pair in weights.chunks(2).rev() {
            let [g, of_y1, of_second] = pulled(&y1, pair[1], &grad_y2)?;
            y2 = y2 - g;
            grad_y1 = grad_y1 + of_y1;
            let [f, of_y2, of_first] = pulled(&y2, pair[0], &grad_y1)?;
            y1 = y1 - f;
            grad_y2 = grad_y2 + of_y2;
            grads.extend([of_second, of_first]);
        }
        grads.reverse();
        Ok((grad_y1, grad_y2, grads))
    }
}

fn branch(x: &Tensor2<f64>, w: &Tensor2<f64>) -> Tensor2<f64> {
    x.matmul(w).tanh()
}

/// Returns the output of a branch, and the gradients of its input and its weight for a gradient of the output.
fn pulled(
    x: &Tensor2<f64>,
    w: &Tensor2<f64>,
    grad: &Tensor2<f64>,
) -> Result<[Tensor2<f64>; 3], Error> {
    let (x, w) = (
        x.detach().set_requires_grad(true),
        w.detach().set_requires_grad(true),
    );
    let y = enable_grad(|| branch(&x, &w));
    let (of_x, of_w) = Grad::of(&y).seed(grad).run((&x, &w))?;
    Ok([y.detach(), of_x, of_w])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("reversible").check(|case| {
            let (x1, x2) = (case.leaf("x1"), case.leaf("x2"));
            let weights: Vec<_> = (0..6).map(|i| case.leaf(&format!("w{i}"))).collect();
            let (y1, y2) = Reversible::apply(&x1, &x2, &weights);
            let leaves = [x1, x2].into_iter().chain(weights).map(Tensor::into_dyn);
            ((y1 * y2).into_dyn(), leaves.collect())
        });
    }
}
