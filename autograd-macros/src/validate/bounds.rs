//! Rules for the type parameters of the block.

use syn::{Generics, Type, TypeParam, TypeParamBound, WherePredicate};

use crate::diagnostics::Diagnostics;
use crate::model::Forward;
use crate::types::{Content, Rank, TensorType, last_segment};

/// An element type is an `Element` and a rank a `Dimension`. A parameter without any bound is
/// certainly neither, and the compiler would say so many times over.
///
/// ```text
/// impl<T, D: Dimension> Exp<T, D>
/// //   ^ `T` is an element type and has no bound
/// ```
pub(super) fn are_given(generics: &Generics, forward: &Forward, diagnostics: &mut Diagnostics) {
    for param in generics
        .type_params()
        .filter(|param| !is_bounded(param, generics))
    {
        let name = &param.ident;
        if forward
            .tensors()
            .any(|tensor| element(tensor).is_some_and(|ty| is(ty, param)))
        {
            let message = format!("`{name}` is an element type and has no bound");
            diagnostics.error_with_help(name, &message, &format!("write `{name}: Element`"));
        } else if forward
            .tensors()
            .any(|tensor| rank(tensor).is_some_and(|ty| is(ty, param)))
        {
            let message = format!("`{name}` is a rank and has no bound");
            diagnostics.error_with_help(name, &message, &format!("write `{name}: Dimension`"));
        }
    }
}

fn is_bounded(param: &TypeParam, generics: &Generics) -> bool {
    let is_trait = |bound: &TypeParamBound| matches!(bound, TypeParamBound::Trait(_));
    let predicates = generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates);
    let speaks_of_it = |predicate: &WherePredicate| matches!(predicate, WherePredicate::Type(of) if is(&of.bounded_ty, param));
    param.bounds.iter().any(is_trait) || predicates.into_iter().any(speaks_of_it)
}

fn element(tensor: &TensorType) -> Option<&Type> {
    match &tensor.content {
        Content::Known { element, .. } => Some(element),
        Content::Alias(_) => None,
    }
}

fn rank(tensor: &TensorType) -> Option<&Type> {
    match &tensor.content {
        Content::Known {
            rank: Rank::Named(dimension),
            ..
        } => Some(dimension),
        _ => None,
    }
}

fn is(ty: &Type, param: &TypeParam) -> bool {
    last_segment(ty).is_some_and(|segment| segment.ident == param.ident)
}
