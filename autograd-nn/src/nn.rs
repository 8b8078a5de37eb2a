//! Modules: parameters, buffers and what is computed with them.
//!
//! A module is a struct whose fields are [`Parameter`]s, [`Buffer`]s and other modules;
//! `#[derive(Module)]` registers them under the names that they have. What the module computes is an
//! ordinary method, or the trait [`Forward`].
//!
//! Read first [`Module`](derive@Module), how a struct becomes a module, and [`Linear`], a layer like all others. Then:
//!
//! - [`Module`]: what every module can do: list its parameters, switch to evaluation, print itself.
//! - [`Parameter`], [`Buffer`], [`Mode`], [`RngState`]: what its fields are; [`Field`]: what else they can be.
//! - [`Stateful`]: saving and loading; [`StateDict`] for what is saved.
//! - [`init`]: first values, drawn from a [`Generator`].
//! - Layers with weights: [`Linear`], [`Conv1d`], [`Conv2d`], [`ConvTranspose2d`], [`Embedding`],
//!   [`MultiheadAttention`], with PyTorch's names, options and first values.
//! - What keeps training steady: [`BatchNorm1d`], [`BatchNorm2d`], [`LayerNorm`], [`GroupNorm`], [`Dropout`].
//! - Functions as modules: [`Relu`], [`Gelu`], [`GeluTanh`], [`Silu`], [`Sigmoid`], [`Tanh`], [`LeakyRelu`],
//!   [`Elu`], [`Softplus`], [`Softmax`], [`Flatten`], [`MaxPool2d`], [`AvgPool2d`].
//! - [`Sequential`]: one [`Layer`] after the other.
//! - [`Visitor`], [`VisitorMut`]: how anything walks over a module.

pub use crate::buffer::{AnyBuffer, Buffer};
pub use crate::field::Borrowed;
pub use crate::forward::Forward;
pub use crate::generator::Generator;
pub use crate::layers::{
    AvgPool2d, BatchNorm1d, BatchNorm2d, Conv1d, Conv2d, ConvBuilder, ConvTranspose2d, Dropout,
    Elu, Embedding, EmbeddingBuilder, Flatten, Gelu, GeluTanh, GroupNorm, Layer, LayerNorm, Layers,
    LeakyRelu, Linear, LinearBuilder, MaxPool2d, MultiheadAttention, MultiheadAttentionBuilder,
    PerAxis, Relu, Sequential, Sigmoid, Silu, Softmax, Softplus, Tanh,
};
pub use crate::mode::Mode;
pub use crate::module::Module;
pub use crate::parameter::any::{AnyParameter, AnyView, AnyViewMut};
pub use crate::parameter::{Parameter, ParameterId};
pub use crate::path::ParameterPath;
pub use crate::rng_state::RngState;
#[doc(hidden)]
pub use crate::show::{extra_repr, fmt};
pub use crate::state::{
    Checkpoint, Difference, IncompatibleKeys, StateDict, StateError, StateFile, Stateful,
    TensorSpec, load_checkpoint, load_checkpoint_with, save_checkpoint,
};
pub use crate::visit::{Field, Visitor, VisitorMut};

pub mod init {
    //! Initial values: arrays of a shape, drawn from a [`Generator`](super::Generator) where they are random.
    //!
    //! Read first [`kaiming_normal`], for layers that a ReLU follows, or [`xavier_normal`], for others: they fit the
    //! values to the size of the layer. The layers of [`nn`](super) use them as PyTorch's do. For your own layer:
    //!
    //! ```
    //! use pullback::nn::init::{self, Fan, Nonlinearity};
    //! use pullback::nn::{Generator, Parameter};
    //!
    //! let mut generator = Generator::seed(7);
    //! let values = init::kaiming_normal((64, 32), Fan::In, Nonlinearity::Relu, &mut generator);
    //! let weight: Parameter<f32, _> = Parameter::new(values);
    //! assert_eq!(weight.shape(), [64, 32]);
    //! ```
    //!
    //! Elements are drawn in row-major order, one draw of 64 bits for each, computed in `f64` and rounded once: a
    //! model of `f32` is that of `f64`, rounded. **A seed gives the same bits on any machine**: nothing but
    //! `+ − × /` and `√` is used, which IEEE 754 rounds in one way.
    //!
    //! - Simple: [`uniform`], [`normal`], [`truncated_normal`].
    //! - By the size of a layer: [`xavier_uniform`], [`xavier_normal`], [`kaiming_uniform`],
    //!   [`kaiming_normal`]; [`fans`] are those sizes, [`Nonlinearity::gain`] what follows the layer.
    //! - [`orthogonal`]: rows or columns at right angles.

    pub use crate::init::orthogonal::orthogonal;
    pub use crate::init::scaled::{
        Fan, Nonlinearity, fans, kaiming_normal, kaiming_uniform, xavier_normal, xavier_uniform,
    };
    pub use crate::init::{normal, truncated_normal, uniform};
}
