//! Evaluation of short tensors and arrays, of which slices are enough.

use std::borrow::Cow;
use std::slice::from_ref;

use autograd_kernels::checks::size;
use autograd_kernels::{Element, Evaluation, Loops, MOST_SHORT, evaluate_short};
use ndarray::ArrayViewD;

use super::arrays::{item_at, whole};
use crate::array::Buffer;
use crate::tensor::TensorD;

/// Elements in row-major order, or one that is repeated; of an input that is missing, none. The outer `None` is for other
/// layouts.
type Slice<'a, T> = Option<Option<&'a [T]>>;

/// Returns the elements of a tensor, or of none.
pub(super) fn of_tensor<T: Element>(tensor: Option<&TensorD<T>>) -> Slice<'_, T> {
    let Some(tensor) = tensor else {
        return Some(None);
    };
    let buffer = &tensor.raw.buffer;
    // The gradient of a sum is repeated.
    let elements = buffer.as_slice().or_else(|| buffer.repeated());
    elements.map(Some)
}

/// Returns the elements of an array, or of none.
pub(super) fn of_array<'a, T: Element>(array: Option<&'a ArrayViewD<'_, T>>) -> Slice<'a, T> {
    let Some(array) = array else {
        return Some(None);
    };
    let is_repeated = || array.strides().iter().all(|stride| *stride == 0);
    let repeated = || Some(from_ref(array.first().filter(|_| is_repeated())?));
    array.as_slice().or_else(repeated).map(Some)
}

/// Calls `give` with the index and each result that is wanted of an evaluation whose elements have this shape. Returns
/// whether it has done so: not for inputs and formulas that [`evaluate_short`] does not take.
pub(super) fn of_short<'a, T: Element>(
    loops: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: impl Iterator<Item = Slice<'a, T>>,
    is_wanted: impl Iterator<Item = bool>,
    shape: &[usize],
    give: &mut dyn FnMut(usize, Buffer<T>),
) -> bool {
    let (mut slices, mut count) = ([None; MOST_SHORT], 0);
    for input in inputs {
        let (Some(slice), Some(elements)) = (slices.get_mut(count), input) else {
            return false;
        };
        *slice = elements;
        count += 1;
    }
    let (mut wanted, mut results) = ([false; MOST_SHORT], 0);
    for is_wanted in is_wanted {
        let Some(wanted) = wanted.get_mut(results) else {
            return false;
        };
        *wanted = is_wanted;
        results += 1;
    }
    let first = match evaluation {
        Evaluation::Partials { .. } => 0,
        Evaluation::Values | Evaluation::Tangents => loops.inputs().len(),
    };
    let give = &mut |index: usize, elements: Cow<'_, [T]>| {
        let item = item_at(loops, first + index);
        give(index, Buffer::of_elements(elements, whole(shape, item)));
    };
    let length = size(shape).unwrap_or(usize::MAX);
    let (slices, wanted) = (&slices[..count], &wanted[..results]);
    evaluate_short(loops, evaluation, slices, length, wanted, give)
}
