//! Rules for the form in which something is asked for: view, owned, `&Tensor`, optional or not.

use quote::ToTokens as _;
use syn::{Ident, Type};

use super::agreement::{self, Expected};
use super::context::Context;
use super::parameters::{as_tensor, needs_input_grad};
use super::{bounds, lifetimes, parameters};
use crate::model::{FunctionKind, Parameter, Role, Source, Wants};
use crate::parse::Part;
use crate::show::show;
use crate::spell::has_word;
use crate::types::{
    self, Form, Kind, Passing, TensorType, borrows, is_float, is_primitive, last_segment,
    option_of, peel, same,
};

/// Reads how a function that covers these inputs, and may be differentiable `once` only, asks for something; a `#[jvp]`
/// rule covers none.
pub(super) fn read(
    name: &Ident,
    wants: Wants,
    ty: &Type,
    (covers, once): (&[usize], bool),
    context: &mut Context<'_>,
) -> Option<Parameter> {
    if !lifetimes::are_short(ty, &context.definition.generics, context.diagnostics) {
        return None;
    }
    let parameter = |(form, optional)| Parameter {
        ty: ty.clone(),
        wants,
        form,
        optional,
    };
    match wants {
        Wants::NeedsInputGrad => {
            needs_input_grad(ty, context.definition, context.diagnostics).map(|()| (None, false))
        }
        Wants::Context => saved_context(ty, context),
        Wants::Gradient(output) => gradient(output, name, ty, context),
        Wants::Tangent(input) => tangent(input, name, ty, context),
        Wants::Saved(source) => {
            let asked = saved(source, ty, covers, context);
            if let Some(asked) = asked.filter(|_| !once) {
                is_not_an_intermediate_tensor(source, asked, ty, context);
            }
            asked
        }
    }
    .map(parameter)
}

/// A gradient is asked for like its output; that of an output that may be missing, in an `Option`.
///
/// ```text
/// fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Option<Array1<f32>>)
/// fn backward(grad_output_0: ArrayView1<f32>, grad_output_1: ArrayView1<f32>) -> Array1<f32>
/// //                                                         ^^^^^^^^^^^^^^^ `output_1` may be absent, and then so is its gradient
/// ```
fn gradient(output: usize, name: &Ident, ty: &Type, context: &mut Context<'_>) -> Option<Asked> {
    let (output, expected) = context.forward.differentiable_outputs()[output];
    let place = format!("like `{}`", output.name);
    if output.kind == Kind::List {
        return list(name, expected, &place, true, ty, context);
    }
    let proper = [Form::View, Form::Owned, Form::TensorRef, Form::Tensor];
    let asked = tensor(&proper, name, expected, &place, ty, context)?;
    may_be_absent_alike(output.kind, &output.name, "gradient", asked, ty, context)
}

/// The form of a tensor or of the elements of a list, and whether it is in an `Option`.
type Asked = (Option<Form>, bool);

fn saved(source: Source, ty: &Type, covers: &[usize], context: &mut Context<'_>) -> Option<Asked> {
    let named = context.forward.source(source);
    let Some(expected) = named.tensor else {
        value(source, ty, context)?;
        return Some((None, false));
    };
    if named.kind == Kind::List {
        return list(named.name, expected, "in forward", false, ty, context);
    }
    let proper = [Form::View, Form::Owned, Form::TensorRef];
    let asked = tensor(&proper, named.name, expected, "in forward", ty, context)?;
    is_optional_alike(source, asked, ty, covers, context)?;
    Some(asked)
}

