//! Forward mode: derivatives along one direction, computed with the values.

use std::cell::Cell;
use std::panic::Location;

use crate::erased::AnyTensor;
use crate::error::{Error, ErrorKind};
use crate::tape::{Failure, new_depth};
use crate::thread::Scoped;

thread_local! {
    static RUNS: Cell<usize> = const { Cell::new(0) };
}

/// Returns whether this thread is in a run of forward mode: then tensors may have tangents, captured ones too.
pub(crate) fn is_running() -> bool {
    RUNS.get() > 0
}

/// An output of a function, and its tangent if it depends on a primal that has one.
pub(crate) type Along = (AnyTensor, Result<Option<AnyTensor>, Failure>);

/// Returns the outputs of `function` at `primals`, with their tangents. Some primals have a tangent, of their shape.
pub(crate) fn outputs_along<E>(
    function: impl FnOnce(&[AnyTensor]) -> Result<Vec<AnyTensor>, E>,
    primals: Vec<AnyTensor>,
    tangents: Vec<Option<AnyTensor>>,
) -> Result<Vec<Along>, E> {
    let depth = new_depth();
    let duals = duals(primals, tangents, depth);
    let run = Scoped::set(&RUNS, RUNS.get() + 1);
    let outputs = function(&duals)?;
    drop(run);
    Ok(split(outputs, depth))
}

fn duals(primals: Vec<AnyTensor>, tangents: Vec<Option<AnyTensor>>, depth: u64) -> Vec<AnyTensor> {
    let pairs = primals.into_iter().zip(tangents);
    let dual = |(primal, tangent): (AnyTensor, Option<AnyTensor>)| match tangent {
        None => primal,
        Some(tangent) => primal.with_tangent(depth, tangent),
    };
    pairs.map(dual).collect()
}

fn split(outputs: Vec<AnyTensor>, depth: u64) -> Vec<Along> {
    let outputs = outputs.into_iter();
    outputs.map(|output| output.split(depth)).collect()
}

/// Returns the failures of all outputs as one, if there are any.
pub(crate) fn failure(along: &[Along]) -> Option<Failure> {
    let failures = along
        .iter()
        .filter_map(|(_, tangent)| tangent.as_ref().err());
    failures.cloned().reduce(|one, other| one.and(Some(other)))
}

/// Returns an output and its tangent, zeros if it depends on no primal with a tangent; or the error of forward mode.
pub(crate) fn known((value, tangent): Along) -> Result<(AnyTensor, AnyTensor), Error> {
    let tangent = tangent.map_err(|failure| failure.error)?;
    let tangent = tangent.unwrap_or_else(|| value.zeros());
    Ok((value, tangent))
}

/// Checks that tangents have the shapes of the inputs.
///
/// # Panics
/// If the numbers of tangents and inputs differ, which lists allow.
#[track_caller]
pub(crate) fn check_tangents(
    function: &'static str,
    primals: &[AnyTensor],
    tangents: &[AnyTensor],
) -> Result<(), Error> {
    let applied_at = Location::caller();
    let (expected, found) = (primals.len(), tangents.len());
    assert!(
        expected == found,
        "`{function}` needs a tangent for each input (inputs: {expected}, tangents: {found})"
    );
    let mut pairs = primals.iter().zip(tangents).enumerate();
    let unequal = pairs.find(|(_, (primal, tangent))| primal.shape() != tangent.shape());
    unequal.map_or(Ok(()), |(position, (primal, tangent))| {
        Err(ErrorKind::TangentShape {
            of: format!("input {position}"),
            expected: primal.shape().into(),
            found: tangent.shape().into(),
        }
        .of(function, applied_at))
    })
}
