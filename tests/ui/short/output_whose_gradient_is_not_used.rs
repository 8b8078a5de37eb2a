use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[custom_function(outputs(y, z), grad(x) = grad_y.to_owned())]
pub fn twice(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
    (x.to_owned(), x.to_owned())
}

fn main() {}
