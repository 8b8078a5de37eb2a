//! Rules for the parameters of backward functions and of the `#[jvp]` rule: each asks for something by its name.

use syn::ext::IdentExt as _;
use syn::{FnArg, Ident, Signature, Type};

use super::context::Context;
use super::coverage::Covers;
use super::options::BackwardOptions;
use super::outputs::as_output;
use super::parameters::{self, as_tensor, named};
use super::{agreement, bodies, forms, residual};
use crate::diagnostics::{did_you_mean, list};
use crate::lists::Lists as _;
use crate::model::{
    Backward, Derivative, Forward, Parameter, Residual, Returned, Role, Source, Wants,
};
use crate::parse::{Method, Part};
use crate::show::show;
use crate::types::{self, Form, Kind, is_float};
use crate::uses;

/// The function that asks.
pub(super) enum Asker<'a> {
    Backward {
        method: &'a Method,
        options: &'a BackwardOptions,
        covers: &'a Covers,
    },
    Jvp,
    Residual,
}

impl Asker<'_> {
    /// Returns whether it is marked `once`, or by an unknown name that may have been meant to be that.
    pub(super) fn may_be_once(&self) -> bool {
        matches!(self, Self::Backward { options, covers, .. } if options.once || !covers.complete)
    }
}

/// Reads the parameters.
pub(super) fn read(
    sig: &Signature,
    asker: &Asker<'_>,
    context: &mut Context<'_>,
) -> Vec<Parameter> {
    nothing_is_asked_for_twice(sig, context);
    let mut parameters = Vec::new();
    let mut complete = true;
    let gradients = context.forward.gradient_names();
    let is_gradient = |name: &Ident| gradients.iter().any(|gradient| name == gradient);
    // Where no gradient is asked for, the first array of an unknown name was meant to be it.
    let mut lacks_one = !parameters::names(sig).any(is_gradient);
    for argument in &sig.inputs {
        // A receiver has been refused before.
        if let FnArg::Typed(parameter) = argument {
            let name = named(parameter, context.diagnostics);
            let asked = name.and_then(|name| {
                self::parameter(&name, &parameter.ty, asker, &mut lacks_one, context)
            });
            match asked {
                Some(parameter) => parameters.push(parameter),
                None => complete = false,
            }
        }
    }
    match asker {
        Asker::Backward {
            method,
            options,
            covers,
        } => {
            let mistakes = context.diagnostics.len();
            bodies::check(method, asker, &parameters, context);
            // An unknown name above the function may have been meant to be `ignores_grad`.
            let complete = complete && covers.complete && context.diagnostics.len() == mistakes;
            a_gradient_is_asked_for(method, options, complete, &parameters, context);
        }
        Asker::Jvp if complete => every_tangent_is_asked_for(&sig.ident, &parameters, context),
        Asker::Jvp => {}
        Asker::Residual => residual::takes_tensors(&parameters, context),
    }
    parameters
}

/// Nothing may be asked for twice.
///
/// ```text
/// fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32>
/// //                                                            ^ `x` is asked for twice
/// ```
fn nothing_is_asked_for_twice(sig: &Signature, context: &mut Context<'_>) {
    if let Some(second) = parameters::twice(sig) {
        let message = format!("`{second}` is asked for twice; remove one of the two");
        context.diagnostics.error(second, message);
    }
}

