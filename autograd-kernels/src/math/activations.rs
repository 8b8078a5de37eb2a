//! Activations, and the backward functions of those whose derivative is more than a product: the output's gradient
//! times the derivative, in one loop.

use super::{exp, gelu_derivative, ln_1p, sigmoid};
use crate::element::Element;
pub use crate::element::real::{GELU_TANH, GELU_TANH_BOUND};

/// Returns x / (1 + e⁻ˣ).
#[inline(always)]
pub fn silu<T: Element>(x: T) -> T {
    x * sigmoid(x)
}

/// Returns ln(1 + eˣ), from the smaller exponential.
#[inline(always)]
pub fn softplus<T: Element>(x: T) -> T {
    let right = if x < T::zero() { T::zero() } else { x };
    right + ln_1p(exp(-x.abs()))
}

/// Returns √(8/π) (x + 0.044715 x³), and its derivative.
#[inline(always)]
fn gelu_tanh_inner<T: Element>(x: T) -> (T, T) {
    let [linear, cubic] = GELU_TANH.map(T::from_f64);
    let three = T::from_f64(3.0);
    (x * (linear + cubic * x * x), linear + three * cubic * x * x)
}

/// Returns ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), which is x times a sigmoid.
#[inline(always)]
pub fn gelu_tanh<T: Element>(x: T) -> T {
    x * sigmoid(gelu_tanh_inner(x).0)
}

#[inline(always)]
pub fn tanh_backward<T: Element>(gradient: T, output: T) -> T {
    gradient * (T::one() - output * output)
}

#[inline(always)]
pub fn sigmoid_backward<T: Element>(gradient: T, output: T) -> T {
    gradient * (output * (T::one() - output))
}

#[inline(always)]
pub fn erf_backward<T: Element>(gradient: T, x: T) -> T {
    gradient * T::from_f64(std::f64::consts::FRAC_2_SQRT_PI) * exp(-x * x)
}

#[inline(always)]
pub fn gelu_backward<T: Element>(gradient: T, x: T) -> T {
    gradient * gelu_derivative(x)
}

#[inline(always)]
pub fn gelu_tanh_backward<T: Element>(gradient: T, x: T) -> T {
    let bound = T::from_f64(GELU_TANH_BOUND);
    let x = if x > bound { bound } else { x };
    let x = if x < -bound { -bound } else { x };
    let (inner, slope) = gelu_tanh_inner(x);
    let s = sigmoid(inner);
    gradient * (s + x * slope * (s * (T::one() - s)))
}

#[inline(always)]
pub fn silu_backward<T: Element>(gradient: T, x: T) -> T {
    let s = sigmoid(x);
    gradient * (s + x * (s * (T::one() - s)))
}

#[inline(always)]
pub fn softplus_backward<T: Element>(gradient: T, x: T) -> T {
    gradient * sigmoid(x)
}
