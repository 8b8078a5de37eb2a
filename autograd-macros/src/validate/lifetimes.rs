//! Rules for lifetimes: tensors are borrowed for one call, and functions share none.

use syn::visit::{Visit, visit_bound_lifetimes, visit_lifetime};
use syn::{BoundLifetimes, Generics, Lifetime, Signature, Type};

use crate::diagnostics::Diagnostics;
use crate::parse::ImplBlock;
use crate::types::{array, list_of, option_of, peel};

/// What is borrowed for a call must not have a lifetime that is longer.
///
/// ```text
/// impl<'a> Rows<'a> { fn forward(x: ArrayView2<'a, f64>) -> Array2<f64> … }
/// //                                           ^^ this is borrowed for one call, but `'a` is longer
/// fn forward(x: ArrayView1<'static, f64>) -> Array1<f64>
/// //                       ^^^^^^^
/// ```
///
/// Returns whether it has none.
pub(super) fn are_short(ty: &Type, block: &Generics, diagnostics: &mut Diagnostics) -> bool {
    let target = option_of(ty).unwrap_or(ty);
    let elements = list_of(target);
    let of_element = elements.and_then(array).and_then(|array| array.lifetime);
    let of_reference = match peel(target) {
        Type::Reference(reference) => reference.lifetime.clone(),
        _ => array(target).and_then(|array| array.lifetime),
    };
    let is_longer = |lifetime: &Lifetime| {
        let mut of_block = block.lifetimes().map(|param| &param.lifetime);
        lifetime.ident == "static" || of_block.any(|other| other == lifetime)
    };
    let longer = of_reference.into_iter().chain(of_element).find(is_longer);
    if let Some(lifetime) = &longer {
        let message = format!("this is borrowed for one call, but `{lifetime}` is longer");
        diagnostics.once(lifetime, &message, "leave the lifetime out");
    }
    longer.is_none()
}

/// Each function declares its own lifetimes.
///
/// ```text
/// fn forward<'a>(x: ArrayView1<'a, f64>, rows: &'a [usize]) -> Array1<f64>
/// fn backward(grad_output: ArrayView1<'a, f64>) -> Array1<f64>
/// //                                  ^^ `'a` is not declared here
/// ```
pub(super) fn are_declared(sig: &Signature, block: &ImplBlock, diagnostics: &mut Diagnostics) {
    if let Some(lifetime) = undeclared(sig, &block.generics) {
        let message = format!("`{lifetime}` is not declared here");
        let help = "leave it out: each function borrows for its own call";
        diagnostics.error_with_help(&lifetime, &message, help);
    }
}

/// Returns a lifetime of a signature that neither it nor the block declares.
pub(super) fn undeclared(sig: &Signature, block: &Generics) -> Option<Lifetime> {
    let mut search = Search::default();
    search.visit_signature(sig);
    let params = sig.generics.lifetimes().chain(block.lifetimes());
    search.declared.extend(params.map(|param| &param.lifetime));
    let is_known = |lifetime: &&Lifetime| {
        ["static", "_"].iter().any(|known| lifetime.ident == known)
            || search.declared.contains(lifetime)
    };
    search
        .used
        .iter()
        .find(|lifetime| !is_known(lifetime))
        .copied()
        .cloned()
}

/// The lifetimes of a signature, and those that `for<'a>` declares in it.
#[derive(Default)]
struct Search<'ast> {
    used: Vec<&'ast Lifetime>,
    declared: Vec<&'ast Lifetime>,
}

impl<'ast> Visit<'ast> for Search<'ast> {
    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        self.used.push(lifetime);
        visit_lifetime(self, lifetime);
    }

    fn visit_bound_lifetimes(&mut self, bound: &'ast BoundLifetimes) {
        let params = bound.lifetimes.iter();
        self.declared.extend(params.filter_map(|param| match param {
            syn::GenericParam::Lifetime(param) => Some(&param.lifetime),
            _ => None,
        }));
        visit_bound_lifetimes(self, bound);
    }
}
