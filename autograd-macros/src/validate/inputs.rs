//! Rules for the parameters of forward.

use syn::ext::IdentExt as _;
use syn::{FnArg, Generics, Ident, Pat, PatType, Signature, Type, parse_quote};

use super::parameters::{as_tensor, is_opaque, named, on_parameter, twice};
use super::{agreement, lifetimes, lookalikes, parameters, scan};
use crate::diagnostics::Diagnostics;
use crate::lists::Lists as _;
use crate::model::{Definition, Input, InputShape, NeedsInputGrad, TensorInput};
use crate::show::show;
use crate::types::{
    Floats, Form, Kind, TensorType, alias, bounds_of, is_primitive, list_of, option_of, peel,
    pointed_at, vec_of,
};

/// The result of reading forward's parameters.
pub(super) struct ReadInputs {
    pub(super) inputs: Vec<Input>,
    pub(super) needs_input_grad: Option<NeedsInputGrad>,
}

/// Reads the parameters of forward; `None` if `apply` could not have the same ones.
pub(super) fn read(
    sig: &Signature,
    definition: &Definition,
    floats: &Floats,
    diagnostics: &mut Diagnostics,
) -> Option<ReadInputs> {
    if !are_named_once(sig, diagnostics) {
        return None;
    }
    let (mut inputs, mut edges) = (Some(Vec::new()), 0);
    let mut needs_input_grad = None;
    let mistakes = diagnostics.len();
    for argument in &sig.inputs {
        if let FnArg::Typed(parameter) = argument
            && matches!(&*parameter.pat, Pat::Ident(name) if name.ident == "needs_input_grad")
        {
            let ty = (*parameter.ty).clone();
            parameters::needs_input_grad(&ty, definition, diagnostics);
            let place = inputs.as_ref().map_or(0, Vec::len);
            needs_input_grad = Some(NeedsInputGrad { place, ty });
            continue;
        }
        let input = match argument {
            FnArg::Typed(parameter) => input(parameter, definition, floats, diagnostics),
            FnArg::Receiver(_) => None,
        };
        let Some(mut input) = input else {
            inputs = None;
            continue;
        };
        if let Some(edge) = input
            .tensor
            .as_mut()
            .and_then(|tensor| tensor.edge.as_mut())
        {
            *edge = edges;
            edges += 1;
        }
        if let Some(inputs) = &mut inputs {
            inputs.push(input);
        }
    }
    // Where a parameter has a mistake, it may have been meant to be the tensor.
    if let (0, Some(inputs)) = (edges, &inputs)
        && diagnostics.len() == mistakes
    {
        something_is_differentiable(sig, inputs, floats, diagnostics);
    }
    let inputs = inputs?;
    Some(ReadInputs {
        inputs,
        needs_input_grad,
    })
}

/// Each parameter must have a name of its own.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32>
/// //                             ^ `x` is an input already
/// ```
fn are_named_once(sig: &Signature, diagnostics: &mut Diagnostics) -> bool {
    let Some(name) = twice(sig) else {
        return true;
    };
    let message = format!("`{name}` is an input already; give this input another name");
    diagnostics.error(name, message);
    diagnostics.is_unreadable = true;
    false
}

/// Forward has no context parameter: what backward functions need is saved by name.
///
/// ```text
/// fn forward(ctx: &mut Context, x: ArrayView1<f64>) -> Array1<f64>
/// //         ^^^ there is no `ctx`
/// ```
fn there_is_no_ctx(parameter: &PatType, diagnostics: &mut Diagnostics) {
    let help = "remove it: backward functions ask by name for inputs, outputs and what `saves(…)` names, and that is saved; a value of yours needs another name";
    diagnostics.error_with_help(&parameter.pat, "there is no `ctx`", help);
    diagnostics.is_unreadable = true;
}

