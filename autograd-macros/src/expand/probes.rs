//! Checks that no value is a tensor under a name that the macro cannot resolve: `type Weights = Tensor1<f64>`.
//!
//! The compiler can resolve it: where the type names no parameter that only callers choose, when the definition is
//! compiled; else `apply` asks for the type's name.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Type, TypeParam};

use super::bounds::is_bound_by;
use crate::lists::Lists as _;
use crate::model::{Forward, FunctionModel, Role, Source, Wants};
use crate::show::show;
use crate::spell::{concrete, probe};
use crate::types::is_data;

/// Generates a constant for each type that is checked when the definition is compiled.
pub(super) fn constants(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let Forward {
        inputs, returned, ..
    } = &model.forward;
    let constant = |ty: &Type, on: &Type, of: (&str, &str)| {
        let concrete = concrete_in(ty, model, p).filter(|_| !is_data(ty))?;
        Some(probe(on, &concrete, of, p))
    };
    let values = inputs.iter().filter(|input| input.tensor.is_none());
    let inputs = values.map(|input| {
        let message = format!(
            "`{}` is or contains a tensor or a module, which would get no gradient: take each tensor as a parameter, \
             `{}: &Tensor1<f64>` or `ArrayView1<f64>`, or mark an alias of one with `#[tensor]`",
            show(&input.ty),
            input.name
        );
        constant(&input.ty, &input.ty, ("AS_INPUT", &message))
    });
    let is_output = |role: &Role| matches!(role, Role::Output { .. });
    let outputs = returned
        .iter()
        .filter(|one| one.tensor.is_none() && is_output(&one.role));
    let outputs = outputs.map(|one| {
        let message = format!(
            "`{}` is or contains an array of floats, which would be returned without a gradient: write its type out, as \
             `Array1<f64>`",
            show(&one.ty)
        );
        constant(&one.ty, &one.ty, ("AS_OUTPUT", &message))
    });
    let on_tensors = model.backwards.iter().map(|backward| &backward.function);
    let on_tensors = on_tensors
        .chain(&model.jvp)
        .filter(|function| function.is_on_tensors());
    let saved = on_tensors.flat_map(|function| &function.parameters);
    let saved = saved.filter_map(|asked| match asked.wants {
        Wants::Saved(Source::Returned(index)) if asked.form.is_none() => {
            Some((asked, &returned[index]))
        }
        _ => None,
    });
    let saved = saved.map(|(asked, one)| {
        let message = format!(
            "forward computes `{}`, which is or contains a float; beside `&Tensor`, its derivative would be lost: compute \
             it again from inputs and outputs, or make it an output, as an array",
            one.name
        );
        constant(&one.ty, &asked.ty, ("AS_SAVED", &message))
    });
    inputs.chain(outputs).chain(saved).flatten().tokens()
}

/// Generates a statement of `apply` for each value whose type the caller chooses.
pub(super) fn statements(model: &FunctionModel, p: &TokenStream) -> TokenStream {
    let values = model.forward.inputs.iter().filter(|input| {
        input.tensor.is_none() && !is_data(&input.ty) && concrete_in(&input.ty, model, p).is_none()
    });
    let function = &model.definition.name;
    let checks = values.map(|input| {
        let (ty, name) = (&input.ty, input.name.to_string());
        quote!(#p::is_value::<#ty>(#function, #name);)
    });
    checks.tokens()
}

fn concrete_in(ty: &Type, model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let stand_in = |param: &TypeParam| stand_in(param, model, p);
    concrete(ty, &model.definition.generics, &stand_in)
}

/// Returns a type for a parameter that is an element type or a rank and nothing else.
fn stand_in(param: &TypeParam, model: &FunctionModel, p: &TokenStream) -> Option<TokenStream> {
    let (generics, forward, param) = (&model.definition.generics, &model.forward, &param.ident);
    if forward.has_element(param) && is_bound_by(generics, param, "Element") {
        return Some(quote!(::core::primitive::f64));
    }
    let is_rank = forward.has_rank(param) && is_bound_by(generics, param, "Dimension");
    is_rank.then(|| quote!(#p::ndarray::Ix1))
}
