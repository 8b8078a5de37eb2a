//! One function on each of many examples.
//!
//! `turns` runs examples on all threads, `gather` puts together what they give, `node` is the map on the tape, and
//! `batch` has its types.
//!
//! # Note [Maps]
//! Each example is recorded apart: its inputs are parts of the batch with nodes of their own, and what it recorded is
//! known by its sequence numbers (Note [Floors] in `tape`). What leads out of it is what the function captured; the
//! edges of all examples that do are inputs of the map beside those that were handed in. To the graph around it the
//! map is one node. Its backward is a pass through each example from its own part of the gradients, as free of the
//! others as its forward was; hooks of what was captured are called by the pass around, with the sum.

mod batch;
mod collect;
mod node;
mod schedule;

pub use batch::{Batch, ExampleOutputs};

use std::panic::Location;
use std::sync::OnceLock;

use ndarray::{Axis, SliceInfoElem};

use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::error::{Error, ErrorKind};
use crate::forward_mode;
use crate::recorded::set_apart;
use crate::tape::new_floor;
use crate::tensor::{Tensor, TensorD};
use crate::thread::is_grad_enabled;
use autograd_kernels::{Element, Shape};
use batch::LengthsOf;
use collect::{Given, Role, gather};
use node::{Example, Parts, Recording};
use schedule::Turns;

/// Calls `function` with each part of `inputs` along `axis`, on all [threads](crate::kernels::threads), and returns the
/// outputs stacked: the examples are along their first axis.
///
/// Within the function that axis does not exist; anything that is differentiable may be in it, custom functions too,
/// and passes of its own. What it captures all examples share: weights get the sum of the examples' gradients,
/// added in their order. Values and gradients are, bit for bit, those of a loop in which each example has a
/// backward pass of its own, on any number of threads, and so are those of higher orders. In the graph
/// the map is one node.
///
/// The function returns tensors, or a [`Result`] of them. Per-example gradients, for one, are those that it computes:
///
/// ```
/// use pullback::functional::vmap;
/// use pullback::ndarray::{Axis, array};
/// use pullback::{Tensor, grad};
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
/// Several inputs are a tuple or a list, and share the axis; several outputs, too:
///
/// ```
/// use pullback::functional::vmap;
/// use pullback::ndarray::{Axis, array};
/// use pullback::{Tensor, Tensor1, Tensor2};
///
/// let (x, factor) = (Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]), Tensor::from(array![10.0, 100.0]));
/// let (scaled, sums): (Tensor2<f64>, Tensor1<f64>) =
///     vmap(|(x, factor)| (x * factor, x.sum()), Axis(0), (&x, &factor))?;
/// assert_eq!(scaled.to_array(), array![[10.0, 20.0], [300.0, 400.0]]);
/// assert_eq!(sums.to_array(), array![3.0, 7.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// Examples are begun in their order and run at the same time: numbers that they draw from one counter, and gradients
/// that passes of their own accumulate in a leaf, come in any order. Give each example its random numbers as an
/// input. In forward mode, inside [`checkpoint`](crate::checkpoint()), and in passes that
/// [`inspect::trace`](crate::inspect::trace()) records, the examples run one after the other.
///
/// # Errors
/// [`Example`](crate::ErrorKind::Example), if `function` returns an error: that of the first example that has one.
///
/// # Panics
/// If an input does not have the axis, there is no example, the inputs differ in their number, or the outputs of
/// examples differ in their shapes; and where `function` does.
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
    let function = |example: &[AnyTensor]| {
        let outputs = I::Example::with(lengths, example, |refs| function(refs)).into_result()?;
        let lengths = outputs.lengths();
        if *of_outputs.get_or_init(|| lengths) == lengths {
            Ok(outputs.into_erased())
        } else {
            Err(Stopped::Lists)
        }
    };
    let inputs = inputs.into_erased();
    let map = Map {
        function: &function,
        axis,
        count: count(axis, &inputs),
        inputs: &inputs,
        called_at: Location::caller(),
    };
    let is_plain = forward_mode::is_running() || inputs.iter().any(|input| input.level() > 0);
    let outputs = if is_plain {
        map.composed()
    } else {
        map.recorded()
    };
    let outputs = match outputs {
        Ok(outputs) => outputs,
        Err(stopped) => return Err(stopped.into_error()),
    };
    // INVARIANT: the function has returned what is read here, as there is an example.
    let lengths = of_outputs.into_inner().expect("the lengths of the outputs");
    Ok(O::Stacked::read(lengths, &mut outputs.into_iter()))
}