/// `context` must have the type of the generated struct of all that is saved, by reference.
///
/// ```text
/// fn backward(grad_output: ArrayView1<f32>, context: ExpContext) -> Array1<f32>
/// //                                                 ^^^^^^^^^^ `context` cannot have type `ExpContext`
/// ```
fn saved_context(ty: &Type, context: &mut Context<'_>) -> Option<Asked> {
    let definition = context.definition;
    let expected = format!("{}Context", definition.ident);
    if let Type::Reference(reference) = peel(ty)
        && reference.mutability.is_none()
        && last_segment(&reference.elem).is_some_and(|segment| segment.ident == expected)
    {
        return Some((None, false));
    }
    let (_, arguments, _) = definition.generics.split_for_impl();
    let message = format!("`context` cannot have type `{}`", show(ty));
    let help = format!(
        "write `&{expected}{}`: a generated struct of all that backward functions ask for by name",
        show(&arguments)
    );
    context.diagnostics.error_with_help(ty, &message, &help);
    None
}

/// A tangent is asked for like its input. In an `Option`, a missing one differs from zeros; that of an
/// optional input is absent with it.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32>
/// #[jvp]
/// fn jvp(tangent_x: ArrayView1<f32>, tangent_bias: ArrayView1<f32>) -> Array1<f32>
/// //                                               ^^^^^^^^^^^^^^^ `bias` may be absent, and then so is its tangent
/// ```
fn tangent(edge: usize, name: &Ident, ty: &Type, context: &mut Context<'_>) -> Option<Asked> {
    let (input, expected) = context.forward.differentiable()[edge];
    let place = format!("like `{}`", input.name);
    if expected.kind == Kind::List {
        return list(name, &expected.ty, &place, true, ty, context);
    }
    let proper = [Form::View, Form::Owned, Form::TensorRef];
    let asked = tensor(&proper, name, &expected.ty, &place, ty, context)?;
    may_be_absent_alike(expected.kind, &input.name, "tangent", asked, ty, context)
}

/// The gradient or tangent of a tensor that may be absent must be in an `Option` too.
fn may_be_absent_alike(
    kind: Kind,
    of: &Ident,
    noun: &str,
    (form, optional): Asked,
    ty: &Type,
    context: &mut Context<'_>,
) -> Option<Asked> {
    if kind == Kind::Optional && !optional {
        let message = format!("`{of}` may be absent, and then so is its {noun}");
        let help = format!("write `Option<{}>`", show(ty));
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    }
    Some((form, optional))
}

/// A tensor is asked for as a view, an owned array or a `&Tensor`, a gradient as an owned tensor too.
///
/// ```text
/// fn grad_input(grad_output: ArrayView2<f32>, weight: f32) -> Array2<f32>
/// //                                                  ^^^ `weight` is a tensor, and cannot be asked for as `f32`
/// ```
fn tensor(
    proper: &[Form],
    name: &Ident,
    expected: &TensorType,
    place: &str,
    ty: &Type,
    context: &mut Context<'_>,
) -> Option<Asked> {
    let (optional, target) = option_of(ty).map_or((false, ty), |inner| (true, inner));
    let found = types::array(target).or_else(|| types::tensor_alias(target));
    let Some(found) = found.filter(|found| proper.contains(&found.form)) else {
        let message = format!(
            "`{name}` is a tensor, and cannot be asked for as `{}`",
            show(ty)
        );
        let reference = agreement::spell(Form::TensorRef, &expected.content);
        let help = if context.part == Part::Residual {
            let kind = match context.forward.wanted(name, false) {
                Some(Wants::Saved(source)) => context.forward.source(source).kind,
                _ => Kind::Single,
            };
            match kind {
                Kind::Optional => format!("write `Option<{reference}>`"),
                Kind::Single | Kind::List => format!("write `{reference}`"),
            }
        } else {
            format!(
                "write `{}` to read it, `{}` to own it, or `{reference}` to differentiate again",
                agreement::spell(Form::View, &expected.content),
                agreement::spell(Form::Owned, &expected.content),
            )
        };
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    };
    is_as_declared(name, expected, place, (&found, target), context);
    Some((Some(found.form), optional))
}

