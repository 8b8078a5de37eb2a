//! Custom differentiable functions on [`ndarray`], checked by the compiler.
//!
//! Write a forward function and, for each input, the function of its gradient, on ordinary arrays.
//! [`custom_function`] reads their signatures and writes the rest: `apply` on tensors, what to save for
//! whom, which gradients to compute, checks of arity, names, ranks and element types. What does not
//! fit together is a compile error on the token that is wrong.
//!
//! ```
//! use pullback::ndarray::{Array1, ArrayView1, array};
//! use pullback::prelude::*;
//!
//! /// y = x²
//! pub struct Square;
//!
//! #[custom_function]
//! impl Square {
//!     #[forward]
//!     pub fn forward(x: ArrayView1<f64>) -> Array1<f64> {
//!         &x * &x
//!     }
//!
//!     #[backward(x)]
//!     fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
//!         &grad_output * &x * 2.0
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let x = Tensor::from(array![1.0, 2.0, 3.0]).set_requires_grad(true);
//! Square::apply(&x).sum().backward()?;
//! assert_eq!(x.grad(), Some(array![2.0, 4.0, 6.0]));
//! Gradcheck::new().run(|(x,)| Square::apply(x), (&x,))?;
//! # Ok(())
//! # }
//! ```
//!
//! Where to start:
//!
//! - [`guide`]: chapters to read in order, from a function of one input to attention; what the compiler checks;
//!   for those who come [from PyTorch](guide::from_pytorch) or
//!   [from burn and candle](guide::from_burn_and_candle); how the engine works; speed.
//! - [`prelude`]: what nearly every program imports.
//!
//! To look things up:
//!
//! - [`custom_function`]: what a definition may consist of, with an example of each.
//! - [`Tensor`]: values with a history; operators and built-in functions are its methods.
//! - [`Tensor::backward`], [`grad()`]: gradients into leaves, or handed back; of any order.
//! - [`jvp`]: derivatives along a direction, computed beside the values.
//! - [`functional`]: Jacobians and Hessians of functions, whole and as products.
//! - [`Gradcheck`]: is the gradient right?
//! - [`graph`]: pictures of what was recorded, and how long each part of a backward pass takes.
//! - [`nn`]: modules: parameters, buffers and what is computed with them; layers; saving and loading.
//!   [`Module`](derive@Module) derives them.
//! - [`catalogue`](catalogue()): every function of a program in one list, and as a page to search.
//! - [`ops`]: the built-in functions, written with the same attribute: examples to learn from.
//! - [`kernels`]: loops and products on arrays, for fast functions; [`memory`]: that of large arrays.
//! - [`optim`]: optimizers, schedules of the learning rate, clipping of gradients.

extern crate self as pullback;

#[cfg(all(any(doc, doctest), feature = "graph", feature = "nn"))]
pub mod guide;

#[doc(hidden)]
pub use autograd_core::__private;
#[cfg(feature = "catalogue")]
pub use autograd_core::catalogue::catalogue;
#[cfg(feature = "ops")]
pub use autograd_core::ops;
pub use autograd_core::{
    AnyTensor, Backward, Check, Derivative, Element, Error, Function, Grad, Gradcheck, HookHandle,
    InputSignature, InputTensors, Mismatch, Node, Order, OutputSignature, OutputTensors,
    SavedSignature, Shape, Signature, Tensor, Tensor0, Tensor1, Tensor2, Tensor3, Tensor4, Tensor5,
    Tensor6, TensorD, Unpacked, checkpoint, detect_anomaly, enable_grad, functional, grad, inspect,
    is_grad_enabled, is_recomputing, jvp, kernels, math, memory, ndarray, no_grad, replayed,
    saved_tensors_hooks,
};
#[cfg(feature = "graph")]
pub use autograd_graph as graph;
#[cfg(feature = "nn")]
pub use autograd_macros::Module;
pub use autograd_macros::custom_function;
#[cfg(feature = "nn")]
pub use autograd_nn::{nn, optim};

/// Every function of the program that `#[custom_function]` defines.
#[cfg(feature = "catalogue")]
pub mod catalogue {
    pub use autograd_core::catalogue::{Entry, Errors, Test, catalogue};
    #[cfg(feature = "graph")]
    pub use autograd_graph::catalogue::{Page, html};
}

/// What nearly every program that defines or uses functions needs: traits and types, no names of
/// built-in functions.
pub mod prelude {
    #[cfg(feature = "nn")]
    pub use crate::nn::{Buffer, Forward, Module, Parameter, Stateful};
    #[cfg(feature = "nn")]
    pub use crate::optim::Optimizer;
    pub use crate::{
        Backward, Element, Function, Grad, Gradcheck, Tensor, Tensor0, Tensor1, Tensor2, Tensor3,
        Tensor4, Tensor5, Tensor6, TensorD, checkpoint, custom_function, detect_anomaly,
        enable_grad, grad, jvp, no_grad,
    };
}

/// The README's example runs with the documentation's.
#[cfg(all(doctest, feature = "graph", feature = "nn"))]
#[doc = include_str!("../README.md")]
struct Readme;
