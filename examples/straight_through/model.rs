//! A perceptron whose weights may have few bits, and how it is trained.

use std::error::Error;

use pullback::ndarray::{Array, Axis, Dimension, Ix1, Ix2};
use pullback::nn::Generator;
use pullback::ops::Reduction;
use pullback::prelude::*;
use rand::RngExt;
use rand::seq::SliceRandom;

use crate::data::{CLASSES, Images, PIXELS, with_noise};
use crate::quantise::Quantise;

const HIDDEN: [usize; 2] = [48, 24];
const BATCH: usize = 32;
const RATE: f32 = 0.05;
const MOMENTUM: f32 = 0.9;

/// Linear layers with ReLUs between them.
#[derive(Clone)]
pub struct Perceptron {
    layers: Vec<(Parameter<Ix2>, Parameter<Ix1>)>,
}

/// A trained tensor with its velocity.
#[derive(Clone)]
struct Parameter<D: Dimension> {
    tensor: Tensor<f32, D>,
    velocity: Array<f32, D>,
}

/// How to train.
pub struct Plan {
    /// Bits of a weight, `None` for all.
    pub bits: Option<usize>,
    pub epochs: usize,
    pub seed: u64,
}

/// Trains from scratch, and returns the loss of each epoch too.
pub fn train(images: &Images, plan: &Plan) -> Result<(Perceptron, Vec<f64>), Box<dyn Error>> {
    let mut random = Generator::seed(plan.seed);
    let mut model = Perceptron::new(&mut random);
    let mut order: Vec<usize> = (0..images.len()).collect();
    let mut losses = Vec::with_capacity(plan.epochs);
    let steps = plan.epochs * images.len().div_ceil(BATCH);
    let mut step = 0;
    for _ in 0..plan.epochs {
        order.shuffle(&mut random);
        let mut total = 0.0;
        for rows in order.chunks(BATCH) {
            let labels: Vec<usize> = rows.iter().map(|&row| images.labels[row]).collect();
            let pixels = with_noise(images.pixels.select(Axis(0), rows), &mut random);
            let logits = model.forward(&Tensor::from(pixels), plan.bits);
            let loss = logits.cross_entropy(&labels, Reduction::Mean);
            loss.backward()?;
            model.step(RATE * cosine(step, steps));
            step += 1;
            total += f64::from(loss.item()) * rows.len() as f64;
        }
        losses.push(total / images.len() as f64);
    }
    Ok((model, losses))
}

/// From 1 down to 0 along a half wave (Loshchilov and Hutter, 2017).
fn cosine(step: usize, steps: usize) -> f32 {
    0.5 * (1.0 + (std::f32::consts::PI * step as f32 / steps as f32).cos())
}

impl Perceptron {
    fn new(random: &mut Generator) -> Self {
        let sizes = [PIXELS, HIDDEN[0], HIDDEN[1], CLASSES];
        let layers = sizes.windows(2).map(|size| {
            // Of variance 2 / inputs (He et al., 2015).
            let bound = (6.0 / size[0] as f32).sqrt();
            let shape = (size[1], size[0]);
            let weight = Array::from_shape_simple_fn(shape, || random.random_range(-bound..bound));
            (
                Parameter::new(weight),
                Parameter::new(Array::zeros(size[1])),
            )
        });
        Self {
            layers: layers.collect(),
        }
    }

    /// Biases are few, and keep all their bits.
    fn forward(&self, pixels: &Tensor2<f32>, bits: Option<usize>) -> Tensor2<f32> {
        let mut x = pixels.clone();
        for (number, (weight, bias)) in self.layers.iter().enumerate() {
            if number > 0 {
                x = x.relu();
            }
            x = match bits {
                Some(bits) => x.linear(&Quantise::apply(&weight.tensor, bits), Some(&bias.tensor)),
                None => x.linear(&weight.tensor, Some(&bias.tensor)),
            };
        }
        x
    }

    /// The share of images, in percent, whose digit is found with weights of so many bits.
    pub fn accuracy(&self, images: &Images, bits: Option<usize>) -> f64 {
        let logits = no_grad(|| self.forward(&Tensor::from(images.pixels.view()), bits));
        let found = logits.argmax_axis(Axis(1));
        let right = found
            .iter()
            .zip(&images.labels)
            .filter(|(found, label)| found == label);
        100.0 * right.count() as f64 / images.len() as f64
    }

    /// How many weights there are, without biases.
    pub fn weights(&self) -> usize {
        self.layers
            .iter()
            .map(|(weight, _)| weight.tensor.len())
            .sum()
    }

    /// One step down the accumulated gradients, which are then forgotten.
    fn step(&mut self, rate: f32) {
        for (weight, bias) in &mut self.layers {
            weight.step(rate);
            bias.step(rate);
        }
    }
}

impl<D: Dimension> Parameter<D> {
    fn new(initial: Array<f32, D>) -> Self {
        Self {
            velocity: Array::zeros(initial.raw_dim()),
            tensor: Tensor::from(initial).set_requires_grad(true),
        }
    }

    fn step(&mut self, rate: f32) {
        let Some(gradient) = self.tensor.grad() else {
            return;
        };
        self.velocity
            .zip_mut_with(&gradient, |v, &g| *v = MOMENTUM * *v + g);
        let mut weights = self.tensor.to_array();
        weights.scaled_add(-rate, &self.velocity);
        self.tensor = Tensor::from(weights).set_requires_grad(true);
    }
}

#[cfg(test)]
mod tests {
    use pullback::ndarray::Array2;

    use super::*;

    /// Images of one bright pixel, whose place says which digit it is.
    fn simple() -> Images {
        let labels: Vec<usize> = (0..200).map(|row| row % CLASSES).collect();
        let pixels = Array2::from_shape_fn((200, PIXELS), |(row, pixel)| {
            f32::from(u8::from(pixel == 6 * labels[row]))
        });
        Images { pixels, labels }
    }

    #[test]
    fn two_bits_learn_what_is_simple() {
        let images = simple();
        let plan = Plan {
            bits: Some(2),
            epochs: 12,
            seed: 4,
        };
        let (model, losses) = train(&images, &plan).unwrap();
        assert_eq!(model.accuracy(&images, Some(2)), 100.0);
        assert!(losses[11] < 0.2 * losses[0], "{losses:?}");
    }

    #[test]
    fn seeds_repeat() {
        let plan = Plan {
            bits: Some(1),
            epochs: 1,
            seed: 9,
        };
        let (_, first) = train(&simple(), &plan).unwrap();
        let (_, second) = train(&simple(), &plan).unwrap();
        assert_eq!(first, second);
    }
}
