use pullback::prelude::*;

#[derive(Module)]
pub struct Dropout {
    #[module(skp)]
    pub rate: f64,
}

pub fn print(dropout: &Dropout) -> String {
    format!("{dropout} {:?}", dropout.named_modules().len())
}

fn main() {}
