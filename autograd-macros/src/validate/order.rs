//! Rules for functions that can be differentiated again.

use super::agreement;
use super::asked::Asker;
use super::context::Context;
use crate::model::{Derivative, FunctionKind, Source, Wants};
use crate::parse::Part;
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
        let help = if context.part == Part::Adjoint {
            "take them all as arrays, or all as `&Tensor…`"
        } else {
            "take them all as `&Tensor…` to be differentiable again, or all as arrays to be \
             differentiable once"
        };
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

/// A function on tensors must not ask for a number that forward computes: it would look like a constant, and its share
/// of the next derivative would be lost.
///
/// ```text
/// #[forward(outputs(y), saves(square))]
/// fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64) { let square = x.dot(&x); (&x * square, square) }
/// #[backward(x)]
/// fn backward(grad_y: &Tensor1<f64>, x: &Tensor1<f64>, square: f64) -> Tensor1<f64>
/// //                                                           ^^^ forward computes `square`
/// ```
pub(super) fn keeps_numbers(derivative: &Derivative, asker: &Asker<'_>, context: &mut Context<'_>) {
    if !derivative.is_on_tensors() {
        return;
    }
    for parameter in &derivative.parameters {
        let (Wants::Saved(Source::Returned(index)), None) = (parameter.wants, parameter.form)
        else {
            continue;
        };
        let returned = &context.forward.returned[index];
        if !context.forward.holds_float(&returned.ty) {
            continue;
        }
        let name = &returned.name;
        let message =
            format!("forward computes `{name}`; beside `&Tensor`, its derivative would be lost");
        let otherwise = match (asker, &context.definition.kind) {
            (Asker::Residual, _) => "exempt the inputs that it depends on",
            (Asker::Jvp, _) => "write the rule on arrays",
            (_, FunctionKind::Block) => "mark the function `#[backward(…, once)]`",
            _ => "write `grad(…, once) = …`",
        };
        let as_output = match asker {
            _ if !context.forward.has_float(&returned.ty) => "",
            Asker::Residual => ", return it as an array, `Array0<f64>`",
            _ => ", make it an output as an array, `Array0<f64>`",
        };
        let help = format!("compute it again from inputs and outputs{as_output}, or {otherwise}");
        let ty = &parameter.ty;
        context.diagnostics.error_with_help(ty, &message, &help);
    }
}
