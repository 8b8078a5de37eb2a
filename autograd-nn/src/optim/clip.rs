//! Clipping of gradients.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use autograd_core::Element;
use autograd_core::ndarray::{ArrayViewD, ArrayViewMutD};
use autograd_kernels::{map_in_place, norm};

use crate::optim::settings::positive;
use crate::optim::slot::in_blocks;
use crate::parameter::ParameterId;
use crate::parameter::any::{AnyParameter, AnyView, AnyViewMut};
use crate::visit::{Field, each_parameter};

/// A norm of the gradients of a model, taken as one vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norm {
    /// The root of the sum of squares.
    #[default]
    Euclidean,
    /// The largest absolute value.
    Infinity,
}

/// The norm of the gradients is infinite or NaN.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::{Norm, try_clip_grad_norm};
///
/// let w = Parameter::new(array![1.0]);
/// w.set_grad(array![f64::NAN]);
/// let error = try_clip_grad_norm(&w, 1.0, Norm::Euclidean).unwrap_err();
/// assert_eq!(error.to_string(), "the norm of the gradients is NaN");
/// assert!(error.norm.is_nan());
/// ```
///
/// `Debug` writes the message too, since `?` in `main`, `unwrap` and `expect` show it.
#[derive(Clone, Copy, PartialEq)]
pub struct NonFiniteNorm {
    /// The value of the norm.
    pub norm: f64,
}

impl fmt::Debug for NonFiniteNorm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for NonFiniteNorm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the norm of the gradients is {}", self.norm)
    }
}

impl std::error::Error for NonFiniteNorm {}

/// Returns the norm of all gradients of a model; 0 if there are none. Tied parameters count once.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::{Norm, grad_norm};
///
/// let model = (Parameter::new(array![0.0, 0.0]), Parameter::new(array![[0.0_f32]]));
/// model.0.set_grad(array![3.0, 0.0]);
/// model.1.set_grad(array![[-4.0]]);
/// assert_eq!(grad_norm(&model, Norm::Euclidean), 5.0);
/// assert_eq!(grad_norm(&model, Norm::Infinity), 4.0);
/// ```
pub fn grad_norm(model: &(impl Field + ?Sized), kind: Norm) -> f64 {
    let mut total = 0.0;
    each_once(model, |parameter| {
        parameter.with_grad_any(&mut |grad| {
            let norm = match grad {
                AnyView::F32(grad) => norm_of(&grad, kind),
                AnyView::F64(grad) => norm_of(&grad, kind),
            };
            total = join(total, norm, kind);
        });
    });
    total
}

/// Scales all gradients of a model by one factor, so that their Euclidean norm is at most `max_norm`, and returns the
/// norm before. If it is infinite or NaN, the gradients are left unchanged: see [`try_clip_grad_norm`]. The factor is
/// `max_norm` / (norm + 10⁻⁶), as in PyTorch, so the gradients end up a little shorter than `max_norm`. Only the
/// first call of a thread allocates memory.
#[doc = autograd_core::math!(r"g \gets g \cdot \min\left(1, \frac{\text{max norm}}{\lVert g \rVert + 10^{-6}}\right)")]
/// # Panics
/// If `max_norm` is not a finite number above 0.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::{Norm, clip_grad_norm, grad_norm};
///
/// let w = Parameter::new(array![0.0, 0.0]);
/// w.set_grad(array![30.0, 40.0]);
/// assert_eq!(clip_grad_norm(&w, 1.0), 50.0);
/// assert!((grad_norm(&w, Norm::Euclidean) - 1.0).abs() < 1e-7);
/// ```
#[track_caller]
pub fn clip_grad_norm(model: &(impl Field + ?Sized), max_norm: f64) -> f64 {
    clip_grad_norm_of(model, max_norm, Norm::Euclidean)
}

/// Clips like [`clip_grad_norm`], by either norm.
///
/// # Panics
/// If `max_norm` is not a finite number above 0.
#[track_caller]
pub fn clip_grad_norm_of(model: &(impl Field + ?Sized), max_norm: f64, kind: Norm) -> f64 {
    let max_norm = positive("largest norm", max_norm);
    let norm = grad_norm(model, kind);
    // As in `torch.nn.utils.clip_grad_norm_`, where it guards against a norm of 0.
    let factor = max_norm / (norm + 1e-6);
    if norm.is_finite() && factor < 1.0 {
        each_once(model, |parameter| {
            parameter.update_grad_any(&mut |grad| match grad {
                AnyViewMut::F32(grad) => map_all(grad, scaled(factor)),
                AnyViewMut::F64(grad) => map_all(grad, scaled(factor)),
            });
        });
    }
    norm
}

