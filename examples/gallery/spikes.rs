//! A layer of spiking neurons, with a surrogate of the derivative of its spikes.
//!
//! Neftci, Mostafa and Zenke, *Surrogate gradient learning in spiking neural networks*, 2019; Eshraghian et al.,
//! *Training spiking neural networks using lessons from deep learning*, 2023, whose snnTorch has this neuron as `Leaky`:
//! U ← β U + x − R, and a spike is 1 where U > 1. R is the last spike. A spike has no derivative, so that of the
//! fast sigmoid u / (1 + 25 |u|) stands for it; R has none at all.

use pullback::prelude::*;

/// Returns 1 for a positive number, else 0, with the derivative of the fast sigmoid.
#[inline(always)]
fn spike<T: Real>(u: T) -> T {
    let hard = T::from(if u > 0.0 { 1.0 } else { 0.0 });
    let soft = u / (u.abs() * 25.0 + 1.0);
    // The value is that of `hard`, for the rest is 0.
    hard + (soft - soft.detach())
}

/// Returns the last potentials, and the spikes of each step, of currents with an axis of steps and a decay.
#[custom_function(
    scan,
    outputs(last, spikes),
    gradcheck(u = [3], x = [12, 3] in 0.0..1.0, beta = [3] in 0.5..1.0, estimated(u, x, beta))
)]
pub fn spiking<T: Real>(#[state] u: T, #[step] x: T, beta: T) -> (T, T) {
    let reset = spike(u - 1.0).detach();
    let next = beta * u + x - reset;
    (next, spike(next - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("spikes").check(|case| {
            let (u, beta): (Tensor1<f64>, Tensor1<f64>) = (case.leaf("u"), case.leaf("beta"));
            let x: Tensor2<f64> = case.leaf("x");
            let (_, spikes) = spiking(&u, &x, &beta);
            let leaves = vec![u.into_dyn(), x.into_dyn(), beta.into_dyn()];
            (spikes.into_dyn(), leaves)
        });
    }
}
