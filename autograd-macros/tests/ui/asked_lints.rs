use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

#[deny(unused_variables)]
mod gradient_not_used {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    }
}

fn main() {}
