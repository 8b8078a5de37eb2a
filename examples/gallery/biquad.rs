//! A filter with an infinite impulse response: two poles and two zeros.
//!
//! y ← b₀ x + s₁, s₁ ← b₁ x − a₁ y + s₂, s₂ ← b₂ x − a₂ y: the transposed second direct form (Oppenheim and Schafer,
//! *Discrete-time signal processing*, 6.3). Filters that are learned, such as equalizers, are chains of it; `torchaudio`
//! has a kernel in C++, `lfilter`, with a gradient of its own.

use pullback::prelude::*;

/// Returns the last states and the filtered signals, of signals `[steps, signals]`. The coefficients are those of each
/// signal, `[signals, 3]` and `[signals, 2]`, or of all, with one row.
#[custom_function(
    scan,
    outputs(last_first, last_second, y),
    gradcheck(
        first = [2],
        second = [2],
        x = [6, 2],
        b = [1, 3],
        a = [1, 2] in -0.5..0.5,
    )
)]
pub fn biquad<T: Real>(
    #[state] first: T,
    #[state] second: T,
    #[step] x: T,
    b: [T; 3],
    a: [T; 2],
) -> (T, T, T) {
    let y = b[0] * x + first;
    (b[1] * x - a[0] * y + second, b[2] * x - a[1] * y, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("biquad").check(|case| {
            let [first, second]: [Tensor1<f64>; 2] =
                ["first", "second"].map(|name| case.leaf(name));
            let [x, b, a]: [Tensor2<f64>; 3] = ["x", "b", "a"].map(|name| case.leaf(name));
            let (_, _, y) = biquad(&first, &second, &x, &b, &a);
            let [first, second] = [first, second].map(Tensor::into_dyn);
            let [x, b, a] = [x, b, a].map(Tensor::into_dyn);
            (y.into_dyn(), vec![first, second, x, b, a])
        });
    }
}
