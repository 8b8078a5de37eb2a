//! Rules for the adjoint of a linear function, in place of backward functions.

use super::context::Context;
use super::coverage::{self, Covers};
use super::options::BackwardOptions;
use crate::diagnostics::list;
use crate::model::{Derivative, Role, Source, Wants};
use crate::parse::Method;
use crate::types::Kind;

/// Returns all differentiable inputs, which an adjoint covers.
///
/// ```text
/// #[adjoint(x)]
/// //^^^^^^^ one adjoint gives the gradients of all differentiable inputs: `y` is missing
/// fn adjoint(grad_output: ArrayView1<f64>) -> Array1<f64>
/// ```
pub(super) fn covers(
    method: &Method,
    options: &BackwardOptions,
    context: &mut Context<'_>,
) -> Covers {
    let inputs = context.forward.differentiable();
    let methods = [(
        method,
        BackwardOptions {
            inputs: options.inputs.clone(),
            ..BackwardOptions::default()
        },
    )];
    let mistakes = context.diagnostics.len();
    // What is missing has words of its own.
    let Some(covers) = coverage::read(&methods, false, context).pop() else {
        return Covers {
            edges: (0..inputs.len()).collect(),
            complete: false,
        };
    };
    let missing = (0..inputs.len()).filter(|edge| !covers.edges.contains(edge));
    let missing: Vec<String> = missing
        .map(|edge| inputs[edge].0.name.to_string())
        .collect();
    if !missing.is_empty() && context.diagnostics.len() == mistakes {
        let on = options.inputs.first().unwrap_or(&method.sig.ident);
        let are = if missing.len() == 1 { "is" } else { "are" };
        let message = format!(
            "one adjoint gives the gradients of all differentiable inputs, and {} {are} missing",
            list(&missing)
        );
        let all = inputs.iter().map(|(input, _)| input.name.to_string());
        let help = format!(
            "write `adjoint({})`, which returns a tuple, or exempt an input: `#[non_differentiable] {}: …`",
            all.collect::<Vec<_>>().join(", "),
            missing[0]
        );
        context.diagnostics.error_with_help(on, &message, &help);
    }
    covers
}

/// What a linear function is of, and what it returns, is there in every call.
///
/// ```text
/// fn forward(x: ArrayView1<f64>, y: Option<ArrayView1<f64>>) -> Array1<f64>
/// //                                ^^^^^^^^^^^^^^^^^^^^^^^ `y` may be missing, and an adjoint is of inputs that are there
/// ```
pub(super) fn is_always_there(context: &mut Context<'_>) {
    let inputs = context.forward.differentiable().into_iter();
    let inputs = inputs.filter(|(_, tensor)| tensor.kind == Kind::Optional);
    let inputs = inputs.map(|(input, _)| (&input.name, &input.ty, "inputs"));
    let outputs = context.forward.differentiable_outputs().into_iter();
    let outputs = outputs.filter(|(output, _)| output.kind == Kind::Optional);
    let outputs = outputs.map(|(output, _)| (&output.name, &output.ty, "outputs"));
    for (name, ty, what) in inputs.chain(outputs) {
        let message =
            format!("`{name}` may be missing, and an adjoint is of {what} that are always there");
        let help = "write two functions, or backward functions in place of the adjoint";
        context.diagnostics.error_with_help(ty, &message, help);
    }
}

/// An adjoint depends on no input that forward is linear in, and on nothing that is computed from one.
///
/// ```text
/// #[adjoint(x)]
/// fn adjoint(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64>
/// //                                       ^ forward is linear in `x`, so its adjoint does not depend on it
/// ```
pub(super) fn asks_for_nothing_that_varies(adjoint: &Derivative, context: &mut Context<'_>) {
    let forward = context.forward;
    for parameter in &adjoint.parameters {
        let message = match parameter.wants {
            Wants::Gradient(output) if parameter.optional => {
                let (output, _) = forward.differentiable_outputs()[output];
                let name = output.gradient_name();
                format!("`{name}` is always there for an adjoint: an undefined one is zeros")
            }
            Wants::Gradient(_) | Wants::Saved(Source::Axis(_)) | Wants::Tangent(_) => continue,
            Wants::NeedsInputGrad => {
                "an adjoint gives the gradients of all inputs at once".to_owned()
            }
            Wants::Context => "an adjoint asks for values and axes by name".to_owned(),
            Wants::Saved(Source::Input(index)) => {
                let input = &forward.inputs[index];
                let tensor = input.tensor.as_ref();
                if tensor.is_none_or(|tensor| tensor.edge.is_none()) {
                    continue;
                }
                let name = &input.name;
                format!("forward is linear in `{name}`, so its adjoint does not depend on it")
            }
            Wants::Saved(Source::Returned(index)) => {
                let returned = &forward.returned[index];
                let what = match returned.role {
                    Role::Output { .. } | Role::InPlace { .. } => "an output",
                    Role::Intermediate => "saved by forward",
                };
                let name = &returned.name;
                format!("`{name}` is {what}, and may depend on the inputs; an adjoint does not")
            }
        };
        let help = "it may ask for the gradients of the outputs, for values, axes and `#[non_differentiable]` inputs; a \
                    function that is not linear has backward functions, `#[backward(x)]`";
        context
            .diagnostics
            .error_with_help(&parameter.ty, &message, help);
    }
}
