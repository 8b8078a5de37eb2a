//! vmap: the gradients of a network's weights for each of many examples, beside a loop of single passes.

use pullback::functional::vmap;
use pullback::kernels::{set_threads, threads};
use pullback::memory;
use pullback::ndarray::{Array1, Array2, Axis};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, timed};

const EXAMPLES: usize = 256;
const LENGTHS: [usize; 4] = [784, 256, 128, 10];
const ROUNDS: usize = 21;

pub fn run(filter: &Filter) {
    if !filter.wants("vmap/gradients") {
        return;
    }
    let threads = threads();
    let network = Network::new();
    let ours = || {
        set_threads(threads);
        let (time, gradients) = timed(|| network.mapped());
        ([time], gradients)
    };
    let limit = || {
        set_threads(1);
        let (time, gradients) = timed(|| network.looped());
        ([time], gradients)
    };
    let (found, expected) = (ours().1, limit().1);
    for (found, expected) in found.0.view().outer_iter().zip(&expected) {
        assert!(found == expected.0.view(), "a gradient of another example");
    }
    drop((found, expected));
    let (ours, limit): ([f64; 1], [f64; 1]) = medians(ROUNDS, || ours().0, || limit().0);
    set_threads(threads);
    memory::empty_cache();
    let limit = limit[0] / threads as f64;
    report("vmap/gradients", ours[0] / 1e6, limit / 1e6, "ms");
}

struct Network {
    inputs: Tensor2<f32>,
    targets: Tensor2<f32>,
    weights: [Tensor2<f32>; 3],
    biases: [Tensor1<f32>; 3],
}

/// The gradients of one example.
type Gradients = (
    Tensor2<f32>,
    Tensor2<f32>,
    Tensor2<f32>,
    Tensor1<f32>,
    Tensor1<f32>,
    Tensor1<f32>,
);

/// Those of all.
type Stacked = (
    Tensor3<f32>,
    Tensor3<f32>,
    Tensor3<f32>,
    Tensor2<f32>,
    Tensor2<f32>,
    Tensor2<f32>,
);

fn numbers(rows: usize, columns: usize, scale: f32) -> Array2<f32> {
    let mut angle = 0.0_f32;
    Array2::from_shape_simple_fn((rows, columns), || {
        angle += 1.0;
        angle.sin() * scale
    })
}

impl Network {
    fn new() -> Self {
        let weights = |layer: usize| {
            let (inputs, outputs) = (LENGTHS[layer], LENGTHS[layer + 1]);
            let weights = numbers(outputs, inputs, 1.0 / (inputs as f32).sqrt());
            Tensor::from(weights).set_requires_grad(true)
        };
        let biases = |layer: usize| {
            let biases = Array1::zeros(LENGTHS[layer + 1]);
            Tensor::from(biases).set_requires_grad(true)
        };
        let target = |(row, column): (usize, usize)| f32::from(row * 7 % LENGTHS[3] == column);
        Self {
            inputs: Tensor::from(numbers(EXAMPLES, LENGTHS[0], 1.0)),
            targets: Tensor::from(Array2::from_shape_fn((EXAMPLES, LENGTHS[3]), target)),
            weights: [0, 1, 2].map(weights),
            biases: [0, 1, 2].map(biases),
        }
    }

    fn gradients(
        &self,
        input: &Tensor1<f32>,
        target: &Tensor1<f32>,
    ) -> Result<Gradients, pullback::Error> {
        let [w1, w2, w3] = &self.weights;
        let [b1, b2, b3] = &self.biases;
        let row = input.reshape((1, LENGTHS[0]));
        let hidden = row.linear(w1, Some(b1)).relu();
        let hidden = hidden.linear(w2, Some(b2)).relu();
        let outputs = hidden.linear(w3, Some(b3));
        let loss = -(outputs.log_softmax(Axis(1)) * target).sum();
        grad(&loss, (w1, w2, w3, b1, b2, b3))
    }

    fn mapped(&self) -> Stacked {
        let examples = (&self.inputs, &self.targets);
        let gradients = vmap(|(x, target)| self.gradients(x, target), Axis(0), examples);
        gradients.expect("no example fails")
    }

    fn looped(&self) -> Vec<Gradients> {
        let examples = self.inputs.view();
        let targets = self.targets.view();
        let examples = examples.outer_iter().zip(targets.outer_iter());
        examples
            .map(|(x, target)| {
                let (x, target) = (Tensor::from(x.to_owned()), Tensor::from(target.to_owned()));
                self.gradients(&x, &target).expect("the graph is whole")
            })
            .collect()
    }
}
