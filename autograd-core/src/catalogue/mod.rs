//! Every function that `#[custom_function]` defines in a program, in one list when it runs: the built-in
//! ones, those of other crates and the program's own. The feature `catalogue`, on unless it is switched
//! off, is what collects them. A program has their names and documentation then, about 1 kB a function.
//!
//! Read first [`catalogue`](catalogue()), which lists them, and [`Entry`], what is known of each. The crate
//! `autograd-graph` writes the list as a page to look at and to search.
//!
//! ```
//! use pullback::ndarray::{Array1, ArrayView1};
//! use pullback::{catalogue, custom_function};
//!
//! /// y = x³
//! #[custom_function(grad(x) = &grad_output * &x * &x * 3.0)]
//! fn cube(x: ArrayView1<f64>) -> Array1<f64> {
//!     x.mapv(|x| x.powi(3))
//! }
//!
//! let functions = catalogue();
//! let cube = functions.iter().find(|function| function.name() == "cube").expect("it is defined here");
//! assert_eq!(cube.summary(), "y = x³");
//! assert_eq!(cube.signature.inputs[0].name, "x");
//! assert!(functions.iter().any(|function| function.name() == "Exp"));
//! ```
//!
//! The text about a function is the documentation above `#[forward]` or else above the block (in
//! the short form, above the function). An attribute does not see the documentation of the `struct`.
//!
//! On WebAssembly, the constructors of the program have to run: see the crate `inventory`, which collects.

mod entry;

pub use entry::{Entry, Test};

inventory::collect!(Entry);

/// Every function of the program that `#[custom_function]` defines, once each, in the order of their paths.
/// A function that is generic is one function; what only tests define is there in tests.
///
/// ```
/// let functions = pullback::catalogue();
/// let exp = functions.iter().find(|function| function.name() == "Exp").expect("a built-in function");
/// assert_eq!(exp.path(), "autograd_core::ops::exp::Exp");
/// assert!(exp.signature.forward_mode);
/// ```
pub fn catalogue() -> Vec<&'static Entry> {
    let mut functions: Vec<&Entry> = inventory::iter::<Entry>().collect();
    functions.sort_by_key(|function| (function.module, function.name(), function.line));
    functions
}