/// A list is asked for as a slice, of views or of tensors; of tangents, each may be missing.
///
/// ```text
/// fn forward(parts: &[ArrayView1<f32>]) -> Array1<f32>
/// #[backward(parts)]
/// fn backward(grad_output: ArrayView1<f32>, parts: ArrayView1<f32>) -> Vec<Array1<f32>>
/// //                                               ^^^^^^^^^^^^^^^ `parts` is a list
/// ```
fn list(
    name: &Ident,
    expected: &TensorType,
    place: &str,
    may_lack: bool,
    ty: &Type,
    context: &mut Context<'_>,
) -> Option<Asked> {
    let element = types::list_of(ty);
    let inner = element.and_then(option_of).filter(|_| may_lack);
    let target = inner.or(element);
    let found =
        target.and_then(|target| types::array(target).or_else(|| types::tensor_alias(target)));
    let proper = |found: &TensorType| matches!(found.form, Form::View | Form::TensorRef);
    let (Some(found), Some(target)) = (found.filter(proper), target) else {
        let message = format!(
            "`{name}` is a list of tensors, and cannot be asked for as `{}`",
            show(ty)
        );
        let missing = if may_lack {
            "; with an `Option` around each, a missing one is `None` in place of zeros"
        } else {
            ""
        };
        let help = format!(
            "write `&[{}]` to read it, or `&[{}]` to differentiate again{missing}",
            agreement::spell(Form::View, &expected.content),
            agreement::spell(Form::TensorRef, &expected.content)
        );
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    };
    is_as_declared(name, expected, place, (&found, target), context);
    Some((Some(found.form), inner.is_some()))
}

/// Rank and element type of what is asked for must be those that `name` has at `place`.
fn is_as_declared(
    name: &Ident,
    declared: &TensorType,
    place: &str,
    (found, ty): (&TensorType, &Type),
    context: &mut Context<'_>,
) {
    let expected = Expected {
        content: &declared.content,
        subject: format!("`{name}`"),
        place: place.to_owned(),
    };
    agreement::agree(&expected, found, ty, context);
}

/// An input that is optional in forward must be optional in backward, except in its own backward function, which
/// runs only when it is given; and nothing else may be.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32>
/// #[backward(x)]
/// fn grad_x(grad_output: ArrayView1<f32>, bias: ArrayView1<f32>) -> Array1<f32>
/// //                                            ^^^^^^^^^^^^^^^ `bias` may be absent
/// ```
fn is_optional_alike(
    source: Source,
    (form, optional): Asked,
    ty: &Type,
    covers: &[usize],
    context: &mut Context<'_>,
) -> Option<()> {
    let named = context.forward.source(source);
    let spelled = agreement::spell(form?, &named.tensor?.content);
    let name = named.name;
    let (message, help) = match (named.kind == Kind::Optional, optional) {
        (false, true) => (
            format!("`{name}` is never absent"),
            format!("write `{spelled}`"),
        ),
        (true, false) if covers.is_empty() || matches!(source, Source::Returned(_)) => (
            format!("`{name}` may be absent"),
            format!("write `Option<{spelled}>`"),
        ),
        (true, false) if !context.forward.is_alone(source, covers) => (
            format!("`{name}` may be absent"),
            format!(
                "write `Option<{spelled}>`; only `#[backward({name})]`, which runs when it is \
                 given, may take it without `Option`"
            ),
        ),
        _ => return Some(()),
    };
    context.diagnostics.error_with_help(ty, &message, &help);
    None
}

