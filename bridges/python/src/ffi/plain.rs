//! Values that are not tensors, without objects of Python: as a program's text has them, or in a buffer of XLA.

use std::fmt;

use pullback::kernels::split_mut;
use pullback::ndarray::{ArrayD, ArrayRef, Dimension, IxDyn};

use super::abi::{Kind, Number, Operand, Target};

/// The fewest elements that are worth a thread to copy.
const PARALLEL: usize = 1 << 16;

/// A value of a call.
#[derive(Clone, Debug)]
pub(crate) enum Plain<'a> {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Plain<'a>>),
    /// A value that a program computes.
    Array(Operand<'a>),
}

impl Plain<'_> {
    /// Returns a value without axes as a value of its own.
    fn number(&self) -> Option<Plain<'static>> {
        Some(match self {
            Self::Bool(truth) => Plain::Bool(*truth),
            Self::Int(number) => Plain::Int(*number),
            Self::Float(number) => Plain::Float(*number),
            Self::Array(operand) if operand.shape().is_empty() => items(operand)?.pop()?,
            _ => return None,
        })
    }
}

/// Shows a number or a text, and the number of elements of a list or an array.
impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.number()) {
            (_, Some(Plain::Bool(truth))) => truth.fmt(f),
            (_, Some(Plain::Int(number))) => number.fmt(f),
            (_, Some(Plain::Float(number))) => number.fmt(f),
            (Self::Text(text), _) => text.fmt(f),
            (Self::List(items), _) => write!(f, "a list of {} values", items.len()),
            (Self::Array(operand), _) => {
                let (kind, shape) = (operand.kind(), operand.shape());
                write!(f, "an array of {kind:?} of shape {shape:?}")?;
                let numbers = integers::<i128>(operand).unwrap_or_default();
                if let Some(negative) = numbers.iter().find(|number| **number < 0) {
                    write!(f, " with the negative number {negative}")?;
                }
                Ok(())
            }
            _ => f.write_str("None"),
        }
    }
}

/// Returns the integers of an operand; `None` if they are not integers, or out of range.
fn integers<V: TryFrom<i128>>(operand: &Operand<'_>) -> Option<Vec<V>> {
    macro_rules! each {
        ($($T:ty),+) => {
            $(if let Some(elements) = operand.elements::<$T>() {
                let elements = elements.iter();
                return elements.map(|&number| V::try_from(number.into()).ok()).collect();
            })+
        };
    }
    each!(i8, i16, i32, i64, u8, u16, u32, u64);
    None
}

/// Returns the elements of an operand.
fn items(operand: &Operand<'_>) -> Option<Vec<Plain<'static>>> {
    if let Some(truths) = operand.truths() {
        return Some(truths.map(Plain::Bool).collect());
    }
    if let Some(numbers) = operand.elements::<f32>() {
        let numbers = numbers.iter().map(|&number| Plain::Float(number.into()));
        return Some(numbers.collect());
    }
    if let Some(numbers) = operand.elements::<f64>() {
        return Some(numbers.iter().copied().map(Plain::Float).collect());
    }
    Some(integers(operand)?.into_iter().map(Plain::Int).collect())
}

/// A type of values that a program can have.
pub(crate) trait FromPlain: Sized {
    /// Converts the value; `None` if it is of another kind, or out of range.
    fn from_plain(plain: &Plain<'_>) -> Option<Self>;
}

macro_rules! ints {
    ($($T:ty),+) => {$(
        impl FromPlain for $T {
            fn from_plain(plain: &Plain<'_>) -> Option<Self> {
                match plain.number()? {
                    Plain::Int(number) => number.try_into().ok(),
                    Plain::Bool(truth) => Some(truth.into()),
                    _ => None,
                }
            }
        }

        impl FromPlain for ArrayD<$T> {
            fn from_plain(plain: &Plain<'_>) -> Option<Self> {
                let Plain::Array(operand) = plain else {
                    return None;
                };
                Self::from_shape_vec(IxDyn(operand.shape()), integers(operand)?).ok()
            }
        }
    )+};
}

ints!(i8, i16, i32, i64, u8, u16, u32, u64, usize, isize);

impl FromPlain for f64 {
    fn from_plain(plain: &Plain<'_>) -> Option<Self> {
        match plain.number()? {
            Plain::Float(number) => Some(number),
            Plain::Int(number) => Some(number as Self),
            Plain::Bool(truth) => Some(truth.into()),
            _ => None,
        }
    }
}

impl FromPlain for f32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "as Python's numbers are rounded"
    )]
    fn from_plain(plain: &Plain<'_>) -> Option<Self> {
        f64::from_plain(plain).map(|number| number as Self)
    }
}

