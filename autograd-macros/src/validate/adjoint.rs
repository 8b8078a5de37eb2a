//! Rules for the adjoint of a linear function, in place of backward functions.

use syn::Ident;

use super::context::Context;
use super::coverage::{self, Covers};
use super::options::BackwardOptions;
use super::{agreement, parameters};
use crate::diagnostics::list;
use crate::lists::Lists as _;
use crate::model::{Derivative, Role, Source, Wants};
use crate::parse::Method;
use crate::types::{Form, Kind, option_of};
use crate::uses;

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
            edges: (0..inputs.len()).listed(),
            complete: false,
        };
    };
    let missing = (0..inputs.len()).filter(|edge| !covers.edges.contains(edge));
    let missing: Vec<String> = missing.map(|edge| inputs[edge].0.name.to_string()).listed();
    // An adjoint that asks for an input has one mistake, which is about that.
    let asks_for_one = inputs
        .iter()
        .any(|(input, _)| asks_for(method, &input.name));
    if !missing.is_empty() && !asks_for_one && context.diagnostics.len() == mistakes {
        let on = options.inputs.first().unwrap_or(&method.sig.ident);
        let are = if missing.len() == 1 { "is" } else { "are" };
        let message = format!(
            "one adjoint gives the gradients of all differentiable inputs, and {} {are} missing",
            list(&missing)
        );
        let all = inputs.iter().map(|(input, _)| input.name.to_string());
        let help = format!(
            "write `adjoint({})`, which returns a tuple, or exempt an input: `#[non_differentiable] {}: …`",
            all.listed().join(", "),
            missing[0]
        );
        context.diagnostics.error_with_help(on, &message, &help);
    }
    covers
}

fn asks_for(method: &Method, name: &Ident) -> bool {
    match &method.expression {
        Some(expression) => !uses::names(expression, &[name.to_string()]).is_empty(),
        None => parameters::names(&method.sig).any(|asked| asked == name),
    }
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
/// #[adjoint(values, b)]
/// fn adjoint(grad_output: ArrayView1<f64>, values: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>)
/// //                                               ^^^^^^^^^^^^^^^ this depends on `values`, so forward is not linear in `values`, `b`
/// ```
pub(super) fn asks_for_nothing_that_varies(adjoint: &Derivative, context: &mut Context<'_>) {
    let forward = context.forward;
    let inputs = forward.differentiable().into_iter();
    let inputs: Vec<String> = inputs.map(|(input, _)| input.name.to_string()).listed();
    let is_short = context.definition.kind.free().is_some();
    let backward = |name: &String| {
        if is_short {
            format!("grad({name}) = …")
        } else {
            format!("#[backward({name})]")
        }
    };
    let backwards = list(inputs.iter().map(backward));
    for parameter in &adjoint.parameters {
        let message = match parameter.wants {
            Wants::Gradient(output) if parameter.optional => {
                let (output, _) = forward.differentiable_outputs()[output];
                let name = output.gradient_name();
                format!("`{name}` is always there for an adjoint: an undefined one is zeros")
            }
            Wants::Gradient(_)
            | Wants::Saved(Source::Axis(_) | Source::Shape(_))
            | Wants::Tangent(_) => continue,
            Wants::NeedsInputGrad => {
                "an adjoint gives the gradients of all inputs at once".to_owned()
            }
            Wants::Context => "an adjoint asks for values, axes and shapes by name".to_owned(),
            Wants::Saved(Source::Input(index)) => {
                let input = &forward.inputs[index];
                if !input.is_differentiable() {
                    continue;
                }
                let name = &input.name;
                if inputs.len() > 1 {
                    let message = format!(
                        "this depends on `{name}`, so forward is not linear in {} together",
                        list(&inputs)
                    );
                    let help = format!(
                        "exempt it, `#[non_differentiable] {name}: …`, or write {backwards} in place of the adjoint"
                    );
                    context
                        .diagnostics
                        .error_with_help(&parameter.ty, &message, &help);
                    continue;
                }
                format!("forward is linear in `{name}`, so its adjoint does not depend on it")
            }
            Wants::Saved(Source::Returned(index)) => {
                let returned = &forward.returned[index];
                let what = match returned.role {
                    Role::Output { .. } | Role::InPlace { .. } => "an output",
                    Role::Intermediate | Role::Unknown { .. } => "saved by forward",
                };
                let name = &returned.name;
                format!("`{name}` is {what}, and may depend on the inputs; an adjoint does not")
            }
        };
        let help = format!(
            "it may ask for the gradients of the outputs, for values, axes, shapes and `#[non_differentiable]` inputs; a \
             function that is not linear has {backwards} in place of an adjoint"
        );
        context
            .diagnostics
            .error_with_help(&parameter.ty, &message, &help);
    }
}

/// An adjoint returns an array for each input.
///
/// ```text
/// #[adjoint(x)]
/// fn adjoint(grad_output: ArrayView1<f64>) -> Option<Array1<f64>>
/// //                                          ^^^^^^^^^^^^^^^^^^^ an adjoint returns the gradient of every input
/// ```
pub(super) fn returns_arrays(adjoint: &Derivative, covers: &Covers, context: &mut Context<'_>) {
    let is_optional = adjoint
        .returned_types()
        .into_iter()
        .any(|ty| option_of(ty).is_some());
    if !adjoint.by_name && !is_optional {
        return;
    }
    let form = adjoint.parameters.iter().find_map(|asked| asked.form);
    let form = match form {
        Some(form) if form.is_tensor() => Form::Tensor,
        _ => Form::Owned,
    };
    let inputs = context.forward.differentiable();
    let types = covers.edges.iter().map(|edge| {
        let (_, tensor) = inputs[*edge];
        let spelled = agreement::spell(form, &tensor.ty.content);
        match tensor.kind {
            Kind::List => format!("Vec<{spelled}>"),
            Kind::Single | Kind::Optional => spelled,
        }
    });
    let types: Vec<String> = types.listed();
    let message = "an adjoint returns the gradient of every input, as an array";
    let help = match types.as_slice() {
        [one] => format!("return `{one}`"),
        many => format!("return `({})`", many.join(", ")),
    };
    context
        .diagnostics
        .error_with_help(&adjoint.returns, message, &help);
}
