use pullback::prelude::*;

pub struct Square;

#[custom_function]
impl Clone for Square {
    fn clone(&self) -> Self {
        Square
    }
}

fn main() {}
