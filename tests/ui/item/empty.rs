use pullback::prelude::*;

pub struct Square;

#[custom_function]
impl Square {}

fn main() {}
