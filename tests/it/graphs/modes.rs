//! The same program with some of its steps in other modes: checkpoints, maps, packed saved tensors, hooks, other
//! threads, forward mode; nested in each other, and under different kinds of passes. Its values and its derivatives to
//! second order are those without, or both ways are the same error.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
use pullback::foreign::panic_text;
use pullback::functional::{Functional, vmap};
use pullback::kernels::set_threads;
use pullback::ndarray::{ArrayD, Axis, SliceInfoElem, arr0, array};
use pullback::prelude::*;
use pullback::{AnyTensor, Error, checkpoint_steps, inspect, saved_tensors_hooks};

use super::check::gradients;
use super::program::{Kind, Program, Step};
use super::run::{Cuts, Dyn, Run, Value};

/// What some steps of a program run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Checkpoint,
    CheckpointSteps,
    /// A map of two examples that capture all values.
    Captured,
    /// A map over two examples, of which one has the values, and the other half of each.
    Batches,
    Packed,
    Hooked,
    Thread,
    /// A run of forward mode along zeros, whose tangents are added.
    Along,
}

const MODES: [Mode; 8] = [
    Mode::Packed,
    Mode::Hooked,
    Mode::Thread,
    Mode::Checkpoint,
    Mode::CheckpointSteps,
    Mode::Captured,
    Mode::Batches,
    Mode::Along,
];

/// Some steps in a mode: those from `first` on, taken modulo what there is. The next section is within this one, or
/// after it.
#[derive(Clone, Copy, Debug)]
struct Section {
    mode: Mode,
    first: u8,
    length: u8,
    holds_next: bool,
}

/// How a pass is run.
#[derive(Clone, Copy, Debug)]
enum Pass {
    Grad,
    Backward,
    /// With saved values freed one by one.
    Early,
    /// Recorded, though nothing differentiates it.
    Recorded,
    Watched,
    Traced,
    OnThread,
}

const PASSES: [Pass; 7] = [
    Pass::Grad,
    Pass::Backward,
    Pass::Early,
    Pass::Recorded,
    Pass::Watched,
    Pass::Traced,
    Pass::OnThread,
];

/// The modes of one run.
#[derive(Clone, Debug)]
pub struct Crossing {
    sections: Vec<Section>,
    pass: Pass,
    threads: usize,
}

/// Up to four sections, a pass, and a number of threads.
pub fn crossings() -> impl Strategy<Value = Crossing> {
    let section = (
        prop::sample::select(&MODES[..]),
        any::<u8>(),
        any::<u8>(),
        any::<bool>(),
    )
        .prop_map(|(mode, first, length, holds_next)| Section {
            mode,
            first,
            length,
            holds_next,
        });
    let pass = prop::sample::select(&PASSES[..]);
    let threads = prop::sample::select(&[1, 2, 4][..]);
    let parts = (prop::collection::vec(section, 1..5), pass, threads);
    parts.prop_map(|(sections, pass, threads)| Crossing {
        sections,
        pass,
        threads,
    })
}

/// A program that is run in sections. The bounds of the values are those of the plain run.
struct Plan {
    steps: Vec<Step>,
    sections: Vec<Section>,
    /// Before each step, and after the last.
    bounds: Vec<Vec<f64>>,
}

impl Plan {
    fn of(program: &Program, sections: &[Section]) -> Self {
        let (leaves, mut cuts) = (program.leaves(), Cuts::default());
        let mut run = Run::new(&leaves, &mut cuts);
        let now = |run: &Run| run.values.iter().map(|value| value.bound).collect();
        let mut bounds: Vec<Vec<f64>> = vec![now(&run)];
        for step in &program.steps {
            run.step(*step);
            bounds.push(now(&run));
        }
        Self {
            steps: program.steps.clone(),
            sections: sections.to_vec(),
            bounds,
        }
    }

