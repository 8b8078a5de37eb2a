//! Generates the expansion of a module with mistakes: all the errors, and impls without effect, so that those who
//! use the module have no errors of their own.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Generics, TypeParamBound, parse_quote};

use super::{display, module_impl, root, this};
use crate::module::model::Definition;
use crate::module::validate::Rejected;
use crate::spell::at;

/// Generates the whole expansion of a module with mistakes.
pub(in crate::module) fn module(rejected: &Rejected) -> TokenStream {
    let errors = &rejected.errors;
    let Some(definition) = &rejected.definition else {
        return errors.clone();
    };
    let root = &root(definition);
    let generics = &definition.generics;
    let module = if rejected.is_shared && generics.lifetimes().next().is_none() {
        module_impl(definition, &bounded(generics), root, &methods(root))
    } else {
        stand_in(definition, root)
    };
    let display = display(definition, generics, &inert());
    quote!(#errors #module #display)
}

/// Returns the parameters with what `Module` needs of each.
fn bounded(generics: &Generics) -> Generics {
    let mut bounded = generics.clone();
    for param in bounded.type_params_mut() {
        let bounds: [TypeParamBound; 3] = [
            parse_quote!(::core::marker::Send),
            parse_quote!(::core::marker::Sync),
            parse_quote!('static),
        ];
        param.bounds.extend(bounds);
    }
    bounded
}

fn methods(root: &TokenStream) -> TokenStream {
    let (this, visits, inert) = (this(), visits(root, "visit_fields"), inert());
    quote! {
        fn name(&#this) -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            #inert
        }

        #visits

        fn as_module(&#this) -> &dyn #root::nn::Module {
            #this
        }

        fn as_module_mut(&mut #this) -> &mut dyn #root::nn::Module {
            #this
        }
    }
}

/// Generates the impls for a type that cannot be a `Module`, which must be `Send`, `Sync` and `'static`: it is a
/// field, and has a module's methods by `Deref`.
fn stand_in(definition: &Definition, root: &TokenStream) -> TokenStream {
    let ident = &definition.ident;
    let (impl_generics, type_generics, where_clause) = definition.generics.split_for_impl();
    let (this, visits, inert) = (this(), visits(root, "visit"), inert());
    quote_spanned! {at(ident)=>
        #[allow(unused_variables)]
        impl #impl_generics #root::nn::Field for #ident #type_generics #where_clause {
            #visits
        }

        impl #impl_generics ::core::ops::Deref for #ident #type_generics #where_clause {
            type Target = dyn #root::nn::Module;

            fn deref(&#this) -> &Self::Target {
                #inert
            }
        }

        impl #impl_generics ::core::ops::DerefMut for #ident #type_generics #where_clause {
            fn deref_mut(&mut #this) -> &mut Self::Target {
                #inert
            }
        }
    }
}

fn visits(root: &TokenStream, name: &str) -> TokenStream {
    let this = this();
    let (name, name_mut) = (
        quote::format_ident!("{name}"),
        quote::format_ident!("{name}_mut"),
    );
    quote! {
        fn #name<'visit>(
            &'visit #this,
            path: &#root::nn::ParameterPath<'_>,
            visitor: &mut dyn #root::nn::Visitor<'visit>,
        ) {
        }

        fn #name_mut(
            &mut #this,
            path: &#root::nn::ParameterPath<'_>,
            visitor: &mut dyn #root::nn::VisitorMut,
        ) {
        }
    }
}

fn inert() -> TokenStream {
    quote!(::core::panic!(
        "this module has mistakes that the compiler has reported"
    ))
}
