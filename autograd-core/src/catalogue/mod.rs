//! The list of all functions that `#[custom_function]` defines in a program: the built-in ones, those of other crates
//! and yours. The feature `catalogue`, on by default, collects them. A program then contains their names and
//! documentation, about 1 kB for each function.
//!
//! Read [`catalogue`](catalogue()) first, which returns the list, and [`Entry`], one function in it. The crate
//! `autograd-graph` writes the list as a page with a search.
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
//! The documentation of an entry is the text above `#[forward]` or else above the block (in the short form, above the
//! function). An attribute does not see the documentation of the `struct`.
//!
//! On WebAssembly, the program has to run its constructors: see the crate `inventory`, which collects the entries.

mod entry;

pub use entry::{Entry, Test};

inventory::collect!(Entry);

/// Returns all functions of the program that `#[custom_function]` defines, in the order of their paths. A generic
/// function is listed once. A function that only tests define is listed in tests.
pub fn catalogue() -> Vec<&'static Entry> {
    let mut functions: Vec<&Entry> = inventory::iter::<Entry>().collect();
    functions.sort_by_key(|function| (function.module, function.name(), function.line));
    functions
}
