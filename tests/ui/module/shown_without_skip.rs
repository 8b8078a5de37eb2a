use pullback::prelude::*;

#[derive(Module)]
pub struct Dropout {
    #[module(show)]
    pub rate: f64,
}

fn main() {}
