use pullback::prelude::*;

#[custom_function]
pub enum Square {}

fn main() {}
