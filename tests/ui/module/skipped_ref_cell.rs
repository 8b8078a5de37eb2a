use std::cell::RefCell;

use pullback::prelude::*;

#[derive(Module)]
pub struct Cached {
    #[module(skip)]
    pub cache: RefCell<Vec<f32>>,
}

fn main() {}
