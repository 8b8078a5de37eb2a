use pullback::prelude::*;

#[derive(Module)]
pub enum Layer {
    #[module(skip)]
    Dropout(f64),
}

fn main() {}
