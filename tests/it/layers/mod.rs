//! Layers: outputs against plain loops, gradients against finite differences, states, and errors for inputs that do
//! not fit.

mod attention;
mod composed;
mod convolutions;
mod gradients;
mod norms;
mod printing;
mod seeds;
mod shapes;
mod simple;

use pullback::ndarray::{Array, ArrayD, Dimension, IntoDimension, IxDyn};
use pullback::nn::{AnyParameter, Field, Generator, ParameterPath, VisitorMut, init};
use pullback::prelude::*;

use crate::functions::panic_of;

/// Returns the message of a panic.
fn panic_message<R>(call: impl FnOnce() -> R) -> String {
    panic_of(call).0
}

fn generator() -> Generator {
    Generator::seed(7)
}

/// Draws numbers from the normal distribution.
fn values<S: IntoDimension>(shape: S, seed: u64) -> Array<f64, S::Dim> {
    init::normal(shape, 0.0, 1.0, &mut Generator::seed(seed))
}

fn tensor<S: IntoDimension>(shape: S, seed: u64) -> Tensor<f64, S::Dim> {
    Tensor::from(values(shape, seed))
}

/// Asserts that two arrays differ by rounding only.
#[track_caller]
fn assert_close<D: Dimension>(found: &Array<f64, D>, expected: &Array<f64, D>) {
    assert_eq!(found.shape(), expected.shape());
    let off = (found - expected).fold(0.0, |largest: f64, off| largest.max(off.abs()));
    assert!(off < 1e-12, "off by {off}: {found}\nnot {expected}");
}

/// Returns the paths of the parameters.
fn names(module: &dyn Module) -> Vec<String> {
    let named = module.named_parameters().into_iter();
    named.map(|(name, _)| name).collect()
}

/// Sets each parameter to a new value.
fn set_all(module: &mut dyn Module, mut value: impl FnMut(&[usize]) -> TensorD<f64>) {
    struct Set<'a>(&'a mut dyn FnMut(&[usize]) -> TensorD<f64>);
    impl VisitorMut for Set<'_> {
        fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
            let value = (self.0)(parameter.shape());
            parameter.set_tensor(&value.into());
        }
    }
    module.visit_mut(&ParameterPath::root(), &mut Set(&mut value));
}

/// Cuts the next part of a vector, in a shape.
fn cut(theta: &Tensor1<f64>, from: &mut usize, shape: &[usize]) -> TensorD<f64> {
    let to = *from + shape.iter().product::<usize>();
    let part = theta.slice(pullback::ndarray::s![*from..to]);
    *from = to;
    part.reshape(IxDyn(shape))
}

/// Checks derivatives of a module for its inputs and all parameters, as parts of one vector, to second order and in
/// forward mode.
#[track_caller]
fn gradcheck<M: Module>(
    module: M,
    inputs: &[ArrayD<f64>],
    forward: impl Fn(&M, &[TensorD<f64>]) -> TensorD<f64>,
) {
    let checks = Gradcheck::new().second_order().forward_mode();
    let of_inputs: usize = inputs.iter().map(ArrayD::len).sum();
    let theta = tensor(of_inputs + module.parameter_count(), 3) * 0.5;
    let module = std::sync::Mutex::new(module);
    let function = |theta: &Tensor1<f64>| {
        let mut module = module.lock().expect("no call fails");
        let mut from = 0;
        let inputs: Vec<TensorD<f64>> = inputs
            .iter()
            .map(|input| Tensor::from(input.clone()) + cut(theta, &mut from, input.shape()))
            .collect();
        set_all(&mut *module, |shape| cut(theta, &mut from, shape));
        let output = forward(&module, &inputs);
        output.reshape(output.len())
    };
    if let Err(error) = checks.run(function, &theta) {
        panic!("{error}");
    }
}

/// Returns a tensor with its rank in its type.
fn ranked<D: Dimension>(tensor: &TensorD<f64>) -> Tensor<f64, D> {
    tensor.clone().into_dimensionality().expect("that rank")
}
