//! The picture in the README, `docs/graph.svg`, of functions that the README defines. `UPDATE_EXPECT=1 cargo test
//! --test it graph::readme` draws it anew.

use expect_test::expect_file;
use pullback::graph::Graph;
use pullback::ndarray::{Array0, Array2, ArrayView2, arr0};
use pullback::prelude::*;

struct Linear;

#[custom_function]
impl Linear {
    #[forward]
    fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        input.dot(&weight.t())
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        grad_output.dot(&weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>) -> Array2<f32> {
        grad_output.t().dot(&input)
    }
}

#[custom_function(elementwise)]
fn squash<T: Real>(x: T, limit: T) -> T {
    x / (1.0 + (x / limit).powi(2)).sqrt()
}

#[custom_function(grad(x) = (&x - &y) * (2.0 * grad_output[()] / x.len() as f32))]
fn mean_squared_error(x: ArrayView2<f32>, #[non_differentiable] y: ArrayView2<f32>) -> Array0<f32> {
    (&x - &y).powi(2).mean().map_or_else(|| arr0(0.0), arr0)
}

#[test]
fn the_picture_is_that_of_its_program() {
    let ones = |shape| Tensor::from(Array2::<f32>::ones(shape));
    let (images, target) = (ones((64, 784)), ones((64, 10)));
    let parameters =
        [(128, 784), (1, 1), (10, 128)].map(|shape| ones(shape).set_requires_grad(true));
    let [w1, limit, w2] = &parameters;

    let hidden = squash(&Linear::apply(&images, w1), limit);
    let output = Linear::apply(&hidden, w2);
    let loss = mean_squared_error(&output, &target);

    let graph = Graph::of(&loss).name("loss", &loss);
    let graph = graph.names(["w1", "limit", "w2"].into_iter().zip(parameters));
    expect_file!["../../../docs/graph.svg"].assert_eq(&graph.svg());
}