/// An intermediate must be asked for as an array: as a tensor it would look like a constant, and its share
/// of the second derivative would be lost.
///
/// ```text
/// #[forward(saves(rstd))]
/// fn backward(grad_output: &Tensor1<f32>, rstd: &Tensor1<f32>) -> Tensor1<f32>
/// //                                            ^^^^^^^^^^^^^ `rstd` is saved by forward, …
/// ```
fn is_not_an_intermediate_tensor(
    source: Source,
    (form, _): Asked,
    ty: &Type,
    context: &mut Context<'_>,
) {
    let Source::Returned(index) = source else {
        return;
    };
    let returned = &context.forward.returned[index];
    if returned.role == Role::Intermediate && form.is_some_and(Form::is_tensor) {
        let name = &returned.name;
        let message = format!(
            "`{name}` is an intermediate; taken as a `&Tensor`, its derivative would be lost"
        );
        let on_arrays = match (&context.definition.kind, &returned.tensor) {
            (FunctionKind::Block, Some(tensor)) => {
                let view = agreement::spell(Form::View, &tensor.content);
                format!("write the function on arrays (`{view}`)")
            }
            _ => "remove `higher_order`".to_owned(),
        };
        let help = format!(
            "compute it again from inputs and outputs, make it an output, or {on_arrays}, which makes the function once \
             differentiable"
        );
        context.diagnostics.error_with_help(ty, &message, &help);
    }
}

/// A value is asked for as it is or by reference, and can outlive the call of `apply`.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, factor: f64) -> Array1<f32>
/// fn backward(grad_output: ArrayView1<f32>, factor: f32) -> Array1<f32>
/// //                                                ^^^ `factor` is `f64` in forward, but `f32` here
/// fn forward(x: ArrayView1<f32>, weight: &Array1<f32>) -> Array1<f32>
/// fn backward(grad_output: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32>
/// //                                                ^^^^^^^^^^^^^^^ `weight` is a value, and cannot be …
/// ```
fn value(source: Source, ty: &Type, context: &mut Context<'_>) -> Option<()> {
    let named = context.forward.source(source);
    let name = named.name;
    let (given, asked) = (Passing::of(named.ty), Passing::of(ty));
    if let Source::Shape(input) = source
        && !(matches!(asked, Passing::Reference(_)) && same(given.target(), asked.target()))
    {
        let of = &context.forward.inputs[input].name;
        let message = format!("`{name}` is the shape of `{of}`, and a shape is `&[usize]`");
        let help = format!("write `{name}: &[usize]`");
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    }
    let (given, asked) = (given.target(), asked.target());
    let spelled = show(given);
    let is_exclusive =
        matches!(peel(named.ty), Type::Reference(reference) if reference.mutability.is_some());
    let is_view = |ty| types::array(ty).is_some_and(|array| array.form != Form::Owned);
    let borrowed = option_of(given).unwrap_or(given);
    if let Some(view) = types::array(borrowed).filter(|array| array.form != Form::Owned) {
        is_not_a_view(name, named.ty, &view, context);
        return None;
    }
    let (message, help) = if let Some((held, shared)) = trait_object(given) {
        (
            format!("`{name}` is a {held} trait object and cannot be saved for backward"),
            format!("take `{shared}`"),
        )
    } else if is_exclusive {
        (
            format!("`{name}` is written to in forward and cannot be saved for backward"),
            format!(
                "take `{name}: {spelled}`, or save what was computed with it: return that after the outputs, and name it, \
                 `#[forward(saves(…))]`"
            ),
        )
    } else if borrows(given) {
        (
            format!("`{name}` is borrowed in forward and cannot be saved for backward"),
            format!(
                "take an owned type or a reference to one, in place of `{}`",
                show(named.ty)
            ),
        )
    } else if is_view(ty) || option_of(ty).is_some_and(is_view) {
        (
            format!(
                "`{name}` is a value, and cannot be asked for as `{}`",
                show(ty)
            ),
            as_value(source, context),
        )
    } else if !same(given, asked) && is_primitive(given) && is_primitive(asked) {
        let message = if matches!(source, Source::Axis(_)) {
            format!("`{name}` is an axis, and an axis is `{spelled}`")
        } else {
            format!(
                "`{name}` is `{spelled}` in forward, but `{}` here",
                show(asked)
            )
        };
        (message, format!("write `{spelled}`"))
    } else {
        bounds::can_be_saved(given, &context.definition.generics, context.diagnostics)?;
        arrays_agree(name, given, asked, context);
        return Some(());
    };
    context.diagnostics.error_with_help(ty, &message, &help);
    None
}

