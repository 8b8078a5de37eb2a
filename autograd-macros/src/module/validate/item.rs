//! Rules for the item as a whole.

use syn::Token;
use syn::ext::IdentExt as _;

use super::arguments;
use crate::diagnostics::Diagnostics;
use crate::module::model::Definition;
use crate::module::parse::Item;

/// A module must own its fields.
///
/// ```text
/// #[derive(Module)]
/// struct Linear<'a> { weight: &'a Parameter<f32, Ix2> }
/// //            ^^ a module cannot have lifetimes
/// ```
pub(super) fn definition(item: &Item, diagnostics: &mut Diagnostics) -> Definition {
    let options = arguments::of_type(&item.helpers, diagnostics);
    for lifetime in item.generics.lifetimes() {
        let message = format!(
            "a module cannot have lifetimes, and `{}` has `{}`",
            item.ident, lifetime.lifetime
        );
        let help = "let the module own its fields; to share a parameter, give each module a clone: \
                    clones are tied";
        diagnostics.error_with_help(lifetime, &message, help);
    }
    Definition {
        ident: item.ident.clone(),
        generics: item.generics.clone(),
        name: options
            .name
            .unwrap_or_else(|| item.ident.unraw().to_string()),
        runtime: options.runtime,
        extra_repr: options.extra_repr,
    }
}

/// A module cannot be a union: what is visited must be known.
///
/// ```text
/// #[derive(Module)]
/// union Either { a: ManuallyDrop<Linear>, b: u8 }
/// // ^^ a module must be a `struct` or an `enum`, found `union`
/// ```
pub(super) fn is_not_a_union(keyword: Token![union], diagnostics: &mut Diagnostics) {
    let message = "a module must be a `struct` or an `enum`, found `union`";
    let help = "write an `enum` with a variant for each of its fields";
    diagnostics.error_with_help(&keyword, message, help);
}
