use std::marker::PhantomData;

use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[derive(Clone)]
pub struct Settings {
    factor: f64,
    of_one_thread: PhantomData<*const u8>,
}

// Sent, but not shared.
unsafe impl Send for Settings {}

pub struct Scale;

#[custom_function]
impl Scale {
    #[forward]
    pub fn forward(x: ArrayView1<f64>, settings: Settings) -> Array1<f64> {
        let _ = settings.of_one_thread;
        &x * settings.factor
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, settings: &Settings) -> Array1<f64> {
        &grad_output * settings.factor
    }
}

fn main() {}
