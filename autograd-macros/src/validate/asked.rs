//! Rules for the parameters of backward functions: each asks for something by its name.

use syn::{FnArg, Ident, Signature, Type};

use super::arguments::BackwardOptions;
use super::context::Context;
use super::{forms, inputs};
use crate::diagnostics::{did_you_mean, list};
use crate::model::{Asked, Backward, Forward, Returned, Role, Source, What};
use crate::parse::Method;
use crate::show::show;
use crate::types::{last_segment, peel};

/// Reads the parameters of a backward function.
pub(super) fn read(sig: &Signature, covers: &[usize], context: &mut Context<'_>) -> Vec<Asked> {
    let mut asked = Vec::new();
    for argument in &sig.inputs {
        let FnArg::Typed(parameter) = argument else {
            continue;
        };
        let Some(name) = inputs::named(parameter, context.diagnostics) else {
            continue;
        };
        let ty = (*parameter.ty).clone();
        if let Some(what) = what(&name, &ty, covers, context) {
            asked.push(Asked { ty, what });
        }
    }
    asked
}

/// A backward function uses what comes in, or says that it means not to.
///
/// ```text
/// #[backward(x)]
/// fn backward(x: ArrayView1<f32>) -> Array1<f32>
/// // ^^^^^^^^ `backward` asks for no gradient of an output, so it would ignore what comes in
/// ```
pub(super) fn a_gradient_is_asked_for(
    method: &Method,
    options: &BackwardOptions,
    complete: bool,
    asked: &[Asked],
    context: &mut Context<'_>,
) {
    let asks = asked
        .iter()
        .any(|asked| matches!(asked.what, What::Gradient { .. }));
    let function = &method.sig.ident;
    match (&options.ignores_grad, &method.expression) {
        (None, Some(expression)) if !asks && complete => {
            let names = list(gradient_names(context));
            let message =
                format!("this gradient does not use {names}, so it would ignore what comes in");
            let covered = list_bare(&options.inputs);
            let unnamed = how_to_name(context.forward, "saves(…)");
            let help = format!(
                "multiply by the gradient of the output, or say that it is meant: \
                 `grad({covered}, ignores_grad) = …`{unnamed}"
            );
            context
                .diagnostics
                .error_with_help(expression, &message, &help);
        }
        (None, None) if !asks && complete => {
            let names = gradient_names(context);
            let message = format!(
                "`{function}` asks for no gradient of an output, so it would ignore what comes in"
            );
            let help = format!(
                "add a parameter named {}, or write `ignores_grad` into `#[backward(…)]`",
                list(names)
            );
            context
                .diagnostics
                .error_with_help(function, &message, &help);
        }
        (Some(ignores_grad), expression) if asks => {
            let subject = match expression {
                Some(_) => "this expression uses".to_owned(),
                None => format!("`{function}` asks for"),
            };
            let message = format!("{subject} the gradient of an output; remove `ignores_grad`");
            context.diagnostics.error(ignores_grad, message);
        }
        _ => {}
    }
}

/// Every differentiable output's gradient reaches some backward function.
///
/// ```text
/// #[forward(outputs(y, mask))]
/// //                   ^^^^ no backward function asks for the gradient of `mask`
/// #[backward(x)]
/// fn backward(grad_y: ArrayView1<f32>) -> Array1<f32>
/// ```
pub(super) fn every_gradient_arrives(
    methods: &[(&Method, BackwardOptions)],
    backwards: &[Backward],
    context: &mut Context<'_>,
) {
    let ignored = methods
        .iter()
        .any(|(_, options)| options.ignores_grad.is_some());
    let is_asked_for = |output| {
        backwards
            .iter()
            .any(|backward| backward.gradients(output).next().is_some())
    };
    let outputs = context.forward.differentiable_outputs();
    let asked: Vec<bool> = (0..outputs.len()).map(is_asked_for).collect();
    // With none at all asked for, each function has been told so.
    if ignored || !asked.contains(&true) {
        return;
    }
    for ((output, _), _) in outputs.iter().zip(asked).filter(|(_, asked)| !asked) {
        let name = &output.name;
        let gradient = output.gradient_name();
        let is_short = context.definition.short.is_some();
        let (subject, exemption) = match output.role {
            Role::InPlace { input, .. } => {
                let name = &context.forward.inputs[input].name;
                (
                    format!("`{name}`, which is written to"),
                    format!("exempt the input: `#[non_differentiable] {name}: …`"),
                )
            }
            Role::Output { .. } | Role::Intermediate if is_short => (
                format!("`{name}`"),
                format!(
                    "exempt the output: `non_differentiable({name})`{}",
                    how_to_name(context.forward, "saves(…)")
                ),
            ),
            Role::Output { .. } | Role::Intermediate => (
                format!("`{name}`"),
                format!(
                    "exempt the output: `#[forward(non_differentiable({name}))]`{}",
                    how_to_name(context.forward, "#[forward(saves(…))]")
                ),
            ),
        };
        let (asks, ask) = if is_short {
            ("`grad(…)` uses", "use")
        } else {
            ("backward function asks for", "ask for")
        };
        let message =
            format!("no {asks} the gradient of {subject}: what comes in would be ignored");
        let help = format!("{ask} `{gradient}`, or {exemption}");
        if output.named {
            context.diagnostics.error_with_help(name, &message, &help);
        } else {
            context
                .diagnostics
                .error_with_help(&output.ty, &message, &help);
        }
    }
}

