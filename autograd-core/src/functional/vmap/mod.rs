//! `vmap`: one function on each of many examples.
//!
//! `schedule` runs examples on all threads, `collect` stacks or sums their results, `node` is the map on the tape,
//! `batch` has its types and `error` the reasons of failures. `apply_batch` maps one function, with the names of its
//! inputs; `empty` is its node if there is no example.
//!
//! # Note [Maps]
//! Each example is recorded apart: its inputs are parts of the batch with nodes of their own, and the nodes that it
//! recorded are recognized by their sequence numbers (Note [Floors] in `tape`). Edges that lead out of an example lead
//! to tensors that the function captured; together with the mapped inputs they are the inputs of the map. To the graph
//! around it the map is one node. Its backward is a pass through each example, from its part of the gradients; the
//! passes are as independent of each other as the forward calls were. Hooks of captured tensors are called by the pass
//! around, with the sum.
//!
//! The parts of the batch end the history of an example: their gradients are those of the map. A pass that reaches them
//! otherwise would lose them, so it is an error, unless its thread runs the function of that example, or a pass through
//! the example.

mod apply_batch;
mod batch;
mod collect;
mod empty;
mod error;
mod node;
mod schedule;

pub use apply_batch::{BatchCall, BatchExample, BatchInput, BatchOutputs, ExampleError};
pub use batch::{Batch, ExampleOutputs};

use std::panic::Location;
use std::sync::OnceLock;

use ndarray::{Axis, SliceInfoElem};

use crate::erased::{AnyTensor, InputTensors, OutputTensors, either};
use crate::error::panic::{catching_passes, caught};
use crate::error::{Error, ErrorKind};
use crate::forward_mode;
use crate::tape::new_floor;
use crate::tensor::{Tensor, TensorD};
use crate::thread::examples::in_example;
use crate::thread::is_grad_enabled;
use autograd_kernels::{Element, Shape};
use batch::LengthsOf;
use collect::{BatchAxis, Results, collect, part};
use error::VmapError;
use node::{Example, ExampleRecords, Names, NodeParts};
use schedule::Schedule;

