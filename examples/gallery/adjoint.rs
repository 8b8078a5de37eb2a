//! The state of a differential equation after a time, with the continuous adjoint: no intermediate state is saved.
//!
//! Chen et al., *Neural Ordinary Differential Equations*, 2018: for ż = f(z, θ), the adjoint a = ∂L/∂z follows
//! ȧ = −aᵀ ∂f/∂z, and ∂L/∂θ is the integral of aᵀ ∂f/∂θ. All three are integrated back from the end, z too. Here f is
//! a network of layers tanh(w z), and the integral is Runge and Kutta's, of fourth order.

use pullback::Error;
use pullback::ndarray::{Array1, ArrayView1, Axis, concatenate, s};
use pullback::prelude::*;

pub struct Adjoint;

#[custom_function(gradcheck(z = [3], weights = [[4, 3], [3, 4]], time = 0.5, steps = 12))]
impl Adjoint {
    /// Computes the state after `time`, starting from `z`.
    #[forward]
    pub fn forward(
        z: ArrayView1<f64>,
        weights: &[&Tensor2<f64>],
        time: f64,
        steps: usize,
    ) -> Result<Array1<f64>, Error> {
        let slope = |z: &Array1<f64>| Ok(network(&Tensor::from(z.view()), weights).to_array());
        integrated(z.to_owned(), time, steps, slope)
    }

    #[backward(z, weights, once)]
    fn backward(
        grad_output: ArrayView1<f64>,
        output: ArrayView1<f64>,
        weights: &[&Tensor2<f64>],
        time: f64,
        steps: usize,
    ) -> Result<(Array1<f64>, Vec<Tensor2<f64>>), Error> {
        let n = output.len();
        let leaves: Vec<_> = weights
            .iter()
            .map(|w| w.detach().set_requires_grad(true))
            .collect();
        let references: Vec<_> = leaves.iter().collect();
        // The state, its adjoint and the gradients of the weights, one after the other.
        let slope = |all: &Array1<f64>| {
            let z = Tensor::from(all.slice(s![..n])).set_requires_grad(true);
            let f = enable_grad(|| network(&z, &references));
            let (of_z, of_weights) = Grad::of(&f)
                .seed(-&all.slice(s![n..2 * n]))
                .run((&z, &leaves))?;
            let flat = of_weights
                .iter()
                .flat_map(|w| w.view().iter().copied().collect::<Vec<_>>());
            Ok(concatenate![
                Axis(0),
                f.view(),
                of_z.view(),
                flat.collect::<Array1<f64>>()
            ])
        };
        let zeros = Array1::zeros(weights.iter().map(|w| w.len()).sum::<usize>());
        let all = integrated(
            concatenate![Axis(0), output, grad_output, zeros],
            -time,
            steps,
            slope,
        )?;
        let mut start = 2 * n;
        let of_weights = weights.iter().map(|w| {
            let end = start + w.len();
            let flat = Tensor::from(all.slice(s![std::mem::replace(&mut start, end)..end]));
            flat.reshape(w.view().dim())
        });
        Ok((all.slice(s![n..2 * n]).to_owned(), of_weights.collect()))
    }
}

fn network(z: &Tensor1<f64>, weights: &[&Tensor2<f64>]) -> Tensor1<f64> {
    weights.iter().fold(z.clone(), |z, w| w.matmul(&z).tanh())
}

/// Integrates by Runge and Kutta's method.
fn integrated(
    mut y: Array1<f64>,
    time: f64,
    steps: usize,
    slope: impl Fn(&Array1<f64>) -> Result<Array1<f64>, Error>,
) -> Result<Array1<f64>, Error> {
    let h = time / steps as f64;
    for _ in 0..steps {
        let k1 = slope(&y)?;
        let k2 = slope(&(&y + &k1 * (h / 2.0)))?;
        let k3 = slope(&(&y + &k2 * (h / 2.0)))?;
        let k4 = slope(&(&y + &k3 * h))?;
        y = y + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0);
    }
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        // PyTorch differentiates the steps themselves: the two differ by the error of the steps.
        Case::of("adjoint").within(1e-6).check(|case| {
            let (z, weights) = (case.leaf("z"), vec![case.leaf("w0"), case.leaf("w1")]);
            let y = Adjoint::apply(&z, &weights, 1.0, 40).unwrap();
            let leaves = [z.into_dyn()]
                .into_iter()
                .chain(weights.into_iter().map(Tensor::into_dyn));
            (y.into_dyn(), leaves.collect())
        });
    }
}