/// Returns what to write where a value is asked for as a tensor.
fn as_value(source: Source, context: &Context<'_>) -> String {
    let named = context.forward.source(source);
    let (name, spelled) = (named.name, show(Passing::of(named.ty).target()));
    let array = parameters::as_array(named.ty);
    match (source, array) {
        (Source::Returned(_), Some(array)) => format!(
            "return `{array}` from forward, in place of `{}`",
            show(named.ty)
        ),
        (Source::Input(_), Some(_)) if is_float(named.ty) => format!(
            "write `{name}: ArrayView0<{spelled}>` in forward: a view is a tensor, `{spelled}` is a value and asked for \
             as such"
        ),
        _ => match as_tensor(name, named.ty, context.floats) {
            Some(help) => format!("{help} and asked for as such"),
            None if is_primitive(named.ty) => format!("write `{spelled}`"),
            None => format!("write `&{spelled}`"),
        },
    }
}

/// A view of what is not a float is a value, which ends with the call.
///
/// ```text
/// fn forward(x: ArrayView2<f32>, labels: ArrayView1<usize>) -> Array1<f32>
/// //                                     ^^^^^^^^^^^^^^^^^ `labels` is a view of `usize`
/// fn backward(grad_output: ArrayView1<f32>, labels: ArrayView1<usize>) -> Array2<f32>
/// ```
fn is_not_a_view(name: &Ident, ty: &Type, view: &TensorType, context: &mut Context<'_>) {
    let owned = agreement::spell(Form::Owned, &view.content);
    let write = show(ty).replace(&show(option_of(ty).unwrap_or(ty)), &format!("&{owned}"));
    let element = view.content.element().map_or_else(String::new, show);
    let message = format!("`{name}` is a view of `{element}`, and cannot be saved for backward");
    let mut help = format!("write `{name}: {write}`");
    if view.content.element().is_some_and(|ty| !is_primitive(ty)) {
        help = format!("{help}; if `{element}` is `f32` or `f64`, mark the parameter `#[tensor]`");
    }
    context.diagnostics.once(ty, &message, &help);
}

/// Returns how a value holds a trait object that cannot be cloned, and what to take in its place. A boxed one of a trait
/// that is not std's may be cloned.
fn trait_object(ty: &Type) -> Option<(&'static str, String)> {
    let boxed = last_segment(ty).filter(|last| last.ident == "Box");
    let (held, object) = match boxed {
        Some(_) => ("boxed", types::inner_types(ty).into_iter().next()?),
        None => ("borrowed", ty),
    };
    let Type::TraitObject(object) = peel(object) else {
        return None;
    };
    let mut shared = show(object);
    if boxed.is_some() && !shared.starts_with("dyn Fn") {
        return None;
    }
    for bound in ["Send", "Sync"] {
        if !has_word(object.to_token_stream(), bound) {
            shared = format!("{shared} + {bound}");
        }
    }
    Some((held, format!("Arc<{shared}>")))
}

/// A value that is an array must have one rank and element type too.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, indices: &Array1<usize>) -> Array1<f32>
/// fn backward(grad_output: ArrayView1<f32>, indices: &Array1<i32>) -> Array1<f32>
/// //                                                  ^^^^^^^^^^^ `indices` has elements of type `usize` in forward, …
/// ```
fn arrays_agree(name: &Ident, given: &Type, asked: &Type, context: &mut Context<'_>) {
    if let (Some(given), Some(found)) = (types::array(given), types::array(asked)) {
        is_as_declared(name, &given, "in forward", (&found, asked), context);
    }
}
