//! Custom differentiable functions on [`ndarray`], checked by the compiler.
//!
//! Write a forward function and a gradient for each input, on ordinary arrays. [`custom_function`] reads their
//! signatures and generates `apply` on tensors: it saves the values that the gradients need, computes only the
//! gradients that are needed, and checks arity, names, ranks and element types. A mistake is a compile error on the
//! token to change.
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
//! For a function that is a formula of each element, the attribute generates the gradients too:
//!
//! ```
//! use pullback::ndarray::array;
//! use pullback::prelude::*;
//!
//! /// y = x / √(1 + (x/limit)²)
//! #[custom_function(elementwise)]
//! pub fn squash<T: Real>(x: T, limit: T) -> T {
//!     x / (1.0 + (x / limit).powi(2)).sqrt()
//! }
//!
//! let x = Tensor::from(array![0.0, 3.0]).set_requires_grad(true);
//! let y = squash(&x, &Tensor::from(array![4.0]));
//! y.sum().backward()?;
//! assert_eq!(y.to_array(), array![0.0, 2.4]);
//! assert_eq!(x.grad(), Some(array![1.0, 0.512])); // (1 + (x/limit)²)^(-3/2)
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! Where to start:
//!
//! - [`guide`]: chapters, from [ten minutes](guide::ten_minutes) and [elementwise functions](guide::elementwise) to
//!   attention; [what the compiler checks](guide::what_the_compiler_checks); the names of
//!   [PyTorch](guide::from_pytorch) and of [burn and candle](guide::from_burn_and_candle); speed.
//! - [`prelude`]: the imports of nearly every program.
//!
//! To look things up:
//!
//! - [`custom_function`]: every rule and option of a definition, with an example of each.
//! - [`Tensor`]: arrays with a history; operators and built-in functions are its methods.
//! - [`Tensor::backward`], [`grad()`]: gradients that are added to the leaves, or returned; of any order.
//! - [`jvp`]: derivatives along a direction, computed beside the values.
//! - [`functional`]: Jacobians and Hessians, whole and as products; `vmap` over the examples of a batch.
//! - [`Gradcheck`]: checks gradients against finite differences.
//! - [`ops`]: the built-in functions, written with the same attribute: examples to learn from.
//! - [`kernels`]: loops and products on arrays, for fast functions; [`memory`]: the memory of large arrays.
//! - [`foreign`]: computations for other frameworks, which record them in their own graphs.
//! - [`catalogue`](catalogue()): every function of a program in one list, or as a page to search.
//! - [`graph`]: pictures of graphs, and the time of each part of a backward pass; [`inspect`]: graphs as data.
//! - [`nn`]: modules with parameters and buffers, layers, saving and loading; [`Module`](derive@Module) derives them.
//! - [`optim`]: optimizers, schedules of the learning rate, clipping of gradients.
//!
//! # Features
//!
//! | feature | | adds |
//! |---|---|---|
//! | `ops` | default | the built-in functions: methods of [`Tensor`] from `exp` to `conv2d`, and [`ops`]. Operators, `sum`, `mean`, `reshape`, `slice` and `stack` need no feature. Without it, the crates that have formulas compile what these use |
//! | `catalogue` | default | [`catalogue()`]; with `graph`, also its page, `catalogue::html` |
//! | `nn` | | [`nn`], [`optim`] and `#[derive(Module)]`. Includes `ops` |
//! | `graph` | | [`graph`] |
//! | `math` | | formulas in the documentation as MathML instead of LaTeX in a block of code |
//! | `gemm` | | products of matrices by the crate [gemm](https://docs.rs/gemm), which is faster than the default on large ones |
//! | `blas` | | products of matrices by the BLAS that the program links. Takes precedence over `gemm` |
//! | `full` | | all of these but `blas`, which needs a library to link |

#![cfg_attr(docsrs, feature(doc_cfg))]
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
#[doc(inline)]
pub use autograd_core::kernels;
#[cfg(feature = "ops")]
pub use autograd_core::ops;
pub use autograd_core::{
    AnyTensor, Backward, Check, Derivative, Element, ElementType, Error, ErrorKind, Function, Grad,
    Gradcheck, HookHandle, InputSignature, InputTensors, Mismatch, Node, Order, OutputSignature,
    OutputTensors, Real, SavedSignature, Shape, Signature, Tensor, Tensor0, Tensor1, Tensor2,
    Tensor3, Tensor4, Tensor5, Tensor6, TensorD, Unpacked, Unsolved, checkpoint, checkpoint_steps,
    detect_anomaly, enable_grad, foreign, functional, grad, inspect, is_grad_enabled,
    is_recomputing, jvp, math, memory, ndarray, no_grad, replayed, saved_tensors_hooks,
};
#[cfg(feature = "graph")]
#[doc(inline)]
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

/// The traits, types and functions that nearly every program imports, without the names of built-in functions.
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
    pub use autograd_macros::{adjoint, backward, forward, jvp, residual, vmap};
}

/// The README, whose examples run with those of the documentation.
#[cfg(all(doctest, feature = "graph", feature = "nn"))]
#[doc = include_str!("../README.md")]
struct Readme;
