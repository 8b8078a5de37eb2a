//! Generates a linear function turned round, which is its derivative.

use proc_macro2::TokenStream;
use quote::quote;

use super::function;
use crate::model::{Definition, FunctionModel};

/// Generates the type and the functions, beside those of forward.
pub(super) fn turned(model: &FunctionModel, default_crate: &str) -> Option<TokenStream> {
    let adjoint = model.adjoint.as_ref()?;
    let ty = ty(&adjoint.turned.definition);
    let functions = function(&adjoint.turned, &adjoint.block, default_crate);
    Some(quote!(#ty #functions))
}

/// Returns its type.
fn ty(
    Definition {
        ident, generics, ..
    }: &Definition,
) -> TokenStream {
    let marks = generics.type_params().map(|param| &param.ident);
    let lifetimes = generics.lifetimes().map(|param| &param.lifetime);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        struct #ident #impl_generics (
            ::core::marker::PhantomData<(#(&#lifetimes (),)* #(fn(*const #marks),)*)>
        ) #where_clause;
    }
}