fn input(
    parameter: &PatType,
    definition: &Definition,
    floats: &Floats,
    diagnostics: &mut Diagnostics,
) -> Option<Input> {
    let name = named(parameter, diagnostics);
    let ty = (*parameter.ty).clone();
    if name.as_ref().is_some_and(|name| name == "ctx") {
        there_is_no_ctx(parameter, diagnostics);
        return None;
    }
    let is_known = names_its_type(&ty, floats, diagnostics);
    let is_marked = on_parameter(&parameter.attrs, "tensor", diagnostics);
    let exempt = on_parameter(&parameter.attrs, "non_differentiable", diagnostics);
    is_of_a_formula(&parameter.attrs, definition, diagnostics);
    let is_readable = lookalikes::is_readable(&ty, floats, diagnostics);
    let mistakes = diagnostics.len();
    let mut tensor = match floats.taken(&ty) {
        None if is_marked.is_some() => could_be_tensor(&ty, diagnostics),
        None if is_readable => {
            hides_no_tensor(&ty, &definition.generics, floats, diagnostics);
            None
        }
        tensor => tensor,
    };
    let is_doubtful = diagnostics.len() > mistakes;
    if let (None, Some(exempt)) = (&tensor, exempt.filter(|_| !is_doubtful)) {
        is_worth_exempting(exempt, name.as_ref(), diagnostics);
    }
    diagnostics.is_doubtful |= is_doubtful;
    if let Some((tensor, kind)) = &mut tensor {
        is_not_optional(tensor, *kind, &ty, diagnostics);
        is_borrowed(tensor, &ty, diagnostics);
        if !lifetimes::are_short(&ty, &definition.generics, diagnostics) {
            // Callers would have to give tensors of that lifetime.
            tensor.lifetime = None;
        }
    }
    let name = name.filter(|_| is_known && is_readable)?;
    let tensor = tensor.map(|(ty, kind)| TensorInput {
        ty,
        kind,
        edge: exempt.is_none().then_some(0),
        shape: InputShape {
            name: Ident::new(&format!("shape_{}", name.unraw()), name.span()),
            ty: parse_quote!(&[usize]),
        },
    });
    Some(Input {
        name,
        shown: show(&ty),
        ty,
        tensor,
    })
}

/// The types of parameters must be written out, for `apply` repeats them.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, f: impl Fn(f32) -> f32) -> Array1<f32>
/// //                                ^^^^^^^^^^^^^^^^^^^ a parameter of forward cannot be `impl Trait`
/// fn forward(parts: impl Iterator<Item = ArrayView1<f32>>) -> Array1<f32>
/// //                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a tensor inside `impl Iterator<…>` would get no gradient
/// ```
fn names_its_type(ty: &Type, floats: &Floats, diagnostics: &mut Diagnostics) -> bool {
    if !is_opaque(ty) {
        return true;
    }
    if let Type::ImplTrait(opaque) = peel(ty)
        && let Some(hidden) = floats.tensor_of_bounds(opaque.bounds.iter())
    {
        is_inside(ty, &as_a_list(&hidden), diagnostics);
        return false;
    }
    let message = "a parameter of forward cannot be `impl Trait`";
    let help = "name the type with a type parameter: `<F: Fn(f64) -> f64>`";
    diagnostics.error_with_help(ty, message, help);
    false
}

/// A tensor must be a parameter, or one of a list of views: inside anything else it would get no
/// gradient.
///
/// ```text
/// fn forward(pair: (ArrayView1<f32>, ArrayView1<f32>)) -> Array1<f32>
/// //               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a tensor inside `(…)` would get no gradient
/// fn forward(parts: Vec<ArrayView1<f32>>) -> Array1<f32>
/// //                ^^^^^^^^^^^^^^^^^^^^ a tensor inside `Vec<…>` would get no gradient
/// fn forward(x: &ArrayView1<f32>) -> Array1<f32>
/// //            ^^^^^^^^^^^^^^^^ a tensor inside `&…` would get no gradient
/// struct Weights { input: Tensor2<f32>, hidden: Tensor2<f32> }
/// fn forward(x: ArrayView1<f32>, weights: &Weights) -> Array1<f32>
/// //                                      ^^^^^^^^ the tensors of `Weights` would get no gradients
/// impl<P: Iterator<Item = ArrayView1<'static, f32>>> Sum<P> { fn forward(x: ArrayView1<f32>, parts: P) -> Array1<f32> … }
/// //                                                                                                ^ a tensor inside `P` would get no gradient
/// ```
fn hides_no_tensor(ty: &Type, generics: &Generics, floats: &Floats, diagnostics: &mut Diagnostics) {
    if let Type::Path(path) = peel(ty)
        && let Some(param) = path.path.get_ident()
        && let Some(hidden) = floats.tensor_of_bounds(bounds_of(generics, param))
    {
        is_inside(ty, &as_a_list(&hidden), diagnostics);
        return;
    }
    if let Some(other) = floats.other_tensor(ty) {
        let message = format!("`{other}` is a tensor, and would get no gradient as a value");
        let help = "write a view, as `ArrayView1<f64>`, or `&Tensor1<f64>`: callers give `&` of a tensor or parameter";
        diagnostics.error_with_help(ty, &message, help);
        return;
    }
    if let Some(holder) = floats.holder(ty) {
        let message = format!("the tensors of `{holder}` would get no gradients");
        diagnostics.error_with_help(ty, &message, "write one parameter for each tensor");
        return;
    }
    let is_exclusive =
        matches!(peel(ty), Type::Reference(reference) if reference.mutability.is_some());
    // An owned float array inside a value is data, unless forward is to write to it: it has left its
    // graph where it was copied.
    let is_tensor = |form| is_exclusive || form != Form::Owned;
    let Some(hidden) = floats.hidden_tensor(ty, is_tensor) else {
        return;
    };
    if let Type::Reference(to) = peel(ty)
        && is_exclusive
        && crate::types::array(&to.elem).is_some()
    {
        is_written_to(ty, &hidden, diagnostics);
        return;
    }
    let help = in_place_of(ty, is_exclusive, &hidden);
    is_inside(ty, &help, diagnostics);
}

