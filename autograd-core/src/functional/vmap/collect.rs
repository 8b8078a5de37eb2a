//! What the examples of a map give, put together: side by side, or added up.
//!
//! # Note [Sums of examples]
//! What examples share gets the sum of their gradients, added in the order of the examples however many threads
//! compute them: so it is, bit for bit, what a backward pass for each of them would accumulate. What comes before its
//! turn waits.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ndarray::{ArrayD, Axis};

use super::Stopped;
use super::schedule::Turns;
use crate::erased::AnyTensor;
use crate::tape::{AnyGradient, accumulate};
use crate::tensor::{Tensor, TensorD};
use autograd_kernels::{Element, Row, Rows, Shape, threads};

/// What an example has to do with a tensor of the whole map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    /// It has its own part, along this axis.
    Part(Axis),
    /// All examples share the tensor; what they give is added up.
    Shared,
}

/// What one example gives, without histories; `None` where there is nothing.
pub(super) type Given = Vec<Option<AnyTensor>>;

/// Runs the examples and puts what they give together, by the role of each of the tensors. Parts that are
/// missing are zeros, unless all are.
///
/// A few examples run first, to say what is to be put together. The others then write into place while their results
/// are in a processor's cache, and free their memory for the next.
pub(super) fn gather(
    turns: &Turns,
    count: usize,
    role: impl Fn(usize) -> Role,
    run: impl Fn(usize) -> Result<Given, Stopped> + Sync,
) -> Result<Given, Stopped> {
    let first = count.min(threads());
    let given: Vec<OnceLock<Given>> = (0..first).map(|_| OnceLock::new()).collect();
    turns.each(0..first, |example| {
        // Each example runs once.
        let _ = given[example].set(run(example)?);
        Ok::<_, Stopped>(())
    })?;
    let given = given.into_iter().filter_map(OnceLock::into_inner);
    let given: Vec<Given> = given.collect();
    let roles: Vec<Role> = (0..given.first().map_or(0, Vec::len)).map(role).collect();
    let mut wholes: Vec<Option<Whole>> = roles
        .iter()
        .enumerate()
        .map(|(tensor, role)| {
            role.axis()?;
            let like = given.iter().find_map(|given| given[tensor].as_ref())?;
            Some(Whole::of(like, count))
        })
        .collect();
    let places = Places::new(&roles, &mut wholes);
    for (example, given) in given.into_iter().enumerate() {
        places.put(example, given)?;
    }
    turns.each(first..count, |example| places.put(example, run(example)?))?;
    let (late, mut sums) = places.into_rest();
    for (example, tensor, part) in late {
        let whole = wholes[tensor].get_or_insert_with(|| Whole::of(&part, count));
        whole.slots().put(example, &part)?;
    }
    sums.resize_with(roles.len(), || None);
    let results = roles.iter().zip(wholes).zip(sums);
    Ok(results
        .map(|((role, whole), sum)| match role.axis() {
            Some(axis) => Some(whole?.into_tensor(axis, count)),
            None => sum.map(AnyTensor::from_grad),
        })
        .collect())
}

impl Role {
    fn axis(self) -> Option<Axis> {
        match self {
            Self::Part(axis) => Some(axis),
            Self::Shared => None,
        }
    }

    /// What one example has of `tensor`, as a constant.
    pub(super) fn of(self, tensor: &AnyTensor, example: usize) -> AnyTensor {
        match (self, tensor) {
            (Self::Shared, tensor) => tensor.clone().into_constant(),
            (Self::Part(axis), AnyTensor::F32(tensor)) => {
                AnyTensor::F32(part(tensor, axis, example))
            }
            (Self::Part(axis), AnyTensor::F64(tensor)) => {
                AnyTensor::F64(part(tensor, axis, example))
            }
        }
    }
}

fn part<T: Element>(tensor: &TensorD<T>, axis: Axis, example: usize) -> TensorD<T> {
    tensor.part(|view| view.index_axis(axis, example))
}

/// A tensor while its parts are written: they are side by side in memory, whatever their axis.
enum Whole {
    F32(Rows<f32>, Shape),
    F64(Rows<f64>, Shape),
}

