//! A gated recurrent unit over time.
//!
//! Cho et al., *Learning phrase representations using RNN encoder-decoder*, 2014, in the form of cuDNN and PyTorch:
//! r, u = σ(gates of input and state), c = tanh(gᵢ + r (gₕ + bias)), h ← (1 − u) c + u h. What the input adds to the gates
//! is one product of matrices for all steps; what is left is a recurrence with a small matrix. For states of hundreds of
//! numbers a loop over operators is the better form: its products use the whole machine.

use pullback::prelude::*;

/// The numbers of a state.
pub const H: usize = 3;
/// Three gates for each number: r, u and the candidate.
pub const GATES: usize = 3 * H;

/// Returns the last states and those after each step, of gates `[steps, batch, 3 H]`, states `[batch, H]`, the matrix
/// `[1, 3 H · H]`, row by row, and its biases `[1, 3 H]`.
#[custom_function(
    scan,
    outputs(last, states),
    gradcheck(h = [2, 3], gates = [4, 2, 9], w = [1, 27] in -0.8..0.8, bias = [1, 9])
)]
pub fn gru<T: Real>(
    #[state] h: [T; H],
    #[step] gates: [T; GATES],
    w: [T; GATES * H],
    bias: [T; GATES],
) -> ([T; H], [T; H]) {
    let of_state = |gate: usize| {
        let mut sum = bias[gate];
        for n in 0..H {
            sum += w[gate * H + n] * h[n];
        }
        sum
    };
    let mut next = h;
    for n in 0..H {
        let reset = (gates[n] + of_state(n)).sigmoid();
        let update = (gates[H + n] + of_state(H + n)).sigmoid();
        let candidate = (gates[2 * H + n] + reset * of_state(2 * H + n)).tanh();
        next[n] = candidate + update * (h[n] - candidate);
    }
    (next, next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("gru").check(|case| {
            let [h, w, bias]: [Tensor2<f64>; 3] = ["h", "w", "bias"].map(|name| case.leaf(name));
            let gates: Tensor3<f64> = case.leaf("gates");
            let (_, states) = gru(&h, &gates, &w, &bias);
            let leaves = vec![
                h.into_dyn(),
                gates.into_dyn(),
                w.into_dyn(),
                bias.into_dyn(),
            ];
            (states.into_dyn(), leaves)
        });
    }
}
