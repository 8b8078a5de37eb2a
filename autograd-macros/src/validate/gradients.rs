//! Rules for what backward functions return.

use syn::{ReturnType, Signature, Type};

use super::agreement::{self, Expected};
use super::context::Context;
use super::coverage::Covers;
use crate::diagnostics::{count, list};
use crate::model::tuple_elements;
use crate::show::show;
use crate::types::{self, Form, last_segment, option_of, peel, vec_of};

/// Reads the return type of a backward function; `None` if it has none.
pub(super) fn read(sig: &Signature, covers: &Covers, context: &mut Context<'_>) -> Option<Type> {
    let Covers { edges, complete } = covers;
    let ReturnType::Type(_, ty) = &sig.output else {
        returns_something(sig, edges, context);
        return None;
    };
    if *complete {
        let types = as_many(ty, edges, context)?;
        for (ty, edge) in types.into_iter().zip(edges) {
            is_the_gradient(ty, *edge, context);
        }
    }
    Some((**ty).clone())
}

/// A backward function returns gradients.
///
/// ```text
/// #[backward(x)]
/// fn backward(grad_output: ArrayView1<f32>) {}
/// // ^^^^^^^^ `backward` returns nothing
/// ```
fn returns_something(sig: &Signature, covers: &[usize], context: &mut Context<'_>) {
    let message = format!("`{}` returns nothing", sig.ident);
    let help = format!("return {}", wanted(covers, context));
    context
        .diagnostics
        .error_with_help(&sig.ident, &message, &help);
}

/// It returns as many gradients as it covers inputs: one as it is, several in a tuple.
///
/// ```text
/// #[backward(input, weight)]
/// fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>,)
/// //                                           ^^^^^^^^^^^^^^ 2 gradients are wanted, of `input`, `weight`, and 1 array is returned
/// #[backward(input, weight)]
/// fn backward(grad_output: ArrayView2<f32>) -> Vec<Array2<f32>>
/// //                                           ^^^^^^^^^^^^^^^^ gradients are returned in a tuple, not in `Vec<Array2<f32>>`
/// ```
fn as_many<'a>(ty: &'a Type, covers: &[usize], context: &mut Context<'_>) -> Option<Vec<&'a Type>> {
    let is_tuple = matches!(peel(ty), Type::Tuple(_));
    let is_list = matches!(
        peel(ty),
        Type::Array(_) | Type::Slice(_) | Type::Reference(_)
    ) || last_segment(ty).is_some_and(|segment| segment.ident == "Vec");
    let inputs = context.forward.differentiable();
    let wants_list = matches!(covers, [edge] if inputs[*edge].1.list);
    if is_list && !wants_list && context.floats.hidden_tensor(ty, |_| true).is_some() {
        let message = format!(
            "a gradient is an array of its own, not one in `{}`",
            show(ty)
        );
        let help = format!("return {}", wanted(covers, context));
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    }
    let found = tuple_elements(ty);
    let is_right = if covers.len() == 1 {
        !is_tuple
    } else {
        found.len() == covers.len()
    };
    // A single type that is no array could be an alias of the tuple.
    let could_be_alias =
        !is_tuple && types::array(found[0]).is_none() && types::tensor_alias(ty).is_some();
    if is_right {
        return Some(found);
    }
    if could_be_alias {
        return Some(Vec::new());
    }
    let names = covers.iter().map(|edge| inputs[*edge].0.name.to_string());
    let returned = match (is_tuple, found.len()) {
        (true, 1) => "a tuple of 1 is".to_owned(),
        (_, number) => count(number, "array"),
    };
    let wanted_count = count(covers.len(), "gradient");
    let message = format!(
        "{wanted_count} wanted, of {}, and {returned} returned",
        list(names)
    );
    let help = format!("return {}", wanted(covers, context));
    context.diagnostics.error_with_help(ty, &message, &help);
    None
}

/// A gradient is owned, and of the rank and element type of its input.
///
/// ```text
/// #[backward(bias)]
/// fn grad_bias(grad_output: ArrayView2<f32>) -> Array2<f32>
/// //                                            ^^^^^^^^^^^ the gradient of `bias` has rank 1 like `bias`, and rank 2 here
/// ```
fn is_the_gradient(ty: &Type, edge: usize, context: &mut Context<'_>) {
    let (input, tensor) = context.forward.differentiable()[edge];
    let subject = format!("the gradient of `{}`", input.name);
    let target = option_of(ty).unwrap_or(ty);
    let elements = if tensor.list {
        vec_of(target)
    } else {
        Some(target)
    };
    let target = elements.map(|ty| option_of(ty).unwrap_or(ty));
    let found = target.and_then(|ty| types::array(ty).or_else(|| types::tensor_alias(ty)));
    let (Some(found), Some(target)) = (found, target) else {
        let message = format!("{subject} cannot be `{}`", show(ty));
        let help = format!("return {}", wanted(&[edge], context));
        context.diagnostics.error_with_help(ty, &message, &help);
        return;
    };
    if !matches!(found.form, Form::Owned | Form::Tensor) {
        let message = format!("{subject} is owned, and `{}` is borrowed", show(ty));
        let owned = if found.form.is_tensor() {
            Form::Tensor
        } else {
            Form::Owned
        };
        let help = format!("return `{}`", agreement::spell(owned, &tensor.ty.content));
        context.diagnostics.error_with_help(ty, &message, &help);
        return;
    }
    let expected = Expected {
        content: &tensor.ty.content,
        subject,
        place: format!("like `{}`", input.name),
    };
    agreement::agree(&expected, &found, target, context);
}

/// `` `Array2<f32>` `` or `` `(Array2<f32>, Array1<f32>)` ``
fn wanted(covers: &[usize], context: &Context<'_>) -> String {
    let inputs = context.forward.differentiable();
    let spell = |edge: &usize| {
        let tensor = inputs[*edge].1;
        let spelled = agreement::spell(Form::Owned, &tensor.ty.content);
        if tensor.list {
            format!("Vec<{spelled}>")
        } else {
            spelled
        }
    };
    let types: Vec<String> = covers.iter().map(spell).collect();
    match types.as_slice() {
        [] => "an array".to_owned(),
        [one] => format!("`{one}`"),
        many => format!("`({})`", many.join(", ")),
    }
}
