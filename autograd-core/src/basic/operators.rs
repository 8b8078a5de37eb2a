//! `+`, `-`, `*`, `/` between tensors and numbers, owned and borrowed.
//!
//! Shapes broadcast as in ndarray. If they differ, each operand is first repeated to the common shape, by a separate
//! function and without a copy: the arithmetic and its gradients only have operands of one shape.

use std::ops;

use ndarray::{DimMax, Dimension};

use super::{Add, AddScalar, Div, DivScalar, Mul, MulScalar, Neg, ScalarDiv, ScalarSub, Sub};
use crate::{Element, Shape, tensor::Tensor};
use autograd_kernels::{checks, memory};

/// The dimension that two operands broadcast to.
pub(crate) type Common<D, E> = <D as DimMax<E>>::Output;

/// Both operands at their common shape.
pub(crate) type Pair<T, D, E> = (Tensor<T, Common<D, E>>, Tensor<T, Common<D, E>>);

/// Both operands, without a copy.
type SamePair<'a, T, D, E> = (&'a Tensor<T, Common<D, E>>, &'a Tensor<T, Common<D, E>>);

/// Returns operands of one shape with their common dimension type; `None` if the shapes differ.
#[inline]
fn same_shape<'a, T, D, E>(
    x: &'a Tensor<T, D>,
    y: &'a Tensor<T, E>,
) -> Option<SamePair<'a, T, D, E>>
where
    T: Element,
    D: Dimension + DimMax<E>,
    E: Dimension,
{
    if !x.has_shape_of(y) {
        return None;
    }
    Some((x.as_dimensionality()?, y.as_dimensionality()?))
}

/// Repeats both operands to their common shape.
#[inline(never)]
#[track_caller]
pub(crate) fn broadcast<T, D, E>(
    x: &Tensor<T, D>,
    y: &Tensor<T, E>,
    operator: &str,
) -> Pair<T, D, E>
where
    T: Element,
    D: Dimension + DimMax<E>,
    E: Dimension,
{
    let Some(shape) = common_shape(x.shape(), y.shape()) else {
        panic!(
            "{operator} of shapes {:?} and {:?}: they do not broadcast",
            x.shape(),
            y.shape()
        )
    };
    assert!(
        memory::has_room::<T>(checks::size(&shape).unwrap_or(usize::MAX)),
        "{operator} of shapes {:?} and {:?}: there is no memory for a result of shape {shape} of {}",
        x.shape(),
        y.shape(),
        T::TYPE
    );
    (broadcast_operand(x, &shape), broadcast_operand(y, &shape))
}

#[track_caller]
fn broadcast_operand<T: Element, D: Dimension, E: Dimension>(
    x: &Tensor<T, D>,
    shape: &[usize],
) -> Tensor<T, E> {
    if x.shape() == shape {
        return result(x.clone());
    }
    x.broadcast_to(shape)
}

/// Returns the shape that two shapes broadcast to: axes are aligned at the last, and have one length, or one
/// of them has length 1.
pub(crate) fn common_shape(x: &[usize], y: &[usize]) -> Option<Shape> {
    if x == y {
        return Some(Shape::from(x));
    }
    let (long, short) = if x.len() < y.len() { (y, x) } else { (x, y) };
    let mut shape = long.to_vec();
    let aligned = shape[long.len() - short.len()..].iter_mut().zip(short);
    for (length, &other) in aligned {
        match (*length, other) {
            (a, b) if a == b => {}
            (1, b) => *length = b,
            (_, 1) => {}
            _ => return None,
        }
    }
    Some(Shape::from(&shape[..]))
}

/// Returns an operand that has the common shape with the common dimension type.
#[inline]
fn result<T: Element, D: Dimension, E: Dimension>(x: Tensor<T, D>) -> Tensor<T, E> {
    // INVARIANT: the operand has the common shape, and so the rank of the common dimension.
    x.into_dimensionality()
        .expect("the rank of the common shape")
}

