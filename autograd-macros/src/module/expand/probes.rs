//! Modules where they would be neither trained nor saved: as a value of a custom function, and in a skipped field. The
//! macro has only names, so the compiler looks at the types.

use std::iter;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Generics, Member, Type, TypeParam};

use crate::lists::Lists as _;
use crate::module::model::{Body, Definition, Field};
use crate::show::show;
use crate::spell::{at, concrete, probe};
use crate::types::{
    Form, array, bounds_of, inner_types, is_container, is_data, last_segment, peel,
};

/// Generates the impl that makes the type known as one that holds tensors, if it does.
pub(super) fn holds(
    definition: &Definition,
    body: &Body,
    generics: &Generics,
    root: &TokenStream,
) -> Option<TokenStream> {
    let fields = body.fields();
    let has = |holds: fn(&Field) -> bool| fields.iter().any(|(field, _)| holds(field));
    let is_module = has(|field| field.is_visited() && !is_marker(&field.ty));
    if !is_module && !has(|field| mentions_tensor(&field.ty)) {
        return None;
    }
    let ident = &definition.ident;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Some(quote_spanned! {at(ident)=>
        #[automatically_derived]
        impl #impl_generics #root::__private::HoldsTensor for #ident #type_generics #where_clause {
            const AS_SKIPPED: ::core::primitive::bool = #is_module;
        }
    })
}

fn is_marker(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|last| last.ident == "PhantomData")
}

fn mentions_tensor(ty: &Type) -> bool {
    array(ty).is_some_and(|array| array.form == Form::Tensor)
        || inner_types(ty).into_iter().any(mentions_tensor)
}

/// Generates a constant for each skipped field, which does not compile if the field holds a module.
pub(super) fn skipped(definition: &Definition, body: &Body, root: &TokenStream) -> TokenStream {
    let generics = &definition.generics;
    // Whatever a field's type needs of a parameter is a bound of it here.
    let stand_in = |param: &TypeParam| {
        let is_bound_by = |name: &str| {
            bounds_of(generics, &param.ident).all(|bound| show(bound).trim_end().ends_with(name))
        };
        if is_bound_by("Element") {
            return Some(quote!(::core::primitive::f64));
        }
        is_bound_by("Dimension").then(|| quote!(#root::ndarray::Ix1))
    };
    let mut probes = TokenStream::new();
    for (field, _) in body.fields() {
        if field.is_visited() {
            continue;
        }
        let name = match &field.member {
            Member::Named(name) => format!("`{name}`"),
            Member::Unnamed(_) => "this field".to_owned(),
        };
        let message = format!(
            "{name} holds a module, which would be neither trained nor saved: remove `skip`; to freeze its parameters, \
             call `requires_grad(false)`"
        );
        for ty in pieces(&field.ty).into_iter().filter(|ty| !is_data(ty)) {
            if let Some(concrete) = concrete(ty, generics, &stand_in) {
                let p = quote!(#root::__private);
                probes.extend(probe(ty, &concrete, ("AS_SKIPPED", &message), &p));
            }
        }
    }
    probes
}

/// Returns a type and, as tuples implement nothing, what the tuples in it hold.
fn pieces(ty: &Type) -> Vec<&Type> {
    let inner = inner_types(ty).into_iter().filter(|_| is_container(ty));
    if let Type::Tuple(_) = peel(ty) {
        return inner.flat_map(pieces).listed();
    }
    // What it holds without a tuple is found by its own implementation.
    let is_its_own = |inner: &Type| usize::from(!matches!(peel(inner), Type::Tuple(_)));
    let in_tuples = inner.flat_map(|inner| pieces(inner).into_iter().skip(is_its_own(inner)));
    iter::once(ty).chain(in_tuples).listed()
}
