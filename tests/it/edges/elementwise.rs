//! Functions of one element each, and between tensors that broadcast.

use pullback::ops::{ScalarDiv, ScalarSub};
use pullback::prelude::*;

use super::rows::{Row, binary, unary};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let number = T::from_f64;
    vec![
        binary("add", |x, y| x + y, |x, y| x + y),
        binary("div", |x, y| x / y, |x, y| x / y),
        binary("mul", |x, y| x * y, |x, y| x * y),
        binary("sub", |x, y| x - y, |x, y| x - y),
        unary("add a number", move |x| x + number(1.5), |x| x + 1.5),
        unary("div by a number", move |x| x / number(1.5), |x| x / 1.5),
        unary(
            "div a number",
            move |x| ScalarDiv::apply(number(1.5), x),
            |x| 1.5 / x,
        ),
        unary("exp", |x| x.exp(), f64::exp),
        unary("ln", |x| x.ln(), f64::ln),
        unary("mul by a number", move |x| x * number(1.5), |x| x * 1.5),
        unary("neg", |x| -x, |x| -x),
        unary("powi -2", |x| x.powi(-2), |x| x.powi(-2)),
        unary("powi 0", |x| x.powi(0), |x| x.powi(0)),
        unary("powi 3", |x| x.powi(3), |x| x.powi(3)),
        unary(
            "sub from a number",
            move |x| ScalarSub::apply(number(1.5), x),
            |x| 1.5 - x,
        ),
        unary("tanh", |x| x.tanh(), f64::tanh),
    ]
}
