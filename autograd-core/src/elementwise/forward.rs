//! The outputs of an elementwise function, as arrays and as a function of tensors.

use std::marker::PhantomData;

use autograd_kernels::checks::size;
use autograd_kernels::{Element, Evaluation, Loops, Shape};
use ndarray::{Array, ArrayView, Dimension};

use super::arrays::{common, of_items};
use super::directional::along;
use super::over::Over;
use super::plan::requires_grad;
use super::shared::Shared;
use crate::custom_function;
use crate::error::PassedOn;
use crate::error::panic::{Panic, caught};
use crate::function::Signature;
use crate::tensor::Tensor;

/// Returns the outputs of an elementwise function.
///
/// # Panics
/// If the inputs do not broadcast, or do not have rows of the lengths that the function takes.
#[track_caller]
pub fn values<T: Element, D: Dimension, const O: usize>(
    signature: &Signature,
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
) -> [Array<T, D>; O] {
    have_rows(signature, loops, inputs);
    let shape = shape_of_outputs(signature.name, loops, inputs);
    have_an_entry_for_each(signature.name, loops, &shape);
    each(evaluated(loops, inputs, &shape))
}

/// Returns the outputs of an elementwise function like [`values`], or the panic of its formula.
#[track_caller]
pub(super) fn caught_values<T: Element, D: Dimension, const O: usize>(
    signature: &Signature,
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
) -> Result<[Array<T, D>; O], Panic> {
    have_rows(signature, loops, inputs);
    let shape = shape_of_outputs(signature.name, loops, inputs);
    have_an_entry_for_each(signature.name, loops, &shape);
    caught(|| each(evaluated(loops, inputs, &shape)))
}

/// Returns the items of a list that has one for each output.
fn each<X, const O: usize>(list: Vec<X>) -> [X; O] {
    // INVARIANT: the loops have one for each.
    list.try_into()
        .unwrap_or_else(|_| unreachable!("one for each output"))
}

/// Panics if the last axis of an input that has rows is not as long as they are.
#[track_caller]
fn have_rows<T: Element, D: Dimension>(
    signature: &Signature,
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
) {
    let names = signature.inputs.iter().filter(|input| input.tensor);
    for ((input, item), argument) in inputs.iter().zip(loops.inputs()).zip(names) {
        if let Some(row) = item.row()
            && input.shape().last() != Some(&row)
        {
            let found = match input.shape().last() {
                Some(length) => format!("its last axis has length {length}"),
                None => "it has no axis".to_owned(),
            };
            panic!(
                "{} of shapes {:?}: `{}` has rows of length {row}, but {found}",
                signature.name,
                inputs.iter().map(ArrayView::shape).collect::<Vec<_>>(),
                argument.name,
            );
        }
    }
}

/// Returns the shape that the inputs broadcast to, without the axis of rows.
#[track_caller]
fn shape_of_outputs<T: Element, D: Dimension>(
    name: &str,
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
) -> Shape {
    let shapes = inputs.iter().map(ArrayView::shape);
    let of_elements = shapes.clone().zip(loops.inputs());
    let Some(shape) = common(of_elements.map(|(shape, item)| of_items(shape, *item))) else {
        let rows = if loops.inputs().iter().any(|item| item.row().is_some()) {
            " along the axes before rows"
        } else {
            ""
        };
        panic!(
            "{name} of shapes {:?}: they do not broadcast{rows}",
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
    Over::Elements.of_outputs(loops, Evaluation::Values, &inputs, shape)
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
        let shape = shape_of_outputs(function.name, &function.loops, tensors);
        evaluated(&function.loops, tensors, &shape)
    }

    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        needs: &[bool],
    ) -> Result<Vec<Option<Tensor<T, D>>>, PassedOn> {
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
