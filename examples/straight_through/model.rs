//! A perceptron whose weights may have few bits, and how it is trained.

use pullback::ndarray::{Array, Axis, Ix1, Ix2};
use pullback::nn::Generator;
use pullback::nn::init::{self, Fan, Nonlinearity};
use pullback::ops::Reduction;
use pullback::optim::schedule::{Cosine, Schedule};
use pullback::optim::{Optimizer, Sgd};
use pullback::prelude::*;

use crate::data::{CLASSES, Images, PIXELS, with_noise};
use crate::quantize::Quantize;
use crate::training::{accuracy, batches};

const HIDDEN: [usize; 2] = [48, 24];
const BATCH: usize = 32;
const RATE: f64 = 0.05;

/// Linear layers with ReLUs between them.
#[derive(Module)]
pub struct Perceptron {
    layers: Vec<(Parameter<f32, Ix2>, Parameter<f32, Ix1>)>,
}

/// The settings of a training.
pub struct Plan {
    /// The bits of a weight; `None` for all.
    pub bits: Option<usize>,
    pub epochs: usize,
    pub seed: u64,
}

/// Trains a new model and returns it with the loss of each epoch.
pub fn train(images: &Images, plan: &Plan) -> Result<(Perceptron, Vec<f64>), pullback::Error> {
    let mut random = Generator::seed(plan.seed);
    let mut model = Perceptron::new(&mut random);
    let mut optimizer = Sgd::new(RATE).momentum(0.9);
    let steps = plan.epochs * images.len().div_ceil(BATCH);
    let schedule = Cosine::new(RATE, steps as u64);
    let mut losses = Vec::with_capacity(plan.epochs);
    let mut step = 0;
    for _ in 0..plan.epochs {
        let mut total = 0.0;
        for rows in batches(images.len(), BATCH, &mut random) {
            let Images { pixels, labels } = images.select(&rows);
            let pixels = with_noise(pixels, &mut random);
            optimizer.set_learning_rate(schedule.rate(step));
            model.zero_grad();
            let scores = model.forward(&Tensor::from(pixels), plan.bits);
            let loss = scores.cross_entropy(&labels, Reduction::Mean);
            loss.backward()?;
            optimizer.step(&mut model);
            step += 1;
            total += f64::from(loss.item()) * rows.len() as f64;
        }
        losses.push(total / images.len() as f64);
    }
    Ok((model, losses))
}

impl Perceptron {
    fn new(random: &mut Generator) -> Self {
        let sizes = [PIXELS, HIDDEN[0], HIDDEN[1], CLASSES];
        let layers = sizes.windows(2).map(|size| {
            let shape = (size[1], size[0]);
            let weight = init::kaiming_uniform(shape, Fan::In, Nonlinearity::Relu, random);
            (
                Parameter::new(weight),
                Parameter::new(Array::zeros(size[1])),
            )
        });
        Self {
            layers: layers.collect(),
        }
    }

    /// Computes scores with weights of `bits` bits. Biases are few and stay at full precision.
    fn forward(&self, pixels: &Tensor2<f32>, bits: Option<usize>) -> Tensor2<f32> {
        let mut x = pixels.clone();
        for (number, (weight, bias)) in self.layers.iter().enumerate() {
            if number > 0 {
                x = x.relu();
            }
            x = match bits {
                Some(bits) => x.linear(&Quantize::apply(weight, bits), Some(bias)),
                None => x.linear(weight, Some(bias)),
            };
        }
        x
    }

    /// Returns the share of images that are recognized, in percent, with weights of `bits` bits.
    pub fn accuracy(&self, images: &Images, bits: Option<usize>) -> f64 {
        let scores = no_grad(|| self.forward(&Tensor::from(images.pixels.view()), bits));
        100.0 * accuracy(&scores.argmax_axis(Axis(1)), &images.labels)
    }

    /// Returns the number of weights, without biases.
    pub fn weights(&self) -> usize {
        self.layers.iter().map(|(weight, _)| weight.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use pullback::ndarray::Array2;

    use super::*;

    /// Returns images of one bright pixel, whose place is the digit.
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
