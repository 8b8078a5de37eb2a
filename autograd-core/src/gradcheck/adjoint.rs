//! The check of a linear function and its adjoint: ⟨A x, y⟩ = ⟨x, Aᵀ y⟩, and linearity, to rounding.

use std::panic::Location;

use super::check::Check;
use super::names::Doing;
use super::{Gradcheck, run, thorough};
use crate::erased::{AnyTensor, ErasedFn, InputTensors, OutputTensors, erased};
use crate::error::Error;
use crate::error::panic::caught;
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
    let called_at = Location::caller();
    match caught(|| check(options, &function, &inputs, called_at)) {
        Ok(Ok(None)) => {}
        Ok(Ok(Some(mistake))) => panic!("gradcheck of {what}: {mistake}"),
        Ok(Err(error)) => panic!("gradcheck of {what}: {error}"),
        Err(panic) => panic.pass_on(&format_args!("gradcheck of {what}")),
    }
}

/// Returns what is wrong, if the adjoint is not one.
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
fn directions(like: &[AnyTensor], seed: u32) -> Vec<AnyTensor> {
    let seeds = (100 * seed..).step_by(7);
    like.iter()
        .zip(seeds)
        .map(|(tensor, seed)| tensor.direction(seed))
        .collect()
}

/// Compares A(2 x - 3 x') with 2 A x - 3 A x'.
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
            if !agree(options, &check.inputs, found, a - b, a.abs() + b.abs()) {
                let place = super::check::indices(entry, sum.shape());
                return Ok(Some(format!(
                    "forward is not linear: entry {place:?} of output {output} of 2 x - 3 x' is {found}, but 2 times that \
                     of x minus 3 times that of x' is {}",
                    a - b
                )));
            }
        }
    }
    Ok(None)
}

/// Compares ⟨A x, y⟩ with ⟨x, Aᵀ y⟩.
fn products(check: &Check<'_>, options: Gradcheck, seed: u32) -> Result<Option<String>, Error> {
    let x = directions(&check.inputs, 3 * seed);
    let outputs = (check.function)(&x)?;
    let y = directions(&outputs, 3 * seed + 2);
    let seeds = check.recorded.outputs.iter().zip(&y);
    let seeds = seeds.map(|(output, y)| output.edge().map(|_| y.clone()));
    let found = check.recorded.vjp(seeds.collect(), false)?;
    let adjoint = or_zeros(found, &check.inputs);
    let (forward, scale) = product(&outputs, &y);
    let (backward, other_scale) = product(&x, &adjoint);
    let agree = agree(
        options,
        &check.inputs,
        backward,
        forward,
        scale.max(other_scale),
    );
    Ok((!agree).then(|| {
        format!(
            "the adjoint is not that of forward: ⟨A x, y⟩ = {forward}, but ⟨x, Aᵀ y⟩ = {backward}"
        )
    }))
}

/// Returns the inner product of two lists of tensors, and the sum of the magnitudes of its terms.
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
