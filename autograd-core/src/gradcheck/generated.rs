//! What the tests call that `#[custom_function(gradcheck(…))]` generates.

use std::f64::consts::SQRT_2;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ndarray::Dimension;

use super::{Gradcheck, Largest};
#[cfg(feature = "catalogue")]
use crate::catalogue::{Errors, figures};
use crate::element::Element;
use crate::erased::{AnyTensor, InputTensors, Lengths, OutputTensors, arbitrary};
use crate::error::Error;
use crate::grad_mode::no_grad;
use crate::tensor::Tensor;

/// An input for a function to be checked at: a leaf, of numbers that differ from one `seed` to another.
/// They lie between a half and three halves, or `within` two ends.
///
/// # Panics
/// If `D` has another rank than the shape; if no number lies within the ends.
#[must_use]
#[track_caller]
pub fn sample<T: Element, D: Dimension>(
    shape: &[usize],
    seed: u32,
    within: Option<[f64; 2]>,
) -> Tensor<T, D> {
    let numbers = arbitrary(ndarray::IxDyn(shape), seed);
    let Ok(mut numbers) = numbers.into_dimensionality::<D>() else {
        panic!(
            "gradcheck of an input of rank {:?} with the shape {shape:?}",
            D::NDIM.unwrap_or(shape.len())
        );
    };
    if let Some([low, high]) = within {
        assert!(
            low < high && (high - low).is_finite(),
            "gradcheck of an input in {low}..{high}, where no number lies"
        );
        // Not at the ends, beyond which differences look.
        let place = |number: T| low + (high - low) * (0.02 + 0.96 * (number.as_f64() - 0.5));
        numbers.mapv_inplace(|number| T::from_f64(place(number)));
    }
    Tensor::from(numbers).set_requires_grad(true)
}

/// Checks `function`, a use of the function `name` that is defined in `module`, with every input or
/// `without` one, which can be differentiated so often by backward passes and by forward mode. Where they
/// are asked for, the largest errors are kept for the catalogue.
///
/// A gradient that is right for positive numbers alone is wrong. So the function is checked again with
/// inputs of both signs, of those that are `either_sign`, wherever it can be computed there.
///
/// # Panics
/// If anything is wrong, with what; if the errors cannot be kept.
#[track_caller]
pub fn gradcheck<I, O, F>(
    [module, name]: [&str; 2],
    without: Option<&str>,
    orders: [u32; 2],
    either_sign: &[bool],
    function: F,
    inputs: I,
) where
    I: InputTensors,
    O: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O,
{
    let largest = Largest::default();
    let (is_first, without) = match without {
        Some(input) => (false, format!(" without `{input}`")),
        None => (true, String::new()),
    };
    begin([module, name], is_first);
    let inputs = inputs.to_tensors();
    let lengths = inputs.lengths();
    let inputs = inputs.into_erased();
    let outputs =
        |inputs: &[AnyTensor]| I::with(lengths, inputs, |refs| function(refs)).into_erased();
    let drawn = if either_sign.contains(&true) {
        "between 0.5 and 1.5"
    } else {
        "in the ranges given"
    };
    assert!(
        are_finite(&no_grad(|| outputs(&inputs))),
        "gradcheck of `{name}`{without}: for inputs {drawn} an output is no finite number; say where the \
         function is defined, as in `gradcheck(x = [3] in -1.0..1.0)`"
    );
    if let Err(error) = check::<I, O, _>(orders, &function, lengths, inputs.clone(), &largest) {
        panic!("gradcheck of `{name}`{without}: {error}");
    }
    for signed in of_either_sign(&inputs, either_sign, &outputs) {
        if let Err(error) = check::<I, O, _>(orders, &function, lengths, signed, &largest) {
            panic!("gradcheck of `{name}`{without}, for inputs of both signs: {error}");
        }
    }
    keep([module, name], &largest);
}

