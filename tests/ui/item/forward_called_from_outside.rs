use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod functions {
    use super::*;

    pub struct Square;

    #[custom_function]
    impl Square {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> {
            &x * &x
        }

        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
            &grad_output * &x * 2.0
        }
    }
}

fn main() {
    let x = Array1::ones(3);
    functions::Square::forward(x.view());
}