/// Returns what to write in place of a type that hides a tensor.
fn in_place_of(ty: &Type, is_exclusive: bool, hidden: &TensorType) -> String {
    let is_array = |ty: &Type| crate::types::array(ty).is_some();
    let spell = |form| agreement::spell(form, &hidden.content);
    match peel(ty) {
        Type::Reference(to) if option_of(&to.elem).is_some_and(is_array) => {
            format!("write `{}`", show(&to.elem))
        }
        _ if is_exclusive || hidden.form == Form::ViewMut => format!(
            "write one parameter for each tensor; `{}` is one to write to",
            spell(Form::ViewMut)
        ),
        Type::Tuple(_) => "write one parameter for each tensor".to_owned(),
        _ if option_of(ty).is_some_and(is_borrowed_array) => {
            format!("write `Option<{}>`", spell(Form::View))
        }
        Type::Reference(to) if is_array(&to.elem) => format!("write `{}`", show(&to.elem)),
        _ if pointed_at(ty).is_some_and(is_array) => format!("write `{}`", spell(Form::View)),
        _ => as_a_list(hidden),
    }
}

/// A tensor that forward writes to must be a view.
///
/// ```text
/// fn forward(x: &mut Array1<f32>)
/// //            ^^^^^^^^^^^^^^^^ a tensor that forward writes to is `ArrayViewMut1<f32>`
/// ```
fn is_written_to(ty: &Type, hidden: &TensorType, diagnostics: &mut Diagnostics) {
    let [written, read] =
        [Form::ViewMut, Form::View].map(|form| agreement::spell(form, &hidden.content));
    let message = format!(
        "a tensor that forward writes to is `{written}`, found `{}`",
        show(ty)
    );
    let help = format!("write `{written}`, or `{read}` to read it");
    diagnostics.error_with_help(ty, &message, &help);
}

fn as_a_list(tensor: &TensorType) -> String {
    format!(
        "write a list, `&[{}]`, or one parameter for each tensor",
        agreement::spell(Form::View, &tensor.content)
    )
}

fn is_inside(ty: &Type, help: &str, diagnostics: &mut Diagnostics) {
    let message = format!("a tensor inside `{}` would get no gradient", show(ty));
    diagnostics.error_with_help(ty, &message, help);
}

fn is_borrowed_array(ty: &Type) -> bool {
    matches!(peel(ty), Type::Reference(to) if crate::types::array(&to.elem).is_some())
}

/// `#[tensor]` must be on a type that can be one.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, #[tensor] factor: f32) -> Array1<f32>
/// //                                               ^^^ `f32` is not a tensor
/// fn forward(#[tensor] parts: Vec<Rows<'_>>) -> Array1<f32>
/// //                          ^^^^^^^^^^^^^ a tensor inside `Vec<…>` would get no gradient
/// ```
fn could_be_tensor(ty: &Type, diagnostics: &mut Diagnostics) -> Option<(TensorType, Kind)> {
    let (target, kind) = match (option_of(ty), list_of(ty)) {
        (Some(inner), _) => (inner, Kind::Optional),
        (_, Some(element)) => (element, Kind::List),
        _ => (ty, Kind::Single),
    };
    if is_primitive(target) || crate::types::array(target).is_some() {
        let message = format!("`{}` is not a tensor of `f32` or `f64`", show(ty));
        diagnostics.error_with_help(ty, &message, "remove `#[tensor]`");
        return None;
    }
    if let Some(one) = vec_of(target) {
        is_inside(
            ty,
            &format!("write a list, `&[{}]`", show(one)),
            diagnostics,
        );
        return None;
    }
    Some((alias(target), kind))
}