/// Clips like [`clip_grad_norm_of`], but returns an error if the norm is not finite.
///
/// # Errors
/// If the norm is infinite or NaN. The gradients are then unchanged.
///
/// # Panics
/// If `max_norm` is not a finite number above 0.
#[track_caller]
pub fn try_clip_grad_norm(
    model: &(impl Field + ?Sized),
    max_norm: f64,
    kind: Norm,
) -> Result<f64, NonFiniteNorm> {
    let norm = clip_grad_norm_of(model, max_norm, kind);
    if norm.is_finite() {
        return Ok(norm);
    }
    Err(NonFiniteNorm { norm })
}

/// Clamps each element of each gradient of a model to −`limit` ..= `limit`. NaN stays NaN.
///
/// # Panics
/// If `limit` is not a finite number above 0.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::clip_grad_value;
///
/// let w = Parameter::new(array![0.0, 0.0, 0.0]);
/// w.set_grad(array![0.5, -3.0, f64::INFINITY]);
/// clip_grad_value(&w, 2.0);
/// assert_eq!(w.grad(), Some(array![0.5, -2.0, 2.0]));
/// ```
#[track_caller]
pub fn clip_grad_value(model: &(impl Field + ?Sized), limit: f64) {
    let limit = positive("limit", limit);
    each_once(model, |parameter| {
        parameter.update_grad_any(&mut |grad| match grad {
            AnyViewMut::F32(grad) => map_all(grad, clamped(limit)),
            AnyViewMut::F64(grad) => map_all(grad, clamped(limit)),
        });
    });
}

fn scaled<T: Element>(factor: f64) -> impl Fn(T) -> T + Sync {
    let factor = T::from_f64(factor);
    move |x| x * factor
}

fn clamped<T: Element>(limit: f64) -> impl Fn(T) -> T + Sync {
    let limit = T::from_f64(limit);
    move |x| {
        if x > limit {
            limit
        } else if x < -limit {
            -limit
        } else {
            x
        }
    }
}

/// Calls `visit` once with each parameter.
fn each_once(model: &(impl Field + ?Sized), mut visit: impl FnMut(&dyn AnyParameter)) {
    thread_local! {
        /// A set that is kept for its memory.
        static SEEN: Cell<HashSet<ParameterId>> = Cell::default();
    }
    let mut seen = SEEN.take();
    each_parameter(model, |_, parameter| {
        if seen.insert(parameter.id()) {
            visit(parameter);
        }
    });
    seen.clear();
    SEEN.set(seen);
}

fn norm_of<T: Element>(grad: &ArrayViewD<'_, T>, kind: Norm) -> f64 {
    let of_slice = |elements: &[T]| match kind {
        Norm::Euclidean => norm(elements).as_f64(),
        Norm::Infinity => largest(elements).as_f64(),
    };
    if let Some(elements) = grad.as_slice_memory_order() {
        return of_slice(elements);
    }
    let mut total = 0.0;
    in_blocks(grad, |_, elements| {
        total = join(total, of_slice(elements), kind);
    });
    total
}

/// Returns the norm of two parts from the norms of each. NaN prevails.
fn join(a: f64, b: f64, kind: Norm) -> f64 {
    match kind {
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        Norm::Euclidean => a.hypot(b),
        Norm::Infinity => a.max(b),
    }
}

/// Returns the largest absolute value, or NaN if an element is NaN.
fn largest<T: Element>(elements: &[T]) -> T {
    let larger = |most: T, x: &T| {
        let x = x.abs();
        if x <= most || most.is_nan() { most } else { x }
    };
    elements.iter().fold(T::zero(), larger)
}

fn map_all<T: Element>(mut array: ArrayViewMutD<'_, T>, f: impl Fn(T) -> T + Sync) {
    match array.as_slice_memory_order_mut() {
        Some(elements) => map_in_place(elements, f),
        None => array.mapv_inplace(f),
    }
}
