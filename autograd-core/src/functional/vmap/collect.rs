//! Collects the results of the examples of `vmap`: stacked along an axis, or summed.
//!
//! # Note [Sums of examples]
//! The gradient of a tensor that all examples share is the sum of theirs, added in the order of the examples on any
//! number of threads. So the sum is, bit for bit, what a backward pass for each example would accumulate. A gradient
//! that is computed out of order is stored until those of the examples before it are added.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ndarray::{ArrayD, Axis};

use super::error::VmapError;
use super::schedule::Schedule;
use crate::erased::{AnyTensor, either};
use crate::tape::{AnyGradient, accumulate};
use crate::tensor::{Tensor, TensorD};
use autograd_kernels::{Element, Row, Rows, Shape, threads};

/// The axis of the examples in a tensor; `None` for one that all examples share, whose gradients are summed.
pub(super) type BatchAxis = Option<Axis>;

/// The results of one example, as constants; `None` for an undefined gradient.
pub(super) type Results = Vec<Option<AnyTensor>>;

/// Runs the examples and stacks or sums each of their results, by its batch axis. Of a stacked result, examples
/// without one get zeros, unless no example has one.
///
/// A few examples run first, which gives the shapes of the stacked tensors. The others then write their rows while the
/// results are in a processor's cache, and free their memory for the next.
#[inline]
pub(super) fn collect(
    schedule: &Schedule,
    count: usize,
    axis: &dyn Fn(usize) -> BatchAxis,
    run: &(dyn Fn(usize) -> Result<Results, VmapError> + Sync),
) -> Result<Results, VmapError> {
    let first = count.min(threads());
    let results: Vec<OnceLock<Results>> = (0..first).map(|_| OnceLock::new()).collect();
    schedule.each(0..first, &|example| {
        // Each example runs once.
        let _ = results[example].set(run(example)?);
        Ok::<_, VmapError>(())
    })?;
    let results = results.into_iter().filter_map(OnceLock::into_inner);
    let results: Vec<Results> = results.collect();
    let axes: Vec<BatchAxis> = (0..results.first().map_or(0, Vec::len)).map(axis).collect();
    let mut stacks: Vec<Option<Stack>> = axes
        .iter()
        .enumerate()
        .map(|(tensor, axis)| {
            (*axis)?;
            let like = results
                .iter()
                .find_map(|results| results[tensor].as_ref())?;
            Some(Stack::of(like, count))
        })
        .collect();
    let collector = Collector::new(&axes, &mut stacks);
    for (example, results) in results.into_iter().enumerate() {
        collector.insert(example, results)?;
    }
    schedule.each(first..count, &|example| {
        collector.insert(example, run(example)?)
    })?;
    let (unstacked, mut sums) = collector.into_rest();
    for (example, tensor, part) in unstacked {
        let stack = stacks[tensor].get_or_insert_with(|| Stack::of(&part, count));
        stack.rows().write(example, tensor, &part)?;
    }
    sums.resize_with(axes.len(), || None);
    let collected = axes.iter().zip(stacks).zip(sums);
    Ok(collected
        .map(|((axis, stack), sum)| match axis {
            Some(axis) => Some(stack?.into_tensor(*axis, count)),
            None => sum.map(AnyTensor::from_grad),
        })
        .collect())
}

/// Returns the part of `tensor` that one example has, as a constant.
#[inline]
pub(super) fn part(tensor: &AnyTensor, axis: BatchAxis, example: usize) -> AnyTensor {
    let Some(axis) = axis else {
        return tensor.clone().into_constant();
    };
    either!(tensor, map tensor => tensor.part(|view| view.index_axis(axis, example)))
}

/// A tensor while its rows, one for each example, are written: they are contiguous, whatever their axis.
enum Stack {
    F32(Rows<f32>, Shape),
    F64(Rows<f64>, Shape),
}

impl Stack {
    /// Allocates the rows for parts like this one.
    #[inline]
    fn of(part: &AnyTensor, count: usize) -> Self {
        let shape = Shape::from(part.shape());
        match part {
            AnyTensor::F32(_) => Self::F32(Rows::new(count, shape.size()), shape),
            AnyTensor::F64(_) => Self::F64(Rows::new(count, shape.size()), shape),
        }
    }

    #[inline]
    fn rows(&mut self) -> StackRows<'_> {
        match self {
            Self::F32(rows, shape) => StackRows::F32(rows.each().map(Mutex::new).collect(), shape),
            Self::F64(rows, shape) => StackRows::F64(rows.each().map(Mutex::new).collect(), shape),
        }
    }

    #[inline]
    fn into_tensor(self, axis: Axis, count: usize) -> AnyTensor {
        match self {
            Self::F32(rows, shape) => AnyTensor::F32(tensor(rows, &shape, axis, count)),
            Self::F64(rows, shape) => AnyTensor::F64(tensor(rows, &shape, axis, count)),
        }
    }
}

