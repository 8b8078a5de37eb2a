use pullback::ndarray::Ix1;
use pullback::prelude::*;

#[derive(Module)]
pub struct Scale {
    #[module(rename = "bias")]
    pub factor: Parameter<f32, Ix1>,
    pub bias: Parameter<f32, Ix1>,
}

fn main() {}
