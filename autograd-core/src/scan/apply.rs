//! One use of a scan.

use std::marker::PhantomData;
use std::panic::Location;

use autograd_kernels::{Checkpoints, Element, Recurrence, ScanLoops};
use ndarray::{ArrayD, ArrayViewD, Axis};

use super::along::along;
use super::extent::Extent;
use super::function::{NamedScan, ScanFunction};
use super::partials::gradients;
use crate::compiled::compiled_once;
use crate::elementwise::{Derivable, each, follow};
use crate::engine::is_watching;
use crate::error::panic::{Panic, caught};
use crate::error::{Error, ErrorKind};
use crate::function::{Function, forward_panicked};
use crate::tensor::{Tensor, TensorD};
use crate::thread::{is_grad_enabled, unrecorded};

/// The scan `F`, as generated code applies it.
#[derive(Debug)]
pub struct Scan<F>(PhantomData<F>);

impl<F: Function> Scan<F> {
    /// Applies the function to tensors: states, steps and shared ones, of these names. The inputs at `places` have
    /// gradients, in the order of the function's parameters.
    ///
    /// # Panics
    /// If the inputs do not broadcast, an input has no axis of steps, or its rows have another length or no numbers.
    #[track_caller]
    pub fn apply<T, L, const I: usize, const O: usize, const E: usize>(
        loops: L,
        is_reversed: bool,
        inputs: [&TensorD<T>; I],
        names: &'static [&'static str; I],
        places: &'static [usize; E],
    ) -> [TensorD<T>; O]
    where
        T: Element,
        L: ScanLoops<T> + 'static,
    {
        let has_tangent = inputs.iter().any(|input| input.raw.depth() > 0);
        let needs_grad = is_grad_enabled() && inputs.iter().any(|input| input.requires_grad());
        let mut scan = NamedScan {
            name: F::NAME,
            names,
            applied_at: Location::caller(),
            is_reversed,
            checkpoints: None,
            loops,
        };
        let guard = unrecorded();
        let views = inputs.map(Tensor::view);
        let extent = Extent::of_inputs(&scan, &views);
        let compute = compiled_once!(T, results: fn(
            Recurrence<'_, T>,
            &[&TensorD<T>],
            bool,
        ) -> Result<Results<T>, Panic>);
        let recurrence = extent.run(&scan.loops, is_reversed);
        let (outputs, checkpoints) = match compute(recurrence, &inputs, needs_grad) {
            Ok(computed) => computed,
            Err(panic) => {
                let tensors = F::SIGNATURE.inputs.iter().filter(|input| input.tensor);
                let shapes = tensors.map(|input| {
                    let place = names.iter().position(|name| *name == input.name);
                    place
                        .map(|place| inputs[place].to_shape())
                        .into_iter()
                        .collect()
                });
                forward_panicked(panic, &F::SIGNATURE, &shapes.collect::<Vec<_>>())
            }
        };
        drop(guard);
        let outputs = each(outputs);
        if !has_tangent && !needs_grad {
            return outputs;
        }
        scan.checkpoints = checkpoints;
        follow::<F, _, _, I, O, E>(ScanFunction::new(scan), places, outputs, inputs)
    }
}

