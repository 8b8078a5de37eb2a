//! The arguments of our attributes, as they are read.

use syn::{Ident, LitInt, Path};

use crate::diagnostics::Diagnostics;
use crate::lower::ShortArguments;
use crate::model::{Reduce, Scanned};
use crate::parse::Argument;

/// The arguments of `#[custom_function(…)]`.
#[derive(Default)]
pub(super) struct FunctionOptions {
    pub(super) name: Option<String>,
    pub(super) runtime: Option<Path>,
    pub(super) gradchecks: Vec<Argument>,
    /// `batch(q, k, v)`
    pub(super) batch: Option<Names>,
    /// `shapes(x = [n, i], …)`
    pub(super) shapes: Option<Argument>,
    pub(super) short: ShortArguments,
    pub(super) form: Form,
}

/// The form of a formula, if the function is one.
#[derive(Default)]
pub(super) struct Form {
    /// The order of `elementwise(order = …)`, which makes the function elementwise.
    pub(super) elementwise: Option<usize>,
    /// `scan` or `scan(reverse)`
    pub(super) scan: Option<Scanned>,
    /// How columns are reduced, and the order, of `pairs(…)`.
    pub(super) pairs: Option<(Reduce, usize)>,
}

/// The arguments of `#[forward(…)]`.
#[derive(Default)]
pub(super) struct ForwardOptions {
    pub(super) outputs: Option<Names>,
    pub(super) saves: Option<Names>,
    pub(super) non_differentiable: Vec<Ident>,
    /// Whether something else was meant to be an option, so that outputs may have other names.
    pub(super) are_doubtful: bool,
}

/// The arguments of `#[backward(…)]`.
#[derive(Default)]
pub(super) struct BackwardOptions {
    pub(super) inputs: Vec<Ident>,
    pub(super) ignores_grad: Option<Ident>,
    /// Whether what it computes is differentiable once only, whatever it takes.
    pub(super) once: bool,
    /// Whether other inputs may have been meant.
    pub(super) are_doubtful: bool,
}

/// The arguments of `#[residual(…)]`.
#[derive(Default)]
pub(super) struct ResidualOptions {
    /// `dense = 512`
    pub(super) dense: Option<LitInt>,
}

/// `outputs(values, indices)`
pub(super) struct Names {
    pub(super) keyword: Ident,
    pub(super) names: Vec<Ident>,
}

/// An option of `#[backward(…)]` and `grad(…)` is given once.
///
/// ```text
/// #[backward(x, once, once)]
/// //                  ^^^^ `once` is given twice
/// ```
pub(super) fn options_are_given_once<'a>(
    arguments: impl Iterator<Item = &'a Argument>,
    diagnostics: &mut Diagnostics,
) {
    let mut given = Vec::new();
    for Argument { name, .. } in arguments.filter(|argument| !argument.is_an_input()) {
        if given.contains(&name) {
            diagnostics.error(name, format!("`{name}` is given twice; write it once"));
        }
        given.push(name);
    }
}
