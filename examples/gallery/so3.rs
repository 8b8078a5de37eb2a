//! The exponential map of SO(3): the rotation of each axis-angle vector.
//!
//! Rodrigues, *Des lois géométriques qui régissent les déplacements d'un système solide*, 1840: with K the matrix of
//! w × ·, exp K = 1 + (sin θ/θ) K + ((1 − cos θ)/θ²) K², θ = |w|. Learned rotations are often given so, as in
//! Solà, Deray and Atchuthan, *A micro Lie theory for state estimation in robotics*, 2018.

use pullback::prelude::*;

/// Returns the matrix of each rotation, in row-major order.
#[custom_function(
    elementwise,
    gradcheck(w = [4, 3] in -2.0..2.0),
    gradcheck(w = [2, 2, 3] in -0.05..0.05)
)]
pub fn rotation<T: Real>(w: [T; 3]) -> [T; 9] {
    let [x, y, z] = w;
    let t = x * x + y * y + z * z;
    // Both are even functions of θ, and smooth at 0.
    let (a, b) = if t < 0.01 {
        (
            1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0)),
            0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0)),
        )
    } else {
        let angle = t.sqrt();
        (angle.sin() / angle, (1.0 - angle.cos()) / t)
    };
    let diagonal = |u: T| 1.0 - b * (t - u * u);
    let pair = |u: T, v: T, axis: T| (b * u * v - a * axis, b * u * v + a * axis);
    let ((xy, yx), (zx, xz), (yz, zy)) = (pair(x, y, z), pair(z, x, y), pair(y, z, x));
    [
        diagonal(x),
        xy,
        xz,
        yx,
        diagonal(y),
        yz,
        zx,
        zy,
        diagonal(z),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("so3").check(|case| {
            let w: Tensor2<f64> = case.leaf("w");
            (rotation(&w).into_dyn(), vec![w.into_dyn()])
        });
    }
}
