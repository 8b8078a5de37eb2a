//! Adds the bounds that generated code needs of the block's parameters, where they are not written.
//!
//! `impl<T: NdFloat> Scale<T>` is enough for the functions of the block. Generated code needs
//! `T: Element`, and asks for it itself, so that a missing bound is reported to those who choose `T`.

use proc_macro2::TokenStream;
use syn::{Generics, Ident, TypeParamBound, parse_quote};

use crate::model::Forward;
use crate::types::bounds_of;

/// Returns the block's parameters with the bounds of element types and ranks.
pub(super) fn completed(generics: &Generics, forward: &Forward, p: &TokenStream) -> Generics {
    let mut completed = generics.clone();
    for param in completed.type_params_mut() {
        if forward.has_element(&param.ident) && !has_bound(generics, &param.ident, "Element") {
            param.bounds.push(parse_quote!(#p::Element));
        }
        if forward.has_rank(&param.ident) && !has_bound(generics, &param.ident, "Dimension") {
            param.bounds.push(parse_quote!(#p::ndarray::Dimension));
        }
    }
    completed
}

/// Returns whether a bound of this name is written for the parameter.
fn has_bound(generics: &Generics, param: &Ident, name: &str) -> bool {
    bounds_of(generics, param).any(|bound| is_named(bound, name))
}

/// Returns whether no bounds but those of this name are written for the parameter.
pub(super) fn is_bound_by(generics: &Generics, param: &Ident, name: &str) -> bool {
    bounds_of(generics, param).all(|bound| is_named(bound, name))
}

fn is_named(bound: &TypeParamBound, name: &str) -> bool {
    let TypeParamBound::Trait(bound) = bound else {
        return false;
    };
    let segment = bound.path.segments.last();
    segment.is_some_and(|segment| segment.ident == name)
}
