use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

fn main() {
    #[allow(unused_variables)]
    let weight = Tensor::from(Array1::<f64>::ones(3)).set_requires_grad(true);

    pub struct Scale;

    #[custom_function]
    impl Scale {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> {
            x.mapv(|x| x * weight.item())
        }

        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
            grad_output.mapv(|grad| grad * weight.item())
        }
    }
}
