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

mod buffer;
mod field;
mod forward;
mod generator;
pub mod init;
mod layers;
mod mode;
mod module;
mod parameter;
mod path;
mod rng_state;
mod show;
mod state;
mod visit;

pub use autograd_macros::Module;

pub use buffer::{AnyBuffer, Buffer};
pub use field::Borrowed;
pub use forward::Forward;
pub use generator::Generator;
pub use layers::{
    AvgPool2d, BatchNorm1d, BatchNorm2d, Conv1d, Conv2d, ConvBuilder, ConvTranspose2d, Dropout,
    Elu, Embedding, EmbeddingBuilder, Flatten, Gelu, GeluTanh, GroupNorm, Layer, LayerNorm, Layers,
    LeakyRelu, Linear, LinearBuilder, MaxPool2d, MultiheadAttention, MultiheadAttentionBuilder,
    PerAxis, Relu, Sequential, Sigmoid, Silu, Softmax, Softplus, Tanh,
};
pub use mode::Mode;
pub use module::Module;
pub(crate) use parameter::assign;
pub use parameter::{AnyParameter, AnyView, AnyViewMut, Parameter, ParameterId};
pub use path::ParameterPath;

pub use rng_state::RngState;
#[doc(hidden)]
pub use show::{extra_repr, fmt};
pub use state::{Checkpoint, StateFile, load_checkpoint, load_checkpoint_with, save_checkpoint};
pub use state::{Difference, IncompatibleKeys, StateDict, StateError, Stateful, TensorSpec};
pub use visit::{Field, Visitor, VisitorMut};
