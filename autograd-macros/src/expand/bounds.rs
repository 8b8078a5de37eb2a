//! The bounds that generated code needs of the block's parameters, where the author's do not say it.
//!
//! `impl<T: NdFloat> Scale<T>` is enough for the author's own functions. Generated code needs
//! `T: Element`, and asks for it itself, so that what is missing is told to those who choose `T`.

use proc_macro2::TokenStream;
use syn::{Generics, Ident, Type, TypeParamBound, WherePredicate, parse_quote};

use crate::model::Forward;
use crate::types::{Content, Rank, last_segment};

/// The block's parameters with the bounds of element types and ranks.
pub(super) fn completed(generics: &Generics, forward: &Forward, p: &TokenStream) -> Generics {
    let mut completed = generics.clone();
    for param in generics.type_params().map(|param| &param.ident) {
        let contents = || forward.tensors().map(|tensor| &tensor.content);
        let is_element = contents()
            .any(|content| matches!(content, Content::Known { element, .. } if is(element, param)));
        let is_rank = contents().any(|content| {
            matches!(content, Content::Known { rank: Rank::Named(rank), .. } if is(rank, param))
        });
        if is_element && !is_said(generics, param, "Element") {
            let bound = parse_quote!(#param: #p::Element);
            completed.make_where_clause().predicates.push(bound);
        }
        if is_rank && !is_said(generics, param, "Dimension") {
            let bound = parse_quote!(#param: #p::ndarray::Dimension);
            completed.make_where_clause().predicates.push(bound);
        }
    }
    completed
}

fn is(ty: &Type, param: &Ident) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == *param)
}

/// Whether the author gives the parameter a bound of this name.
fn is_said(generics: &Generics, param: &Ident, name: &str) -> bool {
    let names = |bound: &TypeParamBound| {
        let TypeParamBound::Trait(bound) = bound else {
            return false;
        };
        let segment = bound.path.segments.last();
        segment.is_some_and(|segment| segment.ident == name)
    };
    let of_param = generics.type_params().filter(|other| other.ident == *param);
    let predicates = generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates);
    let in_clause = predicates.filter_map(|predicate| match predicate {
        WherePredicate::Type(of) if is(&of.bounded_ty, param) => Some(&of.bounds),
        _ => None,
    });
    let mut bounds = of_param
        .map(|param| &param.bounds)
        .chain(in_clause)
        .flatten();
    bounds.any(names)
}
