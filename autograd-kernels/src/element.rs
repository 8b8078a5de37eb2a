//! The element types of tensors.

use ndarray::NdFloat;

/// An element of a tensor: `f32` or `f64`.
///
/// It has the functions of ndarray's [`NdFloat`] (`T::exp`, `T::sqrt`, `T::zero()`, …) and
/// conversions from and to `f64`, so that a function can be written once for both types. It cannot be
/// implemented for other types.
///
/// ```
/// use autograd_kernels::Element;
///
/// fn softplus<T: Element>(x: T) -> T {
///     (T::exp(x) + T::from_f64(1.0)).ln()
/// }
/// assert!((softplus(0.0_f32) - 0.693_147_2).abs() < 1e-6);
/// ```
pub trait Element: NdFloat + Default + std::iter::Sum + sealed::Sealed + 'static {
    /// Returns the nearest value of this type.
    ///
    /// ```
    /// use autograd_kernels::Element;
    ///
    /// assert_eq!(f32::from_f64(0.1), 0.1_f32);
    /// ```
    fn from_f64(value: f64) -> Self;

    /// Returns the same value as an `f64`.
    ///
    /// ```
    /// use autograd_kernels::Element;
    ///
    /// assert_eq!(0.5_f32.as_f64(), 0.5);
    /// assert_ne!(0.1_f32.as_f64(), 0.1); // rounded when it was made
    /// ```
    fn as_f64(self) -> f64;

    /// Returns a value without its element type in the type.
    #[doc(hidden)]
    fn into_any<F: Family>(value: F::Of<Self>) -> Any<F>;

    /// Returns the value of this element type; `None` if it has the other one.
    #[doc(hidden)]
    fn from_any<F: Family>(any: Any<F>) -> Option<F::Of<Self>>;
}

/// A family of types that differ in their element type, such as all `Vec<T>`: code that knows `T` and code that
/// does not pass values to each other as [`Any`] of a family.
#[doc(hidden)]
pub trait Family {
    type Of<T: Element>;
}

/// A value of a family, of either element type.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "passed on at once")]
pub enum Any<F: Family> {
    F32(F::Of<f32>),
    F64(F::Of<f64>),
}

impl Element for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "it is documented to round")]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    fn as_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline]
    fn into_any<F: Family>(value: F::Of<Self>) -> Any<F> {
        Any::F32(value)
    }

    #[inline]
    fn from_any<F: Family>(any: Any<F>) -> Option<F::Of<Self>> {
        match any {
            Any::F32(value) => Some(value),
            Any::F64(_) => None,
        }
    }
}

impl Element for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }

    fn as_f64(self) -> f64 {
        self
    }

    #[inline]
    fn into_any<F: Family>(value: F::Of<Self>) -> Any<F> {
        Any::F64(value)
    }

    #[inline]
    fn from_any<F: Family>(any: Any<F>) -> Option<F::Of<Self>> {
        match any {
            Any::F64(value) => Some(value),
            Any::F32(_) => None,
        }
    }
}

mod sealed {
    /// Kernels, engine and errors name the two element types.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
