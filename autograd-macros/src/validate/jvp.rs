//! Rules for the forward-mode rule: `#[jvp]`.

use syn::ext::IdentExt as _;
use syn::{FnArg, Ident, ReturnType, Signature, Type};

use super::agreement::{self, Expected};
use super::context::Context;
use super::{forms, inputs, order};
use crate::diagnostics::{count, did_you_mean, list};
use crate::model::{Given, GivenWhat, Jvp, Returned, Role, Source, tuple_elements};
use crate::show::show;
use crate::types::{self, Form, TensorType, option_of, peel};

/// Reads the rule; `None` if it returns nothing.
pub(super) fn read(sig: &Signature, context: &mut Context<'_>) -> Option<Jvp> {
    tangents_have_names_of_their_own(context);
    let mut given = Vec::new();
    let mut complete = true;
    for argument in &sig.inputs {
        let FnArg::Typed(parameter) = argument else {
            continue;
        };
        let name = inputs::named(parameter, context.diagnostics);
        let ty = (*parameter.ty).clone();
        match name.and_then(|name| what(&name, &ty, context)) {
            Some(what) => given.push(Given { ty, what }),
            None => complete = false,
        }
    }
    if complete {
        every_tangent_is_asked_for(&sig.ident, &given, context);
    }
    let returns = returns(sig, context)?;
    let rule = Jvp {
        ident: sig.ident.clone(),
        given,
        returns,
    };
    order::is_uniform_rule(&rule, context);
    Some(rule)
}

/// The name of a tangent means nothing else.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, tangent_x: ArrayView1<f32>) -> Array1<f32>
/// //                             ^^^^^^^^^ `tangent_x` is the tangent of `x` in a `#[jvp]` rule
/// ```
fn tangents_have_names_of_their_own(context: &mut Context<'_>) {
    let forward = context.forward;
    let inputs = forward.inputs.iter().map(|input| &input.name);
    let returned = forward.returned.iter().map(|returned| &returned.name);
    for name in inputs.chain(returned) {
        let differentiable = forward.differentiable();
        let mut owners = differentiable.iter();
        if let Some((owner, _)) = owners.find(|(input, _)| input.tangent_name() == *name) {
            let message = format!(
                "`{name}` is the tangent of `{}` in a `#[jvp]` rule; choose another name",
                owner.name
            );
            context.diagnostics.error(name, message);
        }
    }
}

/// A name that the rule may ask for.
///
/// ```text
/// #[jvp]
/// fn jvp(tangent_wieght: ArrayView2<f32>, …) -> Array2<f32>
/// //     ^^^^^^^^^^^^^^ there is no `tangent_wieght`
/// ```
fn what(name: &Ident, ty: &Type, context: &mut Context<'_>) -> Option<GivenWhat> {
    let forward = context.forward;
    let differentiable = forward.differentiable();
    let tangent = differentiable
        .iter()
        .position(|(input, _)| input.tangent_name() == *name);
    if let Some(edge) = tangent {
        return tangent_of(edge, name, ty, context);
    }
    let input = forward.inputs.iter().position(|input| input.name == *name);
    let returned = || {
        let mut returned = forward.returned.iter();
        returned.position(|returned| returned.name == *name)
    };
    let source = input
        .map(Source::Input)
        .or_else(|| returned().map(Source::Returned));
    let Some(source) = source else {
        unknown(name, context);
        return None;
    };
    is_no_intermediate(source, name, context)?;
    forms::kept(source, ty, &[], context).map(GivenWhat::Known)
}

