use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use pullback::prelude::*;

#[custom_function(grad(input) = grad_output.dot(&weight), grad(bias) = grad_output.sum_axis(Axis(0)))]
pub fn linear(
    input: ArrayView2<f32>,
    weight: ArrayView2<f32>,
    bias: Option<ArrayView1<f32>>,
) -> Array2<f32> {
    let output = input.dot(&weight.t());
    match bias {
        Some(bias) => output + bias,
        None => output,
    }
}

fn main() {
    // Neither the function nor the type behind it is reported a second time.
    let x = Tensor::from(Array2::<f32>::ones((1, 2)));
    let y: Tensor2<f32> = linear(&x, &x, None);
    y.sum().backward().unwrap();
    let _: Array2<f32> = Linear::forward(x.view(), x.view(), Some(Array1::ones(1).view()));
    println!("{}", Linear::NAME);
}
