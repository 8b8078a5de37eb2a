use pullback::prelude::*;

#[derive(Module)]
pub struct Relu;

#[derive(Module)]
pub enum Layer {
    Relu(#[module(rename = "relu")] Relu),
}

fn main() {}