/// Calls `function` with each part of `inputs` along `axis`, on all [threads](crate::kernels::threads), and returns the
/// outputs stacked: the examples are along their first axis.
///
/// Within the function, tensors do not have that axis. The function may apply any differentiable function, and run
/// backward passes. All examples share the tensors that it captures: weights get the sum of the examples' gradients,
/// added in the order of the examples. Values and gradients, also of higher orders, are bit for bit those of a loop
/// with a backward pass for each example, on any number of threads. In the graph the map is one node.
///
/// The function returns tensors, or a [`Result`] of them. Per-example gradients are gradients that it computes itself:
///
/// ```
/// use pullback::{Tensor, functional::vmap, grad, ndarray::{Axis, array}};
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
/// let w = Tensor::from(array![0.5, -1.0]).set_requires_grad(true);
///
/// // The loss of each example; the gradient of the weights is that of their sum.
/// let losses = vmap(|x| (x * &w).sum().powi(2), Axis(0), &x)?;
/// assert_eq!(losses.to_array(), array![2.25, 6.25, 12.25]);
/// losses.sum().backward()?;
/// assert_eq!(w.grad(), Some(array![-53.0, -68.0]));
///
/// // The gradient of the weights for each example.
/// let gradients = vmap(|x| grad(&(x * &w).sum().powi(2), &w), Axis(0), &x)?;
/// assert_eq!(gradients.to_array(), array![[-3.0, -6.0], [-15.0, -20.0], [-35.0, -42.0]]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// Several inputs are a tuple or a list, with the examples along the same axis; several outputs likewise:
///
/// ```
/// use pullback::{Tensor, Tensor1, Tensor2, functional::vmap, ndarray::{Axis, array}};
///
/// let (x, factor) = (Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]), Tensor::from(array![10.0, 100.0]));
/// let (scaled, sums): (Tensor2<f64>, Tensor1<f64>) =
///     vmap(|(x, factor)| (x * factor, x.sum()), Axis(0), (&x, &factor))?;
/// assert_eq!(scaled.to_array(), array![[10.0, 20.0], [300.0, 400.0]]);
/// assert_eq!(sums.to_array(), array![3.0, 7.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// Examples start in their order and run at the same time. So numbers that they draw from one counter, and gradients
/// that their own backward passes accumulate in a leaf, are in any order: give each example its random numbers as an
/// input. In forward mode, inside [`checkpoint`](crate::checkpoint()), and in passes that
/// [`inspect::trace`](crate::inspect::trace()) records, the examples run one after the other.
///
/// A tensor may leave its example by another way than the result, such as a list that the function captures, to be
/// read. If the batch requires grad, a backward pass through it is an error
/// ([`LeftExample`](crate::ErrorKind::LeftExample)), except within the example.
///
/// # Errors
/// [`Example`](crate::ErrorKind::Example) with the first error that `function` returns.
///
/// # Panics
/// If an input does not have the axis, there is no example, the inputs differ in the number of examples, or outputs
/// differ in their shapes; and if `function` panics, with the number of the example.
#[track_caller]
pub fn vmap<I, O, F>(function: F, axis: Axis, inputs: I) -> Result<O::Stacked, Error>
where
    I: Batch,
    O: ExampleOutputs,
    F: for<'a> Fn(<I::Example as InputTensors>::Refs<'a>) -> O + Sync,
{
    let inputs = inputs.to_tensors();
    let lengths = inputs.lengths();
    let of_outputs: OnceLock<LengthsOf<O::Tensors>> = OnceLock::new();
    let called_at = Location::caller();
    let function = |index: usize, example: &[AnyTensor]| {
        let run = || I::Example::with(lengths, example, |refs| function(refs)).into_result();
        let outputs = caught(run).unwrap_or_else(|panic| {
            panic.pass_on_later(&format_args!("example {index} of `vmap`"))
        });
        let outputs = outputs.map_err(|error| {
            ErrorKind::Example {
                example: index,
                error,
            }
            .at(called_at)
        })?;
        let lengths = outputs.lengths();
        if *of_outputs.get_or_init(|| lengths) == lengths {
            Ok(outputs.into_erased())
        } else {
            Err(VmapError::Lists)
        }
    };
    let inputs = inputs.into_erased();
    let call = VmapCall {
        function: &function,
        axis,
        count: count(axis, &inputs),
        inputs: &inputs,
        names: None,
        called_at,
    };
    let outputs = match catching_passes(|| call.run()) {
        Ok(outputs) => outputs,
        Err(error) => return Err(error.into_error()),
    };
    // INVARIANT: there is an example, so the function has returned outputs.
    let lengths = of_outputs.into_inner().expect("the lengths of the outputs");
    Ok(O::Stacked::read(lengths, &mut outputs.into_iter()))
}

/// Returns the number of examples.
#[track_caller]
#[inline]
fn count(axis: Axis, inputs: &[AnyTensor]) -> usize {
    let index = axis.index();
    for input in inputs {
        let shape = input.shape();
        assert!(
            index < shape.len(),
            "vmap over axis {index} of a tensor of shape {shape:?}: the axis is out of range"
        );
    }
    let Some((first, others)) = inputs.split_first() else {
        panic!("vmap of no tensors: at least one is needed");
    };
    let (from, count) = (first.shape(), first.shape()[index]);
    for other in others {
        assert!(
            other.shape()[index] == count,
            "vmap over axis {index} of tensors of shapes {from:?} and {:?}: they differ in the number of examples",
            other.shape()
        );
    }
    assert!(
        count > 0,
        "vmap over axis {index} of a tensor of shape {from:?}: the batch is empty, so output shapes are unknown"
    );
    count
}

/// The function of one example, which it gets with its number.
type ExampleFn<'f> = dyn Fn(usize, &[AnyTensor]) -> Result<Vec<AnyTensor>, VmapError> + Sync + 'f;

/// One call of `vmap`, on tensors of any types.
struct VmapCall<'f> {
    function: &'f ExampleFn<'f>,
    axis: Axis,
    inputs: &'f [AnyTensor],
    count: usize,
    /// `None` for the map of a closure.
    names: Option<Names>,
    called_at: &'static Location<'static>,
}

