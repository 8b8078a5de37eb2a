//! Checks an item against the rules: the only way to a [`ModuleModel`].
//!
//! - [`arguments`]: the arguments of `#[module(…)]`, and where it is allowed.
//! - [`item`]: a struct or an enum without lifetimes.
//! - [`fields`]: what is visited under which name, and what is plain data.
//! - [`threads`]: modules are shared between threads.

mod arguments;
mod fields;
mod item;
mod threads;

use proc_macro2::TokenStream;

use super::model::{Body, Definition, ModuleModel};
use super::parse::{self, Item};
use crate::diagnostics::Diagnostics;
use crate::lists::Lists as _;

/// A module with mistakes: all of them, and what could be read in spite of them.
pub(super) struct Rejected {
    pub(super) errors: TokenStream,
    pub(super) definition: Option<Definition>,
    /// Whether it could be sent to another thread, as far as its types show.
    pub(super) is_shared: bool,
}

/// Checks an item against all rules.
pub(super) fn module(item: syn::Result<Item>) -> Result<ModuleModel, Box<Rejected>> {
    let mut diagnostics = Diagnostics::default();
    let mut is_shared = true;
    let read = diagnostics.ok(item).map(|item| {
        is_shared = threads::are_shared(&item, &mut diagnostics);
        let definition = item::definition(&item, &mut diagnostics);
        let body = body(&item, &mut diagnostics);
        fields::is_defined_once(&definition, &item.fields(), &mut diagnostics);
        (definition, body)
    });
    let (definition, body) = read.unzip();
    let body = body.flatten().filter(|_| !diagnostics.is_unreadable);
    match (diagnostics.finish(), definition, body) {
        (Ok(()), Some(definition), Some(body)) => Ok(ModuleModel { definition, body }),
        (errors, definition, _) => Err(Box::new(Rejected {
            errors: errors.err().unwrap_or_default(),
            definition,
            is_shared,
        })),
    }
}

fn body(item: &Item, diagnostics: &mut Diagnostics) -> Option<Body> {
    for helper in &item.misplaced {
        arguments::is_misplaced(helper, diagnostics);
    }
    match &item.body {
        parse::Body::Struct(fields) => {
            let fields = fields::read(fields, diagnostics);
            Some(Body::Struct(fields))
        }
        parse::Body::Enum(variants) => {
            let variants = variants.iter();
            let variants = variants.map(|variant| fields::variant(variant, diagnostics));
            Some(Body::Enum(variants.listed()))
        }
        parse::Body::Union(keyword) => {
            item::is_not_a_union(*keyword, diagnostics);
            None
        }
    }
}
