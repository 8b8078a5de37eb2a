//! The partial derivatives of the pairing, as a function of tensors that is its own derivative.

use std::marker::PhantomData;
use std::sync::Arc;

use autograd_kernels::{Element, Evaluation, Shape};
use ndarray::{ArrayD, ArrayViewD};

use super::arrays::placed;
use super::plan::{Plan, lifted, requires_grad};
use super::shared::Shared;
use crate::custom_function;
use crate::error::PassedOn;
use crate::tensor::TensorD;

impl<T: Element> Shared<T> {
    /// Returns the gradients of the loops' inputs that need one, given those of the outputs that have one.
    pub(super) fn gradients(
        &self,
        inputs: &[&TensorD<T>],
        of_outputs: &[Option<&TensorD<T>>],
        needs: &[bool],
    ) -> Vec<Option<TensorD<T>>> {
        let known = (0..).zip(inputs.iter().copied());
        let (plan, tensors) = Plan::new(1, known, (inputs.len()..).zip(of_outputs.iter().copied()));
        plan.gradients(&tensors, self, needs)
    }
}

impl Plan {
    /// Returns the plan as nodes have it, and the derivatives that are wanted, each of its tensor's shape.
    pub(super) fn apply<T: Element>(
        mut self,
        tensors: &[&TensorD<T>],
        function: &Shared<T>,
    ) -> (Arc<Self>, Vec<TensorD<T>>) {
        self.needs = requires_grad(tensors);
        let plan = Arc::new(self);
        let partials = function.applied(tensors, plan.order + 1, |tensors| {
            Partials::apply(tensors, function.clone(), Arc::clone(&plan))
        });
        (plan, partials)
    }

    /// Returns the derivatives with respect to the tensors that need one, and `None` for the others.
    pub(super) fn gradients<T: Element>(
        mut self,
        tensors: &[&TensorD<T>],
        function: &Shared<T>,
        needs: &[bool],
    ) -> Vec<Option<TensorD<T>>> {
        self.want(needs);
        let (plan, partials) = self.apply(tensors, function);
        plan.wanted_of(partials, needs.len())
    }
}

/// The derivatives of the pairing with respect to some of the tensors that it is computed of.
struct Partials<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Partials<T> {
    /// Returns derivatives of an elementwise function with respect to its inputs.
    #[forward]
    fn forward(tensors: &[ArrayViewD<T>], function: Shared<T>, plan: Arc<Plan>) -> Vec<ArrayD<T>> {
        let count = plan.len(function.width());
        let shapes = tensors.iter().map(ArrayViewD::shape);
        let shape = function.fitting(plan.places.iter().copied().zip(shapes));
        let inputs = placed(count, plan.places.iter().copied(), tensors);
        let mut targets = vec![None; count];
        for &place in &plan.wanted {
            let shape = inputs[place]
                .as_ref()
                .map(|input| Shape::from(input.shape()));
            targets[place] = shape.map(|shape| (shape, function.item(place)));
        }
        let partials = Evaluation::Partials { order: plan.order };
        function
            .over
            .summed(&function.loops, partials, &inputs, &shape, &targets)
    }

    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Result<Vec<Option<TensorD<T>>>, PassedOn> {
        function.has_order(plan.order + 1)?;
        let (next, tensors) =
            plan.differentiated(tensors, function.width(), &plan.wanted, grad_output);
        Ok(next.gradients(&tensors, function, &plan.needs))
    }

    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Vec<TensorD<T>> {
        let (next, tensors) =
            plan.differentiated(tensors, function.width(), &plan.places, tangent_tensors);
        let wanted = plan.wanted.iter();
        let wanted = wanted
            .map(|place| lifted(*place, function.width()))
            .collect();
        Plan { wanted, ..next }.apply(&tensors, function).1
    }
}
