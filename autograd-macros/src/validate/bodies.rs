//! Rules for the bodies of backward functions, and for gradients that are expressions: what their tokens show.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Expr, Ident};

use super::asked::{Asker, unknown};
use super::context::Context;
use crate::diagnostics::list;
use crate::model::{Parameter, Wants};
use crate::parse::Method;
use crate::types;
use crate::uses;

/// Checks the body of a function with these parameters.
pub(super) fn check(
    method: &Method,
    asker: &Asker<'_>,
    parameters: &[Parameter],
    context: &mut Context<'_>,
) {
    if parameters
        .iter()
        .any(|asked| asked.wants == Wants::NeedsInputGrad)
    {
        flags_have_names(&method.body, context);
    }
    if !asker.may_be_once() {
        tensors_have_their_methods(method, parameters, context);
    }
    if let (Some(expression), Asker::Backward { covers, .. }) = (&method.expression, asker)
        && covers.complete
    {
        is_owned(expression, context);
        computes_with_what_is_there(expression, context);
    }
}

/// A gradient is owned, and the names that it may use are borrowed.
///
/// ```text
/// #[custom_function(grad(x) = grad_output)]
/// //                          ^^^^^^^^^^^ a gradient is owned, but `grad_output` is borrowed
/// ```
fn is_owned(expression: &Expr, context: &mut Context<'_>) {
    let name = match expression {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    };
    let wanted = name.and_then(|name| Some((name, context.forward.wanted(name, false)?)));
    let Some((name, Wants::Gradient(_) | Wants::Saved(_))) = wanted else {
        return;
    };
    let free = context.definition.kind.free();
    let copy = if free.is_some_and(|free| free.higher_order) {
        "clone"
    } else {
        "to_owned"
    };
    let message = format!("a gradient is owned, but `{name}` is borrowed");
    let help = format!("write `{name}.{copy}()`");
    context
        .diagnostics
        .error_with_help(expression, &message, &help);
}

/// A gradient that is an expression computes with what it may ask for.
///
/// ```text
/// #[custom_function(grad(x) = &grad_output / norm)]
/// //                                         ^^^^ no forward input, output or saved value is named `norm`
/// fn normalized(x: ArrayView1<f32>) -> Array1<f32> { let norm = …; … }
/// ```
fn computes_with_what_is_there(expression: &Expr, context: &mut Context<'_>) {
    let strangers = uses::strangers(expression, &context.forward.known_names());
    // Where intermediates are taken for outputs, the others are their names.
    let gradient = strangers.iter().find(|name| *name == "grad_output");
    let reported = gradient.map_or(&strangers[..], std::slice::from_ref);
    for name in reported {
        unknown(name, false, false, context);
    }
    context.has_strangers |= !strangers.is_empty();
}

/// Tensors do not have the methods of arrays.
///
/// ```text
/// #[custom_function(higher_order, grad(x) = grad_output * x.mapv(f64::cos))]
/// //                                                        ^^^^ `mapv` is a method of arrays, but `x` is a `&Tensor`
/// ```
fn tensors_have_their_methods(
    method: &Method,
    parameters: &[Parameter],
    context: &mut Context<'_>,
) {
    let is_tensor = |name: &Ident| {
        let wants = context.forward.wanted(name, false);
        let mut asked = parameters.iter().filter(|asked| Some(asked.wants) == wants);
        asked.any(|asked| types::array(&asked.ty).is_some_and(|array| array.form.is_tensor()))
            && !uses::rebinds(&method.body, &name.to_string())
    };
    let is_short = method.expression.is_some();
    if let Some((tensor, called)) = call_of_an_array(&method.body, &is_tensor) {
        let message = format!("`{called}` is a method of arrays, but `{tensor}` is a `&Tensor`");
        let otherwise = if is_short {
            "remove `higher_order`"
        } else {
            "write the function on arrays"
        };
        let help = format!("write functions of tensors, such as `{tensor}.cos()`, or {otherwise}");
        context
            .diagnostics
            .error_with_help(&called, &message, &help);
    }
}

/// Returns a call of a method that only arrays have, `x.mapv(…)`, on a tensor.
fn call_of_an_array(
    body: &TokenStream,
    is_tensor: &dyn Fn(&Ident) -> bool,
) -> Option<(Ident, Ident)> {
    const OF_ARRAYS: [&str; 4] = ["mapv", "mapv_into", "mapv_inplace", "map_inplace"];
    let tokens: Vec<TokenTree> = body.clone().into_iter().collect();
    let called = |window: &[TokenTree]| match window {
        [
            TokenTree::Ident(name),
            TokenTree::Punct(dot),
            TokenTree::Ident(called),
        ] if dot.as_char() == '.'
            && OF_ARRAYS.iter().any(|method| called == method)
            && is_tensor(name) =>
        {
            Some((name.clone(), called.clone()))
        }
        _ => None,
    };
    let inside = |token: &TokenTree| match token {
        TokenTree::Group(group) => call_of_an_array(&group.stream(), is_tensor),
        _ => None,
    };
    tokens
        .windows(3)
        .find_map(called)
        .or_else(|| tokens.iter().find_map(inside))
}

/// The flags of the needed gradients are fields with the names of the inputs.
///
/// ```text
/// fn backward(…, needs_input_grad: MulNeedsInputGrad) -> … { if needs_input_grad[0] { … } }
/// //                                                            ^^^^^^^^^^^^^^^^ `needs_input_grad` has a field for each input
/// ```
fn flags_have_names(body: &TokenStream, context: &mut Context<'_>) {
    let tokens: Vec<TokenTree> = body.clone().into_iter().collect();
    let is_indexed = |pair: &&[TokenTree]| match pair {
        [TokenTree::Ident(word), TokenTree::Group(group)] => {
            word == "needs_input_grad" && group.delimiter() == Delimiter::Bracket
        }
        _ => false,
    };
    if let Some([word, _]) = tokens.windows(2).find(is_indexed) {
        let inputs = context.forward.differentiable().into_iter();
        let fields = inputs.map(|(input, _)| format!("needs_input_grad.{}", input.name));
        let message = "`needs_input_grad` has a field for each input";
        let help = format!("write {}", list(fields));
        context.diagnostics.error_with_help(word, message, &help);
        return;
    }
    for token in tokens {
        if let TokenTree::Group(group) = token {
            flags_have_names(&group.stream(), context);
        }
    }
}