/// A parameter must have a name that may be asked for.
///
/// ```text
/// fn grad_input(grad_output: ArrayView2<f32>, wieght: ArrayView2<f32>) -> Array2<f32>
/// //                                          ^^^^^^ no forward input, output or saved value is named `wieght`
/// #[jvp]
/// fn jvp(tangent_wieght: ArrayView2<f32>, …) -> Array2<f32>
/// //     ^^^^^^^^^^^^^^ forward has no input named `wieght`
/// #[backward(x)]
/// fn backward(ctx: &SquareContext, grad_output: ArrayView1<f64>) -> Array1<f64>
/// //          ^^^ there is no `ctx`
/// ```
fn parameter(
    name: &Ident,
    ty: &Type,
    asker: &Asker<'_>,
    lacks_one: &mut bool,
    context: &mut Context<'_>,
) -> Option<Parameter> {
    if matches!(asker, Asker::Residual) {
        let wants = residual::wanted(name, context)?;
        return forms::read(name, wants, ty, (&[], false), context);
    }
    let in_jvp = matches!(asker, Asker::Jvp);
    let Some(wants) = context.forward.wanted(name, in_jvp) else {
        let may_be_one = !in_jvp && types::array(ty).is_some() && std::mem::take(lacks_one);
        unknown(name, in_jvp, may_be_one, context);
        return None;
    };
    let of = match asker {
        Asker::Backward { covers, .. } => (&covers.edges[..], asker.may_be_once()),
        Asker::Jvp | Asker::Residual => {
            is_not_an_intermediate(wants, name, context)?;
            (&[][..], false)
        }
    };
    forms::read(name, wants, ty, of, context)
}

pub(super) fn unknown(
    name: &Ident,
    in_jvp: bool,
    may_be_gradient: bool,
    context: &mut Context<'_>,
) {
    let forward = context.forward;
    let names = if context.part == Part::Adjoint {
        forward.names_for_adjoint()
    } else {
        forward.names(in_jvp)
    };
    let text = name.to_string();
    // What rustc advises where a parameter is not used.
    let unused = text
        .strip_prefix('_')
        .filter(|rest| names.iter().any(|known| known == rest));
    if let Some(unused) = unused {
        let message = format!("`{name}` is not an input: ask for `{unused}` by its own name");
        let help = "remove the parameter, if the function does not use it";
        context.diagnostics.error_with_help(name, &message, help);
        return;
    }
    if text == "ctx" {
        there_is_no_ctx(name, in_jvp, &names, context);
        return;
    }
    let special = if in_jvp {
        no_tangent(name, context)
    } else {
        no_gradient(name, forward)
    };
    let (message, suggestion) = special.unwrap_or_else(|| {
        let known = if in_jvp { "tangent" } else { "saved value" };
        let message = format!("no forward input, output or {known} is named `{name}`");
        let meant = if in_jvp {
            tangent_of_a_gradient(&text, &names)
        } else {
            let gradient = forward.gradient_names().into_iter().next();
            gradient.filter(|_| may_be_gradient)
        };
        let suggestion = meant
            .map(|meant| format!("did you mean `{meant}`? "))
            .or_else(|| no_shape(name, in_jvp, context))
            .unwrap_or_else(|| {
                if in_jvp || context.part == Part::Adjoint {
                    did_you_mean(&text, &names)
                } else {
                    did_you_mean(&text, &forward.known_names())
                }
            });
        (message, suggestion)
    });
    let (who, saves) = if in_jvp {
        ("a `#[jvp]` rule may ask for", String::new())
    } else if context.part == Part::Adjoint {
        ("an adjoint may ask for", String::new())
    } else if context.definition.kind.free().is_some() {
        (
            "a gradient may use",
            how_to_save(name, &suggestion, context),
        )
    } else {
        (
            "backward may ask for",
            how_to_save(name, &suggestion, context),
        )
    };
    let names = list(&names);
    let help = format!("{suggestion}{who} {names}{saves}");
    context.diagnostics.error_with_help(name, &message, &help);
}

/// PyTorch's `ctx` is what names are asked for here.
fn there_is_no_ctx(name: &Ident, in_jvp: bool, names: &[String], context: &mut Context<'_>) {
    let mut help = format!("ask by name for what is needed: {}", list(names));
    if !in_jvp && context.part == Part::Backward {
        let all = format!("`context: &{}Context`", context.definition.ident);
        help = match context.definition.kind.free() {
            Some(_) => format!("use the names of what is needed: {}", list(names)),
            None => format!("{help}; or for all that is saved, {all}"),
        };
    }
    context
        .diagnostics
        .error_with_help(name, "there is no `ctx`", &help);
}

