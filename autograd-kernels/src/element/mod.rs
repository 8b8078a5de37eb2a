//! The element types of tensors.

pub(crate) mod number;
pub(crate) mod real;

use std::fmt;

use ndarray::NdFloat;

use number::{Near, NearSingle, Number, Single};

/// The type of a tensor's elements at run time.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{AnyTensor, Element, ElementType};
///
/// let tensor = AnyTensor::from(array![1.0, 2.0]);
/// assert_eq!(tensor.element_type(), ElementType::F64);
/// assert_eq!(ElementType::F64, f64::TYPE);
/// assert_eq!(format!("{}: {} bytes", f32::TYPE, f32::TYPE.size()), "f32: 4 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

impl ElementType {
    /// Returns the size of an element in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 => size_of::<f32>(),
            Self::F64 => size_of::<f64>(),
        }
    }
}

/// `f32` or `f64`.
impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// An element of a tensor: `f32` or `f64`.
///
/// It has the functions of ndarray's [`NdFloat`] (`T::exp`, `T::sqrt`, `T::zero()`, …) and
/// conversions from and to `f64`, so that a function can be written once for both types. It cannot be
/// implemented for other types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a tensor",
    label = "not `f32` or `f64`",
    note = "complex numbers are not supported: use pairs of numbers, in a last axis of length 2"
)]
pub trait Element: NdFloat + Default + std::iter::Sum + sealed::Sealed + 'static {
    /// This type at run time.
    const TYPE: ElementType;

    /// Returns the nearest value of this type.
    ///
    /// ```
    /// use pullback::Element;
    ///
    /// assert_eq!(f32::from_f64(0.1), 0.1_f32);
    /// ```
    fn from_f64(value: f64) -> Self;

    /// Returns the same value as an `f64`.
    fn as_f64(self) -> f64;

    /// The element as a [`Real`](real::Real) number, with operators beside `f64`.
    #[doc(hidden)]
    type Number: Number<Self>;

    /// The element as a number whose functions of angles are NaN beyond [`NEAR`](crate::math::near::NEAR).
    #[doc(hidden)]
    type Near: Number<Self>;

    /// Returns a value without its element type in the type.
    #[doc(hidden)]
    fn into_any<F: Family>(value: F::Of<Self>) -> Any<F>;

    /// Returns the value, if it is of this element type.
    #[doc(hidden)]
    fn from_any<F: Family>(any: Any<F>) -> Option<F::Of<Self>>;
}

/// A family of types that differ in their element type, such as `Vec<f32>` and `Vec<f64>`. Generic code passes its
/// values to code without the type parameter as an [`Any`] of the family.
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

/// Returns the one of two values of a family that is of an element type.
#[doc(hidden)]
#[inline]
pub fn of_type<T: Element, F: Family>(single: F::Of<f32>, double: F::Of<f64>) -> F::Of<T> {
    let value = match T::TYPE {
        ElementType::F32 => Any::F32(single),
        ElementType::F64 => Any::F64(double),
    };
    // INVARIANT: it is of the type that was asked for.
    T::from_any::<F>(value).expect("the same type")
}

macro_rules! elements {
    ($($T:ident $Variant:ident $Other:ident $Number:ty, $Near:ty, $from_f64:expr, $as_f64:expr;)+) => {$(
        impl Element for $T {
            const TYPE: ElementType = ElementType::$Variant;

            type Number = $Number;
            type Near = $Near;

            #[inline]
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }

            #[inline]
            fn as_f64(self) -> f64 {
                $as_f64(self)
            }

            #[inline]
            fn into_any<F: Family>(value: F::Of<Self>) -> Any<F> {
                Any::$Variant(value)
            }

            #[inline]
            fn from_any<F: Family>(any: Any<F>) -> Option<F::Of<Self>> {
                match any {
                    Any::$Variant(value) => Some(value),
                    Any::$Other(_) => None,
                }
            }
        }
    )+};
}

elements! {
    f32 F32 F64 Single, NearSingle, rounded, f64::from;
    f64 F64 F32 f64, Near, |value| value, |value| value;
}

#[expect(clippy::cast_possible_truncation, reason = "it is documented to round")]
#[inline]
fn rounded(value: f64) -> f32 {
    value as f32
}

mod sealed {
    /// Kernels, engine and errors name the two element types.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
