//! The library under another name.

use pullback as pb;
use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::{Gradcheck, custom_function};

use crate::functions::leaf;

struct Cube;

#[custom_function(crate = pb, gradcheck(x = [3]))]
impl Cube {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.mapv(|x| x.powi(3))
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x.mapv(|x| 3.0 * x * x)
    }
}

#[custom_function(crate = pb, grad(x) = &grad_output * 2.0)]
fn double(x: ArrayView1<f64>) -> Array1<f64> {
    &x * 2.0
}

#[test]
fn the_path_to_the_library_can_be_given() {
    let x = leaf([0.5, 2.0]);
    Gradcheck::new()
        .run(|(x,)| double(&Cube::apply(x)), (&x,))
        .unwrap();
}

#[test]
fn definitions_stand_inside_functions_too() {
    #[custom_function(grad(x) = &grad_output * 3.0)]
    fn triple(x: ArrayView1<f64>) -> Array1<f64> {
        &x * 3.0
    }

    let x = leaf([0.5, 2.0]);
    Gradcheck::new().run(|(x,)| triple(x), (&x,)).unwrap();
}
