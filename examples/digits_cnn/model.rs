//! The network.

use pullback::nn::{
    BatchNorm2d, Conv2d, Dropout, Flatten, Generator, Linear, MaxPool2d, Relu, Sequential,
};
use pullback::prelude::*;

/// A convolution, a batch normalization and a ReLU.
type Block = Sequential<(Conv2d, BatchNorm2d, Relu)>;

/// Three blocks with pooling between them, and a linear layer.
#[derive(Module)]
pub struct Cnn {
    features: Sequential<(Block, MaxPool2d, Block, Block, MaxPool2d)>,
    classifier: Sequential<(Flatten, Dropout, Linear)>,
}

impl Cnn {
    pub fn new(random: &mut Generator) -> Self {
        Self {
            features: Sequential::new((
                block(1, 24, random),
                MaxPool2d::new(2),
                block(24, 48, random),
                block(48, 48, random),
                MaxPool2d::new(2),
            )),
            classifier: Sequential::new((
                Flatten,
                Dropout::new(0.3, random),
                Linear::new(48 * 2 * 2, 10, random),
            )),
        }
    }
}

/// Creates a block. The normalization has an offset, so the convolution needs none.
fn block(channels: usize, outputs: usize, random: &mut Generator) -> Block {
    let convolution = Conv2d::builder(channels, outputs, 3).padding(1).bias(false);
    Sequential::new((convolution.build(random), BatchNorm2d::new(outputs), Relu))
}

/// Maps images of shape `[n, 1, 8, 8]` to scores of shape `[n, 10]`.
impl Forward<&Tensor4<f32>> for Cnn {
    type Output = Tensor2<f32>;

    fn forward(&self, images: &Tensor4<f32>) -> Tensor2<f32> {
        let features: Tensor4<f32> = self.features.forward(images);
        self.classifier.forward(&features)
    }
}
