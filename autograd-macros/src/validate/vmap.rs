//! Rules for the function of a batch: it takes the inputs of `apply`, with one more axis where each example has its
//! own, and returns the outputs of `apply`, with one more axis.

use syn::{FnArg, ReturnType, Signature, Type};

use super::agreement;
use super::context::Context;
use super::parameters;
use crate::lists::Lists as _;
use crate::model::{Forward, Input, Returned, Role, TensorInput, Vmap, tuple_elements};
use crate::show::show;
use crate::types::{self, Content, Form, Kind, Rank, TensorType, option_of, result_of, same};

/// The largest rank that has a name.
const LARGEST: u8 = 6;

/// Reads the function; `None` if anything is wrong with it.
pub(super) fn read(sig: &Signature, context: &mut Context<'_>) -> Option<Vmap> {
    can_have_an_axis_more(sig, context)?;
    let types = parameters(sig, context)?;
    let inputs = context.forward.inputs.iter().zip(types);
    let mapped: Vec<Option<bool>> = inputs
        .map(|(input, ty)| is_mapped(input, ty, context))
        .listed();
    // A function that takes arrays returns arrays too.
    let mapped = mapped.into_iter().collect::<Option<Vec<bool>>>()?;
    // Outputs have the axis of the inputs.
    has_a_batch(sig, &mapped, context)?;
    Some(Vmap {
        ident: sig.ident.clone(),
        mapped,
        is_fallible: returned(sig, context)?,
    })
}

/// Forward must take and return single tensors of fixed ranks.
///
/// ```text
/// fn forward(x: ArrayView<T, D>) -> Array<T, D>
/// #[vmap]
/// fn vmap(x: &Tensor<T, D>) -> Tensor<T, D>
/// // ^^^^ `vmap` cannot be the function of a batch: `x` has a rank that is not fixed
/// ```
fn can_have_an_axis_more(sig: &Signature, context: &mut Context<'_>) -> Option<()> {
    let forward = context.forward;
    let inputs = forward.inputs.iter().filter_map(|input| {
        let tensor = input.tensor.as_ref()?;
        let is_list = tensor.kind == Kind::List;
        let why = if input.is_in_place() {
            Some("is written to")
        } else {
            is_list.then_some("is a list").or_else(|| rank(&tensor.ty))
        };
        Some((&input.name, why?))
    });
    let outputs = forward.returned.iter().filter_map(|output| {
        let why = match &output.tensor {
            _ if matches!(output.role, Role::Intermediate | Role::Unknown { .. }) => None,
            None => Some("is not a tensor"),
            Some(_) if output.kind == Kind::List => Some("is a list"),
            Some(_) if output.kind == Kind::Optional => Some("may be absent"),
            Some(tensor) => rank(tensor),
        };
        Some((&output.name, why?))
    });
    let Some((name, why)) = inputs.chain(outputs).next() else {
        return Some(());
    };
    let message = format!(
        "`{}` cannot be the function of a batch: `{name}` {why}",
        sig.ident
    );
    let help = "remove it; `functional::vmap` calls `apply` for each example";
    context
        .diagnostics
        .error_with_help(&sig.ident, &message, help);
    None
}

/// Returns whether there is no tensor with one more axis.
pub(super) fn has_largest_rank(tensor: &TensorType) -> bool {
    matches!(tensor.content.rank(), Some(Rank::Fixed(LARGEST)))
}

/// Returns why a tensor cannot have one more axis, if it cannot.
fn rank(tensor: &TensorType) -> Option<&'static str> {
    match tensor.content.rank() {
        Some(Rank::Fixed(_)) if has_largest_rank(tensor) => {
            Some("has the largest rank that there is")
        }
        Some(Rank::Fixed(_)) => None,
        _ => Some("has a rank that is not fixed"),
    }
}

