#![doc = include_str!("../README.md")]

mod argument;
mod array;
mod export;
mod function;
mod module;
mod output;
mod panics;
mod recording;
mod stub;

/// Makes a module of Python: its name, and the functions in it.
///
/// ```
/// # mod ops {
/// # use pullback::prelude::*;
/// # use pullback::ndarray::{Array2, ArrayView2};
/// # #[custom_function(grad(x) = &grad_output * *factor)]
/// # pub fn scale(x: ArrayView2<f64>, factor: f64) -> Array2<f64> { &x * factor }
/// # #[custom_function(elementwise)]
/// # pub fn double<T: Real>(x: T) -> T { 2.0 * x }
/// # }
/// # use ops::double;
/// pullback_python::module! { kernels: double, ops::scale }
/// ```
///
/// A function whose parameters have no counterpart in Python is an `ImportError` that names it.
pub use pullback_python_macros::module;
pub use pyo3;

/// What the code that [`module!`] writes is made of.
#[doc(hidden)]
pub mod __private {
    pub use crate::argument::{Argument, Given, Of, OfElement, Parameter, Place};
    pub use crate::export::{ByElement, ByRank, Call, Neither, Probe, Variant};
    pub use crate::module::Functions;
    pub use crate::output::{Output, Returned};
}
