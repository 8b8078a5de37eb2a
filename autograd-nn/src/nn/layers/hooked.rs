//! A layer that others look into.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::Layer;
use crate::nn::{Forward, Module, Path, Visitor, VisitorMut};

/// A layer with hooks around its `forward`: closures that see, and may replace, what comes in and out. Paths,
/// printed tree and state are those of the layer, and it derefs to it.
///
/// `X` is what the layer takes by reference; hooks know module, input and output by their types. They are called
/// in the order of their registration, from whichever thread calls `forward`.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use pullback::ndarray::array;
/// use pullback::nn::{Hooked, Relu};
/// use pullback::prelude::*;
///
/// let relu = Hooked::new(Relu);
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let list = Arc::clone(&seen);
/// let hook = relu.register_forward_hook(move |_, input: &Tensor1<f64>, output| {
///     list.lock().unwrap().push((input.to_array(), output.to_array()));
///     None
/// });
/// let x = Tensor::from(array![-1.0, 2.0]);
/// relu.forward(&x);
/// hook.remove();
/// relu.forward(&x);
/// assert_eq!(*seen.lock().unwrap(), [(array![-1.0, 2.0], array![0.0, 2.0])]);
/// ```
pub struct Hooked<M: Layer<X>, X: 'static> {
    module: M,
    before: List<Before<M, X>>,
    after: List<After<M, X>>,
}

/// Gets the module and the input; `Some`: what takes the input's place.
type Before<M, X> = dyn Fn(&M, &X) -> Option<X> + Send + Sync;
/// Gets the output too; `Some`: what takes its place.
type After<M, X> = dyn Fn(&M, &X, &Output<M, X>) -> Option<Output<M, X>> + Send + Sync;
type Output<M, X> = <M as Layer<X>>::Output;

/// Hooks in the order of their registration, each until it is removed. No lock is held while one runs: hooks may
/// register and remove hooks, and call the layer.
type List<F> = Mutex<Vec<Arc<Hook<F>>>>;
type Hook<F> = Mutex<Option<Arc<F>>>;

impl<M: Layer<X>, X: 'static> Hooked<M, X> {
    /// The layer, with no hooks yet.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Hooked, Relu};
    /// use pullback::prelude::*;
    ///
    /// let relu = Hooked::new(Relu);
    /// assert_eq!(relu.forward(&Tensor::from(array![-1.0, 2.0])).to_array(), array![0.0, 2.0]);
    /// ```
    pub fn new(module: M) -> Self {
        Self {
            module,
            before: Mutex::default(),
            after: Mutex::default(),
        }
    }

    /// The layer without its hooks.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Hooked, Softmax};
    /// use pullback::prelude::*;
    ///
    /// let hooked: Hooked<_, Tensor1<f64>> = Hooked::new(Softmax::new(0));
    /// assert_eq!(hooked.into_inner().to_string(), "Softmax(dim=0)");
    /// ```
    pub fn into_inner(self) -> M {
        self.module
    }

    /// Calls `hook` before `forward`, with the module and the input. `Some`: what takes the input's place.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Hooked, Relu};
    /// use pullback::prelude::*;
    ///
    /// let relu = Hooked::new(Relu);
    /// let hook = relu.register_forward_prehook(|_, input: &Tensor1<f64>| Some(-input));
    /// assert_eq!(relu.forward(&Tensor::from(array![-1.0, 2.0])).to_array(), array![1.0, 0.0]);
    /// # let _ = hook;
    /// ```
    pub fn register_forward_prehook(
        &self,
        hook: impl Fn(&M, &X) -> Option<X> + Send + Sync + 'static,
    ) -> ForwardHook {
        register(&self.before, Arc::new(hook))
    }

    /// Calls `hook` after `forward`, with the module, the input and the output. `Some`: what takes the output's
    /// place.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Hooked, Relu};
    /// use pullback::prelude::*;
    ///
    /// let relu = Hooked::new(Relu);
    /// let hook = relu.register_forward_hook(|_, _: &Tensor1<f64>, output| Some(output * 10.0));
    /// assert_eq!(relu.forward(&Tensor::from(array![-1.0, 2.0])).to_array(), array![0.0, 20.0]);
    /// # let _ = hook;
    /// ```
    pub fn register_forward_hook(
        &self,
        hook: impl Fn(&M, &X, &Output<M, X>) -> Option<Output<M, X>> + Send + Sync + 'static,
    ) -> ForwardHook {
        register(&self.after, Arc::new(hook))
    }
}

