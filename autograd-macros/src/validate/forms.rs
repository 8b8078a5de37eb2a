//! Rules for how a thing that is asked for is written: view, owned, `&Tensor`, optional or not.

use syn::{Ident, Type};

use super::agreement::{self, Expected};
use super::context::Context;
use super::inputs;
use crate::model::{Request, Role, Source, Sourced};
use crate::show::show;
use crate::types::{self, Form, Passing, TensorType, borrows, is_primitive, option_of, peel, same};

/// Reads the form of a request for an input, an output or an intermediate, by a function that covers
/// these inputs.
pub(super) fn kept(
    source: Source,
    ty: &Type,
    covers: &[usize],
    context: &mut Context<'_>,
) -> Option<Request> {
    let sourced = context.forward.source(source);
    let Some(expected) = sourced.tensor else {
        value(sourced, ty, context)?;
        return Some(Request::Value { source });
    };
    if sourced.list {
        let (form, optional) = list(sourced.name, expected, "in forward", false, ty, context)?;
        return Some(Request::Tensor {
            source,
            form,
            optional,
        });
    }
    let (form, optional) = tensor(sourced.name, expected, "in forward", ty, context)?;
    is_optional_alike(source, optional, form, ty, covers, context)?;
    is_no_intermediate_tensor(source, form, ty, context);
    Some(Request::Tensor {
        source,
        form,
        optional,
    })
}

/// A tensor is asked for as a view, an owned array or a `&Tensor`.
///
/// ```text
/// fn grad_input(grad_output: ArrayView2<f32>, weight: f32) -> Array2<f32>
/// //                                                  ^^^ `weight` is a tensor, and `f32` is none
/// ```
pub(super) fn tensor(
    name: &Ident,
    expected: &TensorType,
    place: &str,
    ty: &Type,
    context: &mut Context<'_>,
) -> Option<(Form, bool)> {
    let proper = [Form::View, Form::Owned, Form::TensorRef];
    one_of(&proper, name, expected, place, ty, context)
}

/// A gradient can be owned as a tensor too.
pub(super) fn gradient(
    name: &Ident,
    expected: &TensorType,
    place: &str,
    ty: &Type,
    context: &mut Context<'_>,
) -> Option<(Form, bool)> {
    let proper = [Form::View, Form::Owned, Form::TensorRef, Form::Tensor];
    one_of(&proper, name, expected, place, ty, context)
}

fn one_of(
    proper: &[Form],
    name: &Ident,
    expected: &TensorType,
    place: &str,
    ty: &Type,
    context: &mut Context<'_>,
) -> Option<(Form, bool)> {
    let (optional, target) = option_of(ty).map_or((false, ty), |inner| (true, inner));
    let found = types::array(target).or_else(|| types::tensor_alias(target));
    let Some(found) = found.filter(|found| proper.contains(&found.form)) else {
        let message = format!(
            "`{name}` is a tensor, and cannot be asked for as `{}`",
            show(ty)
        );
        let help = format!(
            "write `{}` to read it, `{}` to own it, or `{}` to differentiate again",
            agreement::spell(Form::View, &expected.content),
            agreement::spell(Form::Owned, &expected.content),
            agreement::spell(Form::TensorRef, &expected.content)
        );
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    };
    is_as_declared(name, expected, place, (&found, target), context);
    Some((found.form, optional))
}

/// A list is asked for as a slice, of views or of tensors; of tangents, each may be missing.
///
/// ```text
/// fn forward(parts: &[ArrayView1<f32>]) -> Array1<f32>
/// #[backward(parts)]
/// fn backward(grad_output: ArrayView1<f32>, parts: ArrayView1<f32>) -> Vec<Array1<f32>>
/// //                                               ^^^^^^^^^^^^^^^ `parts` is a list
/// ```
pub(super) fn list(
    name: &Ident,
    expected: &TensorType,
    place: &str,
    may_lack: bool,
    ty: &Type,
    context: &mut Context<'_>,
) -> Option<(Form, bool)> {
    let element = types::list_of(ty);
    let inner = element.and_then(option_of).filter(|_| may_lack);
    let target = inner.or(element);
    let found =
        target.and_then(|target| types::array(target).or_else(|| types::tensor_alias(target)));
    let proper = |found: &TensorType| matches!(found.form, Form::View | Form::Tensor);
    let (Some(found), Some(target)) = (found.filter(proper), target) else {
        let message = format!(
            "`{name}` is a list of tensors, and cannot be asked for as `{}`",
            show(ty)
        );
        let help = format!(
            "write `&[{}]` to read it, or `&[{}]` to differentiate again",
            agreement::spell(Form::View, &expected.content),
            agreement::spell(Form::Tensor, &expected.content)
        );
        context.diagnostics.error_with_help(ty, &message, &help);
        return None;
    };
    is_as_declared(name, expected, place, (&found, target), context);
    Some((found.form, inner.is_some()))
}

/// Rank and element type of what is asked for are those that `name` has at `place`.
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