/// The parameters must be those of `apply`, by name and in their order.
///
/// ```text
/// fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32>
/// #[vmap]
/// fn vmap(input: &Tensor3<f32>, wieght: &Tensor2<f32>) -> Tensor3<f32>
/// //                            ^^^^^^ `weight` is expected here, as in forward, but found `wieght`
/// ```
fn parameters<'a>(sig: &'a Signature, context: &mut Context<'_>) -> Option<Vec<&'a Type>> {
    let mut expected = context.forward.inputs.iter();
    let mut types = Vec::new();
    let help = || format!("write `{}`", wanted(sig, context.forward));
    for argument in &sig.inputs {
        // A receiver has been refused before.
        let FnArg::Typed(parameter) = argument else {
            return None;
        };
        let name = parameters::named(parameter, context.diagnostics)?;
        let message = match expected.next() {
            Some(input) if input.name == name => {
                types.push(&*parameter.ty);
                continue;
            }
            Some(input) => {
                let expected = &input.name;
                format!("`{expected}` is expected here, as in forward, but found `{name}`")
            }
            None => format!("forward has no further input, but found `{name}`"),
        };
        context
            .diagnostics
            .error_with_help(&name, &message, &help());
        return None;
    }
    if let Some(missing) = expected.next() {
        let message = format!("`{}` does not take `{}`", sig.ident, missing.name);
        context
            .diagnostics
            .error_with_help(&sig.ident, &message, &help());
        return None;
    }
    Some(types)
}

/// A tensor must be taken by reference, of its rank where examples share it, of one more where each has its own; a
/// value as in forward.
///
/// ```text
/// fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32>
/// #[vmap]
/// fn vmap(input: ArrayView3<f32>, weight: &Tensor2<f32>) -> Tensor3<f32>
/// //             ^^^^^^^^^^^^^^^ `input` cannot be `ArrayView3<f32>` here
/// ```
fn is_mapped(input: &Input, ty: &Type, context: &mut Context<'_>) -> Option<bool> {
    let Some(tensor) = &input.tensor else {
        if same(&input.ty, ty) {
            return Some(false);
        }
        let expected = show(&input.ty);
        refuse(
            input,
            ty,
            &format!("write `{expected}`, as in forward"),
            context,
        );
        return None;
    };
    let is_optional = tensor.kind == Kind::Optional;
    let target = if is_optional { option_of(ty) } else { Some(ty) };
    let found = target.and_then(types::array);
    let mapped = found.filter(|found| found.form == Form::TensorRef);
    let mapped = mapped.and_then(|found| {
        let more = more(&tensor.ty.content, &found.content)?;
        has_element_of(&tensor.ty.content, &found.content, context).then_some(more)
    });
    if mapped.is_none() {
        let [shared, own] = [0, 1].map(|more| taken(tensor, more));
        let help =
            format!("write `{own}` where each example has its own, `{shared}` where they share it");
        refuse(input, ty, &help, context);
    }
    mapped
}

fn refuse(input: &Input, ty: &Type, help: &str, context: &mut Context<'_>) {
    let message = format!("`{}` cannot be `{}` here", input.name, show(ty));
    context.diagnostics.error_with_help(ty, &message, help);
}

/// Returns whether a tensor has one more axis than in forward; `None` if it has another rank.
fn more(expected: &Content, found: &Content) -> Option<bool> {
    match (expected.rank()?, found.rank()?) {
        (Rank::Fixed(rank), Rank::Fixed(found)) if found == rank => Some(false),
        (Rank::Fixed(rank), Rank::Fixed(found)) if *found == rank + 1 => Some(true),
        _ => None,
    }
}

/// Behind a name that is none of ours there may be any element type.
fn has_element_of(expected: &Content, found: &Content, context: &Context<'_>) -> bool {
    let (Some(expected), Some(found)) = (expected.element(), found.element()) else {
        return true;
    };
    let floats = context.floats;
    same(expected, found) || !floats.is_certain(expected) || !floats.is_certain(found)
}