/// All derivatives that there are, at one place.
fn check<I, O, F>(
    [backward, forward]: [u32; 2],
    function: F,
    lengths: Lengths<I>,
    inputs: Vec<AnyTensor>,
    largest: &Largest,
) -> Result<(), Error>
where
    I: InputTensors,
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
    let check = to_second_order(Gradcheck::new().thorough(), backward);
    check.measure::<I, O, _>(&function, lengths, inputs.clone(), largest)?;
    if forward > 0 {
        let check = to_second_order(Gradcheck::new().forward_mode(), forward);
        check.measure::<I, O, _>(&function, lengths, inputs, largest)?;
    }
    Ok(())
}

/// The inputs with other signs: all at once, or each alone where the function cannot be computed for all.
/// There is none of a function that takes positive numbers alone.
fn of_either_sign(
    inputs: &[AnyTensor],
    either_sign: &[bool],
    outputs: &dyn Fn(&[AnyTensor]) -> Vec<AnyTensor>,
) -> Vec<Vec<AnyTensor>> {
    let signed = |chosen: &dyn Fn(usize) -> bool| {
        let inputs = inputs.iter().enumerate();
        let signed = inputs.map(|(index, input)| {
            if chosen(index) {
                with_signs(input, index)
            } else {
                input.clone()
            }
        });
        signed.collect::<Vec<_>>()
    };
    // A function may refuse what it is not defined for, by an error or a panic.
    let is_defined = |inputs: &Vec<AnyTensor>| {
        let computed = catch_unwind(AssertUnwindSafe(|| no_grad(|| outputs(inputs))));
        computed.is_ok_and(|outputs| are_finite(&outputs))
    };
    let free = || (0..inputs.len()).filter(|&index| either_sign[index] && inputs[index].len() > 0);
    if free().next().is_none() {
        return Vec::new();
    }
    let all = signed(&|index| either_sign[index]);
    if is_defined(&all) {
        return vec![all];
    }
    if free().count() == 1 {
        return Vec::new();
    }
    let alone = free().map(|one| signed(&|index| index == one));
    alone.filter(is_defined).collect()
}

/// The same numbers, the first and about half of the others negative.
fn with_signs(input: &AnyTensor, seed: usize) -> AnyTensor {
    let mut signed = input.copy();
    for entry in 0..input.len() {
        let place = entry as f64 * SQRT_2 + seed as f64 * 0.569_840_290_998_053;
        if entry == 0 || place.fract() < 0.5 {
            signed.set(entry, -input.value(entry));
        }
    }
    signed.leaf()
}

fn are_finite(tensors: &[AnyTensor]) -> bool {
    let mut elements = tensors.iter().flat_map(AnyTensor::values);
    elements.all(f64::is_finite)
}

/// Until the check ends, the catalogue is to say that it failed. The check with every input comes first: what
/// an earlier run has left says nothing about this one.
#[cfg(feature = "catalogue")]
fn begin(function: [&str; 2], is_first: bool) {
    if let Some(folder) = figures::wanted() {
        kept(function, figures::begin(&folder, function, is_first));
    }
}

#[cfg(feature = "catalogue")]
fn keep(function: [&str; 2], largest: &Largest) {
    if let Some(folder) = figures::wanted() {
        let mut errors = Errors::default();
        for (derivative, error) in largest.all() {
            errors.note(derivative, error);
        }
        kept(function, figures::keep(&folder, function, errors));
    }
}

#[cfg(feature = "catalogue")]
fn kept([_, name]: [&str; 2], result: std::io::Result<()>) {
    if let Err(error) = result {
        panic!("the errors of `{name}` cannot be kept: {error}");
    }
}

#[cfg(not(feature = "catalogue"))]
fn begin(_: [&str; 2], _: bool) {}

#[cfg(not(feature = "catalogue"))]
fn keep(_: [&str; 2], _: &Largest) {}

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
