//! Functions of one element each, and between tensors that broadcast.

use pullback::prelude::*;

use super::{Attributes, Function};

pub const MISSING: &[&str] = &[
    "abs",
    "clamp",
    "cos",
    "erf",
    "gelu",
    "leaky_relu",
    "maximum",
    "minimum",
    "powf",
    "recip",
    "relu",
    "rsqrt",
    "sigmoid",
    "silu",
    "sin",
    "softplus",
    "sqrt",
    "where",
];

pub fn function<T: Element>(op: &str, _: &Attributes) -> Option<Function<T>> {
    Some(match op {
        "add" => Box::new(|x| &x[0] + &x[1]),
        "div" => Box::new(|x| &x[0] / &x[1]),
        "exp" => Box::new(|x| x[0].exp()),
        "ln" => Box::new(|x| x[0].ln()),
        "mul" => Box::new(|x| &x[0] * &x[1]),
        "neg" => Box::new(|x| -&x[0]),
        "square" => Box::new(|x| x[0].powi(2)),
        "sub" => Box::new(|x| &x[0] - &x[1]),
        "tanh" => Box::new(|x| x[0].tanh()),
        _ => return None,
    })
}
