use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

pub struct Linear;

#[custom_function]
impl Linear {
    #[forward]
    pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        input.dot(&weight.t())
    }

    #[backward(input)]
    fn grad_input(
        grad_output: ArrayView2<f32>,
        needs_input_grad: LinearNeedsInputGrad,
    ) -> Array2<f32> {
        assert!(needs_input_grad.input);
        grad_output.to_owned()
    }
}

fn main() {
    // Neither the generated function nor what hangs on it is reported a second time.
    let x = Tensor::from(Array2::<f32>::ones((1, 2)));
    let y: Tensor2<f32> = Linear::apply(&x, &x);
    y.sum().backward().unwrap();
    println!("{} {:?}", Linear::NAME, Linear::SIGNATURE);
}
