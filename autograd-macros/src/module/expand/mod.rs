//! Model to tokens: `impl Module` and `impl Display`.
//!
//! - [`visits`]: the methods that walk over the fields.
//! - [`bounds`]: what they need of the type's parameters.
//! - [`fallback`]: the same without effect, when there are mistakes.
//!
//! Generated code names everything by paths that start at the library or in `core` and `std`, and its
//! local variables have mixed-site hygiene: fields and imports of the author's are not met.

mod bounds;
pub(super) mod fallback;
mod visits;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::Member;

use super::model::{Body, Content, Definition, Field, ModuleModel, Variant};
use crate::spell::{at, local};

/// The whole expansion.
pub(super) fn module(model: &ModuleModel) -> TokenStream {
    let ModuleModel { definition, body } = model;
    let root = &root(definition);
    let generics = bounds::completed(definition, body, root);
    let methods = [
        name(definition, body, root),
        visits::methods(body, root),
        as_module(body, root),
        extra_repr(definition, body, root),
    ];
    impls(definition, &generics, root, &quote!(#(#methods)*))
}

/// The path of the library.
fn root(definition: &Definition) -> TokenStream {
    let default = local("pullback");
    let given = definition.runtime.as_ref();
    given.map_or_else(|| quote!(::#default), ToTokens::to_token_stream)
}

/// Both impls, with these methods of `Module`.
fn impls(
    definition: &Definition,
    generics: &syn::Generics,
    root: &TokenStream,
    methods: &TokenStream,
) -> TokenStream {
    let ident = &definition.ident;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let span = at(ident);
    let display = display(definition, generics, root);
    quote_spanned! {span=>
        #[automatically_derived]
        #[allow(deprecated, unused_variables)]
        impl #impl_generics #root::nn::Module for #ident #type_generics #where_clause {
            #methods
        }
        #display
    }
}

fn display(definition: &Definition, generics: &syn::Generics, root: &TokenStream) -> TokenStream {
    let ident = &definition.ident;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let (span, this) = (at(ident), this());
    quote_spanned! {span=>
        #[automatically_derived]
        impl #impl_generics ::core::fmt::Display for #ident #type_generics #where_clause {
            fn fmt(&#this, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #root::nn::fmt(#this, f)
            }
        }
    }
}

/// `fn name`: the type's; of an enum, that of the module for which it stands, or the variant's.
fn name(definition: &Definition, body: &Body, root: &TokenStream) -> TokenStream {
    let this = this();
    let borrowed = |name: &str| quote!(::std::borrow::Cow::Borrowed(#name));
    let answer = match body {
        Body::Struct(_) => borrowed(&definition.name),
        Body::Enum(variants) => each(variants, |variant| match &variant.content {
            Content::Transparent(field) => stands_for(field, root, &quote!(name), &quote!()),
            Content::Fields(_) => {
                let name = format!("{}::{}", definition.name, variant.ident);
                borrowed(&name.replace("r#", ""))
            }
        }),
    };
    quote! {
        fn name(&#this) -> ::std::borrow::Cow<'static, str> {
            #answer
        }
    }
}

/// `fn as_module` and `fn as_module_mut`: of an enum, the module for which it stands.
fn as_module(body: &Body, root: &TokenStream) -> TokenStream {
    let this = this();
    let answer = |method: &TokenStream| match body {
        Body::Struct(_) => quote!(#this),
        Body::Enum(variants) => each(variants, |variant| match &variant.content {
            Content::Transparent(field) => stands_for(field, root, method, &quote!()),
            Content::Fields(_) => quote!(#this),
        }),
    };
    let (shared, mutable) = (answer(&quote!(as_module)), answer(&quote!(as_module_mut)));
    quote! {
        fn as_module(&#this) -> &dyn #root::nn::Module {
            #shared
        }

        fn as_module_mut(&mut #this) -> &mut dyn #root::nn::Module {
            #mutable
        }
    }
}

/// `fn extra_repr`, where it says something.
fn extra_repr(definition: &Definition, body: &Body, root: &TokenStream) -> TokenStream {
    let this = this();
    let own = |fields: &[Field]| {
        if let Some(function) = &definition.extra_repr {
            return quote_spanned!(at(function)=> #function(#this));
        }
        let shown = fields.iter().filter_map(|field| {
            let shown = field.shown()?;
            let label = shown.label.as_deref().unwrap_or_default();
            let span = at(&field.ty);
            let value = match body {
                Body::Struct(_) => {
                    let member = &field.member;
                    quote_spanned!(span=> &#this.#member)
                }
                Body::Enum(_) => binding(field).to_token_stream(),
            };
            Some(quote_spanned!(span=> (#label, #value as &dyn ::core::fmt::Display)))
        });
        quote!(#root::nn::extra_repr(&[#(#shown),*]))
    };
    let is_said = definition.extra_repr.is_some()
        || body
            .fields()
            .iter()
            .any(|(field, transparent)| *transparent || field.shown().is_some());
    if !is_said {
        return TokenStream::new();
    }
    let answer = match body {
        Body::Struct(fields) => own(fields),
        Body::Enum(variants) => each(variants, |variant| match &variant.content {
            Content::Transparent(field) => stands_for(field, root, &quote!(extra_repr), &quote!()),
            Content::Fields(fields) => own(fields),
        }),
    };
    quote! {
        fn extra_repr(&#this) -> ::std::string::String {
            #answer
        }
    }
}

/// A call of one of the methods of the module for which an enum stands.
fn stands_for(
    field: &Field,
    root: &TokenStream,
    method: &TokenStream,
    arguments: &TokenStream,
) -> TokenStream {
    let (ty, binding) = (&field.ty, binding(field));
    quote_spanned!(at(ty)=> <#ty as #root::nn::Module>::#method(#binding, #arguments))
}

/// `match self` with an arm for each variant, all of whose fields are bound.
fn each(variants: &[Variant], arm: impl Fn(&Variant) -> TokenStream) -> TokenStream {
    let this = this();
    if variants.is_empty() {
        return quote!(match *#this {});
    }
    let arms = variants.iter().map(|variant| {
        let ident = &variant.ident;
        let fields = match &variant.content {
            Content::Transparent(field) => std::slice::from_ref(&**field),
            Content::Fields(fields) => fields,
        };
        let members = fields.iter().map(|field| &field.member);
        let bindings = fields.iter().map(binding);
        let answer = arm(variant);
        quote!(Self::#ident { #(#members: #bindings),* } => { #answer })
    });
    quote!(match #this { #(#arms)* })
}

/// `self`, which has the hygiene of a local variable.
fn this() -> syn::Ident {
    local("self")
}

/// The local variable for a field of a variant.
fn binding(field: &Field) -> syn::Ident {
    match &field.member {
        Member::Named(name) => {
            let name = syn::ext::IdentExt::unraw(name);
            local(format_args!("field_{name}"))
        }
        Member::Unnamed(number) => local(format_args!("field_{}", number.index)),
    }
}
