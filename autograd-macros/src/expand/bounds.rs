//! The bounds that generated code needs of the block's parameters, where the author's do not say it.
//!
//! `impl<T: NdFloat> Scale<T>` is enough for the author's own functions. Generated code needs
//! `T: Element`, and asks for it itself, so that what is missing is told to those who choose `T`.

use proc_macro2::TokenStream;
use syn::{Generics, Ident, TypeParamBound, parse_quote};

use crate::model::Forward;
use crate::types::bounds_of;

/// The block's parameters with the bounds of element types and ranks.
pub(super) fn completed(generics: &Generics, forward: &Forward, p: &TokenStream) -> Generics {
    let mut completed = generics.clone();
    for param in generics.type_params().map(|param| &param.ident) {
        if forward.has_element(param) && !is_said(generics, param, "Element") {
            let bound = parse_quote!(#param: #p::Element);
            completed.make_where_clause().predicates.push(bound);
        }
        if forward.has_rank(param) && !is_said(generics, param, "Dimension") {
            let bound = parse_quote!(#param: #p::ndarray::Dimension);
            completed.make_where_clause().predicates.push(bound);
        }
    }
    completed
}

/// Whether the author gives the parameter a bound of this name.
fn is_said(generics: &Generics, param: &Ident, name: &str) -> bool {
    bounds_of(generics, param).any(|bound| {
        let TypeParamBound::Trait(bound) = bound else {
            return false;
        };
        let segment = bound.path.segments.last();
        segment.is_some_and(|segment| segment.ident == name)
    })
}
