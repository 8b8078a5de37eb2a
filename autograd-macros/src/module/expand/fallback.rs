//! What comes out when there are mistakes: all the errors, and the impls without effect, so that
//! those who use the module show no errors of their own.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{GenericParam, parse_quote};

use super::{impls, root};
use crate::module::model::Definition;
use crate::module::validate::Rejected;
use crate::spell::at;

/// The whole expansion of a module with mistakes.
pub(in crate::module) fn module(rejected: &Rejected) -> TokenStream {
    let errors = &rejected.errors;
    let Some(definition) = &rejected.definition else {
        return errors.clone();
    };
    let root = &root(definition);
    let ident = &definition.ident;
    let impls = if definition.generics.lifetimes().next().is_some() {
        // `Module` is for what lives as long as it is needed.
        TokenStream::new()
    } else if rejected.is_shared {
        let generics = &bounded(definition);
        impls(definition, generics, root, &inert(root))
    } else {
        // `Module` would ask for what was found missing; as a field of others it will do.
        let (impl_generics, type_generics, where_clause) = definition.generics.split_for_impl();
        quote_spanned! {at(ident)=>
            #[allow(unused_variables)]
            impl #impl_generics #root::nn::Field for #ident #type_generics #where_clause {
                fn visit<'a>(
                    &'a self,
                    path: &#root::nn::Path<'_>,
                    visitor: &mut dyn #root::nn::Visitor<'a>,
                ) {
                }

                fn visit_mut(
                    &mut self,
                    path: &#root::nn::Path<'_>,
                    visitor: &mut dyn #root::nn::VisitorMut,
                ) {
                }
            }
        }
    };
    quote!(#errors #impls)
}

fn bounded(definition: &Definition) -> syn::Generics {
    let mut generics = definition.generics.clone();
    for param in &mut generics.params {
        if let GenericParam::Type(param) = param {
            let bounds: [syn::TypeParamBound; 3] = [
                parse_quote!(::core::marker::Send),
                parse_quote!(::core::marker::Sync),
                parse_quote!('static),
            ];
            param.bounds.extend(bounds);
        }
    }
    generics
}

fn inert(root: &TokenStream) -> TokenStream {
    let mistakes = "this module has mistakes that the compiler has reported";
    quote! {
        fn name(&self) -> ::std::borrow::Cow<'static, str> {
            ::core::panic!(#mistakes)
        }

        fn visit_fields<'a>(
            &'a self,
            path: &#root::nn::Path<'_>,
            visitor: &mut dyn #root::nn::Visitor<'a>,
        ) {
        }

        fn visit_fields_mut(
            &mut self,
            path: &#root::nn::Path<'_>,
            visitor: &mut dyn #root::nn::VisitorMut,
        ) {
        }

        fn as_module(&self) -> &dyn #root::nn::Module {
            self
        }

        fn as_module_mut(&mut self) -> &mut dyn #root::nn::Module {
            self
        }
    }
}
