//! Modules, layers, optimizers and saved states, on the public surface of `autograd-core` alone.
//!
//! Use it as part of `pullback`, under the feature `nn`: [`nn`] is `pullback::nn`, [`optim`] is `pullback::optim`.

// `#[derive(Module)]` writes the paths that users have.
extern crate self as pullback;

mod atomic;
pub mod nn;
pub mod optim;

use autograd_core::{
    AnyTensor, Element, Error, Tensor, Tensor0, Tensor1, Tensor2, Tensor3, Tensor4, enable_grad,
    is_recomputing, kernels, math, ndarray, ops, replayed,
};
