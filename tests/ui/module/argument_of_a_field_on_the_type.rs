use pullback::prelude::*;

#[derive(Module)]
#[module(skip)]
pub struct Dropout {
    #[module(skip)]
    pub rate: f64,
}

fn main() {}
