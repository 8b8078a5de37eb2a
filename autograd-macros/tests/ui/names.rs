use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod input_like_a_gradient {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, grad_output: f32) -> Array1<f32> { &x * &x * grad_output }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod input_like_the_output {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(output: ArrayView1<f32>) -> Array1<f32> { &output * &output }
        #[backward(output)]
        fn backward(grad_output: ArrayView1<f32>, output: ArrayView1<f32>) -> Array1<f32> {
            &grad_output * &output * 2.0
        }
    }
}

mod output_like_an_input {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward(outputs(x))]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_x: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_x * &x * 2.0 }
    }
}

mod saved_like_an_output {
    use super::*;
    pub struct Norm;
    #[custom_function]
    impl Norm {
        #[forward(outputs(y), saves(y))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64) { (x.to_owned(), x.sum()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> { &grad_y * &y }
    }
}

fn main() {}
