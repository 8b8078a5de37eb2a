//! Rules for which gradient comes from which function.

use syn::{Expr, ExprLit, Ident, Lit};

use super::context::Context;
use super::options::BackwardOptions;
use super::parameters::as_tensor;
use crate::diagnostics::{Diagnostics, count, did_you_mean, list, nearest};
use crate::lists::Lists as _;
use crate::parse::{Method, OPTIONS};
use crate::show::show;

/// The differentiable inputs whose gradients a backward function returns.
pub(super) struct Covers {
    pub(super) edges: Vec<usize>,
    /// Whether all names that it has are those that it was meant to have.
    pub(super) complete: bool,
}

/// Reads what each backward function covers; `is_whole` unless there are more, which could not be read.
pub(super) fn read(
    backwards: &[(&Method, BackwardOptions)],
    is_whole: bool,
    context: &mut Context<'_>,
) -> Vec<Covers> {
    let inputs = context.forward.differentiable();
    let place = |name: &Ident| inputs.iter().position(|(input, _)| input.name == *name);
    // What a wrong name may have been meant to be.
    let named = backwards.iter().flat_map(|(_, options)| &options.inputs);
    let named: Vec<usize> = named.filter_map(place).listed();
    let left = (0..inputs.len()).filter(|edge| !named.contains(edge));
    let mut left: Vec<usize> = left.listed();
    let mut is_known = is_whole;
    let mut owners: Vec<Option<usize>> = vec![None; inputs.len()];
    let names: Vec<&Ident> = backwards
        .iter()
        .map(|(method, _)| &method.sig.ident)
        .listed();
    let mut covers: Vec<Covers> = Vec::new();
    for (function, (method, options)) in backwards.iter().enumerate() {
        let number = options.inputs.len();
        let others = left.iter().map(|edge| &inputs[*edge].0.name);
        let candidates: Vec<&Ident> = options.inputs.iter().chain(others).listed();
        let is_doubtful = options.are_doubtful
            || method.expression.as_ref().is_some_and(|expression| {
                !gives_gradients(expression, number, &candidates, context.diagnostics)
            });
        is_known &= !is_doubtful;
        let named: Vec<(usize, &Ident)> = if options.inputs.is_empty() {
            // All of them, unless other arguments were meant.
            let all = if is_doubtful { 0 } else { inputs.len() };
            (0..all).map(|edge| (edge, &method.sig.ident)).listed()
        } else {
            let meant = |name| {
                let edge = place(name)
                    .or_else(|| differentiable_input(name, &mut left, &mut is_known, context))?;
                Some((edge, name))
            };
            options.inputs.iter().filter_map(meant).listed()
        };
        covers.push(Covers {
            complete: named.len() >= options.inputs.len() && !is_doubtful,
            edges: named.iter().map(|(edge, _)| *edge).listed(),
        });
        for (edge, on) in named {
            if let Some(owner) = owners[edge] {
                // Where one input has no gradient yet, one of the two is its.
                let missing = left.first().filter(|_| left.len() == 1);
                is_known &= missing.is_none() || options.inputs.is_empty();
                is_not_covered(
                    (edge, missing.copied()),
                    on,
                    [names[owner], names[function]],
                    context,
                );
                // One of the two names it by mistake, and then returns as many gradients as without it.
                covers[owner].complete = false;
                covers[function].complete = false;
            } else {
                owners[edge] = Some(function);
            }
        }
    }
    // What an unknown name covers is unknown, and what a function covers that is not whole.
    if is_known && !backwards.is_empty() {
        all_are_covered(&owners, context);
    }
    covers
}

/// `#[backward(…)]` must name differentiable inputs.
///
/// ```text
/// #[backward(wieght)]
/// //         ^^^^^^ forward has no input named `wieght`
/// #[backward(x, onec)]
/// //            ^^^^ forward has no input named `onec`
/// #[backward(constant)]
/// //         ^^^^^^^^ `constant` is a value and has no gradient
/// fn forward(x: &Array1<f32>, weight: ArrayView1<f32>) -> Array1<f32>
/// #[backward(x)]
/// //         ^ `x` is a value and has no gradient
/// ```
fn differentiable_input(
    name: &Ident,
    left: &mut Vec<usize>,
    is_known: &mut bool,
    context: &mut Context<'_>,
) -> Option<usize> {
    let differentiable = context.forward.differentiable();
    let spell = |edge: &usize| differentiable[*edge].0.name.to_string();
    let of_forward = context
        .forward
        .inputs
        .iter()
        .find(|input| input.name == *name);
    let mut suggestion = String::new();
    let mut meant = None;
    let message = match of_forward {
        Some(input) if input.tensor.is_none() => {
            if let Some(help) = as_tensor(name, &input.ty, context.floats) {
                suggestion = format!("{help}; ");
            }
            format!("`{name}` is a value and has no gradient")
        }
        Some(_) => format!("`{name}` is `#[non_differentiable]` and has no gradient"),
        None => {
            let candidates: Vec<String> = left.iter().map(spell).listed();
            let option = did_you_mean(&name.to_string(), &OPTIONS.map(str::to_owned));
            // Where one input has no gradient yet, this is its.
            let only = || (candidates.len() == 1 && option.is_empty()).then_some(0);
            meant = nearest(&name.to_string(), &candidates).or_else(only);
            *is_known &= meant.is_some() || !option.is_empty();
            suggestion = meant.map_or(option, |candidate| {
                format!("did you mean `{}`? ", candidates[candidate])
            });
            format!("forward has no input named `{name}`")
        }
    };
    let names = (0..differentiable.len()).map(|edge| spell(&edge));
    let help = format!("{suggestion}the differentiable inputs: {}", list(names));
    context.diagnostics.error_with_help(name, &message, &help);
    // Go on with what was probably meant, so that one slip is one error.
    meant.map(|candidate| left.remove(candidate))
}

