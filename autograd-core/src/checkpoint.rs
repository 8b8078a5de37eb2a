//! Checkpoints: recomputing values in the backward pass instead of saving them.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::saved::{SavedHooks, Unpack, save, with_saved_hooks};
use crate::thread::cleanup;
use crate::thread::replay::{self, Numbers};
use crate::thread::{enable_grad, is_grad_enabled};
use autograd_kernels::Shape;
use autograd_kernels::counted;

/// Calls `function` with `inputs`: a tensor by reference, a list, or a tuple of up to twelve. The inputs are saved, but
/// not the tensors that functions applied in `function` would save; a backward pass that needs these calls `function`
/// again to compute them. This takes less memory and more time.
///
/// Gradients are those of `function`, also for tensors that it captures. `function` must do the same in each call: take
/// random numbers from a seed that it captures, or by [`replayed`](crate::replayed). Checkpoints nest; the inputs of an
/// inner one are then recomputed too. Without recording, a checkpoint only calls `function`.
///
/// A backward pass fails, and changes nothing, if the second call saves other tensors than the first, or panics.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{Tensor, checkpoint};
///
/// let x = Tensor::from(array![0.5, 1.0]).set_requires_grad(true);
/// let y = checkpoint(|x| x.exp().tanh().exp(), &x);
/// y.sum().backward()?;
/// let grad = x.grad();
/// x.zero_grad();
/// x.exp().tanh().exp().sum().backward()?;
/// assert_eq!(x.grad(), grad);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn checkpoint<I, O, F>(function: F, inputs: I) -> O
where
    I: InputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O + Send + Sync + 'static,
{
    checkpointed::<I, _, _>(function, inputs.to_tensors())
}

/// Computes `state = step(&state, t)` for each `t` of `steps`, and returns the last state. The states at about √n of the
/// n steps are saved, and the steps between two of them are computed again in a backward pass, as by [`checkpoint`]. So
/// at most about 2√n states, with what their steps save, are in memory at a time, and each step is computed twice.
///
/// The state is a tensor by reference, a list, or a tuple of these; `step` returns the same types by value. Everything
/// else that is true of [`checkpoint`] is true of `step`: tensors that it captures have gradients, derivatives of any
/// order exist, and it must do the same in each call. Without steps, the state is returned as it is.
///
/// ```
/// use pullback::ndarray::{Array1, Axis, s};
/// use pullback::{Tensor, Tensor1, checkpoint_steps};
///
/// // 400 explicit steps of the heat equation on a ring of 64 cells.
/// let start = Tensor::from(Array1::from_shape_fn(64, |i| f64::from(i == 32))).set_requires_grad(true);
/// let end = checkpoint_steps(&start, 0..400, |u: &Tensor1<f64>, _step| {
///     u + (u.roll(Axis(0), 1) + u.roll(Axis(0), -1) - u * 2.0) * 0.2
/// });
/// end.slice(s![..32]).sum().backward()?;
/// // The part of the heat of each cell that comes to the first half.
/// let parts = start.grad().expect("a gradient");
/// assert!((parts.sum() - 32.0).abs() < 1e-9 && parts[16] > 0.7);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn checkpoint_steps<I, F>(state: I, steps: Range<usize>, step: F) -> I::Owned
where
    I: InputTensors,
    F: for<'a> Fn(I::Refs<'a>, usize) -> I::Owned + Send + Sync + 'static,
{
    let step = Arc::new(step);
    let mut state = state.to_tensors();
    let mut start = steps.start;
    while start < steps.end {
        // With √n of n steps in each part, as many parts; the parts that are left stay as long.
        let end = steps.end.min(start + steps.len().isqrt().max(1));
        let step = Arc::clone(&step);
        let part = move |state: I::Refs<'_>| {
            let first = step(state, start);
            (start + 1..end).fold(first, |state, t| step(I::refs(&state), t))
        };
        state = checkpointed::<I, _, _>(part, state);
        start = end;
    }
    state
}

fn checkpointed<I, O, F>(function: F, inputs: I::Owned) -> O
where
    I: InputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O + Send + Sync + 'static,
{
    let lengths = inputs.lengths();
    let inputs = inputs.into_erased();
    // Forward mode saves nothing that could be recomputed.
    if !is_grad_enabled() || inputs.iter().any(|input| input.depth() > 0) {
        return I::with(lengths, &inputs, function);
    }
    let function = Arc::new(function);
    let again = Arc::clone(&function);
    let checkpoint = Arc::new(Checkpoint {
        inputs: inputs.iter().map(Input::new).collect(),
        again: Box::new(move |inputs| drop(I::with(lengths, inputs, |inputs| again(inputs)))),
        shapes: Mutex::default(),
        numbers: Numbers::default(),
        complete: OnceLock::new(),
        recomputed: Mutex::default(),
    });
    let outputs = with_saved_hooks(Arc::clone(&checkpoint) as Arc<dyn SavedHooks>, || {
        replay::first(&checkpoint.numbers, || {
            I::with(lengths, &inputs, |inputs| function(inputs))
        })
    });
    // It is set once, here.
    let _ = checkpoint.complete.set(());
    outputs
}

