//! The picture in the README, `docs/graph.svg`. `UPDATE_EXPECT=1 cargo test --test it graph::readme` draws it anew.

use expect_test::expect_file;
use pullback::graph::Graph;
use pullback::ndarray::{Array0, Array1, Array2, ArrayView1, ArrayView2, Axis, arr0};
use pullback::prelude::*;

struct Linear;

#[custom_function]
impl Linear {
    #[forward]
    fn forward(
        x: ArrayView2<f32>,
        weight: ArrayView2<f32>,
        bias: Option<ArrayView1<f32>>,
    ) -> Array2<f32> {
        let y = x.dot(&weight.t());
        match bias {
            Some(bias) => y + bias,
            None => y,
        }
    }

    #[backward(x)]
    fn grad_x(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        grad_output.dot(&weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f32>, x: ArrayView2<f32>) -> Array2<f32> {
        grad_output.t().dot(&x)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<f32>) -> Array1<f32> {
        grad_output.sum_axis(Axis(0))
    }
}

/// y = x / √(1 + (x/limit)²)
#[custom_function(elementwise)]
fn squash<T: Real>(x: T, limit: T) -> T {
    x / (1.0 + (x / limit).powi(2)).sqrt()
}

/// The mean of (x − y)²
#[custom_function(grad(x) = (&x - &y) * (2.0 * grad_output[()] / x.len() as f32))]
fn mean_squared_error(x: ArrayView2<f32>, #[non_differentiable] y: ArrayView2<f32>) -> Array0<f32> {
    (&x - &y).powi(2).mean().map_or_else(|| arr0(0.0), arr0)
}

#[test]
fn the_picture_is_that_of_its_program() {
    let parameter = |shape| Tensor::from(Array2::<f32>::zeros(shape)).set_requires_grad(true);
    let bias = |length| Tensor::from(Array1::<f32>::zeros(length)).set_requires_grad(true);
    let (w1, b1, w2, b2) = (
        parameter((128, 784)),
        bias(128),
        parameter((10, 128)),
        bias(10),
    );
    let [images, target, limit] = [(64, 784), (64, 10), (1, 1)]
        .map(Array2::ones)
        .map(Tensor::from);

    let hidden = squash(&Linear::apply(&images, &w1, Some(&b1)), &limit);
    let output = Linear::apply(&hidden, &w2, Some(&b2));
    let loss = mean_squared_error(&output, &target);

    let graph = Graph::of(&loss)
        .name("loss", &loss)
        .name("w1", &w1)
        .name("b1", &b1)
        .name("w2", &w2)
        .name("b2", &b2);
    expect_file!["../../../docs/graph.svg"].assert_eq(&graph.svg());
}
