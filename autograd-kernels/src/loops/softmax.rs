//! Softmax of a slice, which neither overflows nor vanishes: the maximum is subtracted first. Compiled here for both
//! element types; along an axis, see [`along`](super::along).

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    reason = "a loop is vector code only if all of its body is in it"
)]

use std::marker::PhantomData;

use super::along::sum;
use super::max::largest_number;
use crate::element::{Any, Element, Family};
use crate::math::{exp, ln};
use crate::registers::{Kernel, Lanes, Register, widest};

/// Replaces each element by eˣ / Σ eˣ: NaN if all are −∞, or one is ∞.
///
/// ```
/// use pullback::kernels::softmax;
///
/// let mut x = [0.0, 0.0, f64::NEG_INFINITY];
/// softmax(&mut x);
/// assert_eq!(x, [0.5, 0.5, 0.0]);
/// ```
pub fn softmax<T: Element>(x: &mut [T]) {
    softmax_and_log_sum(x);
}

/// Computes [`softmax`], and returns the maximum m and ln Σ eˣ⁻ᵐ. x minus m, and then minus the logarithm, is the
/// logarithm of softmax.
pub fn softmax_and_log_sum<T: Element>(x: &mut [T]) -> (T, T) {
    let mut logarithms = (T::zero(), T::zero());
    match T::into_any::<Arguments<'_>>((x, &mut logarithms)) {
        Any::F32((x, logarithms)) => single(x, logarithms),
        Any::F64((x, logarithms)) => double(x, logarithms),
    }
    logarithms
}

/// A slice, and room for the logarithms.
struct Arguments<'a>(PhantomData<&'a ()>);

impl<'a> Family for Arguments<'a> {
    type Of<T: Element> = (&'a mut [T], &'a mut (T, T));
}

#[inline(never)]
fn single(x: &mut [f32], logarithms: &mut (f32, f32)) {
    // SAFETY: it has no conditions.
    unsafe { widest(OfSlice(x, logarithms)) }
}

#[inline(never)]
fn double(x: &mut [f64], logarithms: &mut (f64, f64)) {
    // SAFETY: it has no conditions.
    unsafe { widest(OfSlice(x, logarithms)) }
}

struct OfSlice<'a, T>(&'a mut [T], &'a mut (T, T));

impl<T: Lanes> Kernel<T> for OfSlice<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    unsafe fn run<R: Register<Element = T>>(self) {
        let Self(x, logarithms) = self;
        // SAFETY: the processor has the registers. An element that is NaN makes the sum NaN.
        let largest = unsafe { largest_number::<T, R>(x) };
        for x in &mut *x {
            *x = exp(*x - largest);
        }
        let sum = sum(x, x, |x, _| x);
        let inverse = T::one() / sum;
        for x in x {
            *x *= inverse;
        }
        *logarithms = (largest, ln(sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFINITY: f64 = f64::INFINITY;

    #[test]
    fn large_and_small_elements_do_not_overflow() {
        for shift in [-1e300, -1000.0, 0.0, 1000.0, 1e300] {
            let mut x = [shift, shift, shift];
            let (largest, log_sum) = softmax_and_log_sum(&mut x);
            assert!(largest == shift && (log_sum - 3.0_f64.ln()).abs() < 1e-15);
            let mut x = [shift, shift];
            softmax(&mut x);
            assert_eq!(x, [0.5; 2]);
        }
        softmax::<f64>(&mut []);
    }

    #[test]
    fn infinities_and_nan_go_where_they_belong() {
        for bad in [[-INFINITY; 2], [INFINITY, 0.0], [f64::NAN, 0.0]] {
            let mut x = bad;
            softmax(&mut x);
            assert!(x[0].is_nan(), "{bad:?}");
        }
    }
}
