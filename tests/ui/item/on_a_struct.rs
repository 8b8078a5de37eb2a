use pullback::prelude::*;

#[custom_function]
pub struct Square;

fn main() {}
