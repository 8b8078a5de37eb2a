//! The results of a scan, and their derivatives along directions, as a function of tensors.

use std::marker::PhantomData;
use std::sync::Arc;

use autograd_kernels::Element;
use ndarray::{ArrayD, ArrayViewD};

use super::extent::Extent;
use super::function::ScanFunction;
use super::partials::gradients_of;
use crate::custom_function;
use crate::elementwise::{Plan, if_differentiable, placed, requires_grad};
use crate::error::PassedOn;
use crate::tensor::TensorD;

/// The highest order that there are loops for: that of the second derivatives along two directions.
const HIGHEST: usize = 3;

/// Returns the derivatives of the results along the tangents that there are.
pub(super) fn along<T: Element>(
    function: &ScanFunction<T>,
    inputs: &[&TensorD<T>],
    tangents: &[Option<&TensorD<T>>],
) -> Vec<TensorD<T>> {
    let known = (0..).zip(inputs.iter().copied());
    let (plan, tensors) = Plan::new(2, known, (function.width()..).zip(tangents.iter().copied()));
    derivatives(function, plan, &tensors)
}

fn derivatives<T: Element>(
    function: &ScanFunction<T>,
    mut plan: Plan,
    tensors: &[&TensorD<T>],
) -> Vec<TensorD<T>> {
    plan.needs = requires_grad(tensors);
    // The rule for forward mode needs the next order.
    let next = match plan.order {
        HIGHEST => function.has_order(HIGHEST),
        _ => Ok(()),
    };
    let named = (function.name, function.applied_at);
    if_differentiable(named, next, tensors, |tensors| {
        Along::apply(tensors, function.clone(), Arc::new(plan))
    })
}

/// The derivatives of the results along all directions: of order 1, the results.
struct Along<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Along<T> {
    /// Returns the derivatives of a scan along directions of its inputs.
    #[forward]
    fn forward(
        tensors: &[ArrayViewD<T>],
        function: ScanFunction<T>,
        plan: Arc<Plan>,
    ) -> Vec<ArrayD<T>> {
        let (own, results) = (function.inputs(), function.loops.results().len());
        let shapes = tensors.iter().map(ArrayViewD::shape);
        let extent = Extent::of(&function, plan.places.iter().copied().zip(shapes));
        let components = 1 << (plan.order - 1);
        // Between the inputs of two components, there are places of the results' gradients.
        let places = plan.places.iter();
        let places = places.map(|place| place / (own + results) * own + place % (own + results));
        let views = placed(components * own, places, tensors);
        let mut wanted = vec![false; components * results];
        wanted[(components - 1) * results..].fill(true);
        let (found, _) = extent
            .run_of(&function)
            .forward(plan.order, &views, &wanted, false);
        found.into_iter().flatten().collect()
    }

    // The gradients times the derivatives along directions are the pairing of this order.
    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &ScanFunction<T>,
        plan: &Arc<Plan>,
    ) -> Result<Vec<Option<TensorD<T>>>, PassedOn> {
        function.has_order(plan.order)?;
        let known = plan.places.iter().copied().zip(tensors.iter().copied());
        let of_outputs = (function.inputs()..).zip(grad_output.iter().copied());
        let (next, tensors) = Plan::new(plan.order, known, of_outputs);
        Ok(gradients_of(function, next, &tensors, &plan.needs))
    }

    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &ScanFunction<T>,
        plan: &Arc<Plan>,
    ) -> Vec<TensorD<T>> {
        let (next, tensors) =
            plan.differentiated(tensors, function.width(), &plan.places, tangent_tensors);
        derivatives(function, next, &tensors)
    }
}
