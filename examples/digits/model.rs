//! The perceptron.

use pullback::ndarray::{Array1, Array2, Axis, Ix1, Ix2};
use pullback::nn::Generator;
use pullback::nn::init::{self, Fan, Nonlinearity};
use pullback::prelude::*;

use crate::data::{CLASSES, Images, PIXELS};
use crate::functions::{Linear, Relu};
use crate::training::accuracy;

const HIDDEN: [usize; 2] = [128, 64];

/// Three linear layers with ReLUs between them.
#[derive(Module)]
pub struct Perceptron {
    layers: Vec<Layer>,
}

#[derive(Module)]
struct Layer {
    weight: Parameter<f32, Ix2>,
    bias: Parameter<f32, Ix1>,
}

impl Perceptron {
    pub fn new(random: &mut Generator) -> Self {
        let sizes = [PIXELS, HIDDEN[0], HIDDEN[1], CLASSES];
        let layers = sizes
            .windows(2)
            .map(|size| Layer::new(size[0], size[1], random))
            .collect();
        Self { layers }
    }

    /// Returns the most probable digit for each row.
    pub fn predict(&self, pixels: &Array2<f32>) -> Array1<usize> {
        let scores = no_grad(|| self.forward(&Tensor::from(pixels.view())));
        scores.argmax_axis(Axis(1))
    }

    /// Returns the share of images that are recognized.
    pub fn accuracy(&self, images: &Images) -> f64 {
        accuracy(&self.predict(&images.pixels), &images.labels)
    }
}

/// Maps images of shape `[n, 64]` to scores of shape `[n, 10]`.
impl Forward<&Tensor2<f32>> for Perceptron {
    type Output = Tensor2<f32>;

    fn forward(&self, pixels: &Tensor2<f32>) -> Tensor2<f32> {
        let (last, hidden) = self.layers.split_last().expect("three layers");
        let features = hidden
            .iter()
            .fold(pixels.clone(), |x, layer| Relu::apply(&layer.forward(&x)));
        last.forward(&features)
    }
}

impl Layer {
    /// Creates a layer with uniform weights of variance 2 / inputs, which preserves the variance after
    /// ReLUs (He et al., 2015).
    fn new(inputs: usize, outputs: usize, random: &mut Generator) -> Self {
        let shape = (outputs, inputs);
        let weight = init::kaiming_uniform(shape, Fan::In, Nonlinearity::Relu, random);
        Self {
            weight: Parameter::new(weight),
            bias: Parameter::new(Array1::zeros(outputs)),
        }
    }

    fn forward(&self, x: &Tensor2<f32>) -> Tensor2<f32> {
        Linear::apply(x, &self.weight, &self.bias)
    }
}
