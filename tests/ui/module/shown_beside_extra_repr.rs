use pullback::prelude::*;

#[derive(Module)]
#[module(extra_repr = rate)]
pub struct Dropout {
    #[module(skip, show)]
    pub rate: f64,
}

fn rate(dropout: &Dropout) -> String {
    dropout.rate.to_string()
}

fn main() {}
