use pullback::prelude::*;

#[derive(Module)]
pub struct Dropout {
    #[module(skip)]
    #[module(skip, show)]
    pub rate: f64,
}

fn main() {}
