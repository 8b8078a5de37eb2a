//! Runs a whole check, one derivative after the other.

use std::panic::Location;

use super::check::{Check, Mode};
use super::names::{self, Doing};
use super::{Gradcheck, RUNNING, UNSOLVED, thorough};
use crate::erased::{AnyTensor, ErasedFn};
use crate::error::Error;
use crate::recording::Recording;
use crate::thread::Scoped;

/// Checks the derivatives of `function` at `inputs`, of these orders by backward passes and by forward mode. Inputs
/// that require grad are checked, or all if none does; differences are not compared for those that are `estimated`,
/// which may be left out at the end.
#[cfg_attr(not(feature = "ops"), inline)]
pub(super) fn check(
    options: Gradcheck,
    function: &ErasedFn<'_>,
    inputs: &[AnyTensor],
    estimated: &[bool],
    orders: [u32; 2],
    called_at: &'static Location<'static>,
) -> Result<(), Error> {
    prepared(options, function, inputs, estimated, called_at, |check| {
        run(check, orders, options.thorough)
    })
}

/// Records `function` at `inputs`, and checks it by `checked_by`, whose errors get the names of the function and its inputs.
pub(super) fn prepared<R>(
    options: Gradcheck,
    function: &ErasedFn<'_>,
    inputs: &[AnyTensor],
    estimated: &[bool],
    called_at: &'static Location<'static>,
    checked_by: impl FnOnce(&Check<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let _running = Scoped::set(&RUNNING, true);
    let _unsolved = Scoped::set(&UNSOLVED, None);
    let is_marked = |input: &AnyTensor| input.edge().is_some();
    let any = inputs.iter().any(is_marked);
    let positions: Vec<usize> = (0..inputs.len())
        .filter(|&position| !any || is_marked(&inputs[position]))
        .collect();
    let checked: Vec<AnyTensor> = positions.iter().map(|&at| inputs[at].clone()).collect();
    let of_checked = |tensors: &[AnyTensor]| {
        let mut all = inputs.to_vec();
        for (&position, tensor) in positions.iter().zip(tensors) {
            all[position] = tensor.clone();
        }
        function(&all)
    };
    let check = Check {
        recorded: Recording::of(of_checked, &checked, false, called_at)?,
        function: Box::new(of_checked),
        inputs: checked,
        estimated: positions
            .iter()
            .map(|&position| estimated.get(position) == Some(&true))
            .collect(),
        positions: positions.clone(),
        count: inputs.len(),
        tolerances: options.tolerances(inputs),
        fast: options.fast,
        derived: None,
    };
    checked_by(&check).map_err(|error| names::named(error, &check))
}

/// Checks the derivatives of these orders, each as a function. The first by backward passes is always checked.
#[inline]
fn run(check: &Check<'_>, [backward, forward]: [u32; 2], thorough: bool) -> Result<(), Error> {
    let doing = |what| Doing(check, what);
    {
        let _doing = doing("comparing gradients with differences");
        check.compare(Mode::Backward)?;
        if thorough {
            thorough::check(check)?;
        }
    }
    if backward > 1 {
        let _doing = doing("differentiating the gradient again");
        // Nodes save no tangents: there is no forward mode over a backward pass.
        run(&check.of_gradients()?, [backward - 1, 0], false)?;
    }
    if forward > 0 {
        let _doing = doing("comparing tangents with differences");
        check.compare(Mode::Forward)?;
    }
    if forward > 1 {
        let _doing = doing("differentiating the tangent again");
        run(&check.of_tangents()?, [forward - 1, forward - 1], false)?;
    }
    Ok(())
}
