//! What the examples of a map give, put together: side by side, or added up.
//!
//! # Note [Sums of examples]
//! What examples share gets the sum of their gradients, added in the order of the examples however many threads
//! compute them: so it is, bit for bit, what a backward pass for each of them would accumulate. What comes before its
//! turn waits.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ndarray::{ArrayD, ArrayViewMutD, Axis};

use super::Stopped;
use super::turns::Turns;
use crate::erased::AnyTensor;
use crate::tape::{AnyGradient, accumulate};
use crate::tensor::{Tensor, TensorD};
use autograd_kernels::{Element, Shape, threads};

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
            let axis = role.axis()?;
            let like = given.iter().find_map(|given| given[tensor].as_ref())?;
            Some(Whole::zeros(like, axis, count))
        })
        .collect();
    let places = Places::new(&roles, &mut wholes);
    for (example, given) in given.into_iter().enumerate() {
        places.put(example, given)?;
    }
    turns.each(first..count, |example| places.put(example, run(example)?))?;
    let (late, mut sums) = places.into_rest();
    for (example, tensor, part) in late {
        if let Some(axis) = roles[tensor].axis() {
            let whole = &mut wholes[tensor];
            let whole = whole.get_or_insert_with(|| Whole::zeros(&part, axis, count));
            whole.parts(axis).put(example, &part)?;
        }
    }
    let sums = |tensor: usize| sums.get_mut(tensor).and_then(Option::take);
    let results = wholes.into_iter().zip((0..).map(sums));
    Ok(results
        .map(|(whole, sum)| match whole {
            Some(whole) => Some(whole.into_tensor()),
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
            (Self::Shared, tensor) => tensor.without_tangents().with_edge(None),
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

/// A tensor while its parts are written.
enum Whole {
    F32(ArrayD<f32>),
    F64(ArrayD<f64>),
}

impl Whole {
    /// Of parts like this one.
    fn zeros(part: &AnyTensor, axis: Axis, count: usize) -> Self {
        let mut shape = part.shape().to_vec();
        shape.insert(axis.index(), count);
        match part {
            AnyTensor::F32(_) => Self::F32(ArrayD::zeros(shape)),
            AnyTensor::F64(_) => Self::F64(ArrayD::zeros(shape)),
        }
    }

    fn parts(&mut self, axis: Axis) -> Parts<'_> {
        match self {
            Self::F32(whole) => Parts::F32(whole.axis_iter_mut(axis).map(Mutex::new).collect()),
            Self::F64(whole) => Parts::F64(whole.axis_iter_mut(axis).map(Mutex::new).collect()),
        }
    }

    fn into_tensor(self) -> AnyTensor {
        match self {
            Self::F32(whole) => AnyTensor::F32(Tensor::from(whole)),
            Self::F64(whole) => AnyTensor::F64(Tensor::from(whole)),
        }
    }
}

/// Where the parts of a tensor go. Each is locked once: the lock passes it to the thread that has it.
enum Parts<'a> {
    F32(Vec<Mutex<ArrayViewMutD<'a, f32>>>),
    F64(Vec<Mutex<ArrayViewMutD<'a, f64>>>),
}

impl Parts<'_> {
    fn put(&self, example: usize, part: &AnyTensor) -> Result<(), Stopped> {
        match (self, part) {
            (Self::F32(parts), AnyTensor::F32(part)) => write(&parts[example], example, part),
            (Self::F64(parts), AnyTensor::F64(part)) => write(&parts[example], example, part),
            // INVARIANT: one function gives tensors of one type, and edges lead to gradients of one.
            _ => unreachable!("an example of another element type"),
        }
    }
}

fn write<T: Element>(
    to: &Mutex<ArrayViewMutD<T>>,
    example: usize,
    part: &TensorD<T>,
) -> Result<(), Stopped> {
    let mut to = locked(to);
    if to.shape() != part.shape() {
        return Err(Stopped::Shapes {
            example,
            expected: Shape::from(to.shape()),
            found: Shape::from(part.shape()),
        });
    }
    to.assign(&part.view());
    Ok(())
}

/// Where what the examples give goes.
struct Places<'a> {
    /// For each tensor; `None` for shared ones, and where nothing was there yet.
    parts: Vec<Option<Parts<'a>>>,
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
        let parts = roles.iter().zip(wholes);
        Self {
            parts: parts
                .map(|(role, whole)| Some(whole.as_mut()?.parts(role.axis()?)))
                .collect(),
            shared: roles.iter().map(|role| role.axis().is_none()).collect(),
            late: Mutex::default(),
            sums: Mutex::default(),
        }
    }

    fn put(&self, example: usize, mut given: Given) -> Result<(), Stopped> {
        for (tensor, (given, parts)) in given.iter_mut().zip(&self.parts).enumerate() {
            if self.shared[tensor] {
                continue;
            }
            match (given.take(), parts) {
                (None, _) => {}
                (Some(part), Some(parts)) => parts.put(example, &part)?,
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
