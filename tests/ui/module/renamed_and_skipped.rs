use pullback::prelude::*;

#[derive(Module)]
pub struct Dropout {
    #[module(skip, rename = "p")]
    pub rate: f64,
}

fn main() {}
