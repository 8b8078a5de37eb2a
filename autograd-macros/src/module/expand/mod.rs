//! Turns a model into tokens: `impl Module` and `impl Display`.
//!
//! - [`bounds`]: what they need of the type's parameters.
//! - [`fallback`]: the same without effect, when there are mistakes.
//! - [`probes`]: what the compiler finds in fields and values whose types are modules.
//!
//! Generated code names everything by paths that start at the library or in `core` and `std`, and its
//! local variables have mixed-site hygiene: they do not meet the fields and imports of the module.

mod bounds;
pub(super) mod fallback;
mod probes;

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Generics, Member};

use super::model::{Body, Content, Definition, Field, ModuleModel, Part, Variant};
use crate::compiler;
use crate::spell::{at, local, placed};

/// Generates the whole expansion.
pub(super) fn module(model: &ModuleModel) -> TokenStream {
    let ModuleModel { definition, body } = model;
    let root = &root(definition);
    let generics = bounds::completed(definition, body, root);
    let methods = [
        name(definition, body, root),
        visit_fields(body, root),
        as_module(body, root),
        extra_repr(definition, body, root),
    ];
    let module = module_impl(definition, &generics, root, &quote!(#(#methods)*));
    let (this, f) = (this(), local("f"));
    let display = display(definition, &generics, &quote!(#root::nn::fmt(#this, #f)));
    let (holds, skipped) = (
        probes::holds(definition, body, &generics, root),
        probes::skipped(definition, body, root),
    );
    quote!(#module #display #holds #skipped)
}

/// Returns the path of the library.
fn root(definition: &Definition) -> TokenStream {
    let default = local(compiler::library());
    let given = definition.runtime.as_ref();
    given.map_or_else(|| quote!(::#default), ToTokens::to_token_stream)
}

/// Generates `impl Module` with these methods.
fn module_impl(
    definition: &Definition,
    generics: &Generics,
    root: &TokenStream,
    methods: &TokenStream,
) -> TokenStream {
    let ident = &definition.ident;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    quote_spanned! {at(ident)=>
        #[automatically_derived]
        #[allow(deprecated, unused_variables)]
        impl #impl_generics #root::nn::Module for #ident #type_generics #where_clause {
            #methods
        }
    }
}

/// Generates `impl Display` that does this.
fn display(definition: &Definition, generics: &Generics, print: &TokenStream) -> TokenStream {
    let ident = &definition.ident;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let (f, this) = (local("f"), this());
    quote_spanned! {at(ident)=>
        #[automatically_derived]
        #[allow(unused_variables)]
        impl #impl_generics ::core::fmt::Display for #ident #type_generics #where_clause {
            fn fmt(&#this, #f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #print
            }
        }
    }
}

/// Generates `fn name`: the type's; of an enum, that of the module in a transparent variant, or the variant's.
fn name(definition: &Definition, body: &Body, root: &TokenStream) -> TokenStream {
    let this = this();
    let borrowed = |name: &str| quote!(::std::borrow::Cow::Borrowed(#name));
    let answer = match body {
        Body::Struct(_) => borrowed(&definition.name),
        Body::Enum(variants) => each(variants, |variant| match &variant.content {
            Content::Transparent(field) => call_inner(field, root, &quote!(name), &quote!()),
            Content::Fields(_) => {
                let name = format!("{}::{}", definition.name, variant.ident);
                borrowed(&name.replace("r#", ""))
            }
        }),
    };
    quote! {
        fn name(&#this) -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            #answer
        }
    }
}

/// Generates `fn visit_fields` and `fn visit_fields_mut`: the calls for each field, in the order of their declaration.
///
/// Each is at the span of the field's type, and is written in the same way in both: the compiler then reports one
/// error for a type that is not a field.
fn visit_fields(body: &Body, root: &TokenStream) -> TokenStream {
    let (path, visitor) = (local("path"), local("visitor"));
    let this = this();
    let shared = walk(body, root, false);
    let mutable = walk(body, root, true);
    quote! {
        fn visit_fields<'a>(
            &'a #this,
            #path: &#root::nn::ParameterPath<'_>,
            #visitor: &mut dyn #root::nn::Visitor<'a>,
        ) {
            #shared
        }

        fn visit_fields_mut(
            &mut #this,
            #path: &#root::nn::ParameterPath<'_>,
            #visitor: &mut dyn #root::nn::VisitorMut,
        ) {
            #mutable
        }
    }
}

fn walk(body: &Body, root: &TokenStream, mutable: bool) -> TokenStream {
    let this = this();
    let reference = if mutable { quote!(&mut) } else { quote!(&) };
    match body {
        Body::Struct(fields) => visits(fields, root, mutable, |field| {
            let member = &field.member;
            quote_spanned!(at(&field.ty)=> #reference #this.#member)
        }),
        Body::Enum(variants) => each(variants, |variant| match &variant.content {
            Content::Transparent(field) => {
                let method = local(if mutable {
                    "visit_fields_mut"
                } else {
                    "visit_fields"
                });
                let (path, visitor) = (local("path"), local("visitor"));
                let arguments = quote!(#path, #visitor);
                call_inner(field, root, &method.into_token_stream(), &arguments)
            }
            Content::Fields(fields) => visits(fields, root, mutable, |field| {
                binding(field).into_token_stream()
            }),
        }),
    }
}

fn visits(
    fields: &[Field],
    root: &TokenStream,
    mutable: bool,
    place: impl Fn(&Field) -> TokenStream,
) -> TokenStream {
    let method = local(if mutable { "visit_mut" } else { "visit" });
    let calls = fields.iter().filter_map(|field| {
        let (ty, span) = (&field.ty, at(&field.ty));
        let (path, visitor) = (local("path"), local("visitor"));
        let below = match &field.part {
            Part::Named(name) => {
                quote_spanned!(span=> #root::nn::ParameterPath::field(#path, #name))
            }
            Part::Numbered(number) => {
                let number = Literal::usize_unsuffixed(*number);
                quote_spanned!(span=> #root::nn::ParameterPath::item(#path, #number))
            }
            Part::Skipped(_) => return None,
        };
        let place = place(field);
        Some(quote_spanned! {span=>
            <#ty as #root::nn::Field>::#method(#place, &#below, #visitor);
        })
    });
    quote!(#(#calls)*)
}

/// Generates `fn as_module` and `fn as_module_mut`: of an enum, the module in a transparent variant.
fn as_module(body: &Body, root: &TokenStream) -> TokenStream {
    let this = this();
    let answer = |method: &TokenStream| match body {
        Body::Struct(_) => quote!(#this),
        Body::Enum(variants) => each(variants, |variant| match &variant.content {
            Content::Transparent(field) => call_inner(field, root, method, &quote!()),
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

/// Generates `fn extra_repr`, where it prints something.
fn extra_repr(definition: &Definition, body: &Body, root: &TokenStream) -> TokenStream {
    let this = this();
    let own = |fields: &[Field]| {
        if let Some(function) = &definition.extra_repr {
            return quote_spanned!(at(function)=> #function(#this));
        }
        let shown = fields.iter().filter_map(|field| {
            let shown = field.shown()?;
            let label = shown.label.as_deref().unwrap_or_default();
            let value = match body {
                Body::Struct(_) => {
                    let member = &field.member;
                    quote!(&#this.#member)
                }
                Body::Enum(_) => binding(field).to_token_stream(),
            };
            let value = quote!(#value as &dyn ::core::fmt::Display);
            let value = placed(value, field.ty.span());
            Some(quote!((#label, #value)))
        });
        quote!(#root::nn::extra_repr(&[#(#shown),*]))
    };
    let has_bound = definition.extra_repr.is_some()
        || body
            .fields()
            .iter()
            .any(|(field, transparent)| *transparent || field.shown().is_some());
    if !has_bound {
        return TokenStream::new();
    }
    let answer = match body {
        Body::Struct(fields) => own(fields),
        Body::Enum(variants) => each(variants, |variant| match &variant.content {
            Content::Transparent(field) => call_inner(field, root, &quote!(extra_repr), &quote!()),
            Content::Fields(fields) => own(fields),
        }),
    };
    quote! {
        fn extra_repr(&#this) -> ::std::string::String {
            #answer
        }
    }
}

/// Generates a call of one of the methods of the module in a transparent variant.
fn call_inner(
    field: &Field,
    root: &TokenStream,
    method: &TokenStream,
    arguments: &TokenStream,
) -> TokenStream {
    let (ty, binding) = (&field.ty, binding(field));
    quote_spanned!(at(ty)=> <#ty as #root::nn::Module>::#method(#binding, #arguments))
}

/// Generates `match self` with an arm for each variant, all of whose fields are bound.
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

/// Returns `self` with the hygiene of a local variable.
fn this() -> syn::Ident {
    local("self")
}

/// Returns the local variable for a field of a variant.
fn binding(field: &Field) -> syn::Ident {
    match &field.member {
        Member::Named(name) => {
            let name = syn::ext::IdentExt::unraw(name);
            local(format_args!("field_{name}"))
        }
        Member::Unnamed(number) => local(format_args!("field_{}", number.index)),
    }
}
