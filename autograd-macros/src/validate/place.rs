//! Rules for the place of an item, as its source file shows it.

use proc_macro2::TokenStream;
use syn::Ident;

use super::Alone;
use crate::diagnostics::Diagnostics;
use crate::model::Definition;
use crate::place::{Mistake, Place, Taken};

/// Checks the place of an item that could be read. Returns what there can be, if nothing can be beside it.
pub(super) fn check(
    place: &Place,
    definition: Option<&Definition>,
    diagnostics: &mut Diagnostics,
) -> Option<Alone> {
    match place.mistake.as_ref()? {
        // Reported before all else.
        Mistake::Repeated(_) => return None,
        Mistake::Taken(taken) => makes_a_taken_type(definition?, taken, diagnostics),
        Mistake::Method { of_a_trait } => {
            is_a_method(definition.map(Definition::item), diagnostics);
            if *of_a_trait {
                return Some(Alone::AsWritten);
            }
        }
    }
    Some(Alone::OfTensors)
}

/// An item must be the only one of its name.
///
/// ```text
/// #[custom_function]
/// impl Exp { … }
/// #[custom_function]
/// impl Exp { … }
/// //^^^^^^ this module has another `#[custom_function]` of this name
/// ```
pub(super) fn is_repeated(name: &TokenStream, diagnostics: &mut Diagnostics) {
    let message = "this module has another `#[custom_function]` of this name";
    let help = "each function is one item, under a name of its own";
    diagnostics.error_with_help(name, message, help);
}

/// The type of the short form must be the only one of its name.
///
/// ```text
/// use pullback::nn::Linear;
/// #[custom_function(…)]
/// fn linear(…) -> …
/// // ^^^^^^ `linear` makes the type `Linear`, but this module imports another `Linear`
/// ```
fn makes_a_taken_type(definition: &Definition, taken: &Taken, diagnostics: &mut Diagnostics) {
    let (function, ty) = (definition.item(), &definition.ident);
    let makes = format!("`{function}` makes the type `{ty}`");
    let (message, help) = match taken {
        Taken::Made(other) => (
            format!("{makes}, which `{other}` makes too"),
            "give one of the two functions another name".to_owned(),
        ),
        Taken::Defined => (
            format!("{makes}, but this module defines another `{ty}`"),
            "give one of the two another name".to_owned(),
        ),
        Taken::Imported => (
            format!("{makes}, but this module imports another `{ty}`"),
            format!("give the function another name, or import the other as `{ty} as …`"),
        ),
    };
    diagnostics.error_with_help(function, &message, &help);
}

/// A function must be free: a method has no place for the items beside it.
///
/// ```text
/// impl Ops {
///     #[custom_function(grad(x) = …)]
/// //  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[custom_function]` must be applied to an `impl` block or a free `fn`, found a method
///     fn twice(x: ArrayView1<f64>) -> Array1<f64>
/// ```
fn is_a_method(name: Option<&Ident>, diagnostics: &mut Diagnostics) {
    let name = name.map_or_else(|| "it".to_owned(), |name| format!("`{name}`"));
    let message =
        "`#[custom_function]` must be applied to an `impl` block or a free `fn`, found a method";
    let help = format!("move {name} out of this block: a method can call the function");
    diagnostics.only(message, &help);
}
