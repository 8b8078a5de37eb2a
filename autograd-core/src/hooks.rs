//! Adding hooks, and taking them away.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ndarray::{Dimension, IxDyn};

use crate::tape::{
    AccumulateHook, AnyGradient, Edge, Gradient, Hook, Hooks, Node, NodeHook, OtherElementType,
    Prehook, RawTensor, TensorHook,
};
use crate::tensor::{Tensor, TensorD};
use autograd_kernels::Element;

/// A registered hook. [`remove`](Self::remove) takes it away; dropping the handle leaves it in place.
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

/// A registered hook of any kind.
trait Remove: Send + Sync {
    fn remove(&self);

    fn is_there(&self) -> bool;
}

impl<F: ?Sized + Send + Sync> Remove for Mutex<Option<Arc<F>>> {
    fn remove(&self) {
        let hook = self.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Only now: a hook that goes may run user code when it is dropped.
        drop(hook);
    }

    fn is_there(&self) -> bool {
        let hook = self.lock().unwrap_or_else(PoisonError::into_inner);
        hook.is_some()
    }
}

impl HookHandle {
    /// Takes the hook away, in the middle of a pass too: it is not called any more, and what it has
    /// captured is dropped, unless it is being called right now. A second call does nothing.
    pub fn remove(&self) {
        if let Some(hook) = self.0.upgrade() {
            hook.remove();
        }
    }
}

impl fmt::Debug for HookHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registered = self.0.upgrade().is_some_and(|hook| hook.is_there());
        f.debug_struct("HookHandle")
            .field("registered", &registered)
            .finish()
    }
}

/// Registers a hook at `node`: `list` puts it into the right list.
fn register<F: ?Sized + Send + Sync + 'static>(
    node: &Node,
    hook: Arc<F>,
    list: impl Fn(&mut Hooks, Hook<F>),
) -> HookHandle {
    let place = Arc::new(Mutex::new(Some(hook)));
    node.0.change_hooks(&mut |hooks| {
        hooks.sweep();
        list(hooks, Hook(Arc::clone(&place)));
    });
    let place: Weak<dyn Remove> = Arc::<Mutex<Option<Arc<F>>>>::downgrade(&place);
    HookHandle(place)
}

impl<T: Element, D: Dimension + 'static> Tensor<T, D> {
    /// Has `hook` called with the gradient of this tensor whenever a backward pass has computed it; what
    /// it gives takes the gradient's place. `None` leaves it as it is.
    ///
    /// Hooks of one tensor are called in the order of their registration, each with what the one before
    /// gave. Clones share them. A hook belongs to the value that the tensor has now: one that is
    /// registered before the tensor is written to in place sees the gradient of the former value. Under
    /// `create_graph` what a hook computes is recorded.
    ///
    /// A hook that captures this very tensor, or one computed from it, keeps it alive: the graph is then
    /// let go only after a pass has freed it, or [`HookHandle::remove`] was called. Capture
    /// [`detach`](Self::detach)ed tensors instead.
    ///
    /// A pass fails, and changes nothing, if a hook panics or gives a gradient of another shape.
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

    /// Has `hook` called after each pass that has accumulated a gradient in this leaf, with the leaf, whose
    /// value is the one that it has now. It may read the gradient, set or forget it.
    ///
    /// A pass whose hook panics fails: all gradients are then as they were before it.
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
        // Of the leaf the value alone: the node comes from the pass, or it would own itself.
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

    /// Has backward passes accumulate a gradient for this tensor too, though it is computed; a leaf does
    /// so anyway. Hooks of the tensor come first, whenever they were registered.
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
    /// Has passes accumulate a gradient for what this edge leads to: all of them (`always`), or those
    /// that are asked to.
    pub(crate) fn retain(&self, always: bool) {
        if !self.node.header().is_leaf() {
            let node = &self.node;
            let retain = &mut |hooks: &mut Hooks| hooks.retain(self.output_nr, always);
            node.0.change_hooks(retain);
        }
    }
}

impl Node {
    /// Has `hook` called before this node runs in a backward pass, with the gradients of its outputs
    /// (`None`: nothing came); what it gives takes their place. A leaf's node runs when its gradient is
    /// accumulated.
    ///
    /// A pass fails if the gradients are not of type `T`, or the hook panics or gives another number of
    /// gradients or another shape.
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

    /// Has `hook` called after this node has run in a backward pass, with the gradients of its inputs,
    /// which it may replace, and those of its outputs. `None` is for an input that needs none, and for
    /// every output if the hook was registered while the node was running.
    ///
    /// A pass fails as with [`register_prehook`](Self::register_prehook).
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

/// The gradients as a hook of a node sees them.
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
