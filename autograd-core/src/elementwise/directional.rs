//! The derivatives of a formula along tangents, as a function of tensors.

use std::marker::PhantomData;
use std::sync::Arc;

use autograd_kernels::{Element, Evaluation};
use ndarray::{Array, ArrayView, Dimension};

use super::arrays::{constant, fitting, of_outputs, placed};
use super::plan::{Plan, requires_grad};
use super::shared::Shared;
use crate::basic::{Add, Mul};
use crate::custom_function;
use crate::error::PassedOn;
use crate::tensor::Tensor;

/// Returns the derivatives of the outputs along the tangents that there are.
#[track_caller]
pub(super) fn along<T: Element, D: Dimension>(
    function: &Shared<T>,
    inputs: &[&Tensor<T, D>],
    tangents: &[Option<&Tensor<T, D>>],
) -> Vec<Tensor<T, D>> {
    let known = (0..).zip(inputs.iter().copied());
    let (mut plan, tensors) =
        Plan::new(2, known, (function.width()..).zip(tangents.iter().copied()));
    plan.needs = requires_grad(&tensors);
    function.applied(&tensors, 2, |tensors| {
        Directional::apply(tensors, function.clone(), Arc::new(plan))
    })
}

/// The derivatives of the outputs along directions of some inputs. The tensors are the inputs, then the directions; the
/// plan has their places at order 2.
struct Directional<T, D>(PhantomData<(T, D)>);

#[custom_function]
impl<T: Element, D: Dimension> Directional<T, D> {
    /// Returns the derivatives of an elementwise function along directions of its inputs.
    #[forward]
    fn forward(
        tensors: &[ArrayView<T, D>],
        function: Shared<T>,
        plan: Arc<Plan>,
    ) -> Vec<Array<T, D>> {
        let loops = &function.loops;
        let (inputs, outputs) = (loops.inputs(), loops.outputs());
        let shape = fitting(tensors.iter().map(ArrayView::shape));
        // Between inputs and directions, there are places of the outputs' gradients.
        let places = plan.places.iter().map(|&place| {
            if place < inputs {
                place
            } else {
                place - outputs
            }
        });
        let views = placed(2 * inputs, places, tensors);
        of_outputs(loops, Evaluation::Tangents, &views, &shape)
    }

    // The gradients times the derivatives along directions are the pairing at order 2.
    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Result<Vec<Option<Tensor<T, D>>>, PassedOn> {
        function.has_order(2)?;
        let known = plan.places.iter().copied().zip(tensors.iter().copied());
        let of_outputs = (function.loops.inputs()..).zip(grad_output.iter().copied());
        let (next, tensors) = Plan::new(plan.order, known, of_outputs);
        Ok(next.gradients(&tensors, function, &plan.needs))
    }

    // The derivative along a direction d of Σᵢ tᵢ ∂ᵢf: that along the tangents of t, and Σᵢ dᵢ times the derivatives,
    // with respect to xᵢ, of the function itself.
    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Vec<Tensor<T, D>> {
        let loops = &function.loops;
        let (of_inputs, of_directions) = tangent_tensors.split_at(loops.inputs());
        let (inputs, directions) = tensors.split_at(loops.inputs());
        let mut moved = vec![None; loops.inputs()];
        for (&place, tangent) in plan.places[loops.inputs()..].iter().zip(of_directions) {
            moved[place - function.width()] = *tangent;
        }
        let first = along(function, inputs, &moved);
        let shape = first[0].shape().to_vec();
        // Whole, so that nothing is summed before it is multiplied.
        let whole = |tensor: &&Tensor<T, D>| tensor.broadcast_to::<D>(&shape);
        let tensors: Vec<Tensor<T, D>> = inputs.iter().chain(directions).map(whole).collect();
        let ones = constant(&shape, T::one());
        let of_output = |(output, first): (usize, Tensor<T, D>)| {
            let mut plan = Plan::clone(plan);
            plan.places.push(loops.inputs() + output);
            plan.wanted = (0..loops.inputs())
                .filter(|&input| of_inputs[input].is_some())
                .collect();
            let tensors: Vec<_> = tensors.iter().chain([&ones]).collect();
            let (_, partials) = plan.apply(&tensors, function);
            let pairs = of_inputs.iter().flatten().zip(&partials);
            pairs.fold(first, |sum, (tangent, partial)| {
                Add::apply(&sum, &Mul::apply(&whole(tangent), partial))
            })
        };
        first.into_iter().enumerate().map(of_output).collect()
    }
}