impl<M: Layer<X>, X: 'static> Forward<&X> for Hooked<M, X> {
    type Output = Output<M, X>;

    #[track_caller]
    fn forward(&self, input: &X) -> Output<M, X> {
        let mut replaced = None;
        for hook in registered(&self.before) {
            let Some(hook) = lock(&hook).clone() else {
                continue;
            };
            if let Some(other) = hook(&self.module, replaced.as_ref().unwrap_or(input)) {
                replaced = Some(other);
            }
        }
        let input = replaced.as_ref().unwrap_or(input);
        let mut output = self.module.call(input);
        for hook in registered(&self.after) {
            let Some(hook) = lock(&hook).clone() else {
                continue;
            };
            if let Some(other) = hook(&self.module, input, &output) {
                output = other;
            }
        }
        output
    }
}

/// A registered hook of a [`Hooked`] layer. [`remove`](Self::remove) takes it away; dropping the handle leaves it in
/// place.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{ForwardHook, Hooked, Relu};
/// use pullback::prelude::*;
///
/// let relu = Hooked::new(Relu);
/// let mut hooks: Vec<ForwardHook> = Vec::new();
/// hooks.push(relu.register_forward_hook(|_, _: &Tensor1<f64>, output| Some(output * 10.0)));
/// hooks.push(relu.register_forward_hook(|_, _, output| Some(output + 1.0)));
/// assert_eq!(relu.forward(&Tensor::from(array![2.0])).item(), 21.0);
/// hooks.iter().for_each(ForwardHook::remove);
/// assert_eq!(relu.forward(&Tensor::from(array![2.0])).item(), 2.0);
/// ```
pub struct ForwardHook(Weak<dyn Remove>);

impl ForwardHook {
    /// Takes the hook away, in the middle of a `forward` too: it is not called any more, and what it has captured
    /// is dropped, unless it is being called right now. A second call does nothing.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{Hooked, Relu};
    /// use pullback::prelude::*;
    ///
    /// let relu = Hooked::new(Relu);
    /// let hook = relu.register_forward_hook(|_, _: &Tensor1<f64>, _| panic!("called"));
    /// hook.remove();
    /// relu.forward(&Tensor::from(array![1.0]));
    /// ```
    pub fn remove(&self) {
        if let Some(hook) = self.0.upgrade() {
            hook.remove();
        }
    }
}

impl fmt::Debug for ForwardHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let registered = self.0.upgrade().is_some_and(|hook| hook.is_there());
        f.debug_struct("ForwardHook")
            .field("registered", &registered)
            .finish()
    }
}

/// A registered hook of any kind.
trait Remove: Send + Sync {
    fn remove(&self);

    fn is_there(&self) -> bool;
}

impl<F: ?Sized + Send + Sync> Remove for Hook<F> {
    fn remove(&self) {
        let hook = lock(self).take();
        // Only now: a hook that goes may run code of the user's as it goes.
        drop(hook);
    }

    fn is_there(&self) -> bool {
        lock(self).is_some()
    }
}

fn register<F: ?Sized + Send + Sync + 'static>(list: &List<F>, hook: Arc<F>) -> ForwardHook {
    let hook = Arc::new(Mutex::new(Some(hook)));
    let handle: Weak<Hook<F>> = Arc::downgrade(&hook);
    let mut hooks = lock(list);
    hooks.retain(|hook| lock(hook).is_some());
    hooks.push(hook);
    ForwardHook(handle)
}

fn registered<F: ?Sized>(list: &List<F>) -> Vec<Arc<Hook<F>>> {
    lock(list).clone()
}

fn lock<V: ?Sized>(place: &Mutex<V>) -> MutexGuard<'_, V> {
    // What is done under the locks does not panic half-way.
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: Layer<X>, X: 'static> Deref for Hooked<M, X> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.module
    }
}

impl<M: Layer<X>, X: 'static> DerefMut for Hooked<M, X> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.module
    }
}

impl<M: Layer<X>, X: 'static> fmt::Debug for Hooked<M, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooked")
            .field("module", &format_args!("{self}"))
            .field("before", &lock(&self.before).len())
            .field("after", &lock(&self.after).len())
            .finish()
    }
}

impl<M: Layer<X>, X: 'static> fmt::Display for Hooked<M, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::nn::fmt(self.as_module(), f)
    }
}

/// It is the layer.
impl<M: Layer<X>, X: 'static> Module for Hooked<M, X> {
    fn name(&self) -> Cow<'static, str> {
        self.module.name()
    }

    fn visit_fields<'a>(&'a self, path: &Path<'_>, visitor: &mut dyn Visitor<'a>) {
        self.module.visit_fields(path, visitor);
    }

    fn visit_fields_mut(&mut self, path: &Path<'_>, visitor: &mut dyn VisitorMut) {
        self.module.visit_fields_mut(path, visitor);
    }

    fn as_module(&self) -> &dyn Module {
        self.module.as_module()
    }

    fn as_module_mut(&mut self) -> &mut dyn Module {
        self.module.as_module_mut()
    }

    fn extra_repr(&self) -> String {
        self.module.extra_repr()
    }
}
