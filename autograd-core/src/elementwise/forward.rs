//! The outputs of an elementwise function, as arrays and as a function of tensors.

use std::marker::PhantomData;

use autograd_kernels::checks::size;
use autograd_kernels::{Element, Evaluation, Item, Loops, Shape};
use ndarray::{ArrayD, ArrayViewD};

use super::arrays::{common, of_items};
use super::directional::along;
use super::over::Over;
use super::plan::requires_grad;
use super::shared::Shared;
use super::short::{of_short, of_tensor};
use crate::array::Buffer;
use crate::compiled::compiled_once;
use crate::custom_function;
use crate::error::PassedOn;
use crate::error::panic::{Panic, caught};
use crate::function::Signature;
use crate::tensor::{Tensor, TensorD};

/// Returns the outputs of an elementwise function.
///
/// # Panics
/// If the inputs do not broadcast, or do not have rows of the lengths that the function takes.
#[track_caller]
pub fn values<T: Element, const I: usize, const O: usize>(
    signature: &Signature,
    loops: &dyn Loops<T>,
    inputs: &[ArrayViewD<'_, T>; I],
) -> [ArrayD<T>; O] {
    let shape = fitting(signature, loops, &inputs.each_ref().map(ArrayViewD::shape));
    let compute = compiled_once!(T, evaluated: fn(
        &dyn Loops<T>,
        &[ArrayViewD<'_, T>],
        &[usize],
    ) -> Vec<ArrayD<T>>);
    each(compute(loops, inputs, &shape))
}

/// Returns the outputs of an elementwise function like [`values`], or the panic of its formula.
#[track_caller]
pub(super) fn caught_values<T: Element, const I: usize, const O: usize>(
    signature: &Signature,
    loops: &dyn Loops<T>,
    inputs: &[&TensorD<T>; I],
) -> Result<[TensorD<T>; O], Panic> {
    let shape = fitting(signature, loops, &inputs.map(TensorD::shape));
    let compute = compiled_once!(T, computed: fn(
        &dyn Loops<T>,
        &[&TensorD<T>],
        &[usize],
        &mut [Option<TensorD<T>>],
    ) -> Result<(), Panic>);
    let mut outputs = [const { None }; O];
    compute(loops, inputs, &shape, &mut outputs)?;
    // INVARIANT: the loops have one for each.
    Ok(outputs.map(|output| output.expect("one for each output")))
}

/// Computes the outputs, or returns the panic of the formula.
fn computed<T: Element>(
    loops: &dyn Loops<T>,
    inputs: &[&TensorD<T>],
    shape: &[usize],
    outputs: &mut [Option<TensorD<T>>],
) -> Result<(), Panic> {
    caught(|| {
        let given = inputs.iter().map(|input| of_tensor(Some(input)));
        let wanted = (0..outputs.len()).map(|_| true);
        let give = &mut |output: usize, found| outputs[output] = Some(Tensor::constant(found));
        if !of_short(loops, Evaluation::Values, given, wanted, shape, give) {
            let views: Vec<_> = inputs.iter().map(|input| Some(input.view())).collect();
            let found = Over::Elements.of_outputs(loops, Evaluation::Values, &views, shape);
            for (output, found) in outputs.iter_mut().zip(found) {
                *output = Some(Tensor::constant(found));
            }
        }
    })
}

/// Returns the items of a list that has one for each output.
pub(crate) fn each<X, const O: usize>(list: Vec<X>) -> [X; O] {
    // INVARIANT: the loops have one for each.
    list.try_into()
        .unwrap_or_else(|_| unreachable!("one for each output"))
}

/// Returns the shape of the elements of the outputs, for inputs of these shapes.
#[track_caller]
fn fitting<T: Element>(signature: &Signature, loops: &dyn Loops<T>, shapes: &[&[usize]]) -> Shape {
    let mut entries = Vec::new();
    loops.list_entries(&mut |list, length| entries.push((list, length)));
    match checked(signature, loops.inputs(), &entries, shapes) {
        Ok(shape) => shape,
        Err(reason) => panic!("{}: {reason}", signature.with_shapes(shapes)),
    }
}

/// Returns the shape of the elements of the outputs, or what does not fit: the last axis of an input that has rows is not as
/// long as they are, or a list does not have an entry for each element.
fn checked(
    signature: &Signature,
    items: &[Item],
    entries: &[(&str, usize)],
    shapes: &[&[usize]],
) -> Result<Shape, String> {
    let names = signature.inputs.iter().filter(|input| input.tensor);
    for ((shape, item), argument) in shapes.iter().zip(items).zip(names) {
        if let Some(row) = item.row()
            && shape.last() != Some(&row)
        {
            let found = match shape.last() {
                Some(length) => format!("its last axis has length {length}"),
                None => "it has no axis".to_owned(),
            };
            return Err(format!(
                "`{}` has rows of length {row}, but {found}",
                argument.name
            ));
        }
    }
    let shape = broadcast(items, shapes)?;
    // A shape of more elements than there is memory for is reported where they are computed.
    if let Some(elements) = size(&shape)
        && let Some((list, length)) = entries.iter().find(|(_, length)| *length != elements)
    {
        return Err(format!(
            "`{list}` must have {elements} entries, one for each element, found {length}"
        ));
    }
    Ok(shape)
}

/// Returns the shape that the inputs broadcast to, without the axis of rows.
fn broadcast(items: &[Item], shapes: &[&[usize]]) -> Result<Shape, String> {
    let of_elements = shapes.iter().zip(items);
    common(of_elements.map(|(shape, item)| of_items(shape, *item))).ok_or_else(|| {
        let rows = if items.iter().any(|item| item.row().is_some()) {
            " along the axes before rows"
        } else {
            ""
        };
        format!("they do not broadcast{rows}")
    })
}

/// Returns the outputs of an elementwise function as a list.
fn evaluated<T: Element>(
    loops: &dyn Loops<T>,
    inputs: &[ArrayViewD<'_, T>],
    shape: &[usize],
) -> Vec<ArrayD<T>> {
    let inputs: Vec<_> = inputs.iter().map(|x| Some(x.view())).collect();
    let outputs = Over::Elements.of_outputs(loops, Evaluation::Values, &inputs, shape);
    outputs.into_iter().map(Buffer::into_array).collect()
}

impl<T: Element> Shared<T> {
    /// Applies the function of the loops to tensors.
    pub(super) fn apply(&self, tensors: &[&TensorD<T>]) -> Vec<TensorD<T>> {
        let needs = requires_grad(tensors);
        self.applied(tensors, 1, |tensors| {
            Values::apply(tensors, self.clone(), needs)
        })
    }
}

/// The outputs of an elementwise function.
struct Values<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Values<T> {
    /// Returns the outputs of an elementwise function.
    #[forward]
    fn forward(tensors: &[ArrayViewD<T>], function: Shared<T>, needs: Vec<bool>) -> Vec<ArrayD<T>> {
        let shape = function.fitting(tensors.iter().map(ArrayViewD::shape).enumerate());
        evaluated(&function.loops, tensors, &shape)
    }

    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &Shared<T>,
        needs: &[bool],
    ) -> Result<Vec<Option<TensorD<T>>>, PassedOn> {
        function.has_order(1)?;
        Ok(function.gradients(tensors, grad_output, needs))
    }

    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&TensorD<T>>],
        tensors: &[&TensorD<T>],
        function: &Shared<T>,
    ) -> Vec<TensorD<T>> {
        along(function, tensors, tangent_tensors)
    }
}
