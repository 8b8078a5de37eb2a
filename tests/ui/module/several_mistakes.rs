use pullback::ndarray::Ix2;
use pullback::prelude::*;

#[derive(Module)]
#[module(nam = "Linear")]
pub struct Affine {
    #[module(skip)]
    pub weight: Parameter<f32, Ix2>,
    #[module(show)]
    pub bias: Parameter<f32, Ix2>,
    #[module(skpi)]
    pub in_features: usize,
}

pub fn print(affine: &mut Affine) -> String {
    affine.eval();
    affine.to_string()
}

fn main() {}