impl Whole {
    /// Of parts like this one.
    fn of(part: &AnyTensor, count: usize) -> Self {
        let shape = Shape::from(part.shape());
        match part {
            AnyTensor::F32(_) => Self::F32(Rows::new(count, shape.size()), shape),
            AnyTensor::F64(_) => Self::F64(Rows::new(count, shape.size()), shape),
        }
    }

    fn slots(&mut self) -> Slots<'_> {
        match self {
            Self::F32(rows, shape) => Slots::F32(rows.each().map(Mutex::new).collect(), shape),
            Self::F64(rows, shape) => Slots::F64(rows.each().map(Mutex::new).collect(), shape),
        }
    }

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

/// Where the parts of a tensor go, and their shape. Each is locked once: the lock passes it to the thread that has it.
enum Slots<'a> {
    F32(Vec<Mutex<Row<'a, f32>>>, &'a Shape),
    F64(Vec<Mutex<Row<'a, f64>>>, &'a Shape),
}

impl Slots<'_> {
    fn put(&self, example: usize, part: &AnyTensor) -> Result<(), Stopped> {
        let (Self::F32(_, expected) | Self::F64(_, expected)) = self;
        if part.shape() != &expected[..] {
            return Err(Stopped::Shapes {
                example,
                expected: Shape::clone(expected),
                found: Shape::from(part.shape()),
            });
        }
        match (self, part) {
            (Self::F32(parts, _), AnyTensor::F32(part)) => write(&parts[example], part),
            (Self::F64(parts, _), AnyTensor::F64(part)) => write(&parts[example], part),
            // INVARIANT: one function gives tensors of one type, and edges lead to gradients of one.
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

/// Where what the examples give goes.
struct Places<'a> {
    /// For each tensor; `None` for shared ones, and where nothing was there yet.
    slots: Vec<Option<Slots<'a>>>,
    /// For each tensor, whether examples share it.
    shared: Vec<bool>,
    late: Mutex<Late>,
    sums: Mutex<Sums>,
}

/// Parts of tensors of which the first examples had none, with their example and the tensor's place.
type Late = Vec<(usize, usize, AnyTensor)>;

/// See Note [Sums of examples].
#[derive(Default)]
struct Sums {
    /// The example whose turn it is.
    next: usize,
    waiting: BTreeMap<usize, Given>,
    added: Vec<Option<AnyGradient>>,
}

impl<'a> Places<'a> {
    fn new(roles: &[Role], wholes: &'a mut [Option<Whole>]) -> Self {
        Self {
            slots: wholes
                .iter_mut()
                .map(|whole| Some(whole.as_mut()?.slots()))
                .collect(),
            shared: roles.iter().map(|role| role.axis().is_none()).collect(),
            late: Mutex::default(),
            sums: Mutex::default(),
        }
    }

    fn put(&self, example: usize, mut given: Given) -> Result<(), Stopped> {
        for (tensor, (given, slots)) in given.iter_mut().zip(&self.slots).enumerate() {
            if self.shared[tensor] {
                continue;
            }
            match (given.take(), slots) {
                (None, _) => {}
                (Some(part), Some(slots)) => slots.put(example, &part)?,
                (Some(part), None) => locked(&self.late).push((example, tensor, part)),
            }
        }
        if self.shared.contains(&true) {
            locked(&self.sums).add(example, given);
        }
        Ok(())
    }

    fn into_rest(self) -> (Late, Vec<Option<AnyGradient>>) {
        let late = self.late.into_inner();
        let sums = self.sums.into_inner();
        (
            late.unwrap_or_else(PoisonError::into_inner),
            sums.unwrap_or_else(PoisonError::into_inner).added,
        )
    }
}

impl Sums {
    fn add(&mut self, example: usize, given: Given) {
        self.waiting.insert(example, given);
        while let Some(given) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.added.resize_with(given.len(), || None);
            for (sum, given) in self.added.iter_mut().zip(given) {
                if let Some(given) = given {
                    accumulate(sum, given.into_grad());
                }
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // After a panic nothing of what is in here is used.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
