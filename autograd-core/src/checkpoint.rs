//! Computing again in the backward pass instead of keeping.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::saved::{SavedHooks, Unpack, save, with_saved_hooks};
use crate::thread::cleanup;
use crate::thread::replay::{self, Numbers};
use crate::thread::{enable_grad, is_grad_enabled};
use autograd_kernels::Shape;
use autograd_kernels::counted;

/// `function` of `inputs`, a tensor by reference, a list, or a tuple of up to twelve. What its parts would save for
/// their backward is not saved: it is computed again, by a second call of `function`, when a backward pass
/// needs it. Memory for time: of the whole only the inputs stay.
///
/// Gradients are those of `function`, for tensors that it captures too. It must do the same each time: what
/// it draws at random comes from a seed that it captures, or through [`replayed`](crate::replayed). Checkpoints
/// nest; the inputs of an inner one are then computed again as well. Outside recording `function` is just called.
///
/// A backward pass fails, and changes nothing, if the second call saves other tensors than the first, or
/// panics.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{Tensor, checkpoint};
///
/// let x = Tensor::from(array![0.5, 1.0]).set_requires_grad(true);
/// let y = checkpoint(|x| x.exp().tanh().exp(), &x);
/// y.sum().backward()?;
/// let kept = x.grad();
/// x.zero_grad();
/// x.exp().tanh().exp().sum().backward()?;
/// assert_eq!(x.grad(), kept);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// A mask drawn at random, from a seed:
///
/// ```
/// use pullback::ndarray::{Array, Ix1};
/// use pullback::{Tensor, Tensor1, checkpoint};
/// # fn mask(seed: u64) -> Tensor1<f64> {
/// #     Tensor::from(Array::from_shape_fn(4, |i| ((seed >> i) & 1) as f64))
/// # }
/// let x: Tensor1<f64> = Tensor::from(Array::ones(4)).set_requires_grad(true);
/// let seed = 5;
/// let y = checkpoint(move |x: &Tensor1<f64>| x.exp() * mask(seed), &x);
/// y.sum().backward()?;
/// assert_eq!(x.grad(), Some((x.exp() * mask(seed)).to_array()));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn checkpoint<I, O, F>(function: F, inputs: I) -> O
where
    I: InputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O + Send + Sync + 'static,
{
    let inputs = inputs.to_tensors();
    let lengths = inputs.lengths();
    let inputs = inputs.into_erased();
    // Forward mode saves nothing that could be computed again.
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
    // Only this sets it.
    let _ = checkpoint.complete.set(());
    outputs
}

/// Calls the function and drops what it gives.
type Again = dyn Fn(&[AnyTensor]) + Send + Sync;

/// One call of a checkpointed function.
struct Checkpoint {
    inputs: Vec<Input>,
    again: Box<Again>,
    /// Of the tensors that were not saved, in the order in which they came.
    shapes: Mutex<Vec<Shape>>,
    /// What the first call got from [`replayed`](crate::replayed).
    numbers: Numbers,
    /// Set when the first call has returned: then `shapes` has all.
    complete: OnceLock<()>,
    /// What a second call has brought and no node of the pass has asked for yet.
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

    /// A leaf where the input required grad, so that the same is recorded.
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
        let place = shapes.len();
        shapes.push(tensor.shape().into());
        drop(shapes);
        Box::new(move || self.unpack(place))
    }
}

impl Checkpoint {
    fn unpack(self: &Arc<Self>, place: usize) -> Result<AnyTensor, String> {
        let known = lock(&self.recomputed).get_mut(place).and_then(Option::take);
        if let Some(tensor) = known {
            return Ok(tensor);
        }
        let mut tensors = self.recompute()?;
        let wanted = tensors.get_mut(place).and_then(Option::take);
        let former = std::mem::replace(&mut *lock(&self.recomputed), tensors);
        drop(former);
        // What the pass does not ask for is not kept: to save memory is what the checkpoint is for. Passes that the first
        // call runs itself leave it for those that come later.
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

/// What a second call would have saved, in the order of the first.
#[derive(Default)]
struct Recomputed {
    tensors: Mutex<Vec<AnyTensor>>,
}

impl SavedHooks for Recomputed {
    fn pack(self: Arc<Self>, tensor: AnyTensor) -> Unpack {
        lock(&self.tensors).push(tensor.clone());
        // For a function that runs a backward pass of its own.
        Box::new(move || Ok(tensor.clone()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No lock is held while user code runs: nothing leaves half a change behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
