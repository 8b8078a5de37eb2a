//! Rules that the parameters of forward and those of the functions beside it share.

use syn::{FnArg, Ident, PatType, Signature, Type};

use super::agreement;
use crate::diagnostics::Diagnostics;
use crate::model::Definition;
use crate::parse::meant_on_parameter;
use crate::show::show;
use crate::types::{Floats, Form, bound, is_float, last_segment, list_of, option_of, peel, vec_of};

/// Returns the name that a parameter binds: `x` of `x`, `mut x`, `ref x`, `&x` and `x @ …`.
///
/// ```text
/// fn forward((height, width): (usize, usize), …)
/// //         ^^^^^^^^^^^^^^^ this parameter has no name
/// ```
pub(super) fn named(parameter: &PatType, diagnostics: &mut Diagnostics) -> Option<Ident> {
    let name = bound(&parameter.pat).cloned();
    if name.is_none() {
        let message = "this parameter has no name; backward functions ask for everything by name";
        diagnostics.error_with_help(&parameter.pat, message, "write `name: Type`");
    }
    name
}

/// Returns the names of the parameters.
pub(super) fn names(sig: &Signature) -> impl Iterator<Item = &Ident> {
    sig.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(parameter) => bound(&parameter.pat),
        FnArg::Receiver(_) => None,
    })
}

/// An attribute of a parameter takes no arguments and is given once.
///
/// ```text
/// fn forward(#[tensor] #[tensor] x: Matrix<'_>) -> Array2<f32>
/// //                     ^^^^^^ `#[tensor]` is given twice
/// ```
pub(super) fn on_parameter<'a>(
    attributes: &'a [syn::Attribute],
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Option<&'a syn::Attribute> {
    let is_meant = |attribute: &&syn::Attribute| {
        let written = attribute.path().get_ident();
        written.and_then(meant_on_parameter) == Some(name)
    };
    let mut ours = attributes.iter().filter(is_meant);
    let first = ours.next()?;
    if !first.path().is_ident(name) {
        let written = show(first.path());
        let message = format!("there is no attribute `#[{written}]`; did you mean `#[{name}]`?");
        diagnostics.error(first.path(), message);
    }
    if first.meta.require_path_only().is_err() {
        diagnostics.error(
            &first.meta,
            format!("`#[{name}]` takes no arguments; write `#[{name}]`"),
        );
    }
    if let Some(second) = ours.next() {
        diagnostics.error(
            second.path(),
            format!("`#[{name}]` is given twice; remove one"),
        );
    }
    Some(first)
}

/// Returns a name that an earlier parameter has.
pub(super) fn twice(sig: &Signature) -> Option<&Ident> {
    let mut earlier = Vec::new();
    names(sig).find(|name| {
        let is_twice = earlier.contains(name);
        earlier.push(*name);
        is_twice
    })
}

/// Returns whether a type is `impl Trait`, or has one in it.
pub(super) fn is_opaque(ty: &Type) -> bool {
    show(ty)
        .split(|letter: char| !letter.is_alphanumeric())
        .any(|word| word == "impl")
}

/// `needs_input_grad` must have the type of the generated struct.
///
/// ```text
/// fn backward(grad_output: ArrayView2<f32>, needs_input_grad: [bool; 2]) -> …
/// //                                                          ^^^^^^^^^ `needs_input_grad` cannot have type `[bool; 2]`
/// ```
pub(super) fn needs_input_grad(
    ty: &Type,
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let expected = format!("{}NeedsInputGrad", definition.ident);
    let target = match peel(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => &reference.elem,
        target => target,
    };
    if last_segment(target).is_some_and(|segment| segment.ident == expected) {
        return Some(());
    }
    let message = format!("`needs_input_grad` cannot have type `{}`", show(ty));
    let help = format!(
        "write `{expected}`: a generated struct with one `bool` for each differentiable input"
    );
    diagnostics.error_with_help(ty, &message, &help);
    None
}

/// Returns the array to return in place of a number, or of a list of numbers.
pub(super) fn as_array(ty: &Type) -> Option<String> {
    let numbers = list_of(ty).or_else(|| vec_of(ty));
    let (rank, element) = numbers.map_or((0, ty), |number| (1, number));
    is_float(element).then(|| format!("Array{rank}<{}>", show(element)))
}

/// Returns what to write in place of a borrowed float array, if a value is one and was meant to be a tensor.
pub(super) fn as_tensor(name: &Ident, ty: &Type, floats: &Floats) -> Option<String> {
    let listed = list_of(ty);
    let write = if let Some(number) = listed.or_else(|| vec_of(ty)).filter(|ty| is_float(ty)) {
        format!("ArrayView1<{}>", show(number))
    } else {
        let array = match listed {
            Some(element) => floats.owned_array(element)?,
            None => floats.borrowed_array(ty)?,
        };
        let view = agreement::spell(Form::View, &array.content);
        match option_of(ty) {
            _ if listed.is_some() => format!("&[{view}]"),
            Some(_) => format!("Option<{view}>"),
            None => view,
        }
    };
    Some(format!(
        "write `{name}: {write}` in forward: a view is a tensor, `{}` is a value",
        show(ty)
    ))
}
