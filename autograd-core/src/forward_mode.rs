//! Forward mode: derivatives along one direction, computed beside the values.

use std::panic::Location;
use std::sync::Arc;

use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::error::Error;
use crate::tensor::{Failure, new_level};

/// The outputs of `function` at `primals`, and their derivatives in the direction of `tangents`: the
/// product of the Jacobian with a vector, in one run and without a graph.
///
/// Every function on the way needs a `#[jvp]` rule; the built-in functions have one. Runs nest, and
/// what is computed can be differentiated by a backward pass where the rules are written on tensors.
///
/// # Errors
/// If a function has no rule, gives a tangent of the wrong shape, or one that is differentiated again
/// though its rule is written on arrays; if a tangent does not have the shape of its primal; if the function
/// runs a backward pass whose result depends on the primals.
///
/// # Panics
/// If a list of tangents is not as long as that of its primals.
///
/// ```
/// use autograd_core::{Tensor, jvp};
/// use autograd_core::ndarray::array;
///
/// let (x, direction) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![1.0, 0.5]));
/// let (y, along) = jvp(|x| x * x, &x, &direction)?;
/// assert_eq!(y.to_array(), array![1.0, 4.0]);
/// assert_eq!(along.to_array(), array![2.0, 2.0]);
/// // Several inputs, and several outputs, are tuples.
/// let constant = Tensor::from(array![0.0, 0.0]);
/// let (_, (along, _)) = jvp(|(x, w)| (x * w, w.exp()), (&x, &x), (&direction, &constant))?;
/// assert_eq!(along.to_array(), array![1.0, 1.0]);
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[track_caller]
pub fn jvp<I, O, F>(function: F, primals: I, tangents: I) -> Result<(O, O), Error>
where
    I: InputTensors,
    O: OutputTensors,
    F: for<'a> FnOnce(I::Refs<'a>) -> O,
{
    let primals = primals.to_tensors();
    let lengths = primals.lengths();
    let tangents = tangents.to_tensors().into_erased();
    let mut of_outputs = None;
    let erased = |duals: &[AnyTensor]| {
        let outputs = I::with(lengths, duals, function);
        of_outputs = Some(outputs.lengths());
        Ok(outputs.into_erased())
    };
    let (values, derivatives) = along(erased, primals.into_erased(), tangents)?;
    // INVARIANT: the function has returned what is read here.
    let lengths = of_outputs.expect("the lengths of the outputs");
    Ok((
        O::from_erased(lengths, values),
        O::from_erased(lengths, derivatives),
    ))
}

/// [`jvp`] of a function of tensors whose types are forgotten.
#[track_caller]
pub(crate) fn along(
    function: impl FnOnce(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error>,
    primals: Vec<AnyTensor>,
    tangents: Vec<AnyTensor>,
) -> Result<(Vec<AnyTensor>, Vec<AnyTensor>), Error> {
    check_tangents("jvp", &primals, &tangents, Location::caller())?;
    let outputs = outputs_along(function, primals, tangents.into_iter().map(Some))?;
    let mut values = Vec::with_capacity(outputs.len());
    let mut derivatives = Vec::with_capacity(outputs.len());
    for (value, tangent) in outputs {
        let zeros = value.zeros();
        values.push(value);
        let tangent = tangent.map_err(|failure| Arc::unwrap_or_clone(failure.error))?;
        derivatives.push(tangent.unwrap_or(zeros));
    }
    Ok((values, derivatives))
}

/// Refuses directions that do not have the shapes of the inputs.
///
/// # Panics
/// If there are more or fewer of them than inputs, which lists allow.
#[track_caller]
pub(crate) fn check_tangents(
    function: &'static str,
    primals: &[AnyTensor],
    tangents: &[AnyTensor],
    called_at: &'static Location<'static>,
) -> Result<(), Error> {
    let (expected, found) = (primals.len(), tangents.len());
    assert_eq!(
        expected, found,
        "`{function}` of {expected} inputs has {found} tangents"
    );
    let mut pairs = primals.iter().zip(tangents).enumerate();
    let unequal = pairs.find(|(_, (primal, tangent))| primal.shape() != tangent.shape());
    unequal.map_or(Ok(()), |(position, (primal, tangent))| {
        Err(Error::TangentShape {
            function,
            of: format!("input {position}"),
            expected: primal.shape().into(),
            found: tangent.shape().into(),
            applied_at: called_at,
        })
    })
}

/// An output of a function, and its tangent if it depends on a primal that has one.
pub(crate) type Along = (AnyTensor, Result<Option<AnyTensor>, Failure>);

/// The outputs of `function` at `primals` of which some have a tangent, of their shape.
pub(crate) fn outputs_along(
    function: impl FnOnce(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error>,
    primals: Vec<AnyTensor>,
    tangents: impl Iterator<Item = Option<AnyTensor>>,
) -> Result<Vec<Along>, Error> {
    let level = new_level();
    let duals: Vec<AnyTensor> = primals
        .into_iter()
        .zip(tangents)
        .map(|(primal, tangent)| match tangent {
            None => primal,
            Some(tangent) => primal.with_tangent(level, tangent),
        })
        .collect();
    let outputs = function(&duals)?.into_iter();
    Ok(outputs.map(|output| output.split(level)).collect())
}