    /// Returns the values after these steps.
    fn plain(&self, steps: Range<usize>, values: &[Dyn]) -> Vec<Dyn> {
        let mut cuts = Cuts::default();
        let bounds = &self.bounds[steps.start];
        let mut run = Run::new(&[], &mut cuts);
        run.values = values
            .iter()
            .zip(bounds)
            .map(|(tensor, &bound)| Value {
                tensor: tensor.clone(),
                bound,
            })
            .collect();
        for step in &self.steps[steps] {
            run.step(*step);
        }
        run.values.into_iter().map(|value| value.tensor).collect()
    }

    /// Returns the values after these steps, of which some are in the sections from `next` on.
    fn run(self: &Arc<Self>, steps: Range<usize>, next: usize, values: &[Dyn]) -> Vec<Dyn> {
        let Some(section) = self.sections.get(next).copied() else {
            return self.plain(steps, values);
        };
        let first = steps.start + usize::from(section.first) % (steps.len() + 1);
        let end = first + usize::from(section.length) % (steps.end - first + 1);
        let values = self.plain(steps.start..first, values);
        let (inner, after) = if section.holds_next {
            (next + 1, usize::MAX)
        } else {
            (usize::MAX, next + 1)
        };
        let values = self.within(section.mode, first..end, inner, &values);
        self.run(end..steps.end, after, &values)
    }