/// A name that backward may ask for.
///
/// ```text
/// fn grad_input(grad_output: ArrayView2<f32>, wieght: ArrayView2<f32>) -> Array2<f32>
/// //                                          ^^^^^^ no forward input, output or saved value is named `wieght`
/// ```
fn what(name: &Ident, ty: &Type, covers: &[usize], context: &mut Context<'_>) -> Option<What> {
    let forward = context.forward;
    if name == "needs_input_grad" {
        return needs_input_grad(ty, context);
    }
    let gradients = forward.differentiable_outputs();
    let gradient = gradients
        .iter()
        .position(|(output, _)| output.gradient_name() == *name);
    if let Some(output) = gradient {
        let (of, expected) = gradients[output];
        let place = format!("like `{}`", of.name);
        let (form, optional) = forms::gradient(name, expected, &place, ty, context)?;
        return Some(What::Gradient {
            output,
            form,
            optional,
        });
    }
    let input = forward
        .inputs
        .iter()
        .position(|input| input.name == *name)
        .map(Source::Input);
    let returned = || {
        forward
            .returned
            .iter()
            .position(|returned| returned.name == *name)
    };
    let Some(source) = input.or_else(|| returned().map(Source::Returned)) else {
        unknown(name, context);
        return None;
    };
    forms::kept(source, ty, covers, context).map(What::Kept)
}

fn unknown(name: &Ident, context: &mut Context<'_>) {
    let forward = context.forward;
    let mut names = gradient_names(context);
    names.extend(forward.inputs.iter().map(|input| input.name.to_string()));
    names.extend(
        forward
            .returned
            .iter()
            .map(|returned| returned.name.to_string()),
    );
    names.push("needs_input_grad".to_owned());
    let text = name.to_string();
    let subject = text.strip_prefix("grad_");
    let output = subject
        .filter(|rest| forward.outputs().any(|output| output.name == rest) || *rest == "output");
    let is_written = subject.is_some_and(|rest| {
        let mut written = forward.in_place();
        written.any(|(output, input)| output.has_gradient() && input.name == rest)
    });
    let (message, suggestion) = match output {
        _ if is_written => (
            format!("no gradient is named `{name}`: that of a single output is `grad_output`"),
            String::new(),
        ),
        Some(output) if output != "output" => (
            format!("`{output}` is not differentiable, so there is no `{name}`"),
            String::new(),
        ),
        Some(_) if gradient_names(context).len() == 1 => (
            format!("no gradient is named `{name}`: it bears the name of its output"),
            format!("write `{}`. ", gradient_names(context)[0]),
        ),
        _ => (
            format!("no forward input, output or saved value is named `{name}`"),
            did_you_mean(&text, &names),
        ),
    };
    let saves = how_to_save(name, &suggestion, forward);
    let help = format!("{suggestion}backward may ask for {}{saves}", list(&names));
    context.diagnostics.error_with_help(name, &message, &help);
}

/// What to write if an intermediate is meant, as far as that may be: it resembles nothing that there is, or
/// intermediates without a name are taken for outputs.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>)
/// fn backward(grad_output: ArrayView1<f32>, q: ArrayView1<f32>) -> Array1<f32>
/// //          ^^^^^^^^^^^ no forward input, output or saved value is named `grad_output`
/// //                                        ^ no forward input, output or saved value is named `q`
/// ```
fn how_to_save(name: &Ident, suggestion: &str, forward: &Forward) -> String {
    if name == "grad_output" {
        return how_to_name(forward, "#[forward(saves(…))]");
    }
    if !suggestion.is_empty() || name.to_string().starts_with("grad_") {
        return String::new();
    }
    let saved = forward
        .returned
        .iter()
        .filter(|one| one.role == Role::Intermediate);
    let mut saved: Vec<Ident> = saved.map(|one| one.name.clone()).collect();
    saved.push(name.clone());
    format!(
        "; an intermediate is returned by forward after its outputs and named, `#[forward(saves({}))]`",
        list_bare(&saved)
    )
}

/// What to write if intermediates are taken for outputs, as far as that may be: there are several, and none
/// has a name.
fn how_to_name(forward: &Forward, write: &str) -> String {
    let is_unnamed = |one: &&Returned| !one.named && matches!(one.role, Role::Output { .. });
    if forward.returned.iter().filter(is_unnamed).count() < 2 {
        return String::new();
    }
    format!("; if forward returns intermediates after its outputs, name them, `{write}`")
}

fn list_bare(names: &[Ident]) -> String {
    let names: Vec<String> = names.iter().map(Ident::to_string).collect();
    names.join(", ")
}

fn gradient_names(context: &Context<'_>) -> Vec<String> {
    let outputs = context.forward.differentiable_outputs();
    outputs
        .iter()
        .map(|(output, _)| output.gradient_name().to_string())
        .collect()
}

/// `needs_input_grad` is the generated struct.
///
/// ```text
/// fn backward(grad_output: ArrayView2<f32>, needs_input_grad: [bool; 2]) -> …
/// //                                                          ^^^^^^^^^ `needs_input_grad` is no `[bool; 2]`
/// ```
fn needs_input_grad(ty: &Type, context: &mut Context<'_>) -> Option<What> {
    let expected = format!("{}NeedsInputGrad", context.definition.ident);
    let (by_reference, target) = match peel(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => (true, &*reference.elem),
        target => (false, target),
    };
    if last_segment(target).is_some_and(|segment| segment.ident == expected) {
        return Some(What::NeedsInputGrad { by_reference });
    }
    let message = format!("`needs_input_grad` is no `{}`", show(ty));
    let help = format!(
        "write `{expected}`: a generated struct with one `bool` for each differentiable input"
    );
    context.diagnostics.error_with_help(ty, &message, &help);
    None
}
