//! Rules for what backward functions and the `#[jvp]` rule return.

use syn::{Ident, ReturnType, Signature, Type};

use super::agreement::{self, Expected};
use super::asked::Asker;
use super::context::Context;
use super::residual;
use crate::diagnostics::{count, distance, list};
use crate::lists::Lists as _;
use crate::model::{Backward, Definition, Forward, Returned, tuple_elements};
use crate::show::show;
use crate::types::{
    self, Form, Kind, TensorType, error_of, last_segment, option_of, peel, result_of, vec_of,
};

/// A gradient or a tangent that must be returned.
struct Due<'a> {
    /// `gradient`, `tangent` or `residual`.
    noun: &'static str,
    /// The form in which it may be returned, as messages have it.
    form: Form,
    /// The input or output that it belongs to.
    name: &'a Ident,
    tensor: &'a TensorType,
    kind: Kind,
}

/// Reads the return type, without the `Result` in which it may be returned; `None` if there is none, or
/// if it has another number of gradients than is due.
pub(super) fn read(
    sig: &Signature,
    asker: &Asker<'_>,
    context: &mut Context<'_>,
) -> Option<(Type, Option<Type>)> {
    let due = due(asker, context.forward);
    let ReturnType::Type(_, written) = &sig.output else {
        returns_something(sig, &due, context);
        return None;
    };
    let within = result_of(written);
    let ty = within.unwrap_or(written);
    let fallible = within.map(|_| (**written).clone());
    if within.is_none() && is_one_result(written, &due, context) {
        return None;
    }
    let is_backward = matches!(asker, Asker::Backward { .. });
    if is_backward && is_near_the_struct(ty, &due, context) {
        return Some((ty.clone(), fallible));
    }
    // What a backward function covers may be unknown; that has been reported.
    if !matches!(asker, Asker::Backward { covers, .. } if !covers.complete) {
        let found = as_many(ty, &due, sig, context)?;
        if !are_in_order(ty, &found, &due, context) {
            return Some((ty.clone(), fallible));
        }
        for (ty, due) in found.into_iter().zip(&due) {
            is_due(ty, due, context);
        }
    }
    Some((ty.clone(), fallible))
}

fn due<'a>(asker: &Asker<'_>, forward: &'a Forward) -> Vec<Due<'a>> {
    match asker {
        Asker::Backward { covers, .. } => {
            let inputs = forward.differentiable();
            let gradient = |edge: &usize| {
                let (input, tensor) = inputs[*edge];
                Due {
                    noun: "gradient",
                    form: Form::Owned,
                    name: &input.name,
                    tensor: &tensor.ty,
                    kind: tensor.kind,
                }
            };
            covers.edges.iter().map(gradient).listed()
        }
        Asker::Jvp | Asker::Residual => {
            let (noun, form) = if matches!(asker, Asker::Residual) {
                ("residual", Form::Tensor)
            } else {
                ("tangent", Form::Owned)
            };
            let outputs = forward.differentiable_outputs().into_iter();
            let tangent = |(output, tensor): (&'a Returned, _)| Due {
                noun,
                form,
                name: &output.name,
                tensor,
                kind: output.kind,
            };
            outputs.map(tangent).listed()
        }
    }
}

/// Returns whether a backward function returns the generated struct of its gradients.
pub(super) fn is_by_name(ty: &Type, asker: &Asker<'_>, context: &Context<'_>) -> bool {
    let name = struct_of_gradients(context.definition);
    matches!(asker, Asker::Backward { .. })
        && last_segment(ty).is_some_and(|last| last.ident == name)
}

/// Returns `LinearFunctionGradients`.
pub(crate) fn struct_of_gradients(definition: &Definition) -> String {
    format!("{}Gradients", definition.ident)
}

