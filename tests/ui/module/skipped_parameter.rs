use pullback::ndarray::Ix2;
use pullback::prelude::*;

#[derive(Module)]
pub struct Linear {
    #[module(skip)]
    pub weight: Option<Parameter<f32, Ix2>>,
}

fn main() {}