/// A tangent is asked for like its input. With `Option`, one of zeros is told apart; that of an
/// optional input may be absent with it.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32>
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>, tangent_bias: ArrayView1<f32>) -> Array1<f32>
/// //                                               ^^^^^^^^^^^^^^^ `bias` may be absent, and then so is its tangent
/// ```
fn tangent_of(
    edge: usize,
    name: &Ident,
    ty: &Type,
    context: &mut Context<'_>,
) -> Option<GivenWhat> {
    let (input, tensor) = context.forward.differentiable()[edge];
    let place = format!("like `{}`", input.name);
    let (form, optional) = if tensor.list {
        forms::list(name, &tensor.ty, &place, true, ty, context)?
    } else {
        forms::tensor(name, &tensor.ty, &place, ty, context)?
    };
    if tensor.optional && !optional {
        let message = format!("`{}` may be absent, and then so is its tangent", input.name);
        let spelled = agreement::spell(form, &tensor.ty.content);
        let help = format!("write `Option<{spelled}>`");
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    }
    Some(GivenWhat::Tangent {
        edge,
        form,
        optional,
    })
}

/// What forward saves is for backward functions alone: nothing tells how it depends on the inputs.
///
/// ```text
/// #[forward(saves(rstd))]
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>, rstd: ArrayView1<f32>) -> Array1<f32>
/// //                                 ^^^^ `rstd` is saved for backward functions
/// ```
fn is_no_intermediate(source: Source, name: &Ident, context: &mut Context<'_>) -> Option<()> {
    let Source::Returned(index) = source else {
        return Some(());
    };
    if context.forward.returned[index].role != Role::Intermediate {
        return Some(());
    }
    let message = format!("`{name}` is saved for backward functions, and a `#[jvp]` rule is none");
    let help = "compute it from inputs and outputs, or make it an output";
    context.diagnostics.error_with_help(name, &message, help);
    None
}

fn unknown(name: &Ident, context: &mut Context<'_>) {
    let forward = context.forward;
    let text = name.unraw().to_string();
    let differentiable = forward.differentiable();
    let mut names: Vec<String> = differentiable
        .iter()
        .map(|(input, _)| input.tangent_name().to_string())
        .collect();
    names.extend(forward.inputs.iter().map(|input| input.name.to_string()));
    names.extend(forward.outputs().map(|output| output.name.to_string()));
    let subject = text.strip_prefix("tangent_");
    let mut inputs = forward.inputs.iter();
    let of = subject.and_then(|subject| inputs.find(|input| input.name.unraw() == subject));
    let (message, suggestion) = match (of, subject) {
        (Some(input), _) if input.tensor.is_none() => (
            format!("`{}` is a value and has no tangent", input.name),
            inputs::as_tensor(&input.name, &input.ty, context.floats)
                .map_or_else(String::new, |help| format!("{help}; ")),
        ),
        (Some(input), _) => (
            format!(
                "`{}` is `#[non_differentiable]` and has no tangent",
                input.name
            ),
            String::new(),
        ),
        (None, Some(subject)) => (
            format!("forward has no input named `{subject}`"),
            did_you_mean(&text, &names),
        ),
        (None, None) => (
            format!("no forward input, output or tangent is named `{name}`"),
            did_you_mean(&text, &names),
        ),
    };
    let help = format!("{suggestion}a `#[jvp]` rule may ask for {}", list(&names));
    context.diagnostics.error_with_help(name, &message, &help);
}