/// Returns `tangent_x` for `grad_x` and `dx`.
fn tangent_of_a_gradient(text: &str, names: &[String]) -> Option<String> {
    let input = text
        .strip_prefix("grad_")
        .or_else(|| text.strip_prefix('d'))?;
    let tangent = format!("tangent_{input}");
    names.contains(&tangent).then_some(tangent)
}

/// Returns what is wrong with the name of a gradient, and what to write.
fn no_gradient(name: &Ident, forward: &Forward) -> Option<(String, String)> {
    let text = name.to_string();
    let output = text.strip_prefix("grad_")?;
    let is_written = forward
        .in_place()
        .any(|(one, input)| one.has_gradient() && input.name == output);
    if is_written {
        let message = format!(
            "no gradient is named `{name}`; the gradient of a single output is `grad_output`"
        );
        return Some((message, String::new()));
    }
    if output == "output" {
        let names = forward.gradient_names();
        let [only] = names.as_slice() else {
            return None;
        };
        let message =
            format!("no gradient is named `{name}`; a gradient is named after its output");
        return Some((message, format!("write `{only}`. ")));
    }
    let output = forward.outputs().find(|one| one.name == output)?;
    let message = format!(
        "`{}` is not differentiable, so there is no `{name}`",
        output.name
    );
    let number = Some(&output.ty).filter(|ty| is_float(ty));
    let help = number.map_or_else(String::new, |ty| format!("{}; ", as_output(&show(ty))));
    Some((message, help))
}

/// Returns what to write in place of the name of a shape.
fn no_shape(name: &Ident, in_jvp: bool, context: &Context<'_>) -> Option<String> {
    let text = name.unraw().to_string();
    let of = text
        .strip_prefix("shape_")
        .or_else(|| text.strip_suffix("_shape"))?;
    let mut inputs = context.forward.inputs.iter();
    let input = inputs.find(|input| input.name.unraw() == of)?;
    let tensor = input.tensor.as_ref()?;
    Some(match tensor.kind {
        Kind::Single if !in_jvp => format!("write `{}: &[usize]`; ", tensor.shape.name),
        _ if context.part == Part::Adjoint => {
            format!("`{of}` has no single shape: take its lengths as a value of forward; ")
        }
        _ => format!("ask for `{}` itself; ", input.name),
    })
}

/// Returns what is wrong with the name of a tangent, and what to write.
fn no_tangent(name: &Ident, context: &Context<'_>) -> Option<(String, String)> {
    let forward = context.forward;
    let text = name.unraw().to_string();
    let subject = text.strip_prefix("tangent_")?;
    let Some(input) = forward
        .inputs
        .iter()
        .find(|input| input.name.unraw() == subject)
    else {
        let message = format!("forward has no input named `{subject}`");
        return Some((message, did_you_mean(&text, &forward.names(true))));
    };
    let name = &input.name;
    if input.tensor.is_some() {
        let message = format!("`{name}` is `#[non_differentiable]` and has no tangent");
        return Some((message, String::new()));
    }
    let message = format!("`{name}` is a value and has no tangent");
    let help = as_tensor(name, &input.ty, context.floats);
    Some((
        message,
        help.map_or_else(String::new, |help| format!("{help}; ")),
    ))
}

/// An intermediate is for backward functions alone: its derivative is not known.
///
/// ```text
/// #[forward(saves(rstd))]
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>, rstd: ArrayView1<f32>) -> Array1<f32>
/// //                                 ^^^^ `rstd` is saved for backward functions
/// ```
fn is_not_an_intermediate(wants: Wants, name: &Ident, context: &mut Context<'_>) -> Option<()> {
    let Wants::Saved(Source::Returned(index)) = wants else {
        return Some(());
    };
    if context.forward.returned[index].role != Role::Intermediate {
        return Some(());
    }
    let message =
        format!("`{name}` is saved for backward functions, and a `#[jvp]` rule cannot use it");
    let help = "compute it from inputs and outputs, or make it an output";
    context.diagnostics.error_with_help(name, &message, help);
    None
}

