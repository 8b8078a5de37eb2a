//! Shapes and data movement.

use pullback::ndarray::Axis;
use pullback::prelude::*;

use super::{Attributes, Function};

pub fn function<T: Element>(op: &str, attributes: &Attributes) -> Option<Function<T>> {
    let axis = || Axis(attributes.get("axis"));
    Some(match op {
        "concat" => {
            let axis = axis();
            Box::new(move |x| Tensor::concat(axis, &x.iter().collect::<Vec<_>>()))
        }
        "index_select" => {
            let (axis, indices) = (axis(), attributes.get::<Vec<usize>>("indices"));
            Box::new(move |x| x[0].index_select(axis, &indices))
        }
        "pad" => {
            let widths: Vec<[usize; 2]> = attributes.get("padding");
            let widths: Vec<(usize, usize)> = widths.into_iter().map(Into::into).collect();
            let value = T::from_f64(attributes.get("value"));
            Box::new(move |x| x[0].pad(&widths, value))
        }
        "permute" => {
            let axes: Vec<usize> = attributes.get("axes");
            Box::new(move |x| x[0].permute(&axes))
        }
        "stack" => {
            let axis = axis();
            Box::new(move |x| Tensor::stack(axis, &x.iter().collect::<Vec<_>>()))
        }
        _ => return None,
    })
}
