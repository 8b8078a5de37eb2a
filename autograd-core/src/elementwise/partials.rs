//! The partial derivatives of the pairing, as a function of tensors that is its own derivative.

use std::marker::PhantomData;
use std::sync::Arc;

use autograd_kernels::{Element, Evaluation, Shape};
use ndarray::{ArrayD, ArrayViewD};

use super::apply::are_followed;
use super::arrays::placed;
use super::over::summed;
use super::plan::{Plan, lifted, requires_grad};
use super::shared::Shared;
use super::short::{of_short, of_tensor};
use crate::array::Buffer;
use crate::custom_function;
use crate::error::PassedOn;
use crate::tensor::{Tensor, TensorD};

impl<T: Element> Shared<T> {
    /// Returns the gradients of the loops' inputs that need one, given those of the outputs that have one.
    pub(super) fn gradients(
        &self,
        inputs: &[&TensorD<T>],
        of_outputs: &[Option<&TensorD<T>>],
        needs: &[bool],
    ) -> Vec<Option<TensorD<T>>> {
        if !are_followed(inputs.iter().chain(of_outputs.iter().flatten()).copied()) {
            return self.constant_gradients(inputs, of_outputs, needs);
        }
        let known = (0..).zip(inputs.iter().copied());
        let (plan, tensors) = Plan::new(1, known, (inputs.len()..).zip(of_outputs.iter().copied()));
        plan.gradients(&tensors, self, needs)
    }

    /// Returns the gradients where no derivative of them is wanted: nothing is kept for one.
    fn constant_gradients(
        &self,
        inputs: &[&TensorD<T>],
        of_outputs: &[Option<&TensorD<T>>],
        needs: &[bool],
    ) -> Vec<Option<TensorD<T>>> {
        let tensors = inputs.iter().copied().map(Some);
        let tensors = tensors.chain(of_outputs.iter().copied());
        let shapes = tensors.clone().enumerate();
        let shapes = shapes.filter_map(|(place, tensor)| Some((place, tensor?.shape())));
        let shape = self.fitting(shapes);
        let partials = Evaluation::Partials { order: 1 };
        let mut gradients = vec![None; inputs.len()];
        let give = &mut |place: usize, gradient| {
            let sum = summed(gradient, inputs[place].raw.buffer.shape());
            gradients[place] = Some(Tensor::constant(sum));
        };
        let wanted = needs.iter().copied();
        let wanted = wanted.chain(of_outputs.iter().map(|_| false));
        let slices = tensors.clone().map(of_tensor);
        if of_short(&self.loops, partials, slices, wanted, &shape, give) {
            return gradients;
        }
        let views: Vec<_> = tensors.map(|tensor| Some(tensor?.view())).collect();
        let partials = self.partials(1, &views, |place| needs.get(place) == Some(&true));
        let mut partials = partials.into_iter().map(Tensor::constant);
        let each = needs
            .iter()
            .map(|is_needed| is_needed.then(|| partials.next())?);
        each.collect()
    }

    /// Returns the derivatives of the pairing with respect to those of the places that are wanted and have an array, each of
    /// its array's shape.
    fn partials(
        &self,
        order: usize,
        arrays: &[Option<ArrayViewD<'_, T>>],
        is_wanted: impl Fn(usize) -> bool,
    ) -> Vec<Buffer<T>> {
        let shape_at = |place: usize| Some(arrays[place].as_ref()?.shape());
        let shapes = (0..arrays.len()).filter_map(|place| Some((place, shape_at(place)?)));
        let shape = self.fitting(shapes);
        let target = |place| {
            let shape = shape_at(place).filter(|_| is_wanted(place))?;
            Some((Shape::from(shape), self.item(place)))
        };
        let targets: Vec<_> = (0..arrays.len()).map(target).collect();
        let partials = Evaluation::Partials { order };
        self.over
            .summed(&self.loops, partials, arrays, &shape, &targets)
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
        let arrays = placed(count, plan.places.iter().copied(), tensors);
        let is_wanted = |place| plan.wanted.binary_search(&place).is_ok();
        let partials = function.partials(plan.order, &arrays, is_wanted);
        partials.into_iter().map(Buffer::into_array).collect()
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
