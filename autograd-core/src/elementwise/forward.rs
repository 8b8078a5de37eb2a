//! The outputs of an elementwise function, as arrays and as a function of tensors.

use std::marker::PhantomData;

use autograd_kernels::checks::size;
use autograd_kernels::{Element, Evaluation, Loops, Shape};
use ndarray::{Array, ArrayView, Dimension};

use super::arrays::{common, of_outputs};
use super::directional::along;
use super::plan::requires_grad;
use super::shared::Shared;
use crate::custom_function;
use crate::error::Exceeded;
use crate::error::panic::{Panic, caught};
use crate::tensor::Tensor;

/// Returns the outputs of an elementwise function.
///
/// # Panics
/// If the inputs do not broadcast.
#[track_caller]
pub fn values<T: Element, D: Dimension, const O: usize>(
    name: &str,
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
) -> [Array<T, D>; O] {
    let shape = shape_of_outputs(name, inputs);
    have_an_entry_for_each(name, loops, &shape);
    each(evaluated(loops, inputs, &shape))
}

/// Returns the outputs of an elementwise function like [`values`], or the panic of its formula.
#[track_caller]
pub(super) fn caught_values<T: Element, D: Dimension, const O: usize>(
    name: &str,
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
) -> Result<[Array<T, D>; O], Panic> {
    let shape = shape_of_outputs(name, inputs);
    have_an_entry_for_each(name, loops, &shape);
    caught(|| each(evaluated(loops, inputs, &shape)))
}

/// Returns the items of a list that has one for each output.
fn each<X, const O: usize>(list: Vec<X>) -> [X; O] {
    // INVARIANT: the loops have one for each.
    list.try_into()
        .unwrap_or_else(|_| unreachable!("one for each output"))
}

/// Returns the shape that the inputs broadcast to.
#[track_caller]
fn shape_of_outputs<T: Element, D: Dimension>(name: &str, inputs: &[ArrayView<'_, T, D>]) -> Shape {
    let shapes = inputs.iter().map(ArrayView::shape);
    let Some(shape) = common(shapes.clone()) else {
        panic!(
            "{name} of shapes {:?}: they do not broadcast",
            shapes.collect::<Vec<_>>()
        )
    };
    shape
}

/// Panics if a list of the formula does not have an entry for each element of the outputs.
#[track_caller]
fn have_an_entry_for_each<T: Element>(name: &str, loops: &dyn Loops<T>, shape: &Shape) {
    let mut wrong = None;
    // A shape of more elements than there is memory for is reported where they are computed.
    let elements = size(shape);
    loops.list_entries(&mut |list, length| {
        if elements.is_some_and(|elements| elements != length) {
            wrong.get_or_insert((list, length));
        }
    });
    if let (Some((list, length)), Some(elements)) = (wrong, elements) {
        panic!(
            "{name} of shape {:?}: `{list}` must have {elements} entries, one for each element, found {length}",
            &shape[..]
        );
    }
}

/// Returns the outputs of an elementwise function as a list.
fn evaluated<T: Element, D: Dimension>(
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
    shape: &Shape,
) -> Vec<Array<T, D>> {
    let inputs: Vec<_> = inputs.iter().map(|x| Some(x.view().into_dyn())).collect();
    of_outputs(loops, Evaluation::Values, &inputs, shape)
}

impl<T: Element> Shared<T> {
    /// Applies the function of the loops to tensors.
    #[track_caller]
    pub(super) fn apply<D: Dimension>(&self, tensors: &[&Tensor<T, D>]) -> Vec<Tensor<T, D>> {
        let needs = requires_grad(tensors);
        self.applied(tensors, 1, |tensors| {
            Values::apply(tensors, self.clone(), needs)
        })
    }
}

/// The outputs of an elementwise function.
struct Values<T, D>(PhantomData<(T, D)>);

#[custom_function]
impl<T: Element, D: Dimension> Values<T, D> {
    /// Returns the outputs of an elementwise function.
    #[forward]
    fn forward(
        tensors: &[ArrayView<T, D>],
        function: Shared<T>,
        needs: Vec<bool>,
    ) -> Vec<Array<T, D>> {
        let shape = shape_of_outputs(function.name, tensors);
        evaluated(&function.loops, tensors, &shape)
    }

    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        needs: &[bool],
    ) -> Result<Vec<Option<Tensor<T, D>>>, Exceeded> {
        function.has_order(1)?;
        Ok(function.gradients(tensors, grad_output, needs))
    }

    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
    ) -> Vec<Tensor<T, D>> {
        along(function, tensors, tangent_tensors)
    }
}
