use pullback::prelude::*;

#[derive(Module)]
pub struct Dropout {
    #[module(skip, name = "p")]
    pub rate: f64,
}

fn main() {}
