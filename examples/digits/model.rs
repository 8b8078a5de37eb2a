//! The perceptron and its optimiser.

use pullback::ndarray::{Array, Array1, Array2, Dimension, Ix1, Ix2, Zip};
use pullback::prelude::*;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::data::{CLASSES, PIXELS};
use crate::functions::{Linear, Relu};

const HIDDEN: [usize; 2] = [128, 64];

/// Three linear layers with ReLUs between them.
pub struct Perceptron {
    layers: Vec<Layer>,
}

struct Layer {
    weight: Weights<Ix2>,
    bias: Weights<Ix1>,
}

/// A trained tensor with what Adam remembers of its gradients.
struct Weights<D: Dimension> {
    tensor: Tensor<f32, D>,
    mean: Array<f32, D>,
    square: Array<f32, D>,
}

/// The settings of one step of Adam (Kingma and Ba, 2015), with decoupled weight decay.
pub struct Step {
    pub number: i32,
    pub rate: f32,
    pub decay: f32,
}

impl Perceptron {
    pub fn new(random: &mut Xoshiro256PlusPlus) -> Self {
        let sizes = [PIXELS, HIDDEN[0], HIDDEN[1], CLASSES];
        let layers = sizes
            .windows(2)
            .map(|size| Layer::new(size[0], size[1], random))
            .collect();
        Self { layers }
    }

    pub fn forward(&self, pixels: &Tensor2<f32>) -> Tensor2<f32> {
        let (last, hidden) = self.layers.split_last().expect("three layers");
        let features = hidden
            .iter()
            .fold(pixels.clone(), |x, layer| Relu::apply(&layer.forward(&x)));
        last.forward(&features)
    }

    /// The most probable digit for each row.
    pub fn predict(&self, pixels: &Array2<f32>) -> Vec<usize> {
        let logits = no_grad(|| self.forward(&Tensor::from(pixels.view())));
        let view = logits.view();
        view.rows()
            .into_iter()
            .map(|row| largest(row.as_slice().expect("row-major")))
            .collect()
    }

    /// One step down the accumulated gradients, which are then forgotten.
    pub fn step(&mut self, step: &Step) {
        for layer in &mut self.layers {
            layer.weight.step(step);
            layer.bias.step(&Step {
                decay: 0.0,
                ..*step
            });
        }
    }
}

impl Layer {
    /// Uniform weights of variance 2 / inputs, which keeps the variance of what ReLUs pass on
    /// (He et al., 2015).
    fn new(inputs: usize, outputs: usize, random: &mut Xoshiro256PlusPlus) -> Self {
        let bound = (6.0 / inputs as f32).sqrt();
        let weight =
            Array2::from_shape_simple_fn((outputs, inputs), || random.random_range(-bound..bound));
        Self {
            weight: Weights::new(weight),
            bias: Weights::new(Array1::zeros(outputs)),
        }
    }

    fn forward(&self, x: &Tensor2<f32>) -> Tensor2<f32> {
        Linear::apply(x, &self.weight.tensor, &self.bias.tensor)
    }
}

impl<D: Dimension> Weights<D> {
    fn new(initial: Array<f32, D>) -> Self {
        let zeros = Array::zeros(initial.raw_dim());
        let tensor = Tensor::from(initial).set_requires_grad(true);
        Self {
            tensor,
            mean: zeros.clone(),
            square: zeros,
        }
    }

    fn step(&mut self, step: &Step) {
        let Some(gradient) = self.tensor.grad() else {
            return;
        };
        self.mean
            .zip_mut_with(&gradient, |mean, &g| *mean += 0.1 * (g - *mean));
        self.square
            .zip_mut_with(&gradient, |square, &g| *square += 0.001 * (g * g - *square));
        let mean_scale = 1.0 / (1.0 - 0.9_f32.powi(step.number));
        let square_scale = 1.0 / (1.0 - 0.999_f32.powi(step.number));
        let mut weights = self.tensor.to_array();
        Zip::from(&mut weights)
            .and(&self.mean)
            .and(&self.square)
            .for_each(|w, &mean, &square| {
                let direction = mean * mean_scale / ((square * square_scale).sqrt() + 1e-8);
                *w -= step.rate * (direction + step.decay * *w);
            });
        self.tensor = Tensor::from(weights).set_requires_grad(true);
    }
}

fn largest(row: &[f32]) -> usize {
    let digits = row
        .iter()
        .enumerate()
        .max_by(|(_, a), (_, b)| a.total_cmp(b));
    digits.map_or(0, |(digit, _)| digit)
}
