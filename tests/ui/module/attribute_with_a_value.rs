use pullback::prelude::*;

#[derive(Module)]
pub struct Dropout {
    #[module = "skip"]
    pub rate: f64,
}

fn main() {}
