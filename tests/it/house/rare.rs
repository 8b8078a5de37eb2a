//! Modules whose functions are compiled in the programs that use them: see DESIGN.md.

use syn::{Attribute, FnArg, GenericParam, Generics, ImplItem, Item, Meta, Signature, Type};

use super::read;
use crate::sources::short;

/// Modules of `autograd-core`, with all below them. Of `gradcheck`, the functions that tests call are compiled in the core
/// with the feature `ops`.
const RARE: [&str; 3] = ["functional", "gradcheck", "implicit"];

/// A single function without `#[inline]` would compile everything that it calls, for both element types, in the core.
#[test]
fn rarely_used_functions_are_compiled_where_they_are_used() {
    let sources = read("autograd-core");
    let (mut found, mut count) = (Vec::new(), 0);
    for (path, module) in &sources.modules {
        if !path
            .first()
            .is_some_and(|first| RARE.contains(&first.as_str()))
        {
            continue;
        }
        let has_entries = path[0] == "gradcheck";
        let functions = module.items.iter().flat_map(functions);
        for (signature, attributes) in functions {
            count += 1;
            let is_inline = |one: &Attribute| {
                one.path().is_ident("inline") || has_entries && is_inline_without_ops(one)
            };
            if !attributes.iter().any(is_inline) {
                found.push(format!("`{}` in {}", signature.ident, short(&module.file)));
            }
        }
    }
    assert!(count > 100, "{count} functions are too few to be all");
    assert!(
        found.is_empty(),
        "functions without `#[inline]`: {found:#?}"
    );
}

/// Returns whether it is `#[inline]` without the feature `ops` alone.
fn is_inline_without_ops(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    list.path.is_ident("cfg_attr")
        && list.tokens.to_string().replace(' ', "") == "not(feature=\"ops\"),inline"
}

/// Returns the functions of an item that the compiler compiles once, not for each use.
fn functions(item: &Item) -> Vec<(&Signature, &[Attribute])> {
    match item {
        Item::Fn(item) if !is_generic(&item.sig) => vec![(&item.sig, &item.attrs)],
        Item::Impl(item) if !has_types(&item.generics) => {
            let each = item.items.iter().filter_map(|item| match item {
                ImplItem::Fn(item) if !is_generic(&item.sig) => Some((&item.sig, &*item.attrs)),
                _ => None,
            });
            each.collect()
        }
        _ => Vec::new(),
    }
}

fn is_generic(signature: &Signature) -> bool {
    has_types(&signature.generics)
        || signature.inputs.iter().any(|input| match input {
            FnArg::Typed(input) => matches!(peeled(&input.ty), Type::ImplTrait(_)),
            FnArg::Receiver(_) => false,
        })
}

fn has_types(generics: &Generics) -> bool {
    let mut each = generics.params.iter();
    each.any(|parameter| !matches!(parameter, GenericParam::Lifetime(_)))
}

/// Returns the type behind references.
fn peeled(ty: &Type) -> &Type {
    match ty {
        Type::Reference(reference) => peeled(&reference.elem),
        Type::Slice(slice) => peeled(&slice.elem),
        ty => ty,
    }
}
