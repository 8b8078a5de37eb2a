//! Turns tokens into syntax: reads the item and our attributes, and judges nothing.

use proc_macro2::TokenStream;
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Fields, Generics, Ident, Member, Token, Type};

use crate::fragments;
use crate::lists::Lists as _;
use crate::parse::{Helper, named};

/// The item below the derive.
pub(super) struct Item {
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    pub(super) helpers: Vec<Helper>,
    /// Our attributes on variants, where none is allowed.
    pub(super) misplaced: Vec<Helper>,
    pub(super) body: Body,
}

impl Item {
    /// Returns the fields of all variants.
    pub(super) fn fields(&self) -> Vec<&Field> {
        match &self.body {
            Body::Struct(fields) => fields.iter().listed(),
            Body::Enum(variants) => {
                let variants = variants.iter();
                variants.flat_map(|variant| &variant.fields).listed()
            }
            Body::Union(_) => Vec::new(),
        }
    }
}

/// The contents of the type.
pub(super) enum Body {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
    Union(Token![union]),
}

/// A variant of an enum.
pub(super) struct Variant {
    pub(super) ident: Ident,
    pub(super) fields: Vec<Field>,
    /// Whether it has one of our attributes, where none is allowed.
    pub(super) has_helpers: bool,
}

/// A field of a struct or of a variant.
pub(super) struct Field {
    pub(super) helpers: Vec<Helper>,
    pub(super) member: Member,
    pub(super) ty: Type,
}

/// Reads the item under `#[derive(Module)]`.
pub(super) fn item(tokens: TokenStream) -> syn::Result<Item> {
    let input: DeriveInput = syn::parse2(fragments::opened(tokens))?;
    let mut misplaced = Vec::new();
    let body = match input.data {
        Data::Struct(data) => Body::Struct(fields(data.fields)),
        Data::Enum(data) => {
            let variant = |variant: syn::Variant| {
                let helpers = helpers(&variant.attrs);
                let has_helpers = !helpers.is_empty();
                misplaced.extend(helpers);
                Variant {
                    ident: variant.ident,
                    fields: fields(variant.fields),
                    has_helpers,
                }
            };
            Body::Enum(data.variants.into_iter().map(variant).listed())
        }
        Data::Union(data) => Body::Union(data.union_token),
    };
    Ok(Item {
        helpers: helpers(&input.attrs),
        ident: input.ident,
        generics: input.generics,
        misplaced,
        body,
    })
}

fn helpers(attributes: &[Attribute]) -> Vec<Helper> {
    let ours = attributes.iter().filter_map(|attribute| {
        let name = attribute.path().get_ident()?;
        (name == "module").then(|| named(attribute, name.clone()))
    });
    ours.listed()
}

fn fields(fields: Fields) -> Vec<Field> {
    let field = |(number, field): (u32, syn::Field)| {
        let index = syn::Index {
            index: number,
            span: field.ty.span(),
        };
        Field {
            helpers: helpers(&field.attrs),
            member: field.ident.map_or(Member::Unnamed(index), Member::Named),
            ty: field.ty,
        }
    };
    (0..).zip(fields).map(field).listed()
}
