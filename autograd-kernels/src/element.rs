//! The element types of tensors.

use ndarray::NdFloat;

/// An element of a tensor: `f32` or `f64`.
///
/// It brings the functions of ndarray's [`NdFloat`] (`T::exp`, `T::sqrt`, `T::zero()`, …) and
/// conversions from and to `f64`, so that a function can be written once for both types. It cannot be
/// implemented for others.
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
    /// The nearest value of this type.
    ///
    /// ```
    /// use autograd_kernels::Element;
    ///
    /// assert_eq!(f32::from_f64(0.1), 0.1_f32);
    /// ```
    fn from_f64(value: f64) -> Self;

    /// The same value as an `f64`.
    ///
    /// ```
    /// use autograd_kernels::Element;
    ///
    /// assert_eq!(0.5_f32.as_f64(), 0.5);
    /// assert_ne!(0.1_f32.as_f64(), 0.1); // rounded when it was made
    /// ```
    fn as_f64(self) -> f64;

    /// A value of a family as the type that it is: in `Ok` of `f32`, in `Err` of `f64`.
    #[doc(hidden)]
    fn which<F: Family>(of_this: F::Of<Self>) -> Result<F::Of<f32>, F::Of<f64>>;

    /// The reverse; `None` if it is of the other type.
    #[doc(hidden)]
    fn this<F: Family>(either: Result<F::Of<f32>, F::Of<f64>>) -> Option<F::Of<Self>>;
}

/// Types that differ in their element type, such as all `Vec<T>`: how code that knows `T` and code that
/// does not hand values to each other.
#[doc(hidden)]
pub trait Family {
    type Of<T: Element>;
}

impl Element for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what it says")]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    fn as_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline]
    fn which<F: Family>(of_this: F::Of<Self>) -> Result<F::Of<f32>, F::Of<f64>> {
        Ok(of_this)
    }

    #[inline]
    fn this<F: Family>(either: Result<F::Of<f32>, F::Of<f64>>) -> Option<F::Of<Self>> {
        either.ok()
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
    fn which<F: Family>(of_this: F::Of<Self>) -> Result<F::Of<f32>, F::Of<f64>> {
        Err(of_this)
    }

    #[inline]
    fn this<F: Family>(either: Result<F::Of<f32>, F::Of<f64>>) -> Option<F::Of<Self>> {
        either.err()
    }
}

mod sealed {
    /// Kernels, engine and errors know the two element types by name.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