impl FromPlain for bool {
    fn from_plain(plain: &Plain<'_>) -> Option<Self> {
        match plain.number()? {
            Plain::Bool(truth) => Some(truth),
            _ => None,
        }
    }
}

impl FromPlain for ArrayD<bool> {
    fn from_plain(plain: &Plain<'_>) -> Option<Self> {
        let Plain::Array(operand) = plain else {
            return None;
        };
        Self::from_shape_vec(IxDyn(operand.shape()), operand.truths()?.collect()).ok()
    }
}

impl FromPlain for String {
    fn from_plain(plain: &Plain<'_>) -> Option<Self> {
        match plain {
            Plain::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl<T: FromPlain> FromPlain for Option<T> {
    fn from_plain(plain: &Plain<'_>) -> Option<Self> {
        match plain {
            Plain::None => Some(None),
            _ => T::from_plain(plain).map(Some),
        }
    }
}

impl<T: FromPlain> FromPlain for Vec<T> {
    fn from_plain(plain: &Plain<'_>) -> Option<Self> {
        match plain {
            Plain::List(items) => items.iter().map(T::from_plain).collect(),
            Plain::Array(operand) if operand.shape().len() == 1 => {
                items(operand)?.iter().map(T::from_plain).collect()
            }
            _ => None,
        }
    }
}

/// A type of elements that an output has.
pub(crate) trait Written: Clone + Send + Sync {
    /// Copies elements to a result, in the type that the result has: JAX has types of 32 bits unless 64 are enabled.
    /// `None` if it has one of another kind.
    fn write(elements: &[Self], to: &mut Target<'_>) -> Option<()>;
}

macro_rules! floats {
    ($($T:ty),+) => {$(
        impl Written for $T {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_lossless,
                trivial_numeric_casts,
                reason = "as JAX rounds"
            )]
            fn write(elements: &[Self], to: &mut Target<'_>) -> Option<()> {
                if copied(elements, to).is_some() {
                    return Some(());
                }
                if let Some(to) = to.elements::<f32>() {
                    to.iter_mut().zip(elements).for_each(|(to, &from)| *to = from as f32);
                    return Some(());
                }
                let to = to.elements::<f64>()?;
                to.iter_mut().zip(elements).for_each(|(to, &from)| *to = from as f64);
                Some(())
            }
        }
    )+};
}

floats!(f32, f64);

macro_rules! written_ints {
    ($($T:ty),+) => {$(
        impl Written for $T {
            fn write(elements: &[Self], to: &mut Target<'_>) -> Option<()> {
                copied(elements, to).or_else(|| converted(elements, to))
            }
        }
    )+};
}

written_ints!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Written for bool {
    fn write(elements: &[Self], to: &mut Target<'_>) -> Option<()> {
        (to.kind() == Kind::Bool).then(|| {
            let to = to.bytes().iter_mut().zip(elements);
            to.for_each(|(to, &from)| *to = u8::from(from));
        })
    }
}

/// Copies elements to a result of their type.
fn copied<T: Number + Send + Sync>(from: &[T], to: &mut Target<'_>) -> Option<()> {
    split_mut(to.elements::<T>()?, 1, PARALLEL, |start, to| {
        to.copy_from_slice(&from[start..][..to.len()]);
    });
    Some(())
}

/// Copies integers to a result of other integers.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as JAX has fewer bits"
)]
fn converted<T: Number + Into<i128>>(from: &[T], to: &mut Target<'_>) -> Option<()> {
    macro_rules! each {
        ($($T:ty),+) => {
            $(if let Some(to) = to.elements::<$T>() {
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = from.into() as $T);
                return Some(());
            })+
        };
    }
    each!(i32, u32, i64, u64);
    None
}

/// Copies an output to a result.
pub(crate) fn write<V: Written, D: Dimension>(
    output: &ArrayRef<V, D>,
    to: &mut Target<'_>,
) -> Result<(), String> {
    if output.shape() != to.shape() {
        return Err(format!(
            "an output has the shape {:?}, and not {:?} as when the program was traced",
            output.shape(),
            to.shape()
        ));
    }
    let in_order = output.as_standard_layout();
    // INVARIANT: the array has standard layout.
    V::write(in_order.as_slice().expect("one piece"), to)
        .ok_or_else(|| format!("an output cannot be written to an array of {:?}", to.kind()))
}