/// The function must return the outputs of forward as tensors with one more axis, also in a `Result`. Returns whether
/// it does so in a `Result`.
///
/// ```text
/// fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32>
/// #[vmap]
/// fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>) -> Tensor2<f32>
/// //                                                      ^^^^^^^^^^^^ the outputs of a batch are `Tensor3<f32>`
/// ```
fn returned(sig: &Signature, context: &mut Context<'_>) -> Option<bool> {
    let wanted = outputs(context.forward);
    let ReturnType::Type(_, written) = &sig.output else {
        let message = format!("`{}` returns nothing", sig.ident);
        let help = format!("return `{wanted}`");
        context
            .diagnostics
            .error_with_help(&sig.ident, &message, &help);
        return None;
    };
    let within = result_of(written);
    let found = tuple_elements(within.unwrap_or(written));
    let outputs = context.forward.outputs().listed();
    let is_due = |(output, ty): (&&Returned, &&Type)| {
        let (Some(expected), Some(found)) = (&output.tensor, types::array(ty)) else {
            return false;
        };
        found.form == Form::Tensor
            && more(&expected.content, &found.content) == Some(true)
            && has_element_of(&expected.content, &found.content, context)
    };
    if found.len() == outputs.len() && outputs.iter().zip(&found).all(is_due) {
        return Some(within.is_some());
    }
    let found = show(within.unwrap_or(written));
    let message = format!("the outputs of a batch are `{wanted}`, but found `{found}`");
    let help = format!("return `{wanted}`: the outputs of forward, as tensors with one more axis");
    context
        .diagnostics
        .error_with_help(written, &message, &help);
    None
}

/// Some input must have an axis for the examples.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) -> Array1<f32>
/// #[vmap]
/// fn vmap(x: &Tensor1<f32>) -> Tensor2<f32>
/// // ^^^^ no input of `vmap` has an axis for the examples
/// ```
fn has_a_batch(sig: &Signature, mapped: &[bool], context: &mut Context<'_>) -> Option<()> {
    if mapped.contains(&true) {
        return Some(());
    }
    let message = format!("no input of `{}` has an axis for the examples", sig.ident);
    let help = format!("write `{}`", wanted(sig, context.forward));
    context
        .diagnostics
        .error_with_help(&sig.ident, &message, &help);
    None
}

/// `fn vmap(input: &Tensor3<f32>, weight: &Tensor3<f32>) -> Tensor3<f32>`
fn wanted(sig: &Signature, forward: &Forward) -> String {
    let inputs = forward.inputs.iter().map(|input| {
        let ty = input
            .tensor
            .as_ref()
            .map_or_else(|| show(&input.ty), |tensor| taken(tensor, 1));
        format!("{}: {ty}", input.name)
    });
    let inputs: Vec<String> = inputs.listed();
    let outputs = outputs(forward);
    format!("fn {}({}) -> {outputs}", sig.ident, inputs.join(", "))
}

/// `&Tensor3<f32>`, `Option<&Tensor2<f32>>`
fn taken(tensor: &TensorInput, more: u8) -> String {
    let spelled = spell(Form::TensorRef, &tensor.ty, more);
    if tensor.kind == Kind::Optional {
        format!("Option<{spelled}>")
    } else {
        spelled
    }
}

/// `Tensor3<f32>`, `(Tensor3<f32>, Tensor2<f32>)`
fn outputs(forward: &Forward) -> String {
    let outputs = forward
        .outputs()
        .filter_map(|output| output.tensor.as_ref());
    let outputs: Vec<String> = outputs
        .map(|tensor| spell(Form::Tensor, tensor, 1))
        .listed();
    match &outputs[..] {
        [one] => one.clone(),
        many => format!("({})", many.join(", ")),
    }
}

fn spell(form: Form, tensor: &TensorType, more: u8) -> String {
    let mut content = tensor.content.clone();
    if let Content::Known {
        rank: Rank::Fixed(rank),
        ..
    } = &mut content
    {
        *rank += more;
    }
    agreement::spell(form, &content)
}