/// The rule asks for the tangent of every differentiable input: what it does not ask for would count
/// as zero, whatever came in.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32>
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32>
/// // ^^^ `jvp` does not ask for the tangent of `weight`, which would be ignored
/// ```
fn every_tangent_is_asked_for(function: &Ident, given: &[Given], context: &mut Context<'_>) {
    let is_asked_for = |wanted: usize| {
        given
            .iter()
            .any(|given| matches!(given.what, GivenWhat::Tangent { edge, .. } if edge == wanted))
    };
    let differentiable = context.forward.differentiable();
    let missing: Vec<_> = (0..differentiable.len())
        .filter(|edge| !is_asked_for(*edge))
        .map(|edge| differentiable[edge])
        .collect();
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
    let parameters = missing.iter().map(|(input, tensor)| {
        let spelled = agreement::spell(Form::View, &tensor.ty.content);
        let optional = format!("Option<{spelled}>");
        let ty = if tensor.list {
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

/// The rule returns a tangent for each differentiable output, and for nothing else: one as it is,
/// several in a tuple.
///
/// ```text
/// #[forward(outputs(y, place))]
/// fn forward(x: ArrayView1<f32>) -> (Array1<f32>, usize)
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>, place: usize) -> (Array1<f32>, usize)
/// //                                                  ^^^^^^^^^^^^^^^^^^^^ 1 tangent is wanted, of `y`, and 2 are returned
/// ```
fn returns(sig: &Signature, context: &mut Context<'_>) -> Option<Type> {
    let outputs = context.forward.differentiable_outputs();
    let ReturnType::Type(_, ty) = &sig.output else {
        let message = format!("`{}` returns nothing", sig.ident);
        let help = format!("return {}", wanted(&outputs));
        context
            .diagnostics
            .error_with_help(&sig.ident, &message, &help);
        return None;
    };
    let is_tuple = matches!(peel(ty), Type::Tuple(_));
    let found = tuple_elements(ty);
    // A single type that is no array could be an alias of the tuple.
    let could_be_alias =
        !is_tuple && types::array(found[0]).is_none() && types::tensor_alias(ty).is_some();
    if is_tuple == (outputs.len() > 1) && found.len() == outputs.len() {
        for (ty, (output, expected)) in found.into_iter().zip(outputs) {
            is_the_tangent(ty, output, expected, context);
        }
    } else if !could_be_alias {
        let names = list(outputs.iter().map(|(output, _)| output.name.to_string()));
        let returned = match (is_tuple, found.len()) {
            (true, 1) => "a tuple of 1 is".to_owned(),
            (_, 1) => "1 is".to_owned(),
            (_, number) => format!("{number} are"),
        };
        let wanted_count = count(outputs.len(), "tangent");
        let message = format!("{wanted_count} wanted, of {names}, and {returned} returned");
        let exempt = context
            .forward
            .outputs()
            .any(|output| !output.has_gradient());
        let why = if exempt && found.len() > outputs.len() {
            ": what is not differentiable has no tangent"
        } else {
            ""
        };
        let help = format!("return {}{why}", wanted(&outputs));
        context.diagnostics.error_with_help(ty, &message, &help);
    }
    Some((**ty).clone())
}

/// A tangent is owned, and of the rank and element type of its output.
///
/// ```text
/// fn forward(x: ArrayView2<f32>) -> Array1<f32>
/// #[jvp]
/// fn jvp(tangent_x: ArrayView2<f32>) -> Array2<f32>
/// //                                    ^^^^^^^^^^^ the tangent of `output` has rank 1 like `output`, and rank 2 here
/// ```
fn is_the_tangent(ty: &Type, output: &Returned, expected: &TensorType, context: &mut Context<'_>) {
    let subject = format!("the tangent of `{}`", output.name);
    let target = option_of(ty).unwrap_or(ty);
    let found = types::array(target).or_else(|| types::tensor_alias(target));
    let is_owned = |found: &TensorType| matches!(found.form, Form::Owned | Form::Tensor);
    let Some(found) = found.filter(is_owned) else {
        let message = format!("{subject} cannot be `{}`", show(ty));
        let help = format!("return {}", wanted(&[(output, expected)]));
        context.diagnostics.error_with_help(ty, &message, &help);
        return;
    };
    let expected = Expected {
        content: &expected.content,
        subject,
        place: format!("like `{}`", output.name),
    };
    agreement::agree(&expected, &found, target, context);
}

/// `` `Array2<f32>` `` or `` `(Array2<f32>, Array1<f32>)` ``
fn wanted(outputs: &[(&Returned, &TensorType)]) -> String {
    let types: Vec<String> = outputs
        .iter()
        .map(|(_, tensor)| agreement::spell(Form::Owned, &tensor.content))
        .collect();
    match types.as_slice() {
        [one] => format!("`{one}`"),
        many => format!("`({})`", many.join(", ")),
    }
}
