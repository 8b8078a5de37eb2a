//! W2: a linear layer as a custom function, forward and backward, beside the same products by hand.

use std::marker::PhantomData;
use std::time::Duration;

use pullback::kernels::{affine, matmul};
use pullback::ndarray::{Array1, Array2, ArrayRef2, ArrayView1, ArrayView2, Axis};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, report_both, timed};

/// y = x Wᵀ + b
struct Linear<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Linear<T> {
    #[forward]
    fn forward(input: ArrayView2<T>, weight: ArrayView2<T>, bias: ArrayView1<T>) -> Array2<T> {
        affine(&input, &weight.t(), Some(&bias))
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<T>, weight: ArrayView2<T>) -> Array2<T> {
        matmul(&grad_output, &weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<T>, input: ArrayView2<T>) -> Array2<T> {
        matmul(&grad_output.t(), &input)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<T>) -> Array1<T> {
        grad_output.sum_axis(Axis(0))
    }
}

/// By matrixmultiply, as ndarray calls it.
#[cfg(not(feature = "gemm"))]
fn product(a: &ArrayRef2<f32>, b: &ArrayRef2<f32>) -> Array2<f32> {
    a.dot(b)
}

/// By the crate gemm, as the kernels call it.
#[cfg(feature = "gemm")]
fn product(a: &ArrayRef2<f32>, b: &ArrayRef2<f32>) -> Array2<f32> {
    matmul(&a.view(), &b.view())
}

pub fn run(filter: &Filter) {
    if filter.wants("W2/small") {
        let small = Layer::new(64, 784, 256);
        let (ours, limit) = medians(301, || small.ours(), || small.by_hand());
        report_both("W2/small", ours, limit, ("us", 1e3));
    }
    let large = || Layer::new(256, 1024, 1024);
    if filter.wants("W2/large") {
        let large = large();
        let (ours, limit) = medians(41, || large.ours(), || large.by_hand());
        report_both("W2/large", ours, limit, ("ms", 1e6));
    }
    if filter.wants("W2/pruned") {
        let large = large();
        let (weight, all) = medians(41, || [large.backward(false)], || [large.backward(true)]);
        report("W2/pruned", 100.0 * (1.0 - weight[0] / all[0]), 55.0, "%");
    }
}

struct Layer {
    input: Array2<f32>,
    weight: Array2<f32>,
    bias: Array1<f32>,
    grad: Array2<f32>,
}

impl Layer {
    fn new(batch: usize, inputs: usize, outputs: usize) -> Self {
        let mut angle = 0.0_f32;
        let mut matrix = |rows, columns| {
            Array2::from_shape_simple_fn((rows, columns), || {
                angle += 1.0;
                angle.sin()
            })
        };
        Self {
            input: matrix(batch, inputs),
            weight: matrix(outputs, inputs),
            bias: Array1::ones(outputs),
            grad: matrix(batch, outputs),
        }
    }

    /// Leaves for the inputs; only the weight's requires grad unless `all` do.
    fn leaves(&self, all: bool) -> (Tensor2<f32>, Tensor2<f32>, Tensor1<f32>) {
        (
            Tensor::from(self.input.view()).set_requires_grad(all),
            Tensor::from(self.weight.view()).set_requires_grad(true),
            Tensor::from(self.bias.view()).set_requires_grad(all),
        )
    }

    fn ours(&self) -> [Duration; 2] {
        let (input, weight, bias) = self.leaves(true);
        let seed = self.grad.clone();
        let (forward, output) = timed(|| Linear::apply(&input, &weight, &bias));
        let (backward, ()) = timed(|| {
            output.backward_with(seed).expect("the graph is whole");
            drop(output);
        });
        [forward, backward]
    }

    fn by_hand(&self) -> [Duration; 2] {
        let (forward, output) = timed(|| product(&self.input, &self.weight.t()) + &self.bias);
        let (backward, _) = timed(|| {
            let grad_input = product(&self.grad, &self.weight);
            let grad_weight = product(&self.grad.t(), &self.input);
            let grad_bias = self.grad.sum_axis(Axis(0));
            (grad_input, grad_weight, grad_bias)
        });
        drop(output);
        [forward, backward]
    }

    fn backward(&self, all: bool) -> Duration {
        let (input, weight, bias) = self.leaves(all);
        let output = Linear::apply(&input, &weight, &bias);
        let seed = self.grad.clone();
        timed(|| output.backward_with(seed).expect("the graph is whole")).0
    }
}