impl VmapCall<'_> {
    /// Runs the examples.
    #[inline]
    fn run(self) -> Result<Vec<AnyTensor>, VmapError> {
        let has_tangent = self.inputs.iter().any(|input| input.depth() > 0);
        if forward_mode::is_running() || has_tangent {
            self.composed()
        } else {
            self.recorded()
        }
    }

    /// Runs the examples and records them as one node. See Note [Maps].
    #[inline]
    fn recorded(self) -> Result<Vec<AnyTensor>, VmapError> {
        let is_recorded = is_grad_enabled();
        let schedule = Schedule::new(false);
        let records = ExampleRecords::new(new_floor(), self.count);
        let axis: BatchAxis = Some(self.axis);
        let run = |index: usize| {
            let inputs = self.inputs.iter().map(|input| {
                let part = part(input, axis, index);
                if is_recorded && input.edge().is_some() {
                    node::example_input(part, records.id(index), self.called_at)
                } else {
                    part
                }
            });
            let inputs: Vec<AnyTensor> = inputs.collect();
            let outputs = in_example(records.id(index), || (self.function)(index, &inputs))?;
            if is_recorded {
                let edges = |tensors: &[AnyTensor]| {
                    let edges = tensors.iter().map(|tensor| tensor.edge().cloned());
                    edges.collect()
                };
                let example = Example {
                    inputs: edges(&inputs),
                    outputs: edges(&outputs),
                };
                records.insert(index, example);
            }
            let outputs = outputs.into_iter().map(AnyTensor::into_constant);
            Ok::<Results, VmapError>(outputs.map(Some).collect())
        };
        let first = |_| Some(Axis(0));
        let values = collect(&schedule, self.count, &first, &|index| {
            records.record(|| run(index))
        })?;
        let edges = self.inputs.iter().map(|input| input.edge().cloned());
        let parts = NodeParts {
            inputs: vec![axis; self.inputs.len()],
            mapped: self.inputs.len(),
            edges: edges.collect(),
            outputs: vec![Some(Axis(0)); values.len()],
            ordered: schedule.ordered,
            names: self.names,
            called_at: self.called_at,
        };
        let values = records.attach(parts, values);
        Ok(values.into_iter().flatten().collect())
    }

    /// Applies `slice`, the function and `stack`, which in forward mode compute the tangents, one example at a time.
    #[inline]
    fn composed(&self) -> Result<Vec<AnyTensor>, VmapError> {
        let mut outputs: Vec<Vec<AnyTensor>> = Vec::new();
        for index in 0..self.count {
            let slices = self
                .inputs
                .iter()
                .map(|input| example(input, self.axis, index));
            let results = (self.function)(index, &slices.collect::<Vec<_>>())?;
            outputs.resize_with(results.len(), Vec::new);
            for (output, (parts, part)) in outputs.iter_mut().zip(results).enumerate() {
                let first = parts.first().unwrap_or(&part);
                if first.shape() != part.shape() {
                    return Err(VmapError::Shapes {
                        example: index,
                        output,
                        expected: Shape::from(first.shape()),
                        found: Shape::from(part.shape()),
                    });
                }
                parts.push(part);
            }
        }
        Ok(outputs.into_iter().map(stacked).collect())
    }
}

/// Returns one example of an input, by the function `slice`.
#[inline]
pub(crate) fn example(input: &AnyTensor, axis: Axis, index: usize) -> AnyTensor {
    let index = isize::try_from(index);
    // INVARIANT: no array has more elements than an `isize` counts, unless they take no memory.
    let index = index.expect("an index of an axis");
    let mut slice = vec![SliceInfoElem::from(..); input.shape().len()];
    slice[axis.index()] = SliceInfoElem::Index(index);
    either!(input, map input => input.slice(&slice[..]))
}

/// Returns one output of all examples, stacked along a first axis.
///
/// # Panics
/// If the parts differ in their shapes.
#[track_caller]
#[inline]
pub(crate) fn stacked(parts: Vec<AnyTensor>) -> AnyTensor {
    #[track_caller]
    fn stack<T: Element>(parts: Vec<AnyTensor>) -> TensorD<T> {
        let parts: Vec<TensorD<T>> = parts.into_iter().map(AnyTensor::into_typed).collect();
        Tensor::stack(Axis(0), &parts.iter().collect::<Vec<_>>())
    }
    match parts[0] {
        AnyTensor::F32(_) => AnyTensor::F32(stack(parts)),
        AnyTensor::F64(_) => AnyTensor::F64(stack(parts)),
    }
}
