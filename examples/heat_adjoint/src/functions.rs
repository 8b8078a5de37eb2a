//! Heat spreading as a custom function, and its adjoint as another: each is the other's gradient.

use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

use crate::plate::Plate;

/// Computes the temperatures of a plate after its steps.
///
/// The function is linear, so backward is its transpose at any temperatures, and nothing is saved.
pub struct Heat;

#[custom_function(gradcheck(
    before = [3, 4],
    plate = &crate::plate::small(crate::kernels::Language::C),
))]
impl Heat {
    #[forward(outputs(after))]
    pub fn forward(before: ArrayView2<f64>, plate: &Plate) -> Array2<f64> {
        plate.heat(&before)
    }

    #[backward(before)]
    fn backward(grad_after: &Tensor2<f64>, plate: &Plate) -> Tensor2<f64> {
        HeatAdjoint::apply(grad_after, plate)
    }

    #[jvp]
    fn jvp(tangent_before: &Tensor2<f64>, plate: &Plate) -> Tensor2<f64> {
        Heat::apply(tangent_before, plate)
    }
}

/// Computes the gradient with respect to the temperatures before the steps, from the gradient with
/// respect to those after.
pub struct HeatAdjoint;

#[custom_function(gradcheck(
    grad_after = [3, 4],
    plate = &crate::plate::small(crate::kernels::Language::Cpp),
))]
impl HeatAdjoint {
    #[forward(outputs(grad_before))]
    pub fn forward(grad_after: ArrayView2<f64>, plate: &Plate) -> Array2<f64> {
        plate.heat_adjoint(&grad_after)
    }

    #[backward(grad_after)]
    fn backward(grad_grad_before: &Tensor2<f64>, plate: &Plate) -> Tensor2<f64> {
        Heat::apply(grad_grad_before, plate)
    }

    #[jvp]
    fn jvp(tangent_grad_after: &Tensor2<f64>, plate: &Plate) -> Tensor2<f64> {
        HeatAdjoint::apply(tangent_grad_after, plate)
    }
}

/// Returns the difference of ⟨A u, v⟩ and ⟨u, Aᵀ v⟩, relative to the larger: a test of an adjoint
/// without finite differences.
pub fn adjoint_error(plate: &Plate, u: &ArrayView2<f64>, v: &ArrayView2<f64>) -> f64 {
    let forward = (plate.heat(u) * v).sum();
    let backward = (plate.heat_adjoint(v) * u).sum();
    (forward - backward).abs() / forward.abs().max(backward.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Language;
    use crate::plate::small;

    #[test]
    fn products_agree() {
        let u = Array2::from_shape_fn((3, 4), |(i, j)| (1.3 * i as f64 + 2.7 * j as f64).sin());
        let v = Array2::from_shape_fn((3, 4), |(i, j)| (2.1 * i as f64 - 0.4 * j as f64).cos());
        for language in [Language::C, Language::Cpp] {
            let error = adjoint_error(&small(language), &u.view(), &v.view());
            assert!(error < 1e-14, "{error:.1e}");
        }
    }
}
