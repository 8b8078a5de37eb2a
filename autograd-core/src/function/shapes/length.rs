//! Arithmetic with the lengths of axes, in which nothing overflows unseen.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::panic::Location;

use crate::error::{Error, ErrorKind};

/// A whole number in the expression of a length; `None` beyond its range, or after a division by 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(Option<i128>);

/// A value that can stand in the expression of a length.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a whole number",
    label = "the length of an axis is computed with whole numbers"
)]
pub trait IntoLength: Copy {
    /// Returns the number.
    fn into_length(self) -> Length;
}

macro_rules! whole_numbers {
    ($($number:ty)*) => {
        $(impl IntoLength for $number {
            #[inline]
            fn into_length(self) -> Length {
                Length(i128::try_from(self).ok())
            }
        })*
    };
}

whole_numbers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl<V: IntoLength> IntoLength for &V {
    #[inline]
    fn into_length(self) -> Length {
        (*self).into_length()
    }
}

impl IntoLength for Length {
    #[inline]
    fn into_length(self) -> Length {
        self
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $checked:expr;)*) => {
        $(impl $operator for Length {
            type Output = Self;

            #[inline]
            fn $method(self, other: Self) -> Self {
                let checked: fn(i128, i128) -> Option<i128> = $checked;
                Self(self.0.zip(other.0).and_then(|(a, b)| checked(a, b)))
            }
        })*
    };
}

operators! {
    Add add i128::checked_add;
    Sub sub i128::checked_sub;
    Mul mul i128::checked_mul;
    Div div floor;
    Rem rem |a, b| floor(a, b).map(|quotient| a - quotient * b);
}

/// Divides and rounds down, as Python does: `(l - k) / stride + 1` is then 0 or less where the kernel does not fit.
fn floor(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    Some(quotient - i128::from(a % b != 0 && (a < 0) != (b < 0)))
}

impl Neg for Length {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self(self.0.and_then(i128::checked_neg))
    }
}

impl Length {
    /// Returns the length of an axis; `text` is the expression and `terms` what it is computed from.
    #[inline]
    pub fn of_axis(
        self,
        [function, tensor, text]: [&'static str; 3],
        axis: usize,
        terms: &[(&'static str, Self)],
        at: &'static Location<'static>,
    ) -> Result<usize, Error> {
        match self.0.and_then(|length| usize::try_from(length).ok()) {
            // The largest stands for any length, and memory ends before it.
            Some(length) if length < usize::MAX => Ok(length),
            _ => Err(self.error([function, tensor, text], axis, terms, at)),
        }
    }

    #[cold]
    fn error(
        self,
        [function, tensor, expression]: [&'static str; 3],
        axis: usize,
        terms: &[(&'static str, Self)],
        at: &'static Location<'static>,
    ) -> Error {
        let known = |&(name, length): &(&'static str, Self)| Some((name, length.0?));
        ErrorKind::Length {
            tensor,
            axis,
            expression,
            length: self.0,
            terms: terms.iter().filter_map(known).collect(),
        }
        .of(function, at)
    }
}
