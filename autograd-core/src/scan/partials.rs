//! The partial derivatives of the pairing of a scan, as a function of tensors that is its own derivative.

use std::marker::PhantomData;
use std::sync::Arc;

use autograd_kernels::Element;
use ndarray::{ArrayD, ArrayViewD};

use super::extent::{Extent, reduced};
use super::function::ScanFunction;
use crate::custom_function;
use crate::elementwise::{Plan, if_differentiable, lifted, placed, requires_grad};
use crate::error::PassedOn;
use crate::tensor::TensorD;

/// Returns the gradients of the inputs that need one, given those of the results that have one.
pub(super) fn gradients<T: Element>(
    function: &ScanFunction<T>,
    inputs: &[&TensorD<T>],
    of_outputs: &[Option<&TensorD<T>>],
    needs: &[bool],
) -> Vec<Option<TensorD<T>>> {
    let known = (0..).zip(inputs.iter().copied());
    let (plan, tensors) = Plan::new(1, known, (inputs.len()..).zip(of_outputs.iter().copied()));
    gradients_of(function, plan, &tensors, needs)
}

/// Returns the derivatives with respect to the tensors that need one, and `None` for the others.
pub(super) fn gradients_of<T: Element>(
    function: &ScanFunction<T>,
    mut plan: Plan,
    tensors: &[&TensorD<T>],
    needs: &[bool],
) -> Vec<Option<TensorD<T>>> {
    plan.want(needs);
    let (plan, partials) = partials(function, plan, tensors);
    plan.wanted_of(partials, needs.len())
}

/// Returns the plan as nodes have it, and the derivatives that are wanted, each of its tensor's shape.
fn partials<T: Element>(
    function: &ScanFunction<T>,
    mut plan: Plan,
    tensors: &[&TensorD<T>],
) -> (Arc<Plan>, Vec<TensorD<T>>) {
    plan.needs = requires_grad(tensors);
    let plan = Arc::new(plan);
    let next = function.has_order(plan.order + 1);
    let named = (function.name, function.applied_at);
    let partials = if_differentiable(named, next, tensors, |tensors| {
        ScanPartials::apply(tensors, function.clone(), Arc::clone(&plan))
    });
    (plan, partials)
}

/// The derivatives of the pairing with respect to some of the tensors that it is computed of.
struct ScanPartials<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> ScanPartials<T> {
    /// Returns derivatives of a scan with respect to its inputs.
    #[forward]
    fn forward(
        tensors: &[ArrayViewD<T>],
        function: ScanFunction<T>,
        plan: Arc<Plan>,
    ) -> Vec<ArrayD<T>> {
        let count = plan.len(function.width());
        let shapes = tensors.iter().map(ArrayViewD::shape);
        let extent = Extent::of(&function, plan.places.iter().copied().zip(shapes));
        let inputs = placed(count, plan.places.iter().copied(), tensors);
        let mut wanted = vec![false; count];
        for &place in &plan.wanted {
            wanted[place] = true;
        }
        let checkpoints = function.checkpoints.as_ref();
        let over = extent.run_of(&function);
        let results = over.backward(plan.order, &inputs, &wanted, checkpoints);
        let of_inputs = results.into_iter().zip(&inputs).enumerate();
        let all = of_inputs.filter_map(|(place, (result, input))| {
            Some(reduced(
                result?,
                input.as_ref()?.shape(),
                function.item(place),
            ))
        });
        all.collect()
    }

    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &ScanFunction<T>,
        plan: &Arc<Plan>,
    ) -> Result<Vec<Option<TensorD<T>>>, PassedOn> {
        function.has_order(plan.order + 1)?;
        let (next, tensors) =
            plan.differentiated(tensors, function.width(), &plan.wanted, grad_output);
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
        let wanted = plan.wanted.iter();
        let wanted = wanted.map(|place| lifted(*place, function.width()));
        let wanted = wanted.collect();
        partials(function, Plan { wanted, ..next }, &tensors).1
    }
}
