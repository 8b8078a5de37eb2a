//! Methods that register and remove hooks.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ndarray::{Dimension, IxDyn};

use crate::tape::{
    AccumulateHook, AnyGradient, Edge, Gradient, Hook, Hooks, Node, NodeHook, OtherElementType,
    Prehook, RawTensor, TensorHook,
};
use crate::tensor::{Tensor, TensorD};
use autograd_kernels::Element;

/// A handle that [removes](Self::remove) its hook. Dropping the handle does not remove the hook.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0]).set_requires_grad(true);
/// let handle = x.register_hook(|grad| Some(grad * 10.0));
/// (&x * 2.0).sum().backward()?;
/// handle.remove();
/// (&x * 2.0).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![22.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
pub struct HookHandle(Weak<dyn Remove>);

/// A hook is removed as a whole or not at all.
impl UnwindSafe for HookHandle {}
impl RefUnwindSafe for HookHandle {}

/// A registered hook of any kind.
trait Remove: Send + Sync {
    fn remove(&self);

    fn is_registered(&self) -> bool;
}

impl<F: ?Sized + Send + Sync> Remove for Mutex<Option<Arc<F>>> {
    fn remove(&self) {
        let hook = self.lock().unwrap_or_else(PoisonError::into_inner).take();
        // After the lock is released: dropping a hook may run user code.
        drop(hook);
    }

    fn is_registered(&self) -> bool {
        let hook = self.lock().unwrap_or_else(PoisonError::into_inner);
        hook.is_some()
    }
}

impl HookHandle {
    /// Removes the hook, also during a pass: it is not called any more. Its captured values are dropped at once, or at
    /// the end of a call that is running. A second call does nothing.
    pub fn remove(&self) {
        if let Some(hook) = self.0.upgrade() {
            hook.remove();
        }
    }
}

impl fmt::Debug for HookHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registered = self.0.upgrade().is_some_and(|hook| hook.is_registered());
        f.debug_struct("HookHandle")
            .field("registered", &registered)
            .finish()
    }
}

/// Registers a hook of `node`, which `push` adds to one of the lists.
fn register<F: ?Sized + Send + Sync + 'static>(
    node: &Node,
    hook: Arc<F>,
    push: impl Fn(&mut Hooks, Hook<F>),
) -> HookHandle {
    let slot = Arc::new(Mutex::new(Some(hook)));
    node.0.change_hooks(&mut |hooks| {
        hooks.sweep();
        push(hooks, Hook(Arc::clone(&slot)));
    });
    let slot: Weak<dyn Remove> = Arc::<Mutex<Option<Arc<F>>>>::downgrade(&slot);
    HookHandle(slot)
}

impl<T: Element, D: Dimension + 'static> Tensor<T, D> {
    /// Registers a hook that backward passes call with the gradient of this tensor. It returns a replacement, or `None`
    /// to leave the gradient unchanged.
    ///
    /// Hooks of one tensor are called in the order of their registration, each with the gradient that the hook before
    /// returned. Clones of the tensor share them. A hook is for the tensor's present value: after the tensor is written
    /// to in place, the hook is called with the gradient of the former value. Under `create_graph` hooks are recorded.
    ///
    /// A hook that captures this tensor, or one computed from it, keeps the graph alive until a pass frees it, or
    /// [`HookHandle::remove`] is called. Capture [`detach`](Self::detach)ed tensors instead.
    ///
    /// A pass fails, and changes nothing, if a hook panics or returns a gradient of another shape.
    ///
    /// # Panics
    /// If the tensor does not require grad.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let y = &x * 3.0;
    /// y.register_hook(|grad| Some(grad * 2.0));
    /// y.sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![6.0, 6.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn register_hook<F>(&self, hook: F) -> HookHandle
    where
        F: Fn(&Self) -> Option<Self> + Send + Sync + 'static,
    {
        let edge = self.hooked_edge("register_hook");
        let output_nr = edge.output_nr;
        let hook: Arc<TensorHook> = Arc::new(move |grad: AnyGradient| {
            // INVARIANT: the gradient of a tensor has its element type.
            let grad = grad
                .recover::<T>()
                .expect("the gradient's element type is its tensor's");
            let grad = Self::from_raw(grad.into_tensor());
            let grad = hook(&grad).unwrap_or(grad);
            AnyGradient::erase(Gradient::from_tensor(grad.raw))
        });
        register(&edge.node, hook, |hooks, hook| {
            hooks.tensor.push((output_nr, hook));
        })
    }

    /// Registers a hook that is called after each pass that accumulates a gradient in this leaf. Its argument is the
    /// leaf, with the value at the time of registration. It may read, set or remove the gradient.
    ///
    /// A pass fails if a hook panics, and leaves all gradients unchanged.
    ///
    /// # Panics
    /// If the tensor is not a leaf that requires grad.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// x.register_post_accumulate_grad_hook(|x| {
    ///     let clipped = x.grad().unwrap().mapv(|grad: f64| grad.min(1.0));
    ///     x.set_grad(clipped);
    /// });
    /// (&x * Tensor::from(array![0.5, 4.0])).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![0.5, 1.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn register_post_accumulate_grad_hook<F>(&self, hook: F) -> HookHandle
    where
        F: Fn(&Self) + Send + Sync + 'static,
    {
        let edge = self.hooked_edge("register_post_accumulate_grad_hook");
        assert!(
            self.is_leaf(),
            "register_post_accumulate_grad_hook on a computed tensor of shape {:?}: only leaves accumulate",
            self.shape()
        );
        // Only the value: the node is the pass's argument, or the node would own itself.
        let value = self.raw.buffer.clone();
        let hook: Arc<AccumulateHook> = Arc::new(move |node: &Node| {
            let edge = Edge {
                node: node.clone(),
                output_nr: 0,
            };
            hook(&Self::from_raw(RawTensor::new(value.clone(), Some(edge))));
        });
        register(&edge.node, hook, |hooks, hook| {
            hooks.post_accumulate.push(hook);
        })
    }

    /// Lets backward passes accumulate a gradient for this computed tensor, as they do for a leaf; without effect on a
    /// leaf. Hooks of the tensor are called before, whenever they were registered.
    ///
    /// # Panics
    /// If the tensor does not require grad.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let y = &x * 3.0;
    /// y.retain_grad();
    /// (&y * &y).sum().backward()?;
    /// assert_eq!(y.grad(), Some(array![6.0, 12.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn retain_grad(&self) {
        self.hooked_edge("retain_grad").retain(true);
    }

    #[track_caller]
    fn hooked_edge(&self, method: &str) -> &Edge {
        let Some(edge) = &self.raw.edge else {
            panic!(
                "{method} on a tensor of shape {:?} that does not require grad: there will be no gradient",
                self.shape()
            );
        };
        edge
    }
}