/// A backward function must use the incoming gradient, or be marked as one that ignores it.
///
/// ```text
/// #[backward(x)]
/// fn backward(x: ArrayView1<f32>) -> Array1<f32>
/// // ^^^^^^^^ `backward` asks for no gradient of an output, so the incoming gradient would be ignored
/// ```
fn a_gradient_is_asked_for(
    method: &Method,
    options: &BackwardOptions,
    complete: bool,
    parameters: &[Parameter],
    context: &mut Context<'_>,
) {
    let asks = parameters
        .iter()
        .any(|parameter| matches!(parameter.wants, Wants::Gradient(_)));
    let function = &method.sig.ident;
    match (&options.ignores_grad, &method.expression) {
        (None, Some(expression)) if !asks && complete => {
            let names = list(context.forward.gradient_names());
            let message = format!(
                "this gradient does not use {names}, so the incoming gradient would be ignored"
            );
            let covered = list_bare(&options.inputs);
            let unnamed = how_to_name(context.forward, "saves(…)");
            let help = format!(
                "multiply by the gradient of the output, or mark it as intended: \
                 `grad({covered}, ignores_grad) = …`{unnamed}"
            );
            context
                .diagnostics
                .error_with_help(expression, &message, &help);
        }
        (None, None) if !asks && complete => {
            let names = context.forward.gradient_names();
            let message = format!(
                "`{function}` asks for no gradient of an output, so the incoming gradient would be ignored"
            );
            let ignores = if context.part == Part::Adjoint {
                ""
            } else {
                ", or write `ignores_grad` into `#[backward(…)]`"
            };
            let help = format!("add a parameter named {}{ignores}", list(names));
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

/// Some backward function must ask for the gradient of each differentiable output.
///
/// ```text
/// #[forward(outputs(y, mask))]
/// //                   ^^^^ no backward function asks for the gradient of `mask`
/// #[backward(x)]
/// fn backward(grad_y: ArrayView1<f32>) -> Array1<f32>
/// ```
pub(super) fn every_gradient_is_used(
    methods: &[(&Method, &BackwardOptions)],
    backwards: &[Backward],
    context: &mut Context<'_>,
) {
    let ignores = |(_, options): &(&Method, &BackwardOptions)| options.ignores_grad.is_some();
    let outputs = context.forward.differentiable_outputs();
    let asks = |backward: &Backward, output| backward.function.asks_for(Wants::Gradient(output));
    let asks_for_none = |one: &Backward| (0..outputs.len()).all(|output| !asks(one, output));
    // That there is no function, or one that asks for none, has been reported.
    if methods.iter().any(ignores) || backwards.is_empty() || backwards.iter().any(asks_for_none) {
        return;
    }
    let asked = (0..outputs.len()).map(|output| backwards.iter().any(|one| asks(one, output)));
    for ((output, _), _) in outputs.iter().zip(asked).filter(|(_, asked)| !asked) {
        let name = &output.name;
        let gradient = output.gradient_name();
        let is_short = context.definition.kind.free().is_some();
        let (subject, exemption) = match output.role {
            Role::InPlace { input, .. } => {
                let name = &context.forward.inputs[input].name;
                (
                    format!("`{name}`, which is written to"),
                    format!("exempt the input: `#[non_differentiable] {name}: …`"),
                )
            }
            Role::Output { .. } | Role::Intermediate | Role::Unknown { .. } if is_short => (
                format!("`{name}`"),
                format!(
                    "exempt the output: `non_differentiable({name})`{}",
                    how_to_name(context.forward, "saves(…)")
                ),
            ),
            Role::Output { .. } | Role::Intermediate | Role::Unknown { .. } => (
                format!("`{name}`"),
                format!(
                    "exempt the output: `#[forward(non_differentiable({name}))]`{}",
                    how_to_name(context.forward, "#[forward(saves(…))]")
                ),
            ),
        };
        let (asks, ask) = match (context.part == Part::Adjoint, is_short) {
            (true, true) => ("`adjoint(…)` does not use", "use"),
            (true, false) => ("the adjoint does not ask for", "ask for"),
            (false, true) => ("no `grad(…)` uses", "use"),
            (false, false) => ("no backward function asks for", "ask for"),
        };
        let message = format!("{asks} the gradient of {subject}, so it would be ignored");
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

/// What is saved for backward functions must be asked for by one.
///
/// ```text
/// #[forward(outputs(y), saves(rstd))]
/// //                          ^^^^ no backward function asks for `rstd`
/// #[backward(x)]
/// fn backward(grad_y: ArrayView1<f32>, y: ArrayView1<f32>) -> Array1<f32>
/// ```
pub(super) fn every_intermediate_is_used(
    backwards: &[Backward],
    residual: Option<&Residual>,
    context: &mut Context<'_>,
) {
    let is_short = context.definition.kind.free().is_some();
    for (index, one) in context.forward.returned.iter().enumerate() {
        let wants = Wants::Saved(Source::Returned(index));
        let functions = backwards.iter().map(|backward| &backward.function);
        let mut functions = functions.chain(residual.map(|residual| &residual.function));
        if one.role != Role::Intermediate || functions.any(|function| function.asks_for(wants)) {
            continue;
        }
        let name = &one.name;
        let (asks, ask) = match (residual.is_some(), is_short) {
            (true, _) => ("the residual does not ask for", "ask for it"),
            (false, true) => ("no `grad(…)` uses", "use it"),
            (false, false) => ("no backward function asks for", "ask for it"),
        };
        let message = format!("{asks} `{name}`, which is saved for nothing");
        let help = format!("{ask}, or return it no longer and remove it from `saves(…)`");
        context.diagnostics.error_with_help(name, &message, &help);
    }
}

/// The context must not be empty, or have what a function on tensors would take for a constant.
///
/// ```text
/// #[backward]
/// fn backward(grad_output: ArrayView1<f32>, context: &ExpContext) -> Array1<f32>
/// //                                                 ^^^^^^^^^^^ `context` is empty
/// #[forward(outputs(y), saves(rstd))]
/// #[backward(x)]
/// fn grad_x(grad_y: ArrayView1<f32>, rstd: ArrayView1<f32>) -> Array1<f32>
/// #[backward(gain)]
/// fn grad_gain(grad_y: &Tensor1<f32>, context: &NormContext) -> Tensor1<f32>
/// //                                           ^^^^^^^^^^^^ `context` contains `rstd`, which forward computes
/// ```
pub(super) fn the_context_is_useful(
    backwards: &[Backward],
    flawed: &mut Vec<Ident>,
    context: &mut Context<'_>,
) {
    let functions = || backwards.iter().map(|backward| &backward.function);
    let sources: Vec<Source> = functions().flat_map(Derivative::sources).listed();
    let intermediate = context
        .forward
        .returned
        .iter()
        .enumerate()
        .filter(|(_, one)| match one.tensor {
            Some(_) => one.role == Role::Intermediate,
            None => context.forward.has_float(&one.ty),
        })
        .find(|(index, _)| sources.contains(&Source::Returned(*index)));
    for function in functions() {
        for Parameter { ty, .. } in function.requests(Wants::Context) {
            if sources.is_empty() {
                let message =
                    "`context` is empty: it contains only what backward functions ask for by name";
                let help = "ask for what this function needs by name, as in `x: ArrayView1<f64>`";
                context.diagnostics.error_with_help(ty, message, help);
                flawed.push(function.ident.clone());
            } else if let Some((_, one)) = intermediate
                && function.is_on_tensors()
            {
                let name = &one.name;
                let message = format!(
                    "`context` contains `{name}`, which forward computes; beside tensors, its derivative would be lost"
                );
                let help = "ask for what this function needs by name";
                context.diagnostics.error_with_help(ty, &message, help);
            }
        }
    }
}

/// The rule must ask for the tangent of every differentiable input: what it does not ask for would count
/// as zero.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32>
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32>
/// // ^^^ `jvp` does not ask for the tangent of `weight`, which would be ignored
/// ```
fn every_tangent_is_asked_for(
    function: &Ident,
    parameters: &[Parameter],
    context: &mut Context<'_>,
) {
    let is_asked_for = |edge| {
        parameters
            .iter()
            .any(|parameter| parameter.wants == Wants::Tangent(edge))
    };
    let differentiable = context.forward.differentiable();
    let missing = (0..differentiable.len())
        .filter(|edge| !is_asked_for(*edge))
        .map(|edge| differentiable[edge])
        .listed();
    if missing.is_empty() {
        return;
    }
    let tangents = if missing.len() == 1 {
        "tangent"
    } else {
        "tangents"
    };
    let message = format!(
        "`{function}` does not ask for the {tangents} of {}, which would be ignored",
        list(missing.iter().map(|(input, _)| input.name.to_string()))
    );
    // All are asked for alike, as tensors or as arrays.
    let is_on_tensors = parameters
        .iter()
        .any(|parameter| parameter.form.is_some_and(Form::is_tensor));
    let form = if is_on_tensors {
        Form::TensorRef
    } else {
        Form::View
    };
    let parameters = missing.iter().map(|(input, tensor)| {
        let spelled = agreement::spell(form, &tensor.ty.content);
        let optional = format!("Option<{spelled}>");
        let ty = if tensor.kind == Kind::List {
            format!("&[{optional}]")
        } else {
            optional
        };
        format!("{}: {ty}", input.tangent_name())
    });
    let help = format!("take {}", list(parameters));
    context
        .diagnostics
        .error_with_help(function, &message, &help);
}

/// Returns what to write if an intermediate may be meant: it resembles no known name, or
/// intermediates without a name are taken for outputs.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>)
/// fn backward(grad_output: ArrayView1<f32>, q: ArrayView1<f32>) -> Array1<f32>
/// //          ^^^^^^^^^^^ no forward input, output or saved value is named `grad_output`
/// //                                        ^ no forward input, output or saved value is named `q`
/// ```
fn how_to_save(name: &Ident, suggestion: &str, context: &Context<'_>) -> String {
    let forward = context.forward;
    let is_short = context.definition.kind.free().is_some();
    let write = |names: &str| {
        if is_short {
            format!("saves({names})")
        } else {
            format!("#[forward(saves({names}))]")
        }
    };
    if name == "grad_output" {
        return how_to_name(forward, &write("…"));
    }
    if !suggestion.is_empty() || name.to_string().starts_with("grad_") {
        return String::new();
    }
    if is_short && !uses::rebinds(context.body, &name.to_string()) {
        return "; anything else is a parameter of the function".to_owned();
    }
    let saved = forward
        .returned
        .iter()
        .filter(|one| one.role == Role::Intermediate);
    let mut saved: Vec<Ident> = saved.map(|one| one.name.clone()).listed();
    saved.push(name.clone());
    format!(
        "; to save an intermediate, return it from forward after the outputs and name it: `{}`",
        write(&list_bare(&saved))
    )
}

/// Returns what to write if intermediates may be taken for outputs: there are several, and none
/// has a name.
fn how_to_name(forward: &Forward, write: &str) -> String {
    let is_unnamed = |one: &&Returned| !one.named && matches!(one.role, Role::Output { .. });
    if forward.returned.iter().filter(is_unnamed).count() < 2 {
        return String::new();
    }
    format!("; if forward returns intermediates after its outputs, name them: `{write}`")
}

fn list_bare(names: &[Ident]) -> String {
    let names: Vec<String> = names.iter().map(Ident::to_string).listed();
    names.join(", ")
}
