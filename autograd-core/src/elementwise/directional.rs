//! The derivatives of a formula along tangents, as a function of tensors.

use std::marker::PhantomData;
use std::sync::Arc;

use autograd_kernels::{Element, Evaluation};
use ndarray::{ArrayD, ArrayViewD, IxDyn};

use super::arrays::{of_each_number, placed, row_sums, whole};
use super::plan::{Plan, requires_grad};
use super::shared::Shared;
use crate::array::Buffer;
use crate::basic::{Add, Mul};
use crate::custom_function;
use crate::error::PassedOn;
use crate::tensor::TensorD;

/// Returns the derivatives of the outputs along the tangents that there are.
pub(super) fn along<T: Element>(
    function: &Shared<T>,
    inputs: &[&TensorD<T>],
    tangents: &[Option<&TensorD<T>>],
) -> Vec<TensorD<T>> {
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
struct Directional<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Directional<T> {
    /// Returns the derivatives of an elementwise function along directions of its inputs.
    #[forward]
    fn forward(tensors: &[ArrayViewD<T>], function: Shared<T>, plan: Arc<Plan>) -> Vec<ArrayD<T>> {
        let (inputs, outputs) = (function.inputs(), function.loops.outputs().len());
        let shapes = tensors.iter().map(ArrayViewD::shape);
        let shape = function.fitting(plan.places.iter().copied().zip(shapes));
        // Between inputs and directions, there are places of the outputs' gradients.
        let places = plan.places.iter().map(|&place| {
            if place < inputs {
                place
            } else {
                place - outputs
            }
        });
        let views = placed(2 * inputs, places, tensors);
        function
            .over
            .of_outputs(&function.loops, Evaluation::Tangents, &views, &shape)
            .into_iter()
            .map(Buffer::into_array)
            .collect()
    }

    // The gradients times the derivatives along directions are the pairing at order 2.
    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Result<Vec<Option<TensorD<T>>>, PassedOn> {
        function.has_order(2)?;
        let known = plan.places.iter().copied().zip(tensors.iter().copied());
        let of_outputs = (function.inputs()..).zip(grad_output.iter().copied());
        let (next, tensors) = Plan::new(plan.order, known, of_outputs);
        Ok(next.gradients(&tensors, function, &plan.needs))
    }

    // The derivative along a direction d of Σᵢ tᵢ ∂ᵢf: that along the tangents of t, and Σᵢ dᵢ times the derivatives,
    // with respect to xᵢ, of the function itself.
    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Vec<TensorD<T>> {
        let count = function.inputs();
        let (of_inputs, of_directions) = tangent_tensors.split_at(count);
        let (inputs, directions) = tensors.split_at(count);
        let mut moved = vec![None; count];
        for (&place, tangent) in plan.places[count..].iter().zip(of_directions) {
            moved[place - function.width()] = *tangent;
        }
        let first = along(function, inputs, &moved);
        let shapes = tensors.iter().map(|tensor| tensor.shape());
        let shape = function.fitting(plan.places.iter().copied().zip(shapes));
        // Whole, so that nothing is summed before it is multiplied.
        let whole = |(&place, tensor): (&usize, &&TensorD<T>)| {
            tensor.broadcast_to::<IxDyn>(&whole(&shape, function.item(place)))
        };
        let all = plan.places.iter().zip(inputs.iter().chain(directions));
        let tensors: Vec<TensorD<T>> = all.map(whole).collect();
        let is_moved = |input: &usize| of_inputs[*input].is_some();
        let moved: Vec<usize> = (0..count).filter(is_moved).collect();
        let of_output = |(output, first): (usize, TensorD<T>)| {
            if moved.is_empty() {
                return first;
            }
            let item = function.loops.outputs()[output];
            let second = of_each_number(item, &shape, |gradient| {
                let mut plan = Plan::clone(plan);
                plan.places.push(count + output);
                plan.wanted.clone_from(&moved);
                let tensors: Vec<_> = tensors.iter().chain([gradient]).collect();
                let (_, partials) = plan.apply(&tensors, function);
                let pairs = moved.iter().zip(of_inputs.iter().flatten()).zip(&partials);
                let products = pairs.map(|((input, tangent), partial)| {
                    let product = Mul::apply(&whole((input, tangent)), partial);
                    row_sums(product, function.item(*input))
                });
                // INVARIANT: some input is moved.
                let sum = products.reduce(|sum, product| Add::apply(&sum, &product));
                sum.expect("a product for each")
            });
            // Of pairs, all of them are there.
            if second.shape() == first.shape() {
                Add::apply(&first, &second)
            } else {
                Add::apply(&first, &second.sum_to(first.shape()))
            }
        };
        first.into_iter().enumerate().map(of_output).collect()
    }
}
