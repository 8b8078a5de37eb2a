use pullback::ndarray::Ix1;
use pullback::prelude::*;

#[derive(Module)]
pub struct Norm(#[module(skip)] pub Buffer<f32, Ix1>);

fn main() {}
