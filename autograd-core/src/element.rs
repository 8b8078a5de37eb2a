//! The element types of tensors.

use ndarray::NdFloat;

use crate::tape::{Grad, GradOf};

/// An element of a tensor: `f32` or `f64`.
///
/// It brings the functions of ndarray's [`NdFloat`] (`T::exp`, `T::sqrt`, `T::zero()`, …) and
/// conversions from and to `f64`, so that a function can be written once for both types.
///
/// ```
/// use autograd_core::Element;
///
/// fn softplus<T: Element>(x: T) -> T {
///     (T::exp(x) + T::from_f64(1.0)).ln()
/// }
/// assert!((softplus(0.0_f32) - 0.693_147_2).abs() < 1e-6);
/// ```
pub trait Element: NdFloat + Default + std::iter::Sum + Erase + 'static {
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;

    /// The same value as an `f64`.
    fn as_f64(self) -> f64;
}

impl Element for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what it says")]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    fn as_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Element for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }

    fn as_f64(self) -> f64 {
        self
    }
}

/// How gradients of either element type travel through one engine. Implemented for the two element
/// types alone, which seals [`Element`].
#[doc(hidden)]
pub trait Erase: Sized {
    /// Forgets the element type.
    fn erase(grad: GradOf<Self>) -> Grad;

    /// Remembers the element type, `None` if it was another.
    fn recover(grad: Grad) -> Option<GradOf<Self>>;
}

impl Erase for f32 {
    fn erase(grad: GradOf<Self>) -> Grad {
        Grad::F32(grad)
    }

    fn recover(grad: Grad) -> Option<GradOf<Self>> {
        match grad {
            Grad::F32(grad) => Some(grad),
            Grad::F64(_) => None,
        }
    }
}

impl Erase for f64 {
    fn erase(grad: GradOf<Self>) -> Grad {
        Grad::F64(grad)
    }

    fn recover(grad: Grad) -> Option<GradOf<Self>> {
        match grad {
            Grad::F64(grad) => Some(grad),
            Grad::F32(_) => None,
        }
    }
}