/// Calls the function and drops its outputs.
type Again = dyn Fn(&[AnyTensor]) + Send + Sync;

/// One call of a checkpointed function.
struct Checkpoint {
    inputs: Vec<Input>,
    again: Box<Again>,
    /// The shapes of the tensors that were not saved, in order.
    shapes: Mutex<Vec<Shape>>,
    /// The numbers that [`replayed`](crate::replayed) returned in the first call.
    numbers: Numbers,
    /// Set when the first call has returned: then `shapes` is complete.
    complete: OnceLock<()>,
    /// The tensors of a second call that no node of the pass has used yet.
    recomputed: Mutex<Vec<Option<AnyTensor>>>,
}

struct Input {
    restore: Unpack,
    requires_grad: bool,
}

impl Input {
    fn new(tensor: &AnyTensor) -> Self {
        Self {
            restore: save(tensor),
            requires_grad: tensor.edge().is_some(),
        }
    }

    /// Returns the input, as a leaf if it required grad, so that the same nodes are recorded.
    fn restore(&self) -> Result<AnyTensor, String> {
        let tensor = (self.restore)()?;
        Ok(if self.requires_grad {
            tensor.leaf()
        } else {
            tensor
        })
    }
}

impl SavedHooks for Checkpoint {
    fn pack(self: Arc<Self>, tensor: AnyTensor) -> Unpack {
        let mut shapes = lock(&self.shapes);
        let index = shapes.len();
        shapes.push(tensor.shape().into());
        drop(shapes);
        Box::new(move || self.unpack(index))
    }
}

impl Checkpoint {
    fn unpack(self: &Arc<Self>, index: usize) -> Result<AnyTensor, String> {
        let recomputed = lock(&self.recomputed).get_mut(index).and_then(Option::take);
        if let Some(tensor) = recomputed {
            return Ok(tensor);
        }
        let mut tensors = self.recompute()?;
        let wanted = tensors.get_mut(index).and_then(Option::take);
        let former = std::mem::replace(&mut *lock(&self.recomputed), tensors);
        drop(former);
        // Tensors that the pass does not use are dropped at its end, to save memory. Passes inside the first call leave
        // them for later passes.
        if self.complete.get().is_some() {
            let checkpoint = Arc::clone(self);
            cleanup::defer(move || {
                let unused = std::mem::take(&mut *lock(&checkpoint.recomputed));
                drop(unused);
            });
        }
        wanted.ok_or_else(|| "the checkpointed function has not returned yet".to_owned())
    }

    /// Calls the function again, with no lock held.
    fn recompute(&self) -> Result<Vec<Option<AnyTensor>>, String> {
        let inputs: Vec<AnyTensor> = self
            .inputs
            .iter()
            .map(Input::restore)
            .collect::<Result<_, _>>()?;
        let recomputed = Arc::new(Recomputed::default());
        with_saved_hooks(Arc::clone(&recomputed) as Arc<dyn SavedHooks>, || {
            replay::second(&self.numbers, || enable_grad(|| (self.again)(&inputs)));
        });
        let tensors = std::mem::take(&mut *lock(&recomputed.tensors));
        self.compare(&tensors)?;
        Ok(tensors.into_iter().map(Some).collect())
    }

    fn compare(&self, tensors: &[AnyTensor]) -> Result<(), String> {
        let shapes = lock(&self.shapes);
        if self.complete.get().is_some() && tensors.len() != shapes.len() {
            return Err(format!(
                "the checkpointed function saved {} when it was called again, {} before: it must do \
                 the same each time",
                counted(tensors.len(), "tensor", "tensors"),
                shapes.len(),
            ));
        }
        for (tensor, shape) in tensors.iter().zip(shapes.iter()) {
            if tensor.shape() != &shape[..] {
                return Err(format!(
                    "the checkpointed function saved a tensor of shape {:?} when it was called again, {shape} \
                     before: it must do the same each time",
                    tensor.shape(),
                ));
            }
        }
        Ok(())
    }
}

/// The tensors that a second call would save, in order.
#[derive(Default)]
struct Recomputed {
    tensors: Mutex<Vec<AnyTensor>>,
}

impl SavedHooks for Recomputed {
    fn pack(self: Arc<Self>, tensor: AnyTensor) -> Unpack {
        lock(&self.tensors).push(tensor.clone());
        // For a function that runs a backward pass itself.
        Box::new(move || Ok(tensor.clone()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No user code runs while a lock is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