/// Returns the results of a scan of arrays: states, steps and shared ones, of these names.
///
/// # Panics
/// If the inputs do not broadcast, an input has no axis of steps, or its rows have another length or no numbers.
#[track_caller]
pub fn scan_values<T: Element, const I: usize, const O: usize>(
    name: &'static str,
    loops: impl ScanLoops<T> + 'static,
    is_reversed: bool,
    inputs: [ArrayViewD<'_, T>; I],
    names: &'static [&'static str; I],
) -> [ArrayD<T>; O] {
    let scan = NamedScan {
        name,
        names,
        applied_at: Location::caller(),
        is_reversed,
        checkpoints: None,
        loops,
    };
    let extent = Extent::of_inputs(&scan, &inputs);
    let compute = compiled_once!(T, arrays: fn(
        Recurrence<'_, T>,
        &[ArrayViewD<'_, T>],
    ) -> Vec<ArrayD<T>>);
    each(compute(extent.run(&scan.loops, is_reversed), &inputs))
}

/// Tensors, and the states that a backward pass needs.
type Results<T> = (Vec<TensorD<T>>, Option<Checkpoints<T>>);

/// Returns the results, with what is saved for a backward pass if it `saves`, or the panic of the formula.
fn results<T: Element>(
    recurrence: Recurrence<'_, T>,
    inputs: &[&TensorD<T>],
    saves: bool,
) -> Result<Results<T>, Panic> {
    let views: Vec<_> = inputs.iter().map(|input| input.view()).collect();
    let (results, checkpoints) = caught(|| values(recurrence, &views, saves))?;
    let results = results.into_iter().map(Tensor::from).collect();
    Ok((results, checkpoints))
}

fn arrays<T: Element>(
    recurrence: Recurrence<'_, T>,
    inputs: &[ArrayViewD<'_, T>],
) -> Vec<ArrayD<T>> {
    values(recurrence, inputs, false).0
}

fn values<T: Element>(
    recurrence: Recurrence<'_, T>,
    inputs: &[ArrayViewD<'_, T>],
    saves: bool,
) -> (Vec<ArrayD<T>>, Option<Checkpoints<T>>) {
    let inputs: Vec<_> = inputs.iter().map(|input| Some(input.view())).collect();
    let wanted = vec![true; recurrence.loops.results().len()];
    let (results, checkpoints) = recurrence.forward(1, &inputs, &wanted, saves);
    (results.into_iter().flatten().collect(), checkpoints)
}

impl<T: Element> Derivable<T> for ScanFunction<T> {
    fn grad_inputs(
        &self,
        inputs: &[&TensorD<T>],
        of_outputs: &[Option<&TensorD<T>>],
        needs: &[bool],
    ) -> Vec<Option<TensorD<T>>> {
        let compute = compiled_once!(T, gradients: fn(
            &ScanFunction<T>,
            &[&TensorD<T>],
            &[Option<&TensorD<T>>],
            &[bool],
        ) -> Vec<Option<TensorD<T>>>);
        compute(self, inputs, of_outputs, needs)
    }

    fn check(
        &self,
        inputs: &[&TensorD<T>],
        of_outputs: &[Option<&TensorD<T>>],
        gradients: &[Option<TensorD<T>>],
    ) -> Result<(), Error> {
        let check = compiled_once!(T, check: fn(
            &ScanFunction<T>,
            &[&TensorD<T>],
            &[Option<&TensorD<T>>],
            &[Option<TensorD<T>>],
        ) -> Result<(), Error>);
        check(self, inputs, of_outputs, gradients)
    }

    fn grad_along(
        &self,
        inputs: &[&TensorD<T>],
        tangents: &[Option<&TensorD<T>>],
        _outputs: usize,
    ) -> Vec<TensorD<T>> {
        let compute = compiled_once!(T, along: fn(
            &ScanFunction<T>,
            &[&TensorD<T>],
            &[Option<&TensorD<T>>],
        ) -> Vec<TensorD<T>>);
        compute(self, inputs, tangents)
    }
}

// A gradient that is not a number makes those of all earlier steps such.
fn check<T: Element>(
    function: &ScanFunction<T>,
    inputs: &[&TensorD<T>],
    of_outputs: &[Option<&TensorD<T>>],
    gradients: &[Option<TensorD<T>>],
) -> Result<(), Error> {
    let is_nan = |gradient: &TensorD<T>| gradient.view().iter().any(|x| x.is_nan());
    if !is_watching() || !gradients.iter().flatten().any(is_nan) {
        return Ok(());
    }
    let all = inputs.iter().map(|input| Some(*input));
    let all = all.chain(of_outputs.iter().copied());
    let views: Vec<_> = all.map(|tensor| tensor.map(TensorD::view)).collect();
    let shapes = inputs.iter().map(|input| input.shape()).enumerate();
    let extent = Extent::of(function, shapes);
    let wanted: Vec<bool> = (0..function.width())
        .map(|place| place < function.inputs() && function.item(place).1)
        .collect();
    let checkpoints = function.checkpoints.as_ref();
    let of_steps = extent
        .run_of(function)
        .backward(1, &views, &wanted, checkpoints);
    let is_nan = |step: &usize| {
        let mut of_step = of_steps.iter().flatten();
        of_step.any(|all| all.index_axis(Axis(0), *step).iter().any(|x| x.is_nan()))
    };
    let mut steps = 0..extent.steps;
    let first = if function.is_reversed {
        steps.find(is_nan)
    } else {
        steps.rfind(is_nan)
    };
    match first {
        None => Ok(()),
        Some(step) => {
            let error = ErrorKind::NotANumberAtStep { step };
            Err(error.of(function.name, function.applied_at))
        }
    }
}
