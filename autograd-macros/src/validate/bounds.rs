//! Rules for the type parameters of the block.

use syn::{Generics, Type, TypeParamBound};

use crate::diagnostics::Diagnostics;
use crate::lists::Lists as _;
use crate::model::{Definition, Forward, FunctionKind};
use crate::show::show;
use crate::types::{bounds_of, peel};

/// An element type must be an `Element` and a rank a `Dimension`. A parameter without any bound is
/// certainly neither, and the compiler would report that many times over.
///
/// ```text
/// impl<T, D: Dimension> Exp<T, D>
/// //   ^ `T` is an element type and has no bound
/// ```
pub(super) fn are_given(definition: &Definition, forward: &Forward, diagnostics: &mut Diagnostics) {
    let generics = match &definition.kind {
        FunctionKind::Block | FunctionKind::Short(_) => &definition.generics,
        // Those on arrays are not the author's.
        FunctionKind::Elementwise(..) => return,
    };
    for name in generics.type_params().map(|param| &param.ident) {
        let is_trait = |bound: &TypeParamBound| matches!(bound, TypeParamBound::Trait(_));
        if bounds_of(generics, name).any(is_trait) {
            continue;
        }
        let (is, bound) = if forward.has_element(name) {
            ("an element type", "Element")
        } else if forward.has_rank(name) {
            ("a rank", "Dimension")
        } else {
            continue;
        };
        let message = format!("`{name}` is {is} and has no bound");
        diagnostics.error_with_help(name, &message, &format!("write `{name}: {bound}`"));
    }
}

/// A parameter whose values are saved must be bound by what saving needs. Where all of its bounds are those of std, the
/// macro can see what is missing; a trait of the author's own may imply it.
///
/// ```text
/// impl<F: Fn(f64) -> f64> Map<F> { fn forward(x: ArrayView1<f64>, f: F) -> Array1<f64> … }
/// //   ^ `F` cannot be saved for backward without `Clone + Send + Sync + 'static`
/// ```
pub(super) fn can_be_saved(
    ty: &Type,
    generics: &Generics,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    const OTHERS: [&str; 8] = [
        "Fn",
        "FnMut",
        "FnOnce",
        "Copy",
        "Debug",
        "Default",
        "PartialEq",
        "PartialOrd",
    ];
    let Type::Path(path) = peel(ty) else {
        return Some(());
    };
    let mut params = generics.type_params();
    let Some(param) = params.find(|param| path.path.is_ident(&param.ident)) else {
        return Some(());
    };
    let bounds = bounds_of(generics, &param.ident).listed();
    let written = bounds.iter().map(|bound| match bound {
        TypeParamBound::Trait(bound) if bound.maybe.is_none() => bound
            .path
            .segments
            .last()
            .map(|last| last.ident.to_string()),
        TypeParamBound::Lifetime(lifetime) => Some(lifetime.to_string()),
        _ => None,
    });
    let Some(written) = written.collect::<Option<Vec<String>>>() else {
        return Some(());
    };
    let has = |name: &str| written.iter().any(|other| other == name);
    let needed = ["Clone", "Send", "Sync", "'static"];
    let are_known = written
        .iter()
        .all(|name| needed.contains(&&**name) || OTHERS.contains(&&**name));
    let missing = needed
        .iter()
        .filter(|name| !(has(name) || **name == "Clone" && has("Copy")));
    let missing: Vec<&str> = missing.copied().listed();
    if !are_known || missing.is_empty() {
        return Some(());
    }
    let (name, missing) = (&param.ident, missing.join(" + "));
    let all = bounds
        .iter()
        .map(|bound| show(*bound))
        .chain([missing.clone()]);
    let all: Vec<String> = all.listed();
    let message = format!("`{name}` cannot be saved for backward without `{missing}`");
    diagnostics.once(
        name,
        &message,
        &format!("write `{name}: {}`", all.join(" + ")),
    );
    None
}
