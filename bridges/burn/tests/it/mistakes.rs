//! Messages.

use burn::tensor::{DType, Device, Tensor};
use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

use pullback_burn::apply;

type Vector = Tensor1<f32>;

fn vector(device: &Device) -> Tensor<1> {
    Tensor::from_floats([1.0, 2.0], device)
}

#[test]
#[should_panic(
    expected = "input 1 is a tensor of f64 of rank 1; the function takes one of f32 of rank 1"
)]
fn another_element_type() {
    let device = Device::flex();
    let double = Tensor::<1>::from_data([1.0], (&device, DType::F64));
    let _ = apply(
        |(x, y): (&Vector, &Vector)| x * y,
        (vector(&device), double),
    );
}

#[test]
#[should_panic(expected = "input 0 is a tensor of F16; the function takes F32 or F64")]
fn half_precision() {
    let x = vector(&Device::flex()).cast(DType::F16);
    let _ = apply(|x: &Vector| x * 2.0, x);
}

#[test]
#[should_panic(
    expected = "input 1 has shape [2]; the function takes a scalar, which has shape [1] in burn"
)]
fn a_vector_where_a_scalar_is_taken() {
    let x = vector(&Device::flex());
    let _ = apply(|(x, y): (&Vector, &Tensor0<f32>)| x * y, (x.clone(), x));
}

#[test]
#[should_panic(
    expected = "input 1 has autodiff Enabled(Balanced), and those before it Enabled(Disabled)"
)]
fn two_strategies() {
    let device = Device::flex().autodiff();
    let inputs = (
        vector(&device),
        vector(&device.clone().gradient_checkpointing()),
    );
    let _ = apply(|(x, y): (&Vector, &Vector)| x * y, inputs);
}

#[test]
#[should_panic(expected = "an output has shape [2], where a tensor of rank 3 is expected")]
fn an_output_of_another_rank() {
    let _: Tensor<3> = apply(|x: &TensorD<f32>| x * 2.0, vector(&Device::flex()));
}

/// Fails backward.
struct Failing;

#[custom_function]
impl Failing {
    #[forward]
    fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f32>) -> Array1<f32> {
        // A gradient of the wrong shape.
        grad_output.slice_move(pullback::ndarray::s![..1])
    }
}

#[test]
#[should_panic(expected = "gave a gradient of shape [1] for `x` of shape [2]")]
fn a_backward_that_fails() {
    let x = vector(&Device::flex().autodiff()).require_grad();
    let y = apply(|x: &Vector| Failing::apply(x), x);
    let _ = y.sum().backward();
}

#[test]
fn burns_graph_is_usable_after_a_failure() {
    let device = Device::flex().autodiff();
    let x = vector(&device).require_grad();
    let y = apply(|x: &Vector| Failing::apply(x), x.clone());
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| y.sum().backward()));
    assert!(failed.is_err());
    let y = apply(|x: &Vector| x * 2.0, x.clone());
    let grad = x.grad(&y.sum().backward()).unwrap();
    assert_eq!(super::numbers(grad), [2.0, 2.0]);
}

#[test]
fn no_backward_of_a_constant_is_called() {
    let device = Device::flex().autodiff();
    let x = vector(&device).require_grad();
    for constant in [vector(&device), vector(&Device::flex())] {
        let function = |(x, y): (&Vector, &Vector)| x * &Failing::apply(y);
        let y = apply(function, (x.clone(), constant));
        let grad = x.grad(&y.sum().backward()).unwrap();
        assert_eq!(super::numbers(grad), [1.0, 2.0]);
    }
}
