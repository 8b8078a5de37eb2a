use pullback::prelude::*;

pub struct Padding(pub usize);

#[derive(Module)]
pub struct Conv {
    #[module(skip, show)]
    pub padding: Padding,
}

fn main() {}