/// What is optional in forward is optional in backward, except in its own backward function, which
/// runs only when it is there; and nothing else is.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32>
/// #[backward(x)]
/// fn grad_x(grad_output: ArrayView1<f32>, bias: ArrayView1<f32>) -> Array1<f32>
/// //                                            ^^^^^^^^^^^^^^^ `bias` may be absent
/// ```
fn is_optional_alike(
    source: Source,
    optional: bool,
    form: Form,
    ty: &Type,
    covers: &[usize],
    context: &mut Context<'_>,
) -> Option<()> {
    let sourced = context.forward.source(source);
    let spelled = agreement::spell(form, &sourced.tensor?.content);
    let name = sourced.name;
    let (message, help) = match (sourced.optional, optional) {
        (false, true) => (
            format!("`{name}` is never absent"),
            format!("write `{spelled}`"),
        ),
        (true, false) if covers.is_empty() => (
            format!("`{name}` may be absent"),
            format!("write `Option<{spelled}>`"),
        ),
        (true, false) if !is_alone(source, covers, context) => (
            format!("`{name}` may be absent"),
            format!(
                "write `Option<{spelled}>`; only `#[backward({name})]`, which runs when it is \
                 there, may take it plain"
            ),
        ),
        _ => return Some(()),
    };
    context.diagnostics.error_with_help(ty, &message, &help);
    None
}

/// Whether a backward function is the own one of an input.
pub(super) fn is_alone(source: Source, covers: &[usize], context: &Context<'_>) -> bool {
    let Source::Input(index) = source else {
        return false;
    };
    let tensor = context.forward.inputs[index].tensor.as_ref();
    tensor
        .and_then(|tensor| tensor.edge)
        .is_some_and(|edge| covers == [edge])
}

/// An intermediate is asked for as an array: as a tensor it would look like a constant, and its share
/// of the second derivative would be lost.
///
/// ```text
/// #[forward(saves(rstd))]
/// fn backward(grad_output: &Tensor1<f32>, rstd: &Tensor1<f32>) -> Tensor1<f32>
/// //                                            ^^^^^^^^^^^^^ `rstd` is saved by forward, …
/// ```
fn is_no_intermediate_tensor(source: Source, form: Form, ty: &Type, context: &mut Context<'_>) {
    let Source::Returned(index) = source else {
        return;
    };
    let returned = &context.forward.returned[index];
    if returned.role == Role::Intermediate && form.is_tensor() {
        let name = &returned.name;
        let message =
            format!("`{name}` is an intermediate: as a `&Tensor` its derivative would be lost");
        let on_arrays = match (&context.definition.short, &returned.tensor) {
            (None, Some(tensor)) => {
                let view = agreement::spell(Form::View, &tensor.content);
                format!("write the function on arrays (`{view}`)")
            }
            _ => "remove `higher_order`".to_owned(),
        };
        let help = format!(
            "compute it anew from inputs and outputs, make it an output, or {on_arrays} and be once \
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
/// //                                                ^^^ `factor` is `f64` in forward, and `f32` here
/// fn forward(x: ArrayView1<f32>, weight: &Array1<f32>) -> Array1<f32>
/// fn backward(grad_output: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32>
/// //                                                ^^^^^^^^^^^^^^^ `weight` is a value, and cannot be …
/// ```
fn value(sourced: Sourced<'_>, ty: &Type, context: &mut Context<'_>) -> Option<()> {
    let name = sourced.name;
    let (given, asked) = (Passing::of(sourced.ty), Passing::of(ty));
    let (given, asked) = (given.target(), asked.target());
    let spelled = show(given);
    let is_exclusive =
        matches!(peel(sourced.ty), Type::Reference(reference) if reference.mutability.is_some());
    let is_view = |ty| types::array(ty).is_some_and(|array| array.form != Form::Owned);
    let (message, help) = if is_exclusive || borrows(given) {
        (
            format!("`{name}` is borrowed in forward and cannot be kept for backward"),
            format!(
                "take what owns its contents, or a `&` of it, in place of `{}`",
                show(sourced.ty)
            ),
        )
    } else if is_view(ty) || option_of(ty).is_some_and(is_view) {
        (
            format!(
                "`{name}` is a value, and cannot be asked for as `{}`",
                show(ty)
            ),
            match inputs::as_tensor(name, sourced.ty, context.floats) {
                Some(help) => format!("{help} and asked for as such"),
                None => format!("write `&{spelled}`"),
            },
        )
    } else if !same(given, asked) && is_primitive(given) && is_primitive(asked) {
        (
            format!(
                "`{name}` is `{spelled}` in forward, and `{}` here",
                show(asked)
            ),
            format!("write `{spelled}`"),
        )
    } else {
        arrays_agree(name, given, asked, context);
        return Some(());
    };
    context.diagnostics.error_with_help(ty, &message, &help);
    None
}

/// A value that is an array has one rank and element type too.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, indices: &Array1<usize>) -> Array1<f32>
/// fn backward(grad_output: ArrayView1<f32>, indices: &Array1<i32>) -> Array1<f32>
/// //                                                  ^^^^^^^^^^^ `indices` has elements `usize` in forward, …
/// ```
fn arrays_agree(name: &Ident, given: &Type, asked: &Type, context: &mut Context<'_>) {
    if let (Some(given), Some(found)) = (types::array(given), types::array(asked)) {
        is_as_declared(name, &given, "in forward", (&found, asked), context);
    }
}
