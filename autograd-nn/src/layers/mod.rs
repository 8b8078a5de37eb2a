//! Layers: modules of the usual kinds, with PyTorch's names, options and first values; a layer a file. The page
//! of [`nn`](super) lists them.
//!
//! What is random at the start comes from a generator that the constructor is given. Where the weights' shapes
//! depend on an option, a builder collects the options first; the others are set on the layer itself.

mod activations;
mod attention;
mod batch_norm;
mod conv;
mod dropout;
mod embedding;
mod group_norm;
mod layer;
mod layer_norm;
mod linear;
mod pool;
mod print;
mod sequential;
mod shapes;

pub use activations::{
    Elu, Flatten, Gelu, GeluTanh, LeakyRelu, Relu, Sigmoid, Silu, Softmax, Softplus, Tanh,
};
pub use attention::{MultiheadAttention, MultiheadAttentionBuilder};
pub use batch_norm::{BatchNorm1d, BatchNorm2d};
pub use conv::{Conv1d, Conv2d, ConvBuilder, ConvTranspose2d};
pub use dropout::Dropout;
pub use embedding::{Embedding, EmbeddingBuilder};
pub use group_norm::GroupNorm;
pub use layer::Layer;
pub use layer_norm::LayerNorm;
pub use linear::{Linear, LinearBuilder};
pub use pool::{AvgPool2d, MaxPool2d};
pub use sequential::{Layers, Sequential};
pub use shapes::PerAxis;

use rand_core::Rng;

use autograd_core::Element;
use autograd_core::ndarray::IntoDimension;

use crate::init;
use crate::parameter::Parameter;

/// What PyTorch's layers start from: numbers within 1 / √`inputs` of 0, for outputs of `inputs` inputs.
fn evenly<T: Element, S: IntoDimension>(
    shape: S,
    inputs: usize,
    generator: &mut impl Rng,
) -> Parameter<T, S::Dim> {
    let bound = 1.0 / (inputs.max(1) as f64).sqrt();
    Parameter::new(init::uniform(shape, -bound, bound, generator))
}
