//! Rules for types that look like tensors but are not.

use syn::{GenericArgument, Ident, PathArguments, Type};

use crate::diagnostics::Diagnostics;
use crate::lists::Lists as _;
use crate::show::show;
use crate::types::{Floats, inner_types, is_float, is_primitive, last_segment};

/// A type that looks like a tensor must be one.
///
/// ```text
/// fn forward(x: &Tensor) -> Array1<f64>
/// //             ^^^^^^ `Tensor` has no element type
/// fn forward(x: ArrayView<f64, 2>) -> Array1<f64>
/// //                           ^ `2` is not the type of a rank
/// impl LinearFunction { fn forward(x: ArrayView1<T>) -> Array1<T> … }
/// //                                             ^ `T` is not declared
/// ```
///
/// Returns whether it is. What is wrong in the same way in several places is reported once.
pub(super) fn is_readable(ty: &Type, floats: &Floats, diagnostics: &mut Diagnostics) -> bool {
    const STEMS: [&str; 4] = ["ArrayView", "ArrayViewMut", "Array", "Tensor"];
    let named = last_segment(ty).map(|segment| (segment, segment.ident.to_string()));
    let is_array = |(_, name): &(_, String)| STEMS.contains(&stem(name));
    let Some((segment, name)) = named.filter(is_array) else {
        return are_readable(inner_types(ty), floats, diagnostics);
    };
    let stem = stem(&name);
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().listed(),
        _ => Vec::new(),
    };
    if let Some(rank) = arguments
        .iter()
        .find(|argument| matches!(argument, GenericArgument::Const(_)))
    {
        let message = format!("`{}` is not the type of a rank", show(rank));
        let help = format!("write `Ix{}`", show(rank));
        diagnostics.is_unreadable = true;
        diagnostics.once(rank, &message, &help);
        return false;
    }
    let element = arguments.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    let Some(element) = element else {
        let message = format!("`{name}` has no element type");
        let example = if stem == "Tensor" {
            "&Tensor1<f64>".to_owned()
        } else {
            format!("{stem}1<f64>")
        };
        diagnostics.is_unreadable = true;
        diagnostics.once(&segment.ident, &message, &format!("write `{example}`, say"));
        return false;
    };
    if let Some(half) = last_segment(element).filter(|last| {
        ["f16", "f128", "bf16"]
            .iter()
            .any(|name| last.ident == name)
    }) {
        let message = format!("elements of type `{}` are not supported", half.ident);
        diagnostics.is_unreadable = true;
        diagnostics.once(&half.ident, &message, "write `f32` or `f64`");
        return false;
    }
    if let Some(complex) = last_segment(element).filter(|last| {
        ["Complex", "Complex32", "Complex64", "c32", "c64"]
            .iter()
            .any(|name| last.ident == name)
    }) {
        let message = "complex numbers are not supported";
        let help =
            "write pairs of real and imaginary parts, as a last axis of length 2, or two arrays";
        diagnostics.is_unreadable = true;
        diagnostics.once(&complex.ident, message, help);
        return false;
    }
    let is_undeclared = |name: &Ident| {
        let name = name.to_string();
        name.len() == 1 && name.chars().all(char::is_uppercase)
    };
    let parameter = last_segment(element).filter(|last| last.arguments.is_none());
    if let Some(parameter) = parameter.filter(|last| is_undeclared(&last.ident))
        && !floats.is_certain(element)
    {
        let name = &parameter.ident;
        let message = format!("`{name}` is not declared");
        let help = format!(
            "write `impl<{name}: Element> …` above, or `fn …<{name}: Element>` in the short form"
        );
        diagnostics.once(name, &message, &help);
        return false;
    }
    true
}

/// Checks each of them, also after one that is not.
pub(super) fn are_readable(
    types: Vec<&Type>,
    floats: &Floats,
    diagnostics: &mut Diagnostics,
) -> bool {
    let mut all = true;
    for ty in types {
        all &= is_readable(ty, floats, diagnostics);
    }
    all
}

/// Returns `Array` of `Array2` and `ArrayD`.
fn stem(name: &str) -> &str {
    let stem = name.trim_end_matches(|last: char| last.is_ascii_digit());
    stem.strip_suffix('D').unwrap_or(stem)
}

/// Returns the element type of an array whose elements have no gradients: `i32` of `ArrayView1<i32>`.
pub(super) fn discrete_element(ty: &Type) -> Option<&Type> {
    let array = crate::types::array(ty)?;
    let inner = inner_types(ty);
    let element = inner.into_iter().next()?;
    (array.content.element().is_some() && is_primitive(element) && !is_float(element))
        .then_some(element)
}
