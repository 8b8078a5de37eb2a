//! Checks of a `#[vmap]` rule, for generated tests: a batch by the rule is compared with the function of each example.

use std::panic::Location;

use ndarray::{Axis, Dimension, RemoveAxis};

use super::check::{gradients, indices};
use super::samples::arbitrary_gradients;
use crate::erased::{AnyTensor, ErasedFn, InputTensors, OutputTensors, erased};
use crate::error::Error;
use crate::functional::{self, stacked};
use crate::recording::Recording;
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// The number of examples that a rule is checked with.
pub const EXAMPLES: usize = 3;

/// Returns a batch of the inputs that `gradcheck(…)` gives, as a leaf.
///
/// # Panics
/// If the inputs differ in their shapes.
#[must_use]
#[track_caller]
pub fn batch<T: Element, D: Dimension>(examples: [Tensor<T, D>; EXAMPLES]) -> Tensor<T, D::Larger> {
    let batch = Tensor::stack(Axis(0), &examples.each_ref());
    batch.detach().set_requires_grad(true)
}

/// Returns an example of a batch.
#[must_use]
pub fn example<T: Element, D: RemoveAxis>(
    batch: &Tensor<T, D>,
    place: usize,
) -> Tensor<T, D::Smaller> {
    functional::example(&AnyTensor::from(batch.clone()), Axis(0), place).into_typed()
}

/// Checks that the `rule` for a batch of a function, which a message calls `what`, has the outputs, and the derivatives
/// to this order, of `function` on each example, at the `inputs`. The inputs that are moved have these `names`.
///
/// # Panics
/// If an output or a derivative differs, with the first that does.
#[track_caller]
pub fn vmap<I, O, E, F, G>(what: &str, names: &[&str], order: u32, rule: F, function: G, inputs: I)
where
    I: InputTensors,
    O: OutputTensors,
    E: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O,
    G: for<'a> Fn(I::Refs<'a>, usize) -> E,
{
    let inputs = inputs.to_tensors();
    let lengths = inputs.lengths();
    let rule = erased::<I, O>(lengths, rule);
    let looped = |tensors: &[AnyTensor]| {
        let outputs = |example| {
            let outputs = I::with(lengths, tensors, |refs| function(refs, example));
            outputs.into_erased().into_iter()
        };
        let mut examples: [_; EXAMPLES] = std::array::from_fn(outputs);
        let parts = || examples.iter_mut().map(Iterator::next).collect();
        Ok(std::iter::from_fn(parts).map(stacked).collect())
    };
    let pair = Pair {
        rule: &rule,
        looped: &looped,
        called_at: Location::caller(),
    };
    let of_gradients = |tensor: usize| match names.get(tensor) {
        Some(input) => format!("the gradient of `{input}`"),
        None => "the derivative of the gradient".to_owned(),
    };
    let compared = pair.compare(
        &inputs.into_erased(),
        order,
        &|_| "the output".to_owned(),
        &of_gradients,
    );
    if let Err(why) = compared {
        panic!("gradcheck of {what}: a batch by `#[vmap]` is not that of its examples: {why}");
    }
}

/// A result that is computed in two ways.
struct Pair<'a> {
    rule: &'a ErasedFn<'a>,
    looped: &'a ErasedFn<'a>,
    called_at: &'static Location<'static>,
}

impl Pair<'_> {
    /// Compares the results of both ways, which messages call `what`, and derivatives, called `of_gradients`.
    #[cfg_attr(not(feature = "ops"), inline)]
    fn compare(
        &self,
        inputs: &[AnyTensor],
        order: u32,
        what: &dyn Fn(usize) -> String,
        of_gradients: &dyn Fn(usize) -> String,
    ) -> Result<(), String> {
        let run = |function: &ErasedFn<'_>| {
            let recorded = Recording::of(function, inputs, false, self.called_at);
            recorded.map(|recorded| recorded.outputs)
        };
        let said = |error: Error| error.to_string();
        let (found, expected) = (
            run(self.rule).map_err(said)?,
            run(self.looped).map_err(said)?,
        );
        for (tensor, (found, expected)) in found.iter().zip(&expected).enumerate() {
            agree(found, expected).map_err(|how| format!("{} {how}", what(tensor)))?;
        }
        if order == 0 {
            return Ok(());
        }
        let seeds = arbitrary_gradients(&expected, inputs.len());
        let seeds = seeds.into_iter().flatten();
        let with_seeds: Vec<AnyTensor> = inputs.iter().cloned().chain(seeds).collect();
        let gradients = |function| gradients(function, inputs.len(), self.called_at);
        let of_gradients_again =
            |tensor: usize| format!("the derivative of {}", of_gradients(tensor));
        let pair = Pair {
            rule: &gradients(self.rule),
            looped: &gradients(self.looped),
            called_at: self.called_at,
        };
        pair.compare(&with_seeds, order - 1, of_gradients, &of_gradients_again)
    }
}

/// Checks that two tensors differ by no more than the rounding of sums in different orders.
#[inline]
fn agree(found: &AnyTensor, expected: &AnyTensor) -> Result<(), String> {
    let (shape, looped) = (found.shape(), expected.shape());
    if shape != looped {
        return Err(format!("has the shape {shape:?} in place of {looped:?}"));
    }
    let epsilon = match expected {
        AnyTensor::F32(_) => f64::from(f32::EPSILON),
        AnyTensor::F64(_) => f64::EPSILON,
    };
    let pairs = found.values().into_iter().zip(expected.values());
    for (entry, (found, expected)) in pairs.enumerate() {
        let is_near = (found - expected).abs() <= epsilon.sqrt() * (1.0 + expected.abs());
        if !is_near {
            let place = indices(entry, shape);
            return Err(format!("at {place:?} is {found} in place of {expected}"));
        }
    }
    Ok(())
}
