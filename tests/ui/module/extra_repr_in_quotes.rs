use pullback::prelude::*;

#[derive(Module)]
#[module(extra_repr = "rate")]
pub struct Dropout {
    #[module(skip)]
    pub rate: f64,
}

fn main() {}