    /// Returns the values after steps in a mode.
    fn within(
        self: &Arc<Self>,
        mode: Mode,
        steps: Range<usize>,
        next: usize,
        values: &[Dyn],
    ) -> Vec<Dyn> {
        let plan = Arc::clone(self);
        let body = {
            let steps = steps.clone();
            move |values: &[Dyn]| plan.run(steps.clone(), next, values)
        };
        match mode {
            Mode::Checkpoint => checkpoint(body, values),
            Mode::CheckpointSteps => {
                let plan = Arc::clone(self);
                let step = move |values: &[Dyn], step| plan.run(step..step + 1, next, values);
                checkpoint_steps(values, steps, step)
            }
            Mode::Captured => {
                let outputs = vmap(|_: &Tensor0<f64>| body(values), Axis(0), &twice());
                means(&outputs.expect("no error"))
            }
            Mode::Batches => {
                let place = steps.start % 2;
                let batches = values.iter().map(|x| {
                    let half = x * 0.5;
                    let [first, second] = if place == 0 { [x, &half] } else { [&half, x] };
                    Tensor::stack(Axis(0), &[first, second])
                });
                let batches: Vec<Dyn> = batches.collect();
                let outputs: Vec<Dyn> =
                    vmap(|values: &[Dyn]| body(values), Axis(0), &batches).expect("no error");
                let of_values = |output: &Dyn| {
                    let mut slice = vec![SliceInfoElem::from(..); output.ndim()];
                    slice[0] = SliceInfoElem::Index(place.cast_signed());
                    output.slice(&slice[..])
                };
                outputs.iter().map(of_values).collect()
            }
            Mode::Packed => {
                let pack = |tensor: AnyTensor| {
                    let array = tensor.to_tensor::<f64>().expect("of f64").to_array();
                    (
                        array.shape().to_vec(),
                        array.into_iter().collect::<Vec<f64>>(),
                    )
                };
                let unpack = |(shape, elements): &(Vec<usize>, Vec<f64>)| {
                    let array = ArrayD::from_shape_vec(&shape[..], elements.clone());
                    AnyTensor::from(Tensor::from(array.expect("as many")))
                };
                saved_tensors_hooks(pack, unpack, || body(values))
            }
            Mode::Hooked => {
                let outputs = body(values);
                for value in values.iter().chain(&outputs).filter(|x| x.requires_grad()) {
                    value.register_hook(|_| None);
                    value.register_hook(|grad| Some(grad * 1.0));
                    if let Some(node) = value.grad_fn() {
                        value.retain_grad();
                        node.register_prehook(|grads: &[Option<Dyn>]| Some(grads.to_vec()));
                    }
                }
                outputs
            }
            Mode::Thread => {
                let recorded = pullback::is_grad_enabled();
                let run = || {
                    if recorded {
                        body(values)
                    } else {
                        no_grad(|| body(values))
                    }
                };
                thread::scope(|scope| match scope.spawn(run).join() {
                    Ok(outputs) => outputs,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
            }
            Mode::Along => {
                let zeros = values
                    .iter()
                    .map(|x| Tensor::from(ArrayD::zeros(x.shape())));
                let zeros: Vec<Dyn> = zeros.collect();
                let options = Functional::new().create_graph(true);
                let along = options.jvp(|values: &[Dyn]| body(values), values, &zeros[..]);
                match along {
                    Ok((outputs, tangents)) => {
                        let sums = outputs.iter().zip(&tangents);
                        sums.map(|(output, tangent)| output + tangent).collect()
                    }
                    Err(error) => std::panic::panic_any(error),
                }
            }
        }
    }

    /// Returns whether forward mode has derivatives of all steps, and runs once at a time.
    fn can_run_along(&self) -> bool {
        let is_known = |step: &Step| !step.no_grad && is_known_along(step.kind);
        let along = self
            .sections
            .iter()
            .filter(|section| section.mode == Mode::Along);
        self.steps.iter().all(is_known) && along.count() == 1
    }
}

fn is_known_along(kind: Kind) -> bool {
    kind.has_rule()
        && kind.is_differentiable_again()
        // Formulas have no derivatives of third order.
        && !matches!(
            kind,
            Kind::Detach | Kind::SineInPlace | Kind::Formula | Kind::GivenFormula
        )
}

/// A batch of two examples.
fn twice() -> Tensor1<f64> {
    Tensor::from(array![1.0, 1.0])
}

/// Returns the mean of the two examples, which are equal: exactly one of them, as are the gradients.
fn means(outputs: &[Dyn]) -> Vec<Dyn> {
    let means = outputs.iter().map(|output| output.sum_axis(Axis(0)) * 0.5);
    means.collect()
}

/// The derivatives of a loss: gradients, and gradients of the gradients' part along a direction.
struct Derivatives {
    loss: f64,
    first: Result<Vec<ArrayD<f64>>, Error>,
    second: Result<Vec<ArrayD<f64>>, Error>,
}

fn derivatives(
    program: &Program,
    leaves: &[Dyn],
    loss: impl Fn() -> Tensor0<f64>,
    pass: Pass,
) -> Derivatives {
    let recorded = loss();
    let value = recorded.item();
    let second = along_a_direction(program, leaves, &loss());
    Derivatives {
        loss: value,
        first: first(leaves, &recorded, pass),
        second: second.and_then(|part| gradients(&part, leaves, false)),
    }
}

fn first(leaves: &[Dyn], loss: &Tensor0<f64>, pass: Pass) -> Result<Vec<ArrayD<f64>>, Error> {
    let zeros = |leaf: &Dyn| ArrayD::zeros(leaf.shape());
    if !loss.requires_grad() {
        return gradients(loss, leaves, false);
    }
    let accumulated = |run: Backward<'_, f64, pullback::ndarray::Ix0>| {
        run.run()?;
        let found = leaves
            .iter()
            .map(|leaf| leaf.grad().unwrap_or_else(|| zeros(leaf)));
        let found = found.collect();
        leaves.iter().for_each(Tensor::zero_grad);
        Ok(found)
    };
    match pass {
        Pass::Grad => gradients(loss, leaves, false),
        Pass::Backward => accumulated(Backward::of(loss).retain_graph(true)),
        Pass::Early => accumulated(Backward::of(loss).free_early(true)),
        Pass::Recorded => accumulated(Backward::of(loss).create_graph(true)),
        Pass::Watched => detect_anomaly(|| gradients(loss, leaves, true)),
        Pass::Traced => inspect::trace(|| gradients(loss, leaves, true)).0,
        Pass::OnThread => thread::scope(|scope| {
            let pass = scope.spawn(|| gradients(loss, leaves, true));
            pass.join().expect("no panic")
        }),
    }
}

/// Returns Σ g·d of the recorded gradients g of all leaves.
fn along_a_direction(
    program: &Program,
    leaves: &[Dyn],
    loss: &Tensor0<f64>,
) -> Result<Tensor0<f64>, Error> {
    let none = Tensor::from(arr0(0.0));
    let required: Vec<&Dyn> = leaves.iter().filter(|leaf| leaf.requires_grad()).collect();
    if !loss.requires_grad() {
        return Ok(none);
    }
    let options = Grad::of(loss).create_graph(true).allow_unused(true);
    let found = options.run(&required[..])?;
    let along = program.direction(2.0).into_iter().zip(leaves);
    let along = along.filter(|(_, leaf)| leaf.requires_grad());
    let parts = found.iter().zip(along);
    Ok(parts.fold(none, |sum, (found, (along, _))| {
        sum + (found * Tensor::from(along)).sum()
    }))
}

/// Returns the value along a direction in forward mode.
fn forward(program: &Program, loss: impl Fn(&[Dyn]) -> Tensor0<f64>) -> Result<f64, Error> {
    let leaves: Vec<Dyn> = program.leaves().iter().map(Tensor::detach).collect();
    let along: Vec<Dyn> = program
        .direction(5.0)
        .into_iter()
        .map(Tensor::from)
        .collect();
    let run = Functional::new().forward_mode(true);
    let (_, along) = run.jvp(|leaves: &[Dyn]| loss(leaves), &leaves[..], &along[..])?;
    Ok(along.item())
}

fn same_number(what: &str, found: f64, expected: f64) -> Result<(), String> {
    if (found - expected).abs() <= 1e-9 * (1.0 + expected.abs()) {
        return Ok(());
    }
    Err(format!("{what} is {found}, and {expected} without modes"))
}

fn same(
    what: &str,
    found: Result<Vec<ArrayD<f64>>, Error>,
    expected: Result<Vec<ArrayD<f64>>, Error>,
) -> Result<(), String> {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                same_number(what, *found, *expected)?;
            }
            Ok(())
        }
        (Err(found), Err(expected)) if found.kind() == expected.kind() => Ok(()),
        (found, expected) => Err(format!("{what}: {found:?}, and {expected:?} without modes")),
    }
}

