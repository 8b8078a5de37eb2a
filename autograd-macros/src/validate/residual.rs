//! Rules for the residual, which stands in place of backward functions: a function on tensors of the outputs, the inputs
//! and the values, which returns a tensor for each output.

use syn::{Ident, Signature};

use super::agreement;
use super::context::Context;
use super::options::ResidualOptions;
use super::parameters;
use crate::diagnostics::{Diagnostics, did_you_mean, list};
use crate::lists::Lists as _;
use crate::model::{
    Definition, Derivative, Forward, Named, Parameter, Residual, Returned, Role, Source, Wants,
};
use crate::parse::{Method, Part};
use crate::show::show;
use crate::types::{Content, Form, Kind, same};

/// A residual gives all derivatives, so nothing else may.
///
/// ```text
/// #[residual]
/// fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64>
/// #[backward(a)]
/// fn backward(grad_output: ArrayView1<f64>) -> Array1<f64>
/// // ^^^^^^^^ `Root` has a residual, which gives all gradients
/// ```
///
/// Returns whether that is so.
pub(super) fn is_alone(
    others: &[&Method],
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) -> bool {
    for other in others {
        let mut parts = other
            .helpers
            .iter()
            .filter_map(|helper| Part::meant(&helper.name));
        let (gives, what) = match parts.next() {
            Some(Part::Jvp) => ("derivatives along a direction", "this rule"),
            _ => ("all gradients", "this function"),
        };
        let message = format!(
            "`{}` has a residual, which gives {gives}; remove {what}, or the residual",
            definition.item()
        );
        diagnostics.error(&other.sig.ident, message);
    }
    others.is_empty()
}

/// Makes unknowns of the intermediates that are arrays of floats and that the residual asks for.
pub(super) fn mark_unknowns(sig: &Signature, forward: &mut Forward) {
    let mut gradient = forward.differentiable_outputs().len();
    let names: Vec<&Ident> = parameters::names(sig).listed();
    for one in &mut forward.returned {
        let is_tensor = one.tensor.is_some() && one.kind == Kind::Single;
        if one.role == Role::Intermediate && is_tensor && names.contains(&&one.name) {
            one.role = Role::Unknown { gradient };
            gradient += 1;
        }
    }
}