impl Edge {
    /// Lets passes accumulate a gradient for the output at this edge: all passes (`always`), or those that request it.
    pub(crate) fn retain(&self, always: bool) {
        if !self.node.header().is_leaf() {
            let node = &self.node;
            let retain = &mut |hooks: &mut Hooks| hooks.retain(self.output_nr, always);
            node.0.change_hooks(retain);
        }
    }
}

impl Node {
    /// Registers a hook that is called before this node runs in a backward pass, with the gradients of its outputs;
    /// `None` for undefined ones. It may return replacements. A leaf's node runs when its gradient is accumulated.
    ///
    /// A pass fails if the gradients are not of type `T`, or the hook panics or returns gradients of another number or
    /// shape.
    ///
    /// ```
    /// use pullback::{Tensor, TensorD};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0]).set_requires_grad(true);
    /// let y = &x * 3.0;
    /// y.grad_fn().unwrap().register_prehook(|grads: &[Option<TensorD<f64>>]| {
    ///     Some(vec![grads[0].as_ref().map(|grad| grad * 2.0)])
    /// });
    /// y.sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![6.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn register_prehook<T, F>(&self, hook: F) -> HookHandle
    where
        T: Element,
        F: Fn(&[Option<TensorD<T>>]) -> Option<Vec<Option<TensorD<T>>>> + Send + Sync + 'static,
    {
        let hook: Arc<Prehook> = Arc::new(move |grads: &mut [Option<AnyGradient>]| {
            let grads = typed::<T>(grads)?;
            Ok(hook(&grads).map(erased))
        });
        register(self, hook, |hooks, hook| hooks.pre.push(hook))
    }

    /// Registers a hook that is called after this node has run in a backward pass, with the gradients of its inputs,
    /// which it may replace, and of its outputs. `None` for an input that needs none, and for all outputs if the hook
    /// was registered while the node ran.
    ///
    /// A pass fails in the same cases as with [`register_prehook`](Self::register_prehook).
    ///
    /// ```
    /// use pullback::{Tensor, TensorD};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0]).set_requires_grad(true);
    /// let y = &x * 3.0;
    /// y.grad_fn().unwrap().register_hook(|inputs: &[Option<TensorD<f64>>], outputs| {
    ///     assert_eq!(outputs[0].as_ref().unwrap().item(), 1.0);
    ///     Some(vec![inputs[0].as_ref().map(|grad| grad * 2.0)])
    /// });
    /// y.sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![6.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn register_hook<T, F>(&self, hook: F) -> HookHandle
    where
        T: Element,
        F: Fn(&[Option<TensorD<T>>], &[Option<TensorD<T>>]) -> Option<Vec<Option<TensorD<T>>>>
            + Send
            + Sync
            + 'static,
    {
        let hook: Arc<NodeHook> = Arc::new(
            move |inputs: &mut [Option<AnyGradient>], outputs: &mut [Option<AnyGradient>]| {
                let (inputs, outputs) = (typed::<T>(inputs)?, typed::<T>(outputs)?);
                Ok(hook(&inputs, &outputs).map(erased))
            },
        );
        register(self, hook, |hooks, hook| hooks.post.push(hook))
    }
}

/// Converts gradients to tensors for a hook of a node.
fn typed<T: Element>(
    grads: &mut [Option<AnyGradient>],
) -> Result<Vec<Option<TensorD<T>>>, OtherElementType> {
    let typed = grads.iter_mut().map(|grad| {
        let Some(grad) = grad else {
            return Ok(None);
        };
        let grad = grad
            .share()
            .recover::<T>()
            .ok_or(OtherElementType(T::TYPE))?;
        Ok(Some(Tensor::<T, IxDyn>::from_raw(grad.into_tensor())))
    });
    typed.collect()
}

fn erased<T: Element>(grads: Vec<Option<TensorD<T>>>) -> Vec<Option<AnyGradient>> {
    let erased = grads.into_iter();
    erased
        .map(|grad| Some(AnyGradient::erase(Gradient::from_tensor(grad?.raw))))
        .collect()
}
