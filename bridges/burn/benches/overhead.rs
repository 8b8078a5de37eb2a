//! y = x³, forward and backward: through the bridge, as an operation written by hand on burn's memory, and of burn's
//! own operations. `cargo bench`; prints microseconds, the fastest of some rounds.

use std::hint::black_box;
use std::time::Instant;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Device, Shape, Tensor, TensorData};
use burn_flex::FlexTensor;
use pullback::Tensor1;
use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

/// y = x³
#[custom_function(grad(x) = {
    let mut grad = grad_output.to_owned();
    grad.zip_mut_with(&x, |grad, x| *grad *= 3.0 * x * x);
    grad
})]
fn cube(x: ArrayView1<f32>) -> Array1<f32> {
    x.mapv(|x| x * x * x)
}

#[derive(Debug)]
struct CubeByHand;

impl Backward<Flex, 1> for CubeByHand {
    type State = FlexTensor;

    fn backward(self, ops: Ops<FlexTensor, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        unary::<Flex, _>(ops.parents, ops.node, grads, |grad| {
            let (grad, x) = (slice(&grad), slice(&ops.state));
            new(grad
                .iter()
                .zip(x)
                .map(|(grad, x)| grad * 3.0 * x * x)
                .collect())
        });
    }
}

fn slice(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("a vector of f32")
}

fn new(elements: Vec<f32>) -> FlexTensor {
    let shape = Shape::new([elements.len()]);
    FlexTensor::from_data(TensorData::new(elements, shape))
}

fn by_hand(x: Tensor<1>) -> Tensor<1> {
    let (x, node) = x
        .try_into_primitive::<Autodiff<Flex>>()
        .expect("on Flex")
        .into_parts();
    let y = new(slice(&x).iter().map(|x| x * x * x).collect());
    let y = match CubeByHand
        .prepare::<NoCheckpointing>([node])
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(node) => node.finish(x, y),
        OpsKind::UnTracked(node) => node.finish(y),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(y)
}

fn through_the_bridge(x: Tensor<1>) -> Tensor<1> {
    pullback_burn::apply(|x: &Tensor1<f32>| cube(x), x)
}

fn of_burn(x: Tensor<1>) -> Tensor<1> {
    x.clone() * x.clone() * x
}

fn main() {
    let device = Device::flex().autodiff();
    println!("elements   bridge  by hand  burn's own");
    for elements in [1_usize, 1_000, 100_000, 1_000_000] {
        let x = Tensor::<1>::ones([elements], &device).require_grad();
        let rounds = (2_000_000 / (elements + 1_000)).max(20);
        let time = |cube: fn(Tensor<1>) -> Tensor<1>| {
            let once = |_| {
                let start = Instant::now();
                let grads = cube(x.clone()).backward();
                black_box(x.grad(&grads));
                start.elapsed().as_secs_f64() * 1e6
            };
            (0..rounds).map(once).fold(f64::INFINITY, f64::min)
        };
        let [bridge, by_hand, burn] = [through_the_bridge, by_hand, of_burn].map(time);
        println!("{elements:8} {bridge:8.2} {by_hand:8.2} {burn:11.2}");
    }
}
