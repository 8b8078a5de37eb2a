//! The runtime of `pullback`: tensors, the tape, the engine, built-in functions and gradcheck.
//!
//! A program depends on `pullback` alone, which re-exports this crate at its root, or on this crate alone: paths then
//! begin with `autograd_core` in place of `pullback`, as do those that its [`custom_function`] writes.
//!
//! ```
//! use pullback::ndarray::{Array1, ArrayView1, array};
//! use pullback::{Tensor, custom_function};
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
//! let x = Tensor::from(array![3.0]).set_requires_grad(true);
//! Square::apply(&x).sum().backward()?;
//! assert_eq!(x.grad(), Some(array![6.0]));
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! Read first [`Tensor`], an array with its history; [`custom_function`], which makes your functions differentiable;
//! and [`Gradcheck`], which checks their gradients. [`grad()`] and [`Backward`] compute gradients.
//!
//! The modules, the lowest first: `thread` has the modes of a thread; `alloc` and `array` have memory and arrays,
//! without tensors, as the crate [`kernels`]; `tape` has nodes, and `tensor` a value with its node; `engine` runs
//! backward passes, and `function` is the basis of `#[custom_function]`, through `__private`; [`functional`] has the
//! derivatives of whole functions, and `gradcheck` compares derivatives with finite differences. `basic` and [`ops`]
//! are the built-in functions, written with the attribute. [`inspect`] shows what was recorded, and `autograd-graph`
//! draws it.

#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate self as autograd_core;

autograd_macros::same_version!();

#[doc(hidden)]
pub mod __private;
mod alloc;
mod array;
#[cfg_attr(
    not(feature = "ops"),
    allow(
        unreachable_pub,
        unused_imports,
        reason = "`ops` re-exports the types behind the methods"
    )
)]
mod basic;
#[cfg(feature = "catalogue")]
pub mod catalogue;
mod checkpoint;
mod compiled;
mod elementwise;
mod engine;
mod erased;
mod error;
pub mod foreign;
mod forward_mode;
mod function;
pub mod functional;
mod gradcheck;
mod hooks;
mod implicit;
pub mod inspect;
pub mod memory;

#[cfg(feature = "ops")]
pub mod ops;
mod recording;
mod saved;
mod scan;
mod tape;
mod tensor;
mod thread;

/// Makes a differentiable function of an `impl` block or of a function: see the page of `pullback::custom_function`.
///
/// ```
/// use pullback::ndarray::{Array1, ArrayView1, array};
/// use pullback::{Gradcheck, Tensor, custom_function};
///
/// /// y = c·x
/// #[custom_function(grad(x) = &grad_output * *factor)]
/// fn scale(x: ArrayView1<f64>, factor: f64) -> Array1<f64> {
///     &x * factor
/// }
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// scale(&x, 3.0).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![3.0, 3.0]));
/// Gradcheck::new().run(|x| scale(x, 3.0), &x)?;
/// # Ok::<(), pullback::Error>(())
/// ```
pub use autograd_macros::custom_function_in_core as custom_function;
pub use autograd_math::math;
pub use ndarray;

pub use autograd_kernels as kernels;
pub use autograd_kernels::{Element, ElementType, Real, Shape};
#[cfg(feature = "catalogue")]
pub use catalogue::catalogue;
pub use checkpoint::{checkpoint, checkpoint_steps};
pub use engine::{Backward, Grad, Seed, detect_anomaly, grad};
pub use erased::{AnyTensor, InputTensors, OutputTensors};
pub use error::{Check, Derivative, Error, ErrorKind, Mismatch, Unsolved};
pub use function::{Function, InputSignature, Order, OutputSignature, SavedSignature, Signature};
pub use functional::jvp;
pub use gradcheck::Gradcheck;
pub use hooks::HookHandle;
pub use saved::{Unpacked, saved_tensors_hooks};
pub use tape::Node;
pub use tensor::{Tensor, Tensor0, Tensor1, Tensor2, Tensor3, Tensor4, Tensor5, Tensor6, TensorD};
pub use thread::{enable_grad, is_grad_enabled, is_recomputing, no_grad, replayed};
