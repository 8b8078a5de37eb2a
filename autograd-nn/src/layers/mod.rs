//! Layers: one file each, with PyTorch's names, options and initial values. The page of [`nn`](crate::nn) lists them.
//!
//! Random initial values are drawn from a generator, an argument of the constructor. Options that change the shapes
//! of weights are set on a builder, other options on the layer itself.

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

/// Draws numbers uniformly from ±1 / √`inputs`, like PyTorch's layers whose outputs have `inputs` inputs.
fn evenly<T: Element, S: IntoDimension>(
    shape: S,
    inputs: usize,
    generator: &mut impl Rng,
) -> Parameter<T, S::Dim> {
    let bound = 1.0 / (inputs.max(1) as f64).sqrt();
    Parameter::new(init::uniform(shape, -bound, bound, generator))
}
