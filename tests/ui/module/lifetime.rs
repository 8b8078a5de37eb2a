use pullback::ndarray::Ix2;
use pullback::prelude::*;

#[derive(Module)]
pub struct Tied<'a> {
    pub weight: &'a Parameter<f32, Ix2>,
}

pub fn print(tied: &Tied) -> String {
    format!("{tied} {}", tied.parameter_count())
}

fn main() {}