/// Reads the residual; `None` if anything is wrong with it.
pub(super) fn read(
    sig: &Signature,
    options: ResidualOptions,
    derivative: impl FnOnce(&mut Context<'_>) -> Option<Derivative>,
    context: &mut Context<'_>,
) -> Option<Residual> {
    let mistakes = context.diagnostics.len();
    outputs_are_tensors(context);
    inputs_are_kept(context);
    if context.diagnostics.len() == mistakes {
        elements_are_alike(context);
    }
    if context.diagnostics.len() > mistakes {
        return None;
    }
    let function = derivative(context)?;
    if context.diagnostics.len() == mistakes {
        all_are_asked_for(sig, &function, context);
    }
    let dense = options.dense;
    (context.diagnostics.len() == mistakes).then_some(Residual { function, dense })
}

/// The number of outputs must be known, as the residual returns a tensor for each.
///
/// ```text
/// #[forward]
/// fn forward(a: ArrayView1<f64>) -> Vec<Array1<f64>>
/// //                                ^^^^^^^^^^^^^^^^ `output` is a list, which has no residual
/// ```
fn outputs_are_tensors(context: &mut Context<'_>) {
    for (output, _) in context.forward.differentiable_outputs() {
        let what = match output.kind {
            Kind::Single => continue,
            Kind::Optional => "may be absent, and then has",
            Kind::List => "is a list, which has",
        };
        let message = format!("`{}` {what} no residual", output.name);
        let help = "return arrays, several in a tuple";
        context
            .diagnostics
            .error_with_help(&output.ty, &message, help);
    }
}

/// The residual is a function of the inputs as they were.
///
/// ```text
/// #[forward]
/// fn forward(a: ArrayViewMut1<f64>)
/// //            ^^^^^^^^^^^^^^^^^^ `a` is written to, and a residual is a function of what it was
/// ```
fn inputs_are_kept(context: &mut Context<'_>) {
    for input in context
        .forward
        .inputs
        .iter()
        .filter(|input| input.is_in_place())
    {
        let message = format!(
            "`{}` is written to, and a residual is a function of what it was",
            input.name
        );
        let view = input.tensor.as_ref();
        let view = view.map(|tensor| agreement::spell(Form::View, &tensor.ty.content));
        let help = format!("take `{}`, and return the output", view.unwrap_or_default());
        context
            .diagnostics
            .error_with_help(&input.ty, &message, &help);
    }
}

/// The outputs and the differentiable inputs must have one element type: they are solved for together.
///
/// ```text
/// fn forward(a: ArrayView1<f64>, b: ArrayView1<f32>) -> Array1<f64>
/// //                                ^^^^^^^^^^^^^^^ `b` has elements of type `f32`, and `output` of type `f64`
/// ```
fn elements_are_alike(context: &mut Context<'_>) {
    let forward = context.forward;
    let outputs = forward.differentiable_outputs().into_iter();
    let outputs = outputs.map(|(one, tensor)| (&one.name, &one.ty, &tensor.content));
    let inputs = forward.differentiable().into_iter();
    let inputs = inputs.map(|(one, tensor)| (&one.name, &one.ty, &tensor.ty.content));
    let mut all = outputs.chain(inputs);
    let Some((first, _, Content::Known { element, .. })) = all.next() else {
        return;
    };
    for (name, ty, content) in all {
        if let Content::Known { element: other, .. } = content
            && !same(element, other)
            && context.floats.is_certain(element)
            && context.floats.is_certain(other)
        {
            let message = format!(
                "`{name}` has elements of type `{}`, and `{first}` of type `{}`",
                show(other),
                show(element)
            );
            let help = "the outputs and the differentiable inputs of a function with a residual have one element type";
            context.diagnostics.error_with_help(ty, &message, help);
        }
    }
}

/// What the residual asks for is a function of the unknowns, the inputs and the values.
///
/// ```text
/// #[residual]
/// fn residual(grad_output: &Tensor1<f64>, output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64>
/// //          ^^^^^^^^^^^ a residual has no gradients: it is a function of outputs, inputs and values
/// ```
///
/// Returns what a name means.
pub(super) fn wanted(name: &Ident, context: &mut Context<'_>) -> Option<Wants> {
    let forward = context.forward;
    match forward.wanted(name, false) {
        // It has the tensors, and needs no shapes beside them.
        Some(wants @ Wants::Saved(source)) if !matches!(source, Source::Shape(_)) => {
            return Some(wants);
        }
        Some(_) => {
            let message = format!(
                "a residual is a function of outputs, inputs and values, and cannot ask for `{name}`"
            );
            let help = format!("remove it; it may ask for {}", list(names(forward)));
            context.diagnostics.error_with_help(name, &message, &help);
        }
        None => {
            let message = format!("no forward input, output or saved value is named `{name}`");
            let names = names(forward);
            let suggestion = did_you_mean(&name.to_string(), &names);
            let help = format!("{suggestion}a residual may ask for {}", list(names));
            context.diagnostics.error_with_help(name, &message, &help);
        }
    }
    None
}

/// Returns the names that a residual may ask for.
fn names(forward: &Forward) -> Vec<String> {
    let gradients = forward.gradient_names();
    let mut names = forward.names(false);
    names.retain(|name| !gradients.contains(name) && name != "needs_input_grad");
    names
}

/// The residual must be a function of tensors: its derivatives are recorded.
///
/// ```text
/// #[residual]
/// fn residual(output: ArrayView1<f64>, a: ArrayView1<f64>) -> Array1<f64>
/// //                  ^^^^^^^^^^^^^^^ a residual is differentiated, so it takes `&Tensor…`
/// ```
pub(super) fn takes_tensors(parameters: &[Parameter], context: &mut Context<'_>) {
    let is_array = |one: &&Parameter| one.form.is_some_and(|form| !form.is_tensor());
    let Some(array) = parameters.iter().find(is_array) else {
        return;
    };
    let Wants::Saved(source) = array.wants else {
        return;
    };
    let named = context.forward.source(source);
    let write = as_tensors(&named);
    let message = "a residual is differentiated, so it takes tensors";
    let help = format!("write `{write}`, and return `Tensor…`");
    context
        .diagnostics
        .error_with_help(&array.ty, message, &help);
}

/// Returns what else could be meant by more equations than unknowns, or by fewer: what forward saves is an unknown if it
/// is an array that is asked for, and an output that is none is exempt.
pub(super) fn as_many_unknowns(
    are_more: bool,
    sig: &Signature,
    context: &Context<'_>,
) -> Option<String> {
    let asked: Vec<&Ident> = parameters::names(sig).listed();
    let mut returned = context.forward.returned.iter();
    if are_more {
        let mut saved = returned.filter(|one| one.role == Role::Intermediate);
        return saved.find_map(|one| {
            let (name, is_asked) = (&one.name, asked.contains(&&one.name));
            match (&one.tensor, parameters::as_array(&one.ty)) {
                (Some(_), _) if !is_asked => {
                    Some(format!("ask for `{name}`, which is then an unknown"))
                }
                (None, Some(array)) => Some(format!(
                    "save `{name}` as `{array}`, in place of `{}`, which is then an unknown",
                    show(&one.ty)
                )),
                _ => None,
            }
        });
    }
    let is_output = |one: &&Returned| matches!(one.role, Role::Output { .. }) && one.has_gradient();
    let left = returned.find(|one| is_output(one) && !asked.contains(&&one.name))?;
    Some(format!(
        "exempt an output that is no unknown: `#[forward(non_differentiable({}))]`",
        left.name
    ))
}

/// The equations must have every unknown and every input in them: what is missing would have no derivative.
///
/// ```text
/// fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64>
/// #[residual]
/// fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64>
/// // ^^^^^^^^ `residual` does not ask for `b`, so the gradient of `b` would be lost
/// ```
fn all_are_asked_for(sig: &Signature, function: &Derivative, context: &mut Context<'_>) {
    let forward = context.forward;
    let asks = |source: Source| function.asks_for(Wants::Saved(source));
    let inputs = (0..forward.inputs.len()).map(Source::Input);
    let missing = forward
        .sources()
        .filter(|source| match source {
            Source::Input(index) => {
                let tensor = forward.inputs[*index].tensor.as_ref();
                tensor.is_some_and(|tensor| tensor.edge.is_some())
            }
            Source::Returned(index) => forward.returned[*index].has_gradient(),
            Source::Axis(_) | Source::Shape(_) => false,
        })
        .filter(|source| !asks(*source));
    let missing: Vec<Source> = missing.listed();
    let Some(first) = missing.first().copied() else {
        return;
    };
    let (ident, named) = (&sig.ident, forward.source(first));
    let name = named.name;
    let is_input = inputs.into_iter().any(|input| input == first);
    let why = if is_input {
        format!("so the gradient of `{name}` would be lost")
    } else {
        format!("so it does not determine `{name}`")
    };
    let spelled = as_tensors(&named);
    let exempt = if is_input {
        format!("#[non_differentiable] {name}: …")
    } else {
        format!("#[forward(non_differentiable({name}))]")
    };
    let message = format!("`{ident}` does not ask for `{name}`, {why}");
    let help = format!("take `{name}: {spelled}`, or exempt it: `{exempt}`");
    context.diagnostics.error_with_help(ident, &message, &help);
}

/// Returns the type by which a residual asks for something.
fn as_tensors(named: &Named<'_>) -> String {
    let spelled = named.tensor.map_or_else(String::new, |tensor| {
        agreement::spell(Form::TensorRef, &tensor.content)
    });
    match named.kind {
        Kind::Single => spelled,
        Kind::Optional => format!("Option<{spelled}>"),
        Kind::List => format!("&[{spelled}]"),
    }
}
