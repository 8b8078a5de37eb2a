//! Rules for the type parameters of the block.

use syn::TypeParamBound;

use crate::diagnostics::Diagnostics;
use crate::model::{Definition, Forward, FunctionKind};
use crate::types::bounds_of;

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
