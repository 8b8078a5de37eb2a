//! The selective scan of Mamba, over the time of many sequences and channels.
//!
//! Gu and Dao, *Mamba: linear-time sequence modeling with selective state spaces*, 2023, algorithm 2: each channel has a
//! state of N numbers, h ← e^(Δ A) h + Δ B x, and the output y = C · h + D x; the length of the step Δ, B and C depend on
//! the sequence. The published kernel is CUDA, which computes the states again in backward, as this does.

use pullback::prelude::*;

/// The numbers of a state, as in the published models.
pub const N: usize = 16;

/// Returns the last states and y. Of `batch` sequences with `steps` and `channels`: `h` is `[batch, channels, N]`, `delta`
/// and `x` are `[steps, batch, channels]`, `b` and `c`, which channels share, `[steps, batch, 1, N]`, `a` is
/// `[1, channels, N]` and `d` `[1, channels]`.
#[custom_function(
    scan,
    outputs(last, y),
    gradcheck(
        h = [1, 16],
        delta = [2, 1] in 0.1..0.9,
        x = [2, 1],
        b = [2, 1, 16],
        c = [2, 1, 16],
        a = [1, 16] in -2.0..-0.5,
        d = [1],
    )
)]
pub fn selective<T: Real>(
    #[state] h: [T; N],
    #[step] delta: T,
    #[step] x: T,
    #[step] b: [T; N],
    #[step] c: [T; N],
    a: [T; N],
    d: T,
) -> ([T; N], T) {
    let (mut next, mut y) = (h, d * x);
    for n in 0..N {
        next[n] = (delta * a[n]).exp() * h[n] + delta * b[n] * x;
        y += c[n] * next[n];
    }
    (next, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("selective").check(|case| {
            let [h, delta, x, a]: [Tensor3<f64>; 4] =
                ["h", "delta", "x", "a"].map(|name| case.leaf(name));
            let [b, c]: [Tensor4<f64>; 2] = ["b", "c"].map(|name| case.leaf(name));
            let d: Tensor2<f64> = case.leaf("d");
            let (_, y) = selective(&h, &delta, &x, &b, &c, &a, &d);
            let [h, delta, x, a] = [h, delta, x, a].map(Tensor::into_dyn);
            let [b, c] = [b, c].map(Tensor::into_dyn);
            (y.into_dyn(), vec![h, delta, x, b, c, a, d.into_dyn()])
        });
    }
}