/// The number of examples.
#[track_caller]
fn count(axis: Axis, inputs: &[AnyTensor]) -> usize {
    let index = axis.index();
    for input in inputs {
        let shape = input.shape();
        assert!(
            index < shape.len(),
            "vmap over axis {index} of a tensor of shape {shape:?}: there is no such axis"
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
        "vmap over axis {index} of a tensor of shape {from:?}: there is no example to tell the outputs' shapes"
    );
    count
}

/// Why a map has no outputs.
enum Stopped {
    Error(Error),
    /// The output of an example has another shape than those of others.
    Shapes {
        example: usize,
        expected: Shape,
        found: Shape,
    },
    /// Lists among the outputs differ in their lengths.
    Lists,
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Stopped {
    /// # Panics
    /// If it is a mistake in shapes.
    #[track_caller]
    fn into_error(self) -> Error {
        match self {
            Self::Error(error) => error,
            Self::Shapes {
                example,
                expected,
                found,
            } => panic!(
                "vmap: example {example} returned a tensor of shape {found}, others returned one of shape {expected}"
            ),
            Self::Lists => panic!("vmap: examples returned lists of tensors of different lengths"),
        }
    }

    /// The same in an example of a map.
    fn of(self, example: usize, called_at: &'static Location<'static>) -> Self {
        match self {
            Self::Error(error) => ErrorKind::Example { example, error }.at(called_at).into(),
            other => other,
        }
    }
}

/// The function of one example.
type OfExample<'f> = dyn Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Stopped> + Sync + 'f;

/// A map whose types are forgotten.
struct Map<'f> {
    function: &'f OfExample<'f>,
    axis: Axis,
    inputs: &'f [AnyTensor],
    count: usize,
    called_at: &'static Location<'static>,
}

impl Map<'_> {
    fn call(&self, example: usize, inputs: &[AnyTensor]) -> Result<Vec<AnyTensor>, Stopped> {
        let outputs = (self.function)(inputs);
        outputs.map_err(|stopped| stopped.of(example, self.called_at))
    }

    /// As one node. See Note [Maps].
    fn recorded(&self) -> Result<Vec<AnyTensor>, Stopped> {
        let records = is_grad_enabled();
        let turns = Turns::new(false);
        let recording = Recording::new(new_floor(), self.count);
        let role = Role::Part(self.axis);
        let run = |place: usize| {
            let inputs = self.inputs.iter().map(|input| {
                let part = role.of(input, place);
                if records && input.edge().is_some() {
                    set_apart(&part, false, self.called_at)
                } else {
                    part
                }
            });
            let inputs: Vec<AnyTensor> = inputs.collect();
            let outputs = self.call(place, &inputs)?;
            if records {
                let edges = |tensors: &[AnyTensor]| {
                    let edges = tensors.iter().map(|tensor| tensor.edge().cloned());
                    edges.collect()
                };
                let example = Example {
                    inputs: edges(&inputs),
                    outputs: edges(&outputs),
                };
                recording.note(place, example);
            }
            let outputs = outputs.iter().map(|output| Role::Shared.of(output, place));
            Ok::<Given, Stopped>(outputs.map(Some).collect())
        };
        let stacked = |_| Role::Part(Axis(0));
        let values = gather(&turns, self.count, stacked, |place| {
            recording.run(|| run(place))
        })?;
        let edges = self.inputs.iter().map(|input| input.edge().cloned());
        let parts = Parts {
            inputs: vec![role; self.inputs.len()],
            mapped: self.inputs.len(),
            edges: edges.collect(),
            outputs: vec![Role::Part(Axis(0)); values.len()],
            ordered: turns.ordered,
            called_at: self.called_at,
        };
        let values = recording.attach(parts, values);
        Ok(values.into_iter().flatten().collect())
    }

    /// As functions like any other, one after the other: in forward mode they carry the tangents.
    fn composed(&self) -> Result<Vec<AnyTensor>, Stopped> {
        let mut outputs: Vec<Vec<AnyTensor>> = Vec::new();
        for place in 0..self.count {
            let slices = self
                .inputs
                .iter()
                .map(|input| example(input, self.axis, place));
            let given = self.call(place, &slices.collect::<Vec<_>>())?;
            outputs.resize_with(given.len(), Vec::new);
            for (parts, part) in outputs.iter_mut().zip(given) {
                let first = parts.first().unwrap_or(&part);
                if first.shape() != part.shape() {
                    return Err(Stopped::Shapes {
                        example: place,
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

/// One example of an input, as a function like any other.
pub(crate) fn example(input: &AnyTensor, axis: Axis, place: usize) -> AnyTensor {
    let index = isize::try_from(place);
    // INVARIANT: no array has more elements than an `isize` counts, unless they take no memory.
    let index = index.expect("an index of an axis");
    let mut slice = vec![SliceInfoElem::from(..); input.shape().len()];
    slice[axis.index()] = SliceInfoElem::Index(index);
    match input {
        AnyTensor::F32(input) => AnyTensor::F32(input.slice(&slice[..])),
        AnyTensor::F64(input) => AnyTensor::F64(input.slice(&slice[..])),
    }
}

/// One output of all examples, along a first axis.
///
/// # Panics
/// If they differ in their shapes.
#[track_caller]
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
