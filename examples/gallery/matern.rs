//! Products with a Matérn kernel, of which the matrix is never in memory.
//!
//! Gaussian processes and kernel regression need K b, Kᵢⱼ = (1 + √3 r/ℓ) e^(−√3 r/ℓ) with the distance r of two points:
//! Matérn's kernel with ν = 3/2 (Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 2006, 4.17). `KeOps`
//! (Charlier et al., 2021) compiles such products for PyTorch.

use pullback::prelude::*;

/// Returns the products for the points x; the length ℓ is a tensor, so that it can be learned.
#[custom_function(
    pairs,
    gradcheck(x = [4, 3] in 0.0..1.0, y = [5, 3] in 1.5..2.5, b = [5], length = [] in 0.5..1.5),
)]
pub fn matern<T: Real>(#[row] x: [T; 3], #[column] y: [T; 3], #[column] b: T, length: T) -> T {
    let square = |k: usize| (x[k] - y[k]) * (x[k] - y[k]);
    let scaled = 3.0_f64.sqrt() * (square(0) + square(1) + square(2)).sqrt() / length;
    (1.0 + scaled) * (-scaled).exp() * b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("matern").check(|case| {
            let (x, y, b, length) = (
                case.leaf("x"),
                case.leaf("y"),
                case.leaf("b"),
                case.leaf("length"),
            );
            (
                matern(&x, &y, &b, &length).into_dyn(),
                vec![x.into_dyn(), y.into_dyn(), b.into_dyn(), length.into_dyn()],
            )
        });
    }
}
