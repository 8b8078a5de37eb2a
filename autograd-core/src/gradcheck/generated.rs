//! What the tests call that `#[custom_function(gradcheck(…))]` generates.

use ndarray::Dimension;

use super::{Gradcheck, Largest};
#[cfg(feature = "catalogue")]
use crate::catalogue::{Errors, figures};
use crate::element::Element;
use crate::erased::{InputTensors, OutputTensors, arbitrary};
use crate::tensor::Tensor;

/// An input for a function to be checked at: a leaf, of numbers that differ from one `seed` to another.
///
/// # Panics
/// If `D` has another rank than the shape.
#[must_use]
#[track_caller]
pub fn sample<T: Element, D: Dimension>(shape: &[usize], seed: u32) -> Tensor<T, D> {
    let numbers = arbitrary(ndarray::IxDyn(shape), seed);
    let Ok(numbers) = numbers.into_dimensionality::<D>() else {
        panic!(
            "gradcheck of an input of rank {:?} with the shape {shape:?}",
            D::NDIM.unwrap_or(shape.len())
        );
    };
    Tensor::from(numbers).set_requires_grad(true)
}

/// Checks `function`, a use of the function `name` that is defined in `module`, with every input or
/// `without` one, which can be differentiated so often by backward passes and by forward mode. Where they
/// are asked for, the largest errors are kept for the catalogue.
///
/// # Panics
/// If anything is wrong, with what; if the errors cannot be kept.
#[track_caller]
pub fn gradcheck<I, O, F>(
    [module, name]: [&str; 2],
    without: Option<&str>,
    [backward, forward]: [u32; 2],
    function: F,
    inputs: I,
) where
    I: InputTensors + Copy,
    O: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O,
{
    let to_second_order = |check: Gradcheck, order| {
        if order > 1 {
            check.second_order()
        } else {
            check
        }
    };
    let largest = Largest::default();
    let check = to_second_order(Gradcheck::new().thorough(), backward);
    let mut result = check.measure(&function, inputs, &largest);
    if forward > 0 && result.is_ok() {
        let check = to_second_order(Gradcheck::new().forward_mode(), forward);
        result = check.measure(&function, inputs, &largest);
    }
    if let Err(error) = result {
        let without = without.map_or_else(String::new, |input| format!(" without `{input}`"));
        panic!("gradcheck of `{name}`{without}: {error}");
    }
    keep([module, name], without.is_none(), &largest);
}

/// The check with every input comes first: it replaces what an earlier run has left.
#[cfg(feature = "catalogue")]
fn keep(function: [&str; 2], is_first: bool, largest: &Largest) {
    let Some(folder) = figures::wanted() else {
        return;
    };
    let mut errors = Errors::default();
    for (derivative, error) in largest.all() {
        errors.note(derivative, error);
    }
    if let Err(error) = figures::keep(&folder, function, is_first, errors) {
        panic!("the errors of `{}` cannot be kept: {error}", function[1]);
    }
}

#[cfg(not(feature = "catalogue"))]
fn keep(_: [&str; 2], _: bool, _: &Largest) {}

/// A tensor that a function may write to: the same value as a result, for a leaf is not written to.
#[must_use]
pub fn lent<T: Element, D: Dimension>(leaf: &Tensor<T, D>) -> Tensor<T, D> {
    leaf * T::one()
}

/// What a function returned that can fail.
///
/// # Panics
/// If it failed.
#[track_caller]
pub fn succeeded<R, E>(result: Result<R, E>) -> R {
    let Ok(outputs) = result else {
        panic!("the function returned an error for the inputs of its gradcheck");
    };
    outputs
}
