//! The square root of a positive definite matrix, differentiable any number of times.
//!
//! Higham, *Functions of Matrices*, 2008; Roberts, *Linear Model Reduction*, 1980. S S = A implies dS S + S dS = dA,
//! Sylvester's equation, whose solution is a second function: with X for S and G, and Z for Sᵀ and the gradient of X,
//! the gradient of G is Z, and that of S is −(Z Xᵀ + Xᵀ Z). Nothing else is needed for any order.

use pullback::Error;
use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

pub struct Sqrtm;

#[custom_function(gradcheck(a = positive_definite(3)))]
impl Sqrtm {
    /// Computes the square root of `a`.
    #[forward]
    pub fn forward(a: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        // Denman and Beavers: the mean of each and the inverse of the other.
        let (mut y, mut z) = (Tensor::from(a), Tensor::from(Array2::eye(a.nrows())));
        for _ in 0..40 {
            let next = (&y + z.inv()?) * 0.5;
            z = (&z + y.inv()?) * 0.5;
            let moved = (&next - &y).abs().sum().item();
            y = next;
            if moved < 1e-14 * a.len() as f64 {
                break;
            }
        }
        Ok(y.to_array())
    }

    #[backward(a)]
    fn backward(grad_output: &Tensor2<f64>, output: &Tensor2<f64>) -> Result<Tensor2<f64>, Error> {
        Sylvester::apply(&output.t(), grad_output)
    }
}

pub struct Sylvester;

#[custom_function(gradcheck(s = positive_definite(3), g = [3, 3]))]
impl Sylvester {
    /// Computes the solution X of S X + X S = G.
    #[forward]
    pub fn forward(s: ArrayView2<f64>, g: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        // Roberts: the sign of [S G; 0 −S], the limit of the mean of it and its inverse, is [1 2X; 0 −1].
        let (mut y, mut x) = (Tensor::from(s), Tensor::from(g));
        for _ in 0..40 {
            let inverse = y.inv()?;
            x = (&x + inverse.matmul(&x).matmul(&inverse)) * 0.5;
            let moved = (&inverse - &y).abs().sum().item();
            y = (y + inverse) * 0.5;
            if moved < 1e-14 * s.len() as f64 {
                break;
            }
        }
        Ok((x * 0.5).to_array())
    }

    #[backward(s, g)]
    fn backward(
        grad_output: &Tensor2<f64>,
        s: &Tensor2<f64>,
        output: &Tensor2<f64>,
    ) -> Result<(Tensor2<f64>, Tensor2<f64>), Error> {
        let (z, x) = (Self::apply(&s.t(), grad_output)?, output.t());
        Ok((-(z.matmul(&x) + x.matmul(&z)), z))
    }
}

#[cfg(test)]
fn positive_definite(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| if i == j { 3.0 + i as f64 } else { 0.5 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("sqrtm").check(|case| {
            let a = case.leaf("a");
            (Sqrtm::apply(&a).unwrap().into_dyn(), vec![a.into_dyn()])
        });
    }
}
