//! What the tests call that `#[custom_function(gradcheck(…))]` generates.

use std::f64::consts::SQRT_2;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use ndarray::{Array, Dimension};

use super::samples::arbitrary;
use super::{Gradcheck, run};
use crate::erased::{AnyTensor, ErasedFn, InputTensors, OutputTensors, erased};
use crate::tensor::Tensor;
use crate::thread::no_grad;
use autograd_kernels::Element;

/// An input for a function to be checked at: a leaf, of numbers that differ from one `seed` to another.
/// They are between a half and three halves, or `within` two ends.
///
/// # Panics
/// If `D` has another rank than the shape; if no number is within the ends.
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
            "gradcheck of an input in {low}..{high}, which has no numbers"
        );
        // Not at the ends, beyond which differences look.
        let place = |number: T| low + (high - low) * (0.02 + 0.96 * (number.as_f64() - 0.5));
        numbers.mapv_inplace(|number| T::from_f64(place(number)));
    }
    Tensor::from(numbers).set_requires_grad(true)
}

/// An input for a function to be checked at, as the author has made it: a leaf.
#[must_use]
pub fn made<T: Element, D: Dimension>(array: impl Made<T, D>) -> Tensor<T, D> {
    array.into_made().set_requires_grad(true)
}

/// What `gradcheck(x = …)` may give for a tensor in place of a shape.
#[diagnostic::on_unimplemented(
    message = "`gradcheck` cannot check a tensor of `{T}` at `{Self}`",
    label = "not an array of the input's element type and rank",
    note = "give a shape, `[3, 4]`, or an expression for an array or a tensor; elements that are generic become `f64`"
)]
pub trait Made<T, D> {
    /// The tensor.
    fn into_made(self) -> Tensor<T, D>;
}

impl<T: Element, D: Dimension> Made<T, D> for Array<T, D> {
    fn into_made(self) -> Tensor<T, D> {
        Tensor::from(self)
    }
}

impl<T: Element, D: Dimension> Made<T, D> for Tensor<T, D> {
    fn into_made(self) -> Tensor<T, D> {
        self.detach()
    }
}

/// Checks `function`, a use of the function `name`, with every input or `without` one, which can be
/// differentiated so often by backward passes and by forward mode.
///
/// A gradient that is right for positive numbers alone is wrong. So the function is checked again with
/// inputs of both signs, of those that are `either_sign`, wherever it can be computed there. The `options` have its
/// tolerances.
///
/// # Panics
/// If anything is wrong, with what.
#[track_caller]
pub fn gradcheck<I, O, F>(
    name: &str,
    without: Option<&str>,
    orders: [u32; 2],
    options: Gradcheck,
    either_sign: &[bool],
    function: F,
    inputs: I,
) where
    I: InputTensors,
    O: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O,
{
    let without = without.map_or_else(String::new, |input| format!(" without `{input}`"));
    let inputs = inputs.to_tensors();
    let function = erased::<I, O>(inputs.lengths(), function);
    let inputs = inputs.into_erased();
    let called_at = Location::caller();
    if !is_finite(&function, &inputs) {
        let drawn = if either_sign.contains(&true) {
            "between 0.5 and 1.5"
        } else {
            "in the ranges given"
        };
        panic!(
            "gradcheck of `{name}`{without}: for inputs {drawn} an output is not finite; say where the function is \
             defined, as in `gradcheck(x = [3] in -1.0..1.0)`"
        );
    }
    let check = |inputs: &[AnyTensor], at: &str| {
        let checked = run::check(options.thorough(), &function, inputs, orders, called_at);
        if let Err(error) = checked {
            panic!("gradcheck of `{name}`{without}{at}: {error}");
        }
    };
    check(&inputs, "");
    for signed in of_either_sign(&inputs, either_sign, &function) {
        check(&signed, ", for inputs of both signs");
    }
}

/// The inputs with other signs: all at once, or each alone where the function cannot be computed for all.
/// There is none of a function that takes positive numbers alone.
fn of_either_sign(
    inputs: &[AnyTensor],
    either_sign: &[bool],
    function: &ErasedFn<'_>,
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
        catch_unwind(AssertUnwindSafe(|| is_finite(function, inputs))).unwrap_or(false)
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

fn is_finite(function: &ErasedFn<'_>, inputs: &[AnyTensor]) -> bool {
    no_grad(|| function(inputs)).is_ok_and(|outputs| {
        let mut elements = outputs.iter().flat_map(AnyTensor::values);
        elements.all(f64::is_finite)
    })
}

/// Returns a tensor that a function may write to: the same value as a result, for a leaf is not written to.
#[must_use]
pub fn lent<T: Element, D: Dimension>(leaf: &Tensor<T, D>) -> Tensor<T, D> {
    leaf * T::one()
}

/// Returns what a function returned that can fail.
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

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn what_is_lent_is_a_result_with_the_value_of_the_leaf() {
        let leaf = Tensor::from(array![0.5, -2.0]).set_requires_grad(true);
        let lent = lent(&leaf);
        assert_eq!(lent.to_array(), leaf.to_array());
        assert!(lent.requires_grad() && !lent.is_leaf());
    }
}
