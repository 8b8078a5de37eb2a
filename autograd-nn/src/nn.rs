//! Modules with parameters and buffers, layers, and saved states.
//!
//! A module is a struct whose fields are [`Parameter`]s, [`Buffer`]s and other modules; `#[derive(Module)]` registers
//! them under the names of the fields. The computation of a module is a method of your own, or the trait [`Forward`].
//!
//! Read first [`Module`](derive@Module), which explains how a struct becomes a module, and [`Linear`], a typical
//! layer. Then:
//!
//! - [`Module`]: the methods of every module: list its parameters, switch to evaluation, print it.
//! - [`Parameter`], [`Buffer`], [`Mode`], [`RngState`]: the fields of modules; [`Field`]: all types that fields can
//!   have.
//! - [`Stateful`]: saving and loading; [`StateDict`]: saved tensors under their names.
//! - [`init`]: initial values, drawn from a [`Generator`].
//! - Layers with weights: [`Linear`], [`Conv1d`], [`Conv2d`], [`ConvTranspose2d`], [`Embedding`],
//!   [`MultiheadAttention`], with PyTorch's names, options and initial values.
//! - Normalization and regularization: [`BatchNorm1d`], [`BatchNorm2d`], [`LayerNorm`], [`GroupNorm`], [`Dropout`].
//! - Functions as modules: [`Relu`], [`Gelu`], [`GeluTanh`], [`Silu`], [`Sigmoid`], [`Tanh`], [`LeakyRelu`],
//!   [`Elu`], [`Softplus`], [`Softmax`], [`Flatten`], [`MaxPool2d`], [`AvgPool2d`].
//! - [`Sequential`]: a chain of [`Layer`]s.
//! - [`Visitor`], [`VisitorMut`]: traversal of the parts of a module.

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
    //! Initial values: arrays of a given shape, drawn from a [`Generator`](super::Generator).
    //!
    //! Read first [`kaiming_normal`], for layers before a ReLU, or [`xavier_normal`], for others: they scale the
    //! values to the size of the layer. The layers of [`nn`](super) have PyTorch's initial values. For your own
    //! layer:
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
    //! Elements are drawn in row-major order. Each takes one draw of 64 bits, is computed in `f64` and rounded once,
    //! so that the initial values of an `f32` model are those of the `f64` model, rounded. **A seed gives the same
    //! bits on any machine**: only `+ − × /` and `√` are used, whose rounding IEEE 754 fixes.
    //!
    //! - By range or moments: [`uniform`], [`normal`], [`truncated_normal`].
    //! - By the size of a layer: [`xavier_uniform`], [`xavier_normal`], [`kaiming_uniform`], [`kaiming_normal`];
    //!   [`fans`] returns the sizes, [`Nonlinearity::gain`] the factor for the function after the layer.
    //! - [`orthogonal`]: a matrix with orthogonal rows or columns.

    pub use crate::init::orthogonal::orthogonal;
    pub use crate::init::scaled::{
        Fan, Nonlinearity, fans, kaiming_normal, kaiming_uniform, xavier_normal, xavier_uniform,
    };
    pub use crate::init::{normal, truncated_normal, uniform};
}