/// Several gradients may be returned in the generated struct, under its name.
///
/// ```text
/// #[backward(q)]
/// fn grad_q(grad_output: ArrayView2<f64>) -> AttentionGradients
/// //                                         ^^^^^^^^^^^^^^^^^^ `AttentionGradients` is for several gradients
/// #[backward]
/// fn backward(grad_output: ArrayView2<f64>) -> AttentionGradient
/// //                                           ^^^^^^^^^^^^^^^^^ there is no type `AttentionGradient`
/// ```
///
/// Returns whether that is meant.
fn is_near_the_struct(ty: &Type, due: &[Due<'_>], context: &mut Context<'_>) -> bool {
    /// An alias of the author's may have another ending.
    const LETTERS: usize = 2;
    let name = struct_of_gradients(context.definition);
    let Some(last) = last_segment(ty) else {
        return false;
    };
    let distance = distance(&last.ident.to_string(), &name);
    if distance > LETTERS {
        return false;
    }
    if distance > 0 {
        let message = format!("there is no type `{}`", last.ident);
        let help = format!("the generated struct of the gradients is `{name}`");
        context.diagnostics.error_with_help(ty, &message, &help);
    } else if let [only] = due {
        let message = format!("`{name}` is for several gradients, and this is one");
        let help = format!("return {}", wanted(std::slice::from_ref(only)));
        context.diagnostics.error_with_help(ty, &message, &help);
    }
    true
}

/// The generated struct has the gradients of one backward function.
///
/// ```text
/// #[backward(q, k)]
/// fn grad_scores(grad_output: ArrayView2<f64>) -> AttentionGradients
/// #[backward(v, bias)]
/// fn grad_values(grad_output: ArrayView2<f64>) -> AttentionGradients
/// //                                              ^^^^^^^^^^^^^^^^^^ `grad_scores` returns `AttentionGradients` already
/// ```
pub(super) fn one_is_by_name(backwards: &[Backward], context: &mut Context<'_>) {
    let mut functions = backwards.iter().map(|backward| &backward.function);
    let Some(first) = functions.find(|function| function.by_name) else {
        return;
    };
    for other in functions.filter(|function| function.by_name) {
        let name = struct_of_gradients(context.definition);
        let message = format!("`{}` returns `{name}` already", first.ident);
        let help = "return a tuple here, or all gradients by one function";
        context
            .diagnostics
            .error_with_help(&other.returns, &message, help);
    }
}

/// A backward function must return gradients, and a `#[jvp]` rule tangents.
///
/// ```text
/// #[backward(x)]
/// fn backward(grad_output: ArrayView1<f32>) {}
/// // ^^^^^^^^ `backward` returns nothing
/// ```
fn returns_something(sig: &Signature, due: &[Due<'_>], context: &mut Context<'_>) {
    let message = format!("`{}` returns nothing", sig.ident);
    let help = format!("return {}", wanted(due));
    context
        .diagnostics
        .error_with_help(&sig.ident, &message, &help);
}

/// What fails is the function, and not one of its gradients.
///
/// ```text
/// #[backward(x, w)]
/// fn backward(grad_output: ArrayView1<f32>) -> (Result<Array1<f32>, String>, Result<Array1<f32>, String>)
/// //                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ one `Result` is returned, around all gradients
/// ```
///
/// Returns whether there are several.
fn is_one_result(ty: &Type, due: &[Due<'_>], context: &mut Context<'_>) -> bool {
    let elements = tuple_elements(ty);
    let failing = elements
        .iter()
        .copied()
        .find(|one| result_of(one).is_some());
    let (Type::Tuple(_), Some(failing)) = (peel(ty), failing) else {
        return false;
    };
    let noun = due.first().map_or("gradient", |due| due.noun);
    let message = format!("one `Result` is returned, around all {noun}s");
    let error = error_of(failing).map_or_else(|| "…".to_owned(), show);
    let gradients = wanted(due).replace('`', "");
    let help = format!("return `Result<{gradients}, {error}>`");
    context.diagnostics.error_with_help(ty, &message, &help);
    true
}

/// A function must return as many gradients or tangents as it has names: one as it is, several in a tuple.
///
/// ```text
/// #[backward(input, weight)]
/// fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>,)
/// //                                           ^^^^^^^^^^^^^^ 2 gradients are expected, of `input`, `weight`, but a tuple of 1 is returned
/// #[backward(input, weight)]
/// fn backward(grad_output: ArrayView2<f32>) -> Vec<Array2<f32>>
/// //                                           ^^^^^^^^^^^^^^^^ gradients must be returned one by one, found `Vec<Array2<f32>>`
/// #[forward(outputs(y, place))]
/// fn forward(x: ArrayView1<f32>) -> (Array1<f32>, usize)
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>, place: usize) -> (Array1<f32>, usize)
/// //                                                  ^^^^^^^^^^^^^^^^^^^^ 1 tangent is expected, of `y`, but 2 are returned
/// ```
fn as_many<'a>(
    ty: &'a Type,
    due: &[Due<'_>],
    sig: &Signature,
    context: &mut Context<'_>,
) -> Option<Vec<&'a Type>> {
    let is_tuple = matches!(peel(ty), Type::Tuple(_));
    let is_list = matches!(
        peel(ty),
        Type::Array(_) | Type::Slice(_) | Type::Reference(_)
    ) || last_segment(ty).is_some_and(|segment| segment.ident == "Vec");
    let wants_list = matches!(due, [only] if only.kind == Kind::List);
    let help = format!("return {}", wanted(due));
    let noun = due.first().map_or("gradient", |due| due.noun);
    if is_list && !wants_list && context.floats.hidden_tensor(ty, |_| true).is_some() {
        let message = format!("{noun}s must be returned one by one, found `{}`", show(ty));
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    }
    let found = tuple_elements(ty);
    if found.len() == due.len() && is_tuple == (due.len() > 1) {
        return Some(found);
    }
    // A single type that is not an array could be an alias of the tuple.
    if !is_tuple && types::array(ty).is_none() && types::tensor_alias(ty).is_some() {
        return Some(Vec::new());
    }
    let names = list(due.iter().map(|due| due.name.to_string()));
    let returned = match found.len() {
        1 if is_tuple => "a tuple of 1 is".to_owned(),
        1 => "1 is".to_owned(),
        number => format!("{number} are"),
    };
    let wanted_count = count(due.len(), noun);
    let message = format!("{wanted_count} expected, of {names}, but {returned} returned");
    let outputs = context.forward.outputs();
    let exempt = noun == "tangent" && outputs.into_iter().any(|output| !output.has_gradient());
    let help = if exempt && found.len() > due.len() {
        format!("{help}: what is not differentiable has no tangent")
    } else if noun == "residual" {
        residual::as_many_unknowns(found.len() > due.len(), sig, context)
            .map_or(help.clone(), |other| format!("{help}, or {other}"))
    } else {
        help
    };
    context.diagnostics.error_with_help(ty, &message, &help);
    None
}

/// Several gradients must be in the order of their names.
///
/// ```text
/// fn forward(input: ArrayView2<f32>, bias: ArrayView1<f32>) -> Array2<f32>
/// #[backward(input, bias)]
/// fn backward(grad_output: ArrayView2<f32>) -> (Array1<f32>, Array2<f32>)
/// //                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^ the gradients are in another order
/// ```
fn are_in_order(ty: &Type, found: &[&Type], due: &[Due<'_>], context: &mut Context<'_>) -> bool {
    let tensors: Vec<Option<TensorType>> = found
        .iter()
        .map(|ty| types::array(types::within_gradient(ty)))
        .listed();
    let fits = |found: &Option<TensorType>, due: &Due<'_>| {
        let found = found
            .as_ref()
            .map(|found| agreement::spell(Form::Owned, &found.content));
        found == Some(agreement::spell(Form::Owned, &due.tensor.content))
    };
    let are_in_order = tensors.iter().zip(due).all(|(found, due)| fits(found, due));
    let mut left = tensors.iter().listed();
    let are_all_there = due.iter().all(|due| {
        let place = left.iter().position(|found| fits(found, due));
        place.map(|place| left.remove(place)).is_some()
    });
    if due.len() < 2 || are_in_order || !are_all_there {
        return true;
    }
    let noun = due[0].noun;
    let names = list(due.iter().map(|due| due.name.to_string()));
    let message = format!("the {noun}s must be in the order {names}, but are in another here");
    let help = format!("return {}", wanted(due));
    context.diagnostics.error_with_help(ty, &message, &help);
    false
}

/// A gradient must be owned, with the rank and element type of its input; a tangent, of its output.
///
/// ```text
/// #[backward(bias)]
/// fn grad_bias(grad_output: ArrayView2<f32>) -> Array2<f32>
/// //                                            ^^^^^^^^^^^ the gradient of `bias` must have rank 1 like `bias`, but has rank 2 here
/// ```
fn is_due(ty: &Type, due: &Due<'_>, context: &mut Context<'_>) {
    let Due {
        noun,
        name,
        tensor,
        kind,
        ..
    } = due;
    let subject = format!("the {noun} of `{name}`");
    // A missing gradient or tangent is zero; a residual is there.
    let present = |ty| {
        option_of(ty)
            .filter(|_| due.form == Form::Owned)
            .unwrap_or(ty)
    };
    let target = present(ty);
    let elements = match kind {
        Kind::List => vec_of(target),
        Kind::Single | Kind::Optional => Some(target),
    };
    let target = elements.map(present);
    let found = target.and_then(|ty| types::array(ty).or_else(|| types::tensor_alias(ty)));
    let (Some(found), Some(target)) = (found, target) else {
        let message = format!("{subject} cannot be `{}`", show(ty));
        let help = format!("return {}", wanted(std::slice::from_ref(due)));
        context.diagnostics.error_with_help(ty, &message, &help);
        return;
    };
    if !matches!(found.form, Form::Owned | Form::Tensor) {
        let message = format!("{subject} must be owned, but `{}` is borrowed", show(ty));
        let owned = if found.form.is_tensor() {
            Form::Tensor
        } else {
            Form::Owned
        };
        let help = format!("return `{}`", agreement::spell(owned, &tensor.content));
        context.diagnostics.error_with_help(ty, &message, &help);
        return;
    }
    let expected = Expected {
        content: &tensor.content,
        subject,
        place: format!("like `{name}`"),
    };
    agreement::agree(&expected, &found, target, context);
}

/// `` `Array2<f32>` `` or `` `(Array2<f32>, Array1<f32>)` ``
fn wanted(due: &[Due<'_>]) -> String {
    let spell = |due: &Due<'_>| {
        let spelled = agreement::spell(due.form, &due.tensor.content);
        if due.kind == Kind::List {
            format!("Vec<{spelled}>")
        } else {
            spelled
        }
    };
    let types: Vec<String> = due.iter().map(spell).listed();
    match types.as_slice() {
        [] => "an array".to_owned(),
        [one] => format!("`{one}`"),
        many => format!("`({})`", many.join(", ")),
    }
}
