//! Rules for how often a function can be differentiated.

use syn::{Ident, Type};

use super::context::Context;
use crate::model::{Asked, Backward, Given, GivenWhat, Jvp, Order, What};
use crate::show::show;
use crate::types::{self, Form};

/// A backward function works on tensors throughout, or on arrays throughout. A mixture would be
/// recorded in part, and the rest of its derivative lost without a word.
///
/// ```text
/// fn backward(grad_output: &Tensor1<f32>, x: ArrayView1<f32>) -> Tensor1<f32>
/// //                                         ^^^^^^^^^^^^^^^ `backward` takes `&Tensor` and arrays
/// ```
pub(super) fn is_uniform(backward: &Backward, context: &mut Context<'_>) {
    let asked = backward.asked.iter();
    let parameters = asked.filter_map(|asked| Some((&asked.ty, form(asked)?)));
    uniform(
        &backward.ident,
        parameters,
        &backward.returned_types(),
        context,
    );
}

/// The same of a `#[jvp]` rule.
pub(super) fn is_uniform_rule(jvp: &Jvp, context: &mut Context<'_>) {
    let given = jvp.given.iter();
    let parameters = given.filter_map(|given| Some((&given.ty, form_given(given)?)));
    uniform(&jvp.ident, parameters, &jvp.returned_types(), context);
}

fn uniform<'a>(
    function: &Ident,
    mut parameters: impl Iterator<Item = (&'a Type, Form)>,
    returned: &[&Type],
    context: &mut Context<'_>,
) {
    let Some((_, first)) = parameters.next() else {
        return;
    };
    if let Some((other, _)) = parameters.find(|(_, form)| form.is_tensor() != first.is_tensor()) {
        let message = format!("`{function}` takes both `&Tensor` and arrays");
        let help = "take them all as `&Tensor…` to be differentiable again, or all as arrays to be \
                    differentiable once";
        context.diagnostics.error_with_help(other, &message, help);
        return;
    }
    for ty in returned.iter().copied() {
        let inner = types::within_gradient(ty);
        let Some(returned) = types::array(inner) else {
            continue;
        };
        if returned.form.is_tensor() != first.is_tensor() {
            let (takes, returns) = if first.is_tensor() {
                ("`&Tensor`", "an array")
            } else {
                ("arrays", "a tensor")
            };
            let form = if first.is_tensor() {
                Form::Tensor
            } else {
                Form::Owned
            };
            let message = format!("`{function}` takes {takes} and returns {returns}");
            let spelled = super::agreement::spell(form, &returned.content);
            let whole = show(ty).replace(&show(inner), &spelled);
            let help = format!("return `{whole}`, in place of `{}`", show(ty));
            context.diagnostics.error_with_help(ty, &message, &help);
        }
    }
}

/// Any number of times if every backward function works on tensors.
pub(super) fn of(backwards: &[Backward]) -> Order {
    let on_tensors = |backward: &Backward| match backward.asked.iter().find_map(form) {
        Some(form) => form.is_tensor(),
        None => backward
            .returned_types()
            .into_iter()
            .filter_map(|ty| types::array(types::within_gradient(ty)))
            .all(|returned| returned.form.is_tensor()),
    };
    if backwards.iter().all(on_tensors) {
        Order::Any
    } else {
        Order::Once
    }
}

fn form(asked: &Asked) -> Option<Form> {
    match asked.what {
        What::Gradient { form, .. } => Some(form),
        What::Kept(ref request) => request.form(),
        What::NeedsInputGrad { .. } => None,
    }
}

fn form_given(given: &Given) -> Option<Form> {
    match given.what {
        GivenWhat::Tangent { form, .. } => Some(form),
        GivenWhat::Known(ref request) => request.form(),
    }
}
