//! Evaluation of short tensors, without a view of each.

use std::borrow::Cow;

use autograd_kernels::checks::size;
use autograd_kernels::{Element, Evaluation, Loops, MOST_SHORT, evaluate_short};

use super::arrays::whole;
use crate::array::Buffer;
use crate::tensor::{Tensor, TensorD};

/// Calls `give` with the index and each result that is wanted of an evaluation whose elements have this shape: values, or
/// derivatives of order 1. Returns whether it has done so: not for tensors and formulas that [`evaluate_short`] does not
/// take.
pub(super) fn of_short<'a, T: Element>(
    loops: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: impl Iterator<Item = Option<&'a TensorD<T>>>,
    is_wanted: impl Iterator<Item = bool>,
    shape: &[usize],
    give: &mut dyn FnMut(usize, TensorD<T>),
) -> bool {
    let (mut slices, mut count) = ([None; MOST_SHORT], 0);
    for input in inputs {
        let Some(slice) = slices.get_mut(count) else {
            return false;
        };
        count += 1;
        let Some(input) = input else { continue };
        let buffer = &input.raw.buffer;
        // The gradient of a sum is repeated.
        *slice = buffer.as_slice().or_else(|| buffer.repeated());
        if slice.is_none() {
            return false;
        }
    }
    let (mut wanted, mut results) = ([false; MOST_SHORT], 0);
    for is_wanted in is_wanted {
        let Some(wanted) = wanted.get_mut(results) else {
            return false;
        };
        *wanted = is_wanted;
        results += 1;
    }
    let items = match evaluation {
        Evaluation::Partials { .. } => loops.inputs(),
        _ => loops.outputs(),
    };
    let give = &mut |index: usize, elements: Cow<'_, [T]>| {
        let result = Buffer::of_elements(elements, whole(shape, items[index]));
        give(index, Tensor::constant(result));
    };
    let length = size(shape).unwrap_or(usize::MAX);
    let (slices, wanted) = (&slices[..count], &wanted[..results]);
    evaluate_short(loops, evaluation, slices, length, wanted, give)
}