fn tensor<T: Element>(rows: Rows<T>, part: &[usize], axis: Axis, count: usize) -> TensorD<T> {
    let array = ArrayD::from_shape_vec([&[count], part].concat(), rows.into_elements());
    // INVARIANT: it has as many rows as examples, of as many elements as a part.
    let array = array.expect("the elements of all examples");
    let mut axes: Vec<usize> = (1..=part.len()).collect();
    axes.insert(axis.index(), 0);
    Tensor::from(array.permuted_axes(axes))
}

/// The rows of a stack, and the shape of one. Each is locked once, by the thread that writes it.
enum StackRows<'a> {
    F32(Vec<Mutex<Row<'a, f32>>>, &'a Shape),
    F64(Vec<Mutex<Row<'a, f64>>>, &'a Shape),
}

impl StackRows<'_> {
    /// Writes the row of an example, of the output of this number.
    #[inline]
    fn write(&self, example: usize, output: usize, part: &AnyTensor) -> Result<(), VmapError> {
        let (Self::F32(_, expected) | Self::F64(_, expected)) = self;
        if part.shape() != &expected[..] {
            return Err(VmapError::Shapes {
                example,
                output,
                expected: Shape::clone(expected),
                found: Shape::from(part.shape()),
            });
        }
        match (self, part) {
            (Self::F32(parts, _), AnyTensor::F32(part)) => write(&parts[example], part),
            (Self::F64(parts, _), AnyTensor::F64(part)) => write(&parts[example], part),
            // INVARIANT: a function returns tensors of one type, and the gradients at an edge are of one type.
            _ => unreachable!("an example of another element type"),
        }
        Ok(())
    }
}

fn write<T: Element>(to: &Mutex<Row<T>>, part: &TensorD<T>) {
    let view = part.view();
    match view.as_slice() {
        Some(elements) => locked(to).copy_from(elements),
        None => locked(to).write(view.iter().copied()),
    }
}

/// Takes the results of examples in any order.
struct Collector<'a> {
    /// For each tensor; `None` for shared ones, and where the first examples had no result.
    rows: Vec<Option<StackRows<'a>>>,
    /// For each tensor, whether examples share it.
    shared: Vec<bool>,
    unstacked: Mutex<Unstacked>,
    sums: Mutex<Sums>,
}

/// Results of which the first examples had none: example, index of the tensor, and the result.
type Unstacked = Vec<(usize, usize, AnyTensor)>;

/// See Note [Sums of examples].
#[derive(Default)]
struct Sums {
    /// The example to add next.
    next: usize,
    out_of_order: BTreeMap<usize, Results>,
    totals: Vec<Option<AnyGradient>>,
}

impl<'a> Collector<'a> {
    #[inline]
    fn new(axes: &[BatchAxis], stacks: &'a mut [Option<Stack>]) -> Self {
        Self {
            rows: stacks
                .iter_mut()
                .map(|stack| Some(stack.as_mut()?.rows()))
                .collect(),
            shared: axes.iter().map(Option::is_none).collect(),
            unstacked: Mutex::default(),
            sums: Mutex::default(),
        }
    }

    #[inline]
    fn insert(&self, example: usize, mut results: Results) -> Result<(), VmapError> {
        for (tensor, (result, rows)) in results.iter_mut().zip(&self.rows).enumerate() {
            if self.shared[tensor] {
                continue;
            }
            match (result.take(), rows) {
                (None, _) => {}
                (Some(part), Some(rows)) => rows.write(example, tensor, &part)?,
                (Some(part), None) => locked(&self.unstacked).push((example, tensor, part)),
            }
        }
        if self.shared.contains(&true) {
            for result in results.iter_mut().flatten() {
                // It is added under the lock, where no user code may run.
                either!(result, result => result.raw.buffer.own_memory());
            }
            locked(&self.sums).add(example, results);
        }
        Ok(())
    }

    #[inline]
    fn into_rest(self) -> (Unstacked, Vec<Option<AnyGradient>>) {
        let unstacked = self.unstacked.into_inner();
        let sums = self.sums.into_inner();
        (
            unstacked.unwrap_or_else(PoisonError::into_inner),
            sums.unwrap_or_else(PoisonError::into_inner).totals,
        )
    }
}

impl Sums {
    #[inline]
    fn add(&mut self, example: usize, results: Results) {
        self.out_of_order.insert(example, results);
        while let Some(results) = self.out_of_order.remove(&self.next) {
            self.next += 1;
            self.totals.resize_with(results.len(), || None);
            for (sum, result) in self.totals.iter_mut().zip(results) {
                if let Some(result) = result {
                    accumulate(sum, result.into_grad());
                }
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // After a panic nothing in here is used.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
