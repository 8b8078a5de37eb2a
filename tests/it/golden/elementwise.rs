//! Functions of one element each, and between tensors that broadcast.

use pullback::ndarray::ArrayD;
use pullback::prelude::*;

use super::{Attributes, Function};

pub fn function<T: Element>(op: &str, attributes: &Attributes) -> Option<Function<T>> {
    let number = |name| T::from_f64(attributes.get(name));
    Some(match op {
        "abs" => Box::new(|x| x[0].abs()),
        "add" => Box::new(|x| &x[0] + &x[1]),
        "clamp" => {
            let (min, max) = (number("min"), number("max"));
            Box::new(move |x| x[0].clamp(min, max))
        }
        "cos" => Box::new(|x| x[0].cos()),
        "div" => Box::new(|x| &x[0] / &x[1]),
        "erf" => Box::new(|x| x[0].erf()),
        "exp" => Box::new(|x| x[0].exp()),
        "gelu" => match attributes.get::<String>("approximate").as_str() {
            "none" => Box::new(|x| x[0].gelu()),
            "tanh" => Box::new(|x| x[0].gelu_tanh()),
            _ => return None,
        },
        "leaky_relu" => {
            let slope = number("negative_slope");
            Box::new(move |x| x[0].leaky_relu(slope))
        }
        "ln" => Box::new(|x| x[0].ln()),
        "maximum" => Box::new(|x| x[0].maximum(&x[1])),
        "minimum" => Box::new(|x| x[0].minimum(&x[1])),
        "mul" => Box::new(|x| &x[0] * &x[1]),
        "neg" => Box::new(|x| -&x[0]),
        "powf" => {
            let exponent = number("exponent");
            Box::new(move |x| x[0].powf(exponent))
        }
        "recip" => Box::new(|x| x[0].recip()),
        "relu" => Box::new(|x| x[0].relu()),
        "rsqrt" => Box::new(|x| x[0].rsqrt()),
        "sigmoid" => Box::new(|x| x[0].sigmoid()),
        "silu" => Box::new(|x| x[0].silu()),
        "sin" => Box::new(|x| x[0].sin()),
        "softplus" => Box::new(|x| x[0].softplus()),
        "sqrt" => Box::new(|x| x[0].sqrt()),
        "square" => Box::new(|x| x[0].square()),
        "sub" => Box::new(|x| &x[0] - &x[1]),
        "tanh" => Box::new(|x| x[0].tanh()),
        "where" if attributes.get::<String>("condition") == "flat index even" => Box::new(|x| {
            let mut even = false;
            let mask = ArrayD::from_shape_simple_fn(x[0].shape(), || {
                even = !even;
                even
            });
            x[0].where_(&mask, &x[1])
        }),
        _ => return None,
    })
}
