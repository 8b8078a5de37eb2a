//! Activations, and the backward of functions that take more than a product: the gradient that comes in times the
//! derivative, in one loop.

use super::{exp, gelu_derivative, ln_1p, sigmoid};
use crate::element::Element;

/// x / (1 + e⁻ˣ)
#[inline(always)]
pub fn silu<T: Element>(x: T) -> T {
    x * sigmoid(x)
}

/// ln(1 + eˣ), of the smaller exponential
#[inline(always)]
pub fn softplus<T: Element>(x: T) -> T {
    let right = if x < T::zero() { T::zero() } else { x };
    right + ln_1p(exp(-x.abs()))
}

/// √(8/π) (x + 0.044715 x³), and its derivative.
#[inline(always)]
fn bent<T: Element>(x: T) -> (T, T) {
    let [linear, cubic] = GELU_TANH.map(T::from_f64);
    let three = T::from_f64(3.0);
    (x * (linear + cubic * x * x), linear + three * cubic * x * x)
}

/// √(8/π), and that times 0.044715.
pub const GELU_TANH: [f64; 2] = [1.595_769_121_605_730_7, 0.071_354_816_272_600_25];

/// Beyond it the sigmoid of gelu's approximation is 0 or 1, and has no slope that powers of x could blow up.
pub const GELU_TANH_BOUND: f64 = 100.0;

/// ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), which is x times a sigmoid.
#[inline(always)]
pub fn gelu_tanh<T: Element>(x: T) -> T {
    x * sigmoid(bent(x).0)
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
    let (inner, slope) = bent(x);
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
