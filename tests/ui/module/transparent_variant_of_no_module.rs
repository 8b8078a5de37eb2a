use pullback::ndarray::Ix2;
use pullback::prelude::*;

#[derive(Module)]
pub enum Layer {
    Linear(Parameter<f32, Ix2>),
    Dropout(f64),
    Relu,
}

fn main() {}
