use std::sync::Mutex;

use pullback::ndarray::Ix2;
use pullback::prelude::*;

#[derive(Module)]
pub struct Linear {
    pub weight: Mutex<Parameter<f32, Ix2>>,
}

fn main() {}
