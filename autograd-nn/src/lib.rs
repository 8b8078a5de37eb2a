//! Modules, layers, optimizers and saved states, on the public surface of `autograd-core` alone.
//!
//! Use it as part of `pullback`, under the feature `nn`: [`nn`] is `pullback::nn`, [`optim`] is `pullback::optim`.

#![cfg_attr(docsrs, feature(doc_cfg))]

// `#[derive(Module)]` writes the paths that users have: `pullback::nn`, `pullback::Element`, `pullback::ndarray` and
// `pullback::__private`.
extern crate self as pullback;
use autograd_core::{__private, Element, ndarray};

mod atomic;
mod buffer;
mod field;
mod forward;
mod generator;
mod init;
mod layers;
mod mode;
mod module;
pub mod nn;
pub mod optim;
mod parameter;
mod path;
mod rng_state;
mod show;
mod state;
mod visit;