/// `#[each]` is for elementwise functions, `#[row]` and `#[column]` are for those of pairs.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, #[each] labels: &[i64]) -> Array1<f32>
/// //                               ^^^^ `#[each]` is for the values of elementwise functions
/// ```
fn is_of_a_formula(
    attributes: &[syn::Attribute],
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) {
    let formula = definition.kind.elementwise();
    let is_scan = formula.is_some_and(|formula| formula.scan.is_some());
    let is_of_pairs = formula.is_some_and(|formula| formula.pairs.is_some());
    if !is_scan {
        scan::is_of_a_scan(attributes, diagnostics);
    }
    let each = on_parameter(attributes, "each", diagnostics);
    if let Some(each) = each.filter(|_| formula.is_none()) {
        let message = "`#[each]` is for the values of elementwise functions; remove the attribute";
        diagnostics.error(each.path(), message);
    }
    for word in ["row", "column"] {
        let side = on_parameter(attributes, word, diagnostics);
        if let Some(side) = side.filter(|_| !is_of_pairs && !is_scan) {
            let message = format!("`#[{word}]` is for functions of pairs");
            let help = "remove it, or write `#[custom_function(pairs)]`";
            diagnostics.error_with_help(side.path(), &message, help);
        }
    }
}

/// `#[non_differentiable]` must exempt something that would have a gradient.
///
/// ```text
/// fn forward(x: ArrayView1<f32>, #[non_differentiable] axis: usize) -> Array1<f32>
/// //                               ^^^^^^^^^^^^^^^^^^ `axis` is a value and has no gradient anyway
/// ```
fn is_worth_exempting(
    exempt: &syn::Attribute,
    name: Option<&Ident>,
    diagnostics: &mut Diagnostics,
) {
    let name = name.map_or_else(|| "this".to_owned(), |name| format!("`{name}`"));
    let message = format!("{name} is a value and has no gradient anyway; remove the attribute");
    diagnostics.error(exempt.path(), message);
}

/// A tensor that is written to cannot be optional.
///
/// ```text
/// fn forward(x: Option<ArrayViewMut1<f32>>, y: ArrayView1<f32>) -> Array1<f32>
/// //            ^^^^^^^^^^^^^^^^^^^^^^^^^^ a tensor that is written to cannot be optional
/// ```
fn is_not_optional(tensor: &mut TensorType, kind: Kind, ty: &Type, diagnostics: &mut Diagnostics) {
    if tensor.form == Form::ViewMut && kind == Kind::Optional {
        let message = "a tensor that is written to cannot be optional";
        let help = format!(
            "write `{}`",
            agreement::spell(Form::ViewMut, &tensor.content)
        );
        diagnostics.error_with_help(ty, message, &help);
        // The rules for what is written to would only repeat it.
        tensor.form = Form::View;
        diagnostics.is_doubtful = true;
    }
}

/// A tensor must be taken by reference.
///
/// ```text
/// fn forward(x: Tensor1<f32>) -> Array1<f32>
/// //            ^^^^^^^^^^^^ forward must take a tensor by reference, but `Tensor1<f32>` is owned
/// ```
fn is_borrowed(tensor: &TensorType, ty: &Type, diagnostics: &mut Diagnostics) {
    if tensor.form == Form::Tensor {
        let message = format!(
            "forward must take a tensor by reference, but `{}` is owned",
            show(ty)
        );
        let help = format!(
            "write `{}`",
            agreement::spell(Form::TensorRef, &tensor.content)
        );
        diagnostics.error_with_help(ty, &message, &help);
    }
}

/// Some input must be differentiable.
///
/// ```text
/// fn forward(count: usize) -> Array1<f32>
/// // ^^^^^^^ `forward` takes no tensor that could have a gradient
/// fn forward(x: &Array1<f32>) -> Array1<f32>
/// // ^^^^^^^ `forward` takes no tensor that could have a gradient
/// ```
fn something_is_differentiable(
    sig: &Signature,
    inputs: &[Input],
    floats: &Floats,
    diagnostics: &mut Diagnostics,
) {
    if !inputs.is_empty() && inputs.iter().all(|input| input.tensor.is_some()) {
        let message = "every tensor is `#[non_differentiable]`: there is nothing to differentiate";
        let help = "a plain function on arrays will do";
        diagnostics.error_with_help(&sig.ident, message, help);
        return;
    }
    let discrete = inputs
        .iter()
        .find_map(|input| lookalikes::discrete_element(&input.ty));
    if let Some(element) = discrete {
        let element = show(element);
        let message = format!("elements of type `{element}` have no gradients");
        diagnostics.once(
            &sig.ident,
            &message,
            "write a tensor with elements of `f32` or `f64`",
        );
        return;
    }
    let message = format!("`{}` takes no tensor that could have a gradient", sig.ident);
    let as_tensors: Vec<String> = inputs
        .iter()
        .filter_map(|input| as_tensor(&input.name, &input.ty, floats))
        .listed();
    let help = if as_tensors.is_empty() {
        "write a tensor as `ArrayView2<f32>`, `Array2<f32>` or `&Tensor2<f32>`, with `f32`, `f64` or a type \
         parameter; mark an alias of one with `#[tensor]`"
    } else {
        &as_tensors.join("; ")
    };
    diagnostics.error_with_help(&sig.ident, &message, help);
}
