use std::cell::RefCell;

use pullback::ndarray::Ix2;
use pullback::prelude::*;

#[derive(Module)]
pub struct Linear {
    pub weight: RefCell<Parameter<f32, Ix2>>,
}

pub fn freeze(linear: &mut Linear) -> String {
    linear.requires_grad(false);
    format!("{linear} {}", linear.parameter_count())
}

fn main() {}
