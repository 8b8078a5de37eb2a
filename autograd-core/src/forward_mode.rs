//! Forward mode: derivatives along one direction, computed beside the values.

use std::panic::Location;
use std::sync::Arc;

use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::error::Error;
use crate::tensor::new_level;

/// The outputs of `function` at `primals`, and their derivatives in the direction of `tangents`: the
/// product of the Jacobian with a vector, in one run and without a graph.
///
/// Every function on the way needs a `#[jvp]` rule; the built-in functions have one. Runs nest, and
/// what is computed can be differentiated by a backward pass where the rules are written on tensors.
///
/// # Errors
/// If a function has no rule, gives a tangent of the wrong shape, or one that is differentiated again
/// though its rule is written on arrays; if a tangent has not the shape of its primal; if the function
/// runs a backward pass whose result depends on the primals.
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
    let (primals, tangents) = (primals.to_erased(), tangents.to_erased());
    let function = |duals: &[AnyTensor]| Ok(I::with(duals, function).into_erased());
    let (values, derivatives) = along(function, primals, tangents)?;
    Ok((O::from_erased(&values), O::from_erased(&derivatives)))
}

/// [`jvp`] of a function of tensors whose types are forgotten.
#[track_caller]
pub(crate) fn along(
    function: impl FnOnce(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error>,
    primals: Vec<AnyTensor>,
    tangents: Vec<AnyTensor>,
) -> Result<(Vec<AnyTensor>, Vec<AnyTensor>), Error> {
    let level = new_level();
    let mut duals = Vec::with_capacity(primals.len());
    for (position, (primal, tangent)) in primals.into_iter().zip(tangents).enumerate() {
        if primal.shape() != tangent.shape() {
            return Err(Error::TangentShape {
                function: "jvp",
                of: format!("input {position}"),
                expected: primal.shape().into(),
                found: tangent.shape().into(),
                applied_at: Location::caller(),
            });
        }
        duals.push(primal.with_tangent(level, tangent));
    }
    let outputs = function(&duals)?;
    let mut values = Vec::with_capacity(outputs.len());
    let mut derivatives = Vec::with_capacity(outputs.len());
    for output in outputs {
        let (value, tangent) = output.split(level);
        let zeros = value.zeros();
        values.push(value);
        derivatives.push(tangent.map_err(Arc::unwrap_or_clone)?.unwrap_or(zeros));
    }
    Ok((values, derivatives))
}
