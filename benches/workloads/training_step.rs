//! W3: a step of training a network of three layers, beside the same step by hand in buffers that are used
//! again.

use std::time::Duration;

use pullback::kernels::gemm;
use pullback::ndarray::{Array1, Array2, ArrayD, ArrayView2, Axis, Dimension, Zip};
use pullback::ops::Reduction;
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, timed};

const BATCH: usize = 64;
const LENGTHS: [usize; 4] = [784, 256, 128, 10];
const RATE: f32 = 0.01;

/// The loss of some rows; in their place, its gradient.
fn cross_entropy(x: &mut Array2<f32>, classes: &[usize]) -> f32 {
    let per_row = 1.0 / classes.len() as f32;
    let mut loss = 0.0;
    for (mut row, &class) in x.rows_mut().into_iter().zip(classes) {
        let largest = row.fold(f32::NEG_INFINITY, |largest, &x| largest.max(x));
        loss -= (row[class] - largest) * per_row;
        row.mapv_inplace(|x| (x - largest).exp());
        let sum = row.sum();
        loss += sum.ln() * per_row;
        row.mapv_inplace(|x| x / sum * per_row);
        row[class] -= per_row;
    }
    loss
}

pub fn run(filter: &Filter) {
    if filter.wants("W3") {
        let mut network = Network::new();
        let mut by_hand = ByHand::new();
        let (ours, limit) = (network.step().1, by_hand.step().1);
        assert!(
            (ours - limit).abs() < 1e-4,
            "a loss of {ours} is not {limit}"
        );
        let (ours, limit) = medians(301, || [network.step().0], || [by_hand.step().0]);
        report("W3", ours[0] / 1e3, limit[0] / 1e3, "us");
    }
}

fn numbers(rows: usize, columns: usize, scale: f32) -> Array2<f32> {
    let mut angle = 0.0_f32;
    Array2::from_shape_simple_fn((rows, columns), || {
        angle += 1.0;
        angle.sin() * scale
    })
}

fn classes() -> Vec<usize> {
    (0..BATCH).map(|row| row * 7 % LENGTHS[3]).collect()
}

fn weights(layer: usize) -> Array2<f32> {
    let (inputs, outputs) = (LENGTHS[layer], LENGTHS[layer + 1]);
    numbers(outputs, inputs, 1.0 / (inputs as f32).sqrt())
}

struct Network {
    input: Tensor2<f32>,
    classes: Vec<usize>,
    weights: [Tensor2<f32>; 3],
    biases: [Tensor1<f32>; 3],
}

impl Network {
    fn new() -> Self {
        let bias = |layer: usize| Tensor::from(Array1::zeros(LENGTHS[layer + 1]));
        Self {
            input: Tensor::from(numbers(BATCH, LENGTHS[0], 1.0)),
            classes: classes(),
            weights: [0, 1, 2].map(|layer| Tensor::from(weights(layer)).set_requires_grad(true)),
            biases: [0, 1, 2].map(|layer| bias(layer).set_requires_grad(true)),
        }
    }

    fn step(&mut self) -> (Duration, f32) {
        timed(|| {
            let [w1, w2, w3] = &self.weights;
            let [b1, b2, b3] = &self.biases;
            let hidden = self.input.linear(w1, Some(b1)).relu();
            let hidden = hidden.linear(w2, Some(b2)).relu();
            let outputs = hidden.linear(w3, Some(b3));
            let loss = outputs.cross_entropy(&self.classes, Reduction::Mean);
            let gradients = grad(&loss, (w1, w2, w3, b1, b2, b3)).expect("the graph is whole");
            let (of_w1, of_w2, of_w3, of_b1, of_b2, of_b3) = gradients;
            for (weight, gradient) in self.weights.iter_mut().zip([of_w1, of_w2, of_w3]) {
                descend(weight, &gradient);
            }
            for (bias, gradient) in self.biases.iter_mut().zip([of_b1, of_b2, of_b3]) {
                descend(bias, &gradient);
            }
            loss.item()
        })
    }
}

/// A step of a leaf against its gradient, in the leaf's memory.
fn descend<D: Dimension>(leaf: &mut Tensor<f32, D>, gradient: &Tensor<f32, D>) {
    let empty = Tensor::from(ArrayD::zeros(vec![0; leaf.ndim()]));
    let empty = empty.into_dimensionality().expect("the same rank");
    let mut array = std::mem::replace(leaf, empty).into_array();
    array.scaled_add(-RATE, &gradient.view());
    *leaf = Tensor::from(array).set_requires_grad(true);
}

/// A layer and its buffers.
struct Layer {
    weight: Array2<f32>,
    bias: Array1<f32>,
    output: Array2<f32>,
    grad_weight: Array2<f32>,
    grad_output: Array2<f32>,
}

struct ByHand {
    input: Array2<f32>,
    classes: Vec<usize>,
    layers: [Layer; 3],
}

impl Layer {
    fn new(layer: usize) -> Self {
        let weight = weights(layer);
        let outputs = weight.nrows();
        Self {
            bias: Array1::zeros(outputs),
            output: Array2::zeros((BATCH, outputs)),
            grad_weight: Array2::zeros(weight.raw_dim()),
            grad_output: Array2::zeros((BATCH, outputs)),
            weight,
        }
    }

    fn forward(&mut self, input: &ArrayView2<f32>) {
        self.output.assign(&self.bias);
        gemm(
            1.0,
            input,
            &self.weight.t(),
            1.0,
            &mut self.output.view_mut(),
        );
    }

    fn backward(&mut self, input: &ArrayView2<f32>, grad_input: Option<&mut Array2<f32>>) {
        let grad_output = self.grad_output.view();
        gemm(
            1.0,
            &grad_output.t(),
            input,
            0.0,
            &mut self.grad_weight.view_mut(),
        );
        if let Some(grad_input) = grad_input {
            gemm(
                1.0,
                &grad_output,
                &self.weight.view(),
                0.0,
                &mut grad_input.view_mut(),
            );
            Zip::from(grad_input).and(input).for_each(|grad, &y| {
                *grad = if y > 0.0 { *grad } else { 0.0 };
            });
        }
        self.bias.scaled_add(-RATE, &grad_output.sum_axis(Axis(0)));
        self.weight.scaled_add(-RATE, &self.grad_weight);
    }
}

impl ByHand {
    fn new() -> Self {
        Self {
            input: numbers(BATCH, LENGTHS[0], 1.0),
            classes: classes(),
            layers: [0, 1, 2].map(Layer::new),
        }
    }

    fn step(&mut self) -> (Duration, f32) {
        timed(|| {
            let [first, second, third] = &mut self.layers;
            first.forward(&self.input.view());
            first.output.mapv_inplace(|x| x.max(0.0));
            second.forward(&first.output.view());
            second.output.mapv_inplace(|x| x.max(0.0));
            third.forward(&second.output.view());
            third.grad_output.assign(&third.output);
            let loss = cross_entropy(&mut third.grad_output, &self.classes);
            third.backward(&second.output.view(), Some(&mut second.grad_output));
            second.backward(&first.output.view(), Some(&mut first.grad_output));
            first.backward(&self.input.view(), None);
            loss
        })
    }
}
