//! Rules for functions that can be differentiated again.

use super::agreement;
use super::context::Context;
use crate::model::Derivative;
use crate::show::show;
use crate::types::{self, Form};

/// A backward function or a `#[jvp]` rule must work on tensors throughout, or on arrays throughout. A mixture would be
/// recorded in part, and the rest of its derivative silently lost.
///
/// ```text
/// fn backward(grad_output: &Tensor1<f32>, x: ArrayView1<f32>) -> Tensor1<f32>
/// //                                         ^^^^^^^^^^^^^^^ `backward` takes `&Tensor` and arrays
/// ```
pub(super) fn is_uniform(derivative: &Derivative, context: &mut Context<'_>) {
    let function = &derivative.ident;
    let mut parameters = derivative
        .parameters
        .iter()
        .filter_map(|parameter| Some((&parameter.ty, parameter.form?)));
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
    for ty in derivative.returned_types() {
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
            let spelled = agreement::spell(form, &returned.content);
            let whole = show(ty).replace(&show(inner), &spelled);
            let help = format!("return `{whole}`, in place of `{}`", show(ty));
            context.diagnostics.error_with_help(ty, &message, &help);
        }
    }
}
