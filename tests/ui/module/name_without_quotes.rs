use pullback::prelude::*;

#[derive(Module)]
#[module(name = Relu)]
pub struct Rectifier;

fn main() {}
