//! Every function that `#[custom_function]` defines in a program, in one list when it runs: the built-in
//! ones, those of other crates and the program's own. The feature `catalogue`, on unless it is switched
//! off, is what collects them. A program has their names and documentation then, about 1 kB a function.
//!
//! Read first [`catalogue`](catalogue()), which lists them, and [`Entry`], what is known of each. [`html`] writes
//! the list as a page to look at and to search:
//!
//! ```
//! use autograd_core::ndarray::{Array1, ArrayView1};
//! use autograd_core::{catalogue, custom_function};
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
//!
//! let page = catalogue::html();
//! assert!(page.contains("y = x³"));
//! ```
//!
//! What stands there about a function is the documentation above `#[forward]` or else above the block (in
//! the short form, above the function). An attribute does not see what stands above the `struct`. Formulas that
//! [`math!`](crate::math) writes next to the first paragraph stand on the page beneath it.
//!
//! # How wrong are the gradients?
//!
//! The test that `gradcheck(…)` generates knows it. It belongs to test builds, and nothing of it is in a
//! program, so the two meet in files: with `PULLBACK_CATALOGUE=1` in the environment each test that passes
//! writes its largest errors into the folder `pullback/gradcheck` of cargo's target folder, where [`html`]
//! finds them. `PULLBACK_CATALOGUE=folder` has them elsewhere, for [`Page::errors`] and [`Entry::errors`].
//!
//! ```text
//! PULLBACK_CATALOGUE=1 cargo test --workspace gradcheck
//! ```
//!
//! On WebAssembly, the constructors of the program have to run: see the crate `inventory`, which collects.

mod docs;
mod entry;
pub(crate) mod figures;
mod formula;
mod page;

pub use entry::{Entry, Test};
pub use figures::Errors;
pub use page::Page;

inventory::collect!(Entry);

/// Every function of the program that `#[custom_function]` defines, once each, in the order of their paths.
/// A function that is generic is one function; what only tests define is there in tests.
///
/// ```
/// let functions = autograd_core::catalogue();
/// let exp = functions.iter().find(|function| function.name() == "Exp").expect("a built-in function");
/// assert_eq!(exp.path(), "autograd_core::ops::exp::Exp");
/// assert!(exp.signature.forward_mode);
/// ```
pub fn catalogue() -> Vec<&'static Entry> {
    let mut functions: Vec<&Entry> = inventory::iter::<Entry>().collect();
    functions.sort_by_key(|function| (function.module, function.name(), function.line));
    functions
}

/// The list as one page of HTML that needs nothing else: [`Page::new`] with its defaults.
///
/// ```
/// let path = std::env::temp_dir().join(format!("catalogue-{}.html", std::process::id()));
/// std::fs::write(&path, autograd_core::catalogue::html())?; // to be opened in a browser
/// assert!(std::fs::read_to_string(&path)?.starts_with("<!DOCTYPE html>"));
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn html() -> String {
    Page::new().html()
}
