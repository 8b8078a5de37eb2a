//! Optimal transport with entropy, differentiated at the optimum instead of through the iterations.
//!
//! Cuturi, *Sinkhorn Distances*, 2013; the gradient as Luise et al. derive it, 2018. The plan P = diag(u) e^(−C/ε)
//! diag(v) has the row sums a and the column sums b. Differentiated, these equations are one linear system: with G =
//! ∂L/∂P and H = P ∘ G, diag(a) r + P c = H1 and Pᵀ r + diag(b) c = Hᵀ1 give r and c, and ∂L/∂C = −P ∘ (G − r1ᵀ − 1cᵀ)
//! / ε.

use pullback::Error;
use pullback::ndarray::{Array1, Array2, ArrayView2, Axis, concatenate, s};
use pullback::prelude::*;

pub struct Sinkhorn;

#[custom_function(gradcheck(c = [3, 4], epsilon = 0.3))]
impl Sinkhorn {
    /// Computes the plan for the costs `c`, from equal weights to equal weights.
    #[forward]
    pub fn forward(c: ArrayView2<f64>, epsilon: f64) -> Array2<f64> {
        let (n, m) = c.dim();
        let k = c.mapv(|c| (-c / epsilon).exp());
        let (a, b) = (1.0 / n as f64, 1.0 / m as f64);
        let (mut u, mut v) = (Array1::ones(n), Array1::ones(m));
        for _ in 0..10_000 {
            u = a / k.dot(&v);
            let next: Array1<f64> = b / k.t().dot(&u);
            let moved = (&next - &v).mapv(f64::abs).sum();
            v = next;
            if moved < 1e-15 * v.sum() {
                break;
            }
        }
        k * u.insert_axis(Axis(1)) * v
    }

    #[backward(c)]
    fn backward(
        grad_output: ArrayView2<f64>,
        output: ArrayView2<f64>,
        epsilon: f64,
    ) -> Result<Array2<f64>, Error> {
        let (n, m) = output.dim();
        let h = &output * &grad_output;
        let mut system = Array2::zeros((n + m, n + m));
        system
            .slice_mut(s![..n, ..n])
            .diag_mut()
            .assign(&output.sum_axis(Axis(1)));
        system
            .slice_mut(s![n.., n..])
            .diag_mut()
            .assign(&output.sum_axis(Axis(0)));
        system.slice_mut(s![..n, n..]).assign(&output);
        system.slice_mut(s![n.., ..n]).assign(&output.t());
        let right = concatenate![Axis(0), h.sum_axis(Axis(1)), h.sum_axis(Axis(0))];
        // r + t and c − t are as good as r and c: the last of c is 0.
        let last = n + m - 1;
        let system = Tensor::from(system.slice(s![..last, ..last]));
        let solved = system
            .solve(&Tensor::from(right.slice(s![..last])))?
            .to_array();
        let r = solved.slice(s![..n]).insert_axis(Axis(1));
        let c = concatenate![Axis(0), solved.slice(s![n..]), Array1::zeros(1)];
        Ok((&grad_output - &r - &c) * output / -epsilon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("sinkhorn").check(|case| {
            let c = case.leaf("c");
            (Sinkhorn::apply(&c, 0.2).into_dyn(), vec![c.into_dyn()])
        });
    }
}
