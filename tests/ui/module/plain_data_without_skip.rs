use pullback::ndarray::Ix2;
use pullback::prelude::*;

#[derive(Module)]
pub struct Linear {
    pub weight: Parameter<f32, Ix2>,
    pub in_features: usize,
}

fn main() {}
