//! Rules for `batch(…)`: the inputs that have a first axis for the examples in `apply_batch`.

use syn::{Ident, Type};

use super::options::Names;
use super::vmap;
use crate::diagnostics::{Diagnostics, did_you_mean, list};
use crate::lists::Lists as _;
use crate::model::{Batch, Definition, Forward, FunctionKind, Role, TensorInput};
use crate::parse::ImplBlock;
use crate::types::{Kind, is_primitive, peel};

/// Reads the inputs. Names that are wrong are left out, so that `apply_batch` is there in spite of them.
pub(super) fn read(
    argument: &Names,
    block: &ImplBlock,
    definition: &Definition,
    forward: &Forward,
    diagnostics: &mut Diagnostics,
) -> Option<Batch> {
    let keyword = &argument.keyword;
    is_not_elementwise(keyword, definition, diagnostics)?;
    is_not_written(block, diagnostics)?;
    let mut is_batched = vec![false; forward.inputs.len()];
    for name in &argument.names {
        let mut inputs = forward.inputs.iter();
        let index = inputs.position(|input| input.name == *name);
        match index.and_then(|index| Some((index, forward.inputs[index].tensor.as_ref()?))) {
            Some((index, tensor)) => {
                has_room_for_an_axis(name, tensor, diagnostics);
                is_batched[index] = true;
            }
            None => is_not_a_tensor(name, index, forward, diagnostics),
        }
    }
    examples_are_independent(keyword, forward, diagnostics);
    outputs_can_be_stacked(keyword, forward, diagnostics);
    Some(Batch { is_batched })
}

/// An elementwise function has no axes of its own.
///
/// ```text
/// #[custom_function(elementwise, batch(x))]
/// //                             ^^^^^ an elementwise function takes a batch as it is
/// ```
fn is_not_elementwise(
    keyword: &Ident,
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    match &definition.kind {
        FunctionKind::Block | FunctionKind::Short(_) => Some(()),
        FunctionKind::Elementwise(_, elementwise) if elementwise.pairs.is_some() => {
            let message = "a function of pairs has no batches";
            let help = "remove `batch`, and map it over the examples: `vmap(|x| …, Axis(0), &x)`";
            diagnostics.error_with_help(keyword, message, help);
            None
        }
        FunctionKind::Elementwise(free, formula) => {
            let message = match formula.scan {
                Some(_) => "a scan takes a batch as it is",
                None => "an elementwise function takes a batch as it is",
            };
            let help = format!(
                "remove `batch`: `{}` takes tensors with any axes, and stretches those of length 1",
                free.ident
            );
            diagnostics.error_with_help(keyword, message, &help);
            None
        }
    }
}

/// `apply_batch` must not be written by hand.
///
/// ```text
/// #[custom_function(batch(x))]
/// impl Scale { pub fn apply_batch(x: &Tensor2<f64>) -> Tensor2<f64> { … } … }
/// //                  ^^^^^^^^^^^ `apply_batch` is generated
/// ```
fn is_not_written(block: &ImplBlock, diagnostics: &mut Diagnostics) -> Option<()> {
    let mut methods = block.methods.iter();
    let Some(method) = methods.find(|method| method.sig.ident == "apply_batch") else {
        return Some(());
    };
    let message = "`apply_batch` is generated; give this function another name, or remove `batch`";
    diagnostics.error(&method.sig.ident, message);
    None
}

/// `batch(…)` must name tensors.
///
/// ```text
/// #[custom_function(batch(queries))]
/// //                      ^^^^^^^ forward has no input named `queries`
/// #[custom_function(batch(scale))]
/// //                      ^^^^^ `scale` is a value, which all examples share
/// fn forward(query: ArrayView2<f64>, scale: f64) -> Array2<f64>
/// ```
fn is_not_a_tensor(
    name: &Ident,
    value: Option<usize>,
    forward: &Forward,
    diagnostics: &mut Diagnostics,
) {
    let tensors = forward.inputs.iter().filter(|input| input.tensor.is_some());
    let tensors: Vec<String> = tensors.map(|input| input.name.to_string()).listed();
    let (message, suggestion) = if let Some(index) = value {
        let message = format!("`{name}` is a value, which all examples share");
        let suggestion = if is_primitive(&forward.inputs[index].ty) {
            format!(
                "leave it out; a number that differs between examples is a tensor, `#[non_differentiable] {name}: \
                 ArrayView0<f64>`; "
            )
        } else {
            "leave it out; ".to_owned()
        };
        (message, suggestion)
    } else {
        let message = format!("forward has no input named `{name}`");
        (message, did_you_mean(&name.to_string(), &tensors))
    };
    let help = format!("{suggestion}the tensors: {}", list(&tensors));
    diagnostics.error_with_help(name, &message, &help);
}

/// A tensor of the largest rank has no room for an axis.
///
/// ```text
/// #[custom_function(batch(x))]
/// //                      ^ `x` has the largest rank that there is
/// fn forward(x: ArrayView6<f64>) -> Array6<f64>
/// ```
fn has_room_for_an_axis(name: &Ident, tensor: &TensorInput, diagnostics: &mut Diagnostics) {
    if vmap::has_largest_rank(&tensor.ty) {
        let message =
            format!("`{name}` has the largest rank that there is, so a batch of it has none");
        diagnostics.error_with_help(name, &message, "take it as `ArrayViewD`");
    }
}

/// Examples run at the same time, so forward must not change what they share, nor write to its inputs.
///
/// ```text
/// #[custom_function(batch(x))]
/// //                ^^^^^ forward writes to `x`, which a batch cannot do
/// fn forward(x: ArrayViewMut1<f64>)
/// ```
fn examples_are_independent(keyword: &Ident, forward: &Forward, diagnostics: &mut Diagnostics) {
    for input in &forward.inputs {
        let is_mutable =
            matches!(peel(&input.ty), Type::Reference(reference) if reference.mutability.is_some());
        if input.is_in_place() {
            let message = format!(
                "forward writes to `{}`, which the examples of a batch cannot do",
                input.name
            );
            let help = "take it as a view, and return the result";
            diagnostics.error_with_help(keyword, &message, help);
        } else if is_mutable {
            let message = format!(
                "forward changes `{}`, which all examples of a batch would do at the same time",
                input.name
            );
            let help = "take it by value or by `&`, or a tensor with an example's share of it";
            diagnostics.error_with_help(keyword, &message, help);
        }
    }
}

/// Each example must have every output.
///
/// ```text
/// #[custom_function(batch(x))]
/// //                ^^^^^ `weights` may be missing, and a batch needs one for each example
/// #[forward(outputs(y, weights))]
/// fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Option<Array1<f64>>)
/// ```
fn outputs_can_be_stacked(keyword: &Ident, forward: &Forward, diagnostics: &mut Diagnostics) {
    for output in &forward.returned {
        let Some(tensor) = output
            .tensor
            .as_ref()
            .filter(|_| !matches!(output.role, Role::Intermediate | Role::Unknown { .. }))
        else {
            continue;
        };
        if output.kind == Kind::Optional {
            let message = format!(
                "the output `{}` may be missing, and a batch needs one for each example",
                output.name
            );
            let help = "return an array, or a list that is empty or has one";
            diagnostics.error_with_help(keyword, &message, help);
        } else if vmap::has_largest_rank(tensor) {
            let message = format!(
                "the output `{}` has the largest rank that there is, so a batch of it has none",
                output.name
            );
            diagnostics.error_with_help(keyword, &message, "return it as `ArrayD`");
        }
    }
}
