//! What the derivatives of a formula in reverse are made of, beside operators: the slopes of its other operations.

use std::any::Any;

use super::dual::Dual;
use crate::element::real::Real;

/// Returns an operand of a method, at its place among those that are numbers.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn variable<R: Real, const N: usize>(number: R, place: usize) -> Dual<R, N> {
    Dual::variable(number, place)
}

/// Returns what a method returned, without its slopes.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn value_of<R: Real, const N: usize>(result: &Dual<R, N>) -> R {
    result.value
}

/// Returns the derivative with respect to the result of a method times its slope in one of its operands. One that the result
/// does not depend on, as of a maximum, makes no NaN.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn passed<R: Real, const N: usize>(adjoint: R, result: &Dual<R, N>, operand: usize) -> R {
    let product = adjoint * result.signed(operand);
    if result.has(operand) {
        product
    } else {
        R::from(0.0)
    }
}

/// Returns the first number if a condition holds, and the second otherwise. Both are computed: what the other one may be, as
/// NaN, does not count.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn chosen<R: Real>(condition: bool, first: R, second: R) -> R {
    R::chosen(condition, first, second)
}

/// Returns a value whose type the macro does not know, such as that of a constant. In a formula where it has another type,
/// the compiler reports that; here it would say so again, in other words.
///
/// # Panics
/// If the value has another type: not in a formula that compiles.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn known<V: Copy + 'static, W: 'static>(value: &W) -> V {
    let value: &dyn Any = value;
    // INVARIANT: the formula has no operators for others.
    *value
        .downcast_ref()
        .expect("the type that the formula needs")
}

/// Returns −∂(x/y)/∂y.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn slope_of_divisor<R: Real>(quotient: R, divisor: R) -> R {
    quotient.times_recip(divisor.recip())
}
