//! Writes the public parts of items, without bodies, and without attributes but `#[non_exhaustive]`.

use syn::visit_mut::VisitMut;
use syn::{Attribute, Block, Fields, ImplItem, Item, ItemImpl, TraitItem, Type};

use crate::sources::{Crate, ModulePath, head, is_public, is_seen};

/// Returns the public part of an item.
pub(super) fn item(item: &Item) -> String {
    let mut item = item.clone();
    let keep = |fields: &mut Fields| {
        if let Fields::Named(named) = fields {
            let all = std::mem::take(&mut named.named);
            named.named = all
                .into_iter()
                .filter(|field| is_public(&field.vis))
                .collect();
        }
    };
    match &mut item {
        Item::Struct(item) => keep(&mut item.fields),
        Item::Trait(item) => item.items.retain(|item| is_seen(attributes_of(item))),
        _ => {}
    }
    printed(item)
}

fn attributes_of(item: &TraitItem) -> &[Attribute] {
    match item {
        TraitItem::Const(item) => &item.attrs,
        TraitItem::Fn(item) => &item.attrs,
        TraitItem::Type(item) => &item.attrs,
        _ => &[],
    }
}

/// The impls of an item of a module, if it is a type or another name of one: its public methods, and the traits
/// with their associated types.
pub(super) fn impls(of: &Crate, module: &ModulePath, item: &Item) -> String {
    match (item, head(item)) {
        (Item::Struct(_) | Item::Enum(_) | Item::Type(_), Some((name, ..))) => {
            written(impls_at(of, &name.to_string(), Some(module)))
        }
        _ => String::new(),
    }
}

/// The impls of a type that is defined in a macro or in another crate.
pub(super) fn impls_of_name(of: &Crate, name: &str) -> String {
    written(impls_at(of, name, None))
}

fn written(impls: Vec<(&ModulePath, &ItemImpl)>) -> String {
    // Methods before traits, whatever their file.
    let own = impls.into_iter();
    let mut texts: Vec<(bool, String)> = own.filter_map(|(_, item)| of_impl(item)).collect();
    texts.sort();
    texts.into_iter().map(|(_, text)| text).collect()
}

/// The impls of a type of this name, which is defined in a module, or in no module of the crate, with the
/// modules that they stand in.
pub(super) fn impls_at<'a>(
    of: &'a Crate,
    name: &str,
    module: Option<&ModulePath>,
) -> Vec<(&'a ModulePath, &'a ItemImpl)> {
    let homes = of.homes(name);
    let own = of.impls().filter(|(at, item)| {
        type_name(item).as_deref() == Some(name) && home(&homes, at) == module
    });
    own.collect()
}

/// Returns the home of a name that several modules define: the nearest.
fn home<'a>(homes: &[&'a ModulePath], at: &ModulePath) -> Option<&'a ModulePath> {
    let common = |home: &ModulePath| home.iter().zip(at).take_while(|(a, b)| a == b).count();
    homes
        .iter()
        .copied()
        .max_by_key(|home| (common(home), usize::MAX - home.len()))
}

fn type_name(item: &ItemImpl) -> Option<String> {
    let mut of = &*item.self_ty;
    while let Type::Reference(reference) = of {
        of = &reference.elem;
    }
    match of {
        Type::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        _ => None,
    }
}

/// Returns whether an impl is of a trait, and its public part, if there is one.
pub(super) fn of_impl(item: &ItemImpl) -> Option<(bool, String)> {
    let mut item = item.clone();
    let is_of_trait = item.trait_.is_some();
    item.items.retain(|item| match item {
        ImplItem::Const(item) => !is_of_trait && is_public(&item.vis) && is_seen(&item.attrs),
        ImplItem::Fn(item) => !is_of_trait && is_public(&item.vis) && is_seen(&item.attrs),
        ImplItem::Type(item) => is_seen(&item.attrs),
        _ => false,
    });
    (is_of_trait || !item.items.is_empty()).then(|| (is_of_trait, printed(Item::Impl(item))))
}

fn printed(mut item: Item) -> String {
    Bare.visit_item_mut(&mut item);
    let mut file = syn::parse_file("").expect("an empty file");
    file.items.push(item);
    prettyplease::unparse(&file)
}

/// Takes off bodies, and attributes that change nothing for a user.
struct Bare;

impl VisitMut for Bare {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.retain(|attribute| attribute.path().is_ident("non_exhaustive"));
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.clear();
    }
}