/// Checks a program in these modes against the same without.
pub fn check(program: &Program, crossing: &Crossing) -> Result<(), String> {
    set_threads(crossing.threads);
    let mut plan = Plan::of(program, &crossing.sections);
    if !plan.can_run_along() {
        plan.sections.retain(|section| section.mode != Mode::Along);
    }
    let plan = Arc::new(plan);
    let all = 0..program.steps.len();
    let plain = |leaves: &[Dyn]| program.loss_of(&plan.plain(all.clone(), leaves));
    let crossed = |leaves: &[Dyn]| program.loss_of(&plan.run(all.clone(), 0, leaves));
    let leaves = program.leaves();
    let expected = derivatives(program, &leaves, || plain(&leaves), Pass::Grad);
    let found = catch_unwind(AssertUnwindSafe(|| {
        derivatives(program, &leaves, || crossed(&leaves), crossing.pass)
    }));
    let found = found.map_err(|panic| match panic.downcast_ref::<Error>() {
        Some(error) => format!("an error in forward mode: {error}"),
        None => format!("a panic: {}", panic_text(&*panic)),
    })?;
    same_number("the loss", found.loss, expected.loss)?;
    same("a gradient", found.first, expected.first)?;
    same("a second derivative", found.second, expected.second)?;
    let without = |mode| plan.sections.iter().all(|section| section.mode != mode);
    // A new thread does not know that its tensors are in a run of forward mode.
    if !without(Mode::Thread) || !without(Mode::Along) {
        return Ok(());
    }
    match (forward(program, crossed), forward(program, plain)) {
        (Ok(found), Ok(expected)) => same_number("the tangent", found, expected),
        (Err(found), Err(expected)) if found.kind() == expected.kind() => Ok(()),
        (found, expected) => Err(format!(
            "the tangent: {found:?}, and {expected:?} without modes"
        )),
    }
}

#[test]
fn modes_change_no_derivative() {
    super::try_pairs(|_| true, crossings(), check);
}

#[test]
fn modes_and_forward_mode_change_no_derivative() {
    super::try_pairs(is_known_along, crossings(), check);
}