/// An expression gives as many gradients as it names inputs: several in a tuple.
///
/// ```text
/// #[custom_function(grad(x) = (&grad_output * &w, &grad_output * &x))]
/// //                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 1 gradient is expected, but this is a tuple of 2
/// #[custom_function(grad(x, w) = [&grad_output * &w, &grad_output * &x])]
/// //                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ several gradients are a tuple
/// #[custom_function(grad(x) = |grad_output| &grad_output * 2.0)]
/// //                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a gradient is an expression, not a closure
/// ```
///
/// Returns whether that is so, as far as it shows.
pub(super) fn gives_gradients(
    expression: &Expr,
    number: usize,
    candidates: &[&Ident],
    diagnostics: &mut Diagnostics,
) -> bool {
    let named = &candidates[..number];
    let are_distinct = (1..number).all(|place| !named[..place].contains(&named[place]));
    let (message, help) = match expression {
        Expr::Tuple(tuple) if tuple.elems.len() != number => (
            format!(
                "{} expected, but this is a tuple of {}",
                count(number, "gradient"),
                tuple.elems.len()
            ),
            one_for_each(tuple.elems.len(), candidates),
        ),
        Expr::Array(_) if number > 1 => {
            let places = vec!["…"; number].join(", ");
            (
                "several gradients are a tuple, not an array".to_owned(),
                format!("write `({places})`"),
            )
        }
        Expr::Binary(_) | Expr::Unary(_) | Expr::Reference(_) if number > 1 && are_distinct => (
            format!("{} expected, but this is one", count(number, "gradient")),
            format!("write a tuple, `({})`", vec!["…"; number].join(", ")),
        ),
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => (
            "a gradient is an expression, without quotes".to_owned(),
            format!("write `{}`", text.value()),
        ),
        Expr::Closure(closure) => (
            "a gradient is an expression of the names that it may use, not a closure".to_owned(),
            format!("leave `|{}|` out", show(&closure.inputs)),
        ),
        _ => return true,
    };
    diagnostics.error_with_help(expression, &message, &help);
    false
}

/// Returns how gradients are given for some of these inputs.
fn one_for_each(gradients: usize, candidates: &[&Ident]) -> String {
    let names: Vec<String> = candidates.iter().map(ToString::to_string).listed();
    match names.get(..gradients) {
        Some(names) => format!(
            "name an input for each of them: `grad({}) = ({})`",
            names.join(", "),
            vec!["…"; gradients].join(", ")
        ),
        None => format!("the differentiable inputs: {}", list(names)),
    }
}

/// No gradient may be returned twice.
///
/// ```text
/// #[backward(input)]
/// fn grad_input(…) -> Array2<f32>
/// #[backward(input, weight)]
/// //         ^^^^^ `grad_input` returns the gradient of `input` already
/// ```
fn is_not_covered(
    (edge, missing): (usize, Option<usize>),
    on: &Ident,
    [owner, function]: [&Ident; 2],
    context: &mut Context<'_>,
) {
    let inputs = context.forward.differentiable();
    let input = &inputs[edge].0.name;
    let message = format!("`{owner}` returns the gradient of `{input}` already");
    let or = |remove: &str| match missing {
        Some(missing) => format!("did you mean `{}`?", inputs[missing].0.name),
        None => remove.to_owned(),
    };
    let one_of_two = or("remove one of the two");
    if on == function {
        let help = "a plain `#[backward]` returns the gradients of all inputs; \
                    name those that it returns: `#[backward(…)]`";
        context.diagnostics.error_with_help(on, &message, help);
    } else if context.definition.kind.free().is_some() {
        let message = format!("the gradient of `{input}` is given already; {one_of_two}");
        context.diagnostics.error(on, message);
    } else if owner == function {
        let message = format!("`{input}` is listed twice here; {}", or("remove one"));
        context.diagnostics.error(on, message);
    } else {
        context
            .diagnostics
            .error(on, format!("{message}; {one_of_two}"));
    }
}

/// No gradient may be missing.
///
/// ```text
/// fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32>
/// //                                 ^^^^^^ no backward function returns the gradient of `weight`
/// #[backward(input)]
/// fn grad_input(…) -> Array2<f32>
/// ```
fn all_are_covered(owners: &[Option<usize>], context: &mut Context<'_>) {
    for ((input, tensor), owner) in context.forward.differentiable().iter().zip(owners) {
        if owner.is_none() {
            let name = &input.name;
            let (message, write) = if context.definition.kind.free().is_some() {
                (
                    format!("no `grad({name})` gives the gradient of `{name}`"),
                    format!("write `grad({name}) = …`"),
                )
            } else {
                (
                    format!("no backward function returns the gradient of `{name}`"),
                    format!("write `#[backward({name})]` above a function that does"),
                )
            };
            let mut help =
                format!("{write}, or exempt the input: `#[non_differentiable] {name}: …`");
            if let Some(element) = context.forward.own_element(tensor) {
                let element = show(element);
                help = format!(
                    "{help}; `{element}` must be a float here: for indices, write `{name}: &Array1<{element}>`"
                );
            }
            context.diagnostics.error_with_help(name, &message, &help);
        }
    }
}
