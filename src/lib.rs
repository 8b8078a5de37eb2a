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
//! - [`Tensor::backward`], [`grad()`]: gradients that are added to the leaves, or returned; of any order.
//! - [`jvp`]: derivatives along a direction, computed beside the values.
//! - [`functional`]: Jacobians and Hessians of functions, whole and as products; functions on many examples at once.
//! - [`Gradcheck`]: checks gradients against finite differences.
//! - [`ops`]: the built-in functions, written with the same attribute: examples to learn from.
//! - [`kernels`]: loops and products on arrays, for fast functions; [`memory`]: the memory of large arrays.
//! - [`foreign`]: a computation run for another framework, which records it in a graph of its own.
//! - [`catalogue`](catalogue()): every function of a program in one list, or as a page to search.
//! - [`graph`]: pictures of what was recorded, and how long each part of a backward pass takes; [`inspect`]: the
//!   same as data, to draw or count it differently.
//! - [`nn`]: modules with parameters and buffers, layers, saving and loading; [`Module`](derive@Module) derives them.
//! - [`optim`]: optimizers, schedules of the learning rate, clipping of gradients.
//!
//! # Features
//!
//! | feature | | adds |
//! |---|---|---|
//! | `ops` | default | the built-in functions: methods of [`Tensor`] from `exp` to `conv2d`, and [`ops`]. Operators, `sum`, `mean`, `reshape`, `slice` and `stack` need no feature |
//! | `catalogue` | default | [`catalogue()`]; with `graph`, also its page, `catalogue::html` |
//! | `nn` | | [`nn`], [`optim`] and `#[derive(Module)]`. Includes `ops` |
//! | `graph` | | [`graph`] |
//! | `math` | | formulas in the documentation as MathML, where they are otherwise LaTeX in a block of code |
//! | `gemm` | | products of matrices by the crate [gemm](https://docs.rs/gemm), which is faster than the default on large ones |
//! | `blas` | | products of matrices by the BLAS that the program links. Takes precedence over `gemm` |
//! | `full` | | all of these but `blas`, which needs a library to link |

#![cfg_attr(
    not(feature = "full"),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the front page shows what is behind features too"
    )
)]

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
    AnyTensor, Backward, Check, Derivative, Element, ElementType, Error, ErrorKind, Function, Grad,
    Gradcheck, HookHandle, InputSignature, InputTensors, Mismatch, Node, Order, OutputSignature,
    OutputTensors, Real, SavedSignature, Shape, Signature, Tensor, Tensor0, Tensor1, Tensor2,
    Tensor3, Tensor4, Tensor5, Tensor6, TensorD, Unpacked, checkpoint, detect_anomaly, enable_grad,
    foreign, functional, grad, inspect, is_grad_enabled, is_recomputing, jvp, kernels, math,
    memory, ndarray, no_grad, replayed, saved_tensors_hooks,
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
    pub use autograd_core::catalogue::{Entry, Test, catalogue};
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
        Backward, Element, Function, Grad, Gradcheck, Real, Tensor, Tensor0, Tensor1, Tensor2,
        Tensor3, Tensor4, Tensor5, Tensor6, TensorD, checkpoint, custom_function, detect_anomaly,
        enable_grad, grad, jvp, no_grad,
    };
    #[doc(hidden)]
    pub use autograd_macros::{backward, forward, jvp, vmap};
}

/// The README's example runs with the documentation's.
#[cfg(all(doctest, feature = "graph", feature = "nn"))]
#[doc = include_str!("../README.md")]
struct Readme;
