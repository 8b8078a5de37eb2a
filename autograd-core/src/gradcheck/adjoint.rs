//! The check of a linear function and its adjoint: ⟨A x, y⟩ = ⟨x, Aᵀ y⟩, and linearity, to rounding.

use std::panic::Location;

use super::check::{Check, indices};
use super::generated::there_are_numbers;
use super::names::{self, Doing};
use super::{Gradcheck, run, thorough};
use crate::erased::{AnyTensor, ErasedFn, InputTensors, OutputTensors, erased};
use crate::error::Error;
use crate::error::panic::caught_with_passes;
use crate::recording::or_zeros;

/// The number of directions in which the two products are compared.
const DIRECTIONS: u32 = 3;

/// Checks that `function`, which a message calls `what`, is linear in its inputs, and that backward is its adjoint; then
/// the properties of backward functions that correct numbers do not show.
///
/// # Panics
/// If that is not so, with both numbers.
#[track_caller]
pub fn adjoint<I, O, F>(what: &str, options: Gradcheck, function: F, inputs: I)
where
    I: InputTensors,
    O: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O,
{
    let inputs = inputs.to_tensors();
    let function = erased::<I, O>(inputs.lengths(), function);
    let inputs = inputs.into_erased();
    there_are_numbers(what, &inputs);
    let called_at = Location::caller();
    match caught_with_passes(|| check(options, &function, &inputs, called_at)) {
        Ok(Ok(None)) => {}
        Ok(Ok(Some(mistake))) => panic!("gradcheck of {what}: {mistake}"),
        Ok(Err(error)) => panic!("gradcheck of {what}: {error}"),
        Err(panic) => panic.pass_on(&format_args!("gradcheck of {what}")),
    }
}

/// Returns what is wrong, if the adjoint is not one.
#[cfg_attr(not(feature = "ops"), inline)]
fn check(
    options: Gradcheck,
    function: &ErasedFn<'_>,
    inputs: &[AnyTensor],
    called_at: &'static Location<'static>,
) -> Result<Option<String>, Error> {
    run::prepared(options, function, inputs, &[], called_at, |check| {
        for seed in 0..DIRECTIONS {
            let mut mistake = {
                let _doing = Doing(check, "comparing forward of sums with sums of forward");
                linearity(check, options, seed)?
            };
            if mistake.is_none() {
                let _doing = Doing(check, "comparing the products of forward and adjoint");
                mistake = products(check, options, seed)?;
            }
            if mistake.is_some() {
                return Ok(mistake);
            }
        }
        thorough::check(check).map(|()| None)
    })
}

/// Returns directions for tensors, a different one for each.
#[inline]
fn directions(like: &[AnyTensor], seed: u32) -> Vec<AnyTensor> {
    let seeds = (100 * seed..).step_by(7);
    like.iter()
        .zip(seeds)
        .map(|(tensor, seed)| tensor.direction(seed))
        .collect()
}

/// Compares A(2 x - 3 x') with 2 A x - 3 A x'.
#[inline]
fn linearity(check: &Check<'_>, options: Gradcheck, seed: u32) -> Result<Option<String>, Error> {
    let [first, second] = [3 * seed, 3 * seed + 1].map(|seed| directions(&check.inputs, seed));
    let sums = first.iter().zip(&second);
    let sums: Vec<AnyTensor> = sums
        .map(|(first, second)| {
            let mut sum = first.copy();
            for entry in 0..sum.len() {
                sum.set(entry, 2.0 * first.value(entry) - 3.0 * second.value(entry));
            }
            sum
        })
        .collect();
    let [first, second, sums] = [first, second, sums].map(|inputs| (check.function)(&inputs));
    let (first, second, sums) = (first?, second?, sums?);
    for (output, sum) in sums.iter().enumerate() {
        let (first, second) = (first[output].values(), second[output].values());
        for (entry, found) in sum.values().into_iter().enumerate() {
            let (a, b) = (2.0 * first[entry], 3.0 * second[entry]);
            if agree(options, &check.inputs, found, a - b, a.abs() + b.abs()) {
                continue;
            }
            let place = indices(entry, sum.shape());
            let output = names::output(&check.recorded, output);
            let numbers = [first[entry], second[entry], found];
            if let Some(number) = numbers.into_iter().find(|number| !number.is_finite()) {
                return Ok(Some(format!(
                    "forward of finite numbers is not finite: entry {place:?} of {output} is {number}"
                )));
            }
            return Ok(Some(format!(
                "forward is not linear: entry {place:?} of {output} of 2 x - 3 x' is {found}, but 2 times that of x minus 3 \
                 times that of x' is {}",
                a - b
            )));
        }
    }
    Ok(None)
}