/// Implements an operator between tensors, owned and borrowed. The result is written into an owned operand if no other
/// handle shares its memory.
macro_rules! between_tensors {
    ($Trait:ident, $method:ident, $Function:ident, $f:expr) => {
        between_tensors!($Trait, $method, &Tensor<T, D>, &Tensor<T, E>, (self), other => {
            if let Some((x, y)) = same_shape(self, other) {
                // Not in a closure, which would be the caller of `apply`.
                return match x.zip_plain(y, $f) {
                    Some(result) => result,
                    None => $Function::apply(x, y),
                };
            }
            let (x, y) = broadcast(self, other, stringify!($method));
            $Function::apply(&x, &y)
        });
        between_tensors!($Trait, $method, Tensor<T, D>, &Tensor<T, E>, (mut self), other => {
            if self.zip_in_place(other, $f) {
                return result(self);
            }
            ops::$Trait::$method(&self, other)
        });
        between_tensors!($Trait, $method, &Tensor<T, D>, Tensor<T, E>, (self), mut other => {
            if other.zip_in_place(self, |y, x| $f(x, y)) {
                return result(other);
            }
            ops::$Trait::$method(self, &other)
        });
        between_tensors!($Trait, $method, Tensor<T, D>, Tensor<T, E>, (mut self), other => {
            if self.zip_in_place(&other, $f) {
                return result(self);
            }
            ops::$Trait::$method(&self, other)
        });
    };
    // Owned operands are not moved before they are used: a copy right after they were made stalls.
    (
        $Trait:ident, $method:ident, $X:ty, $Y:ty,
        ($($receiver:tt)+), $other:pat_param => $body:block
    ) => {
        impl<T, D, E> ops::$Trait<$Y> for $X
        where
            T: Element,
            D: Dimension + DimMax<E>,
            E: Dimension,
        {
            type Output = Tensor<T, Common<D, E>>;

            #[track_caller]
            fn $method($($receiver)+, $other: $Y) -> Self::Output $body
        }
    };
}

between_tensors!(Add, add, Add, |x, y| x + y);
between_tensors!(Sub, sub, Sub, |x, y| x - y);
between_tensors!(Mul, mul, Mul, |x, y| x * y);
between_tensors!(Div, div, Div, |x, y| x / y);

/// Implements an operator with a number on the right, for a tensor owned and borrowed.
macro_rules! with_number {
    ($Trait:ident, $method:ident, |$x:ident, $c:ident| $body:expr, $f:expr) => {
        impl<T: Element, D: Dimension> ops::$Trait<T> for &Tensor<T, D> {
            type Output = Tensor<T, D>;

            #[track_caller]
            fn $method(self, $c: T) -> Tensor<T, D> {
                let $x = self;
                $body
            }
        }

        impl<T: Element, D: Dimension> ops::$Trait<T> for Tensor<T, D> {
            type Output = Self;

            #[track_caller]
            fn $method(mut self, $c: T) -> Self {
                if self.map_in_place(|x| $f(x, $c)) {
                    return self;
                }
                let $x = &self;
                $body
            }
        }
    };
}

with_number!(Add, add, |x, c| AddScalar::apply(x, c), |x, c| x + c);
with_number!(Sub, sub, |x, c| AddScalar::apply(x, -c), |x, c| x - c);
with_number!(Mul, mul, |x, c| MulScalar::apply(x, c), |x, c| x * c);
with_number!(Div, div, |x, c| DivScalar::apply(x, c), |x, c| x / c);

/// Implements an operator with a number on the left, for each element type: a type parameter is not allowed there.
macro_rules! number_first {
    ($Trait:ident, $method:ident, |$c:ident, $x:ident| $body:expr, $f:expr) => {
        number_first!($Trait, $method, f32, |$c, $x| $body, $f);
        number_first!($Trait, $method, f64, |$c, $x| $body, $f);
    };
    ($Trait:ident, $method:ident, $T:ty, |$c:ident, $x:ident| $body:expr, $f:expr) => {
        impl<D: Dimension> ops::$Trait<&Tensor<$T, D>> for $T {
            type Output = Tensor<$T, D>;

            #[track_caller]
            fn $method(self, $x: &Tensor<$T, D>) -> Tensor<$T, D> {
                let $c = self;
                $body
            }
        }

        impl<D: Dimension> ops::$Trait<Tensor<$T, D>> for $T {
            type Output = Tensor<$T, D>;

            #[track_caller]
            fn $method(self, mut x: Tensor<$T, D>) -> Tensor<$T, D> {
                if x.map_in_place(|x| $f(self, x)) {
                    return x;
                }
                let ($c, $x) = (self, &x);
                $body
            }
        }
    };
}

number_first!(Add, add, |c, x| AddScalar::apply(x, c), |c, x| c + x);
number_first!(Sub, sub, |c, x| ScalarSub::apply(c, x), |c, x| c - x);
number_first!(Mul, mul, |c, x| MulScalar::apply(x, c), |c, x| c * x);
number_first!(Div, div, |c, x| ScalarDiv::apply(c, x), |c, x| c / x);

impl<T: Element, D: Dimension> ops::Neg for &Tensor<T, D> {
    type Output = Tensor<T, D>;

    #[track_caller]
    fn neg(self) -> Tensor<T, D> {
        Neg::apply(self)
    }
}

impl<T: Element, D: Dimension> ops::Neg for Tensor<T, D> {
    type Output = Self;

    #[track_caller]
    fn neg(mut self) -> Self {
        if self.map_in_place(|x| -x) {
            return self;
        }
        Neg::apply(&self)
    }
}
