use pullback::prelude::*;

#[derive(Module)]
pub struct Dropout {
    #[module]
    pub rate: f64,
}

fn main() {}