/// Compares ⟨A x, y⟩ with ⟨x, Aᵀ y⟩. Where they differ, and there are several inputs or outputs, those of each input and
/// output alone show which are meant.
#[inline]
fn products(check: &Check<'_>, options: Gradcheck, seed: u32) -> Result<Option<String>, Error> {
    let x = directions(&check.inputs, 3 * seed);
    let y = directions(&check.recorded.outputs, 3 * seed + 2);
    let Some(whole) = differing(check, options, &x, &y)? else {
        return Ok(None);
    };
    let alone = |tensors: &[AnyTensor], one: usize| -> Vec<AnyTensor> {
        let each = tensors.iter().enumerate();
        each.map(|(place, tensor)| {
            if place == one {
                tensor.clone()
            } else {
                tensor.zeros()
            }
        })
        .collect()
    };
    let mut of = String::new();
    let mut found = whole;
    if x.len() * y.len() > 1 {
        for (input, output) in (0..x.len()).flat_map(|input| (0..y.len()).map(move |y| (input, y)))
        {
            if let Some(pair) = differing(check, options, &alone(&x, input), &alone(&y, output))? {
                let names = &check.recorded;
                let (input, output) = (names::input(names, input), names::output(names, output));
                of = format!(" for {input} and {output}");
                found = pair;
                break;
            }
        }
    }
    let [forward, backward] = found;
    Ok(Some(format!(
        "the adjoint is not that of forward{of}: ⟨A x, y⟩ = {forward}, but ⟨x, Aᵀ y⟩ = {backward}"
    )))
}

/// Returns the two products, if they differ by more than rounding.
#[inline]
fn differing(
    check: &Check<'_>,
    options: Gradcheck,
    x: &[AnyTensor],
    y: &[AnyTensor],
) -> Result<Option<[f64; 2]>, Error> {
    let outputs = (check.function)(x)?;
    let seeds = check.recorded.outputs.iter().zip(y);
    let seeds = seeds.map(|(output, y)| output.edge().map(|_| y.clone()));
    let found = check.recorded.vjp(seeds.collect(), false)?;
    let adjoint = or_zeros(found, &check.inputs);
    let (forward, scale) = product(&outputs, y);
    let (backward, other_scale) = product(x, &adjoint);
    let scale = scale.max(other_scale);
    let agree = agree(options, &check.inputs, backward, forward, scale);
    Ok((!agree).then_some([forward, backward]))
}

/// Returns the inner product of two lists of tensors, and the sum of the magnitudes of its terms.
#[inline]
fn product(first: &[AnyTensor], second: &[AnyTensor]) -> (f64, f64) {
    let (mut sum, mut scale) = (0.0, 0.0);
    for (first, second) in first.iter().zip(second) {
        for (a, b) in first.values().into_iter().zip(second.values()) {
            sum += a * b;
            scale += (a * b).abs();
        }
    }
    (sum, scale)
}

/// Returns whether two numbers differ by rounding alone; `scale` is the sum of the magnitudes that they are computed
/// from. NaN agrees with no number.
#[inline]
fn agree(options: Gradcheck, inputs: &[AnyTensor], found: f64, expected: f64, scale: f64) -> bool {
    let is_single = |input: &AnyTensor| matches!(input, AnyTensor::F32(_));
    let rounding = if inputs.iter().any(is_single) {
        1e-4
    } else {
        1e-12
    };
    let rtol = options.rtol.unwrap_or(rounding);
    let difference = (found - expected).abs();
    difference <= rtol * scale + options.atol.unwrap_or(0.0)
}
