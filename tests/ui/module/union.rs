use pullback::prelude::*;

#[derive(Module)]
pub union Either {
    pub rate: f64,
    pub count: u64,
}

fn main() {}
