use pullback::prelude::*;

#[custom_function]
pub mod square {}

fn main() {}
