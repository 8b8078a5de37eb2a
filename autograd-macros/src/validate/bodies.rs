//! Rules for the bodies of backward functions, and for gradients that are expressions: what their tokens show.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Expr, Ident};

use super::asked::{Asker, unknown};
use super::context::Context;
use super::operands;
use crate::diagnostics::list;
use crate::lists::Lists as _;
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
        if let Asker::Backward { covers, .. } = asker {
            flags_are_of_their_gradients(&method.body, &covers.edges, context);
        }
    }
    if !asker.may_be_once() {
        tensors_have_their_methods(method, parameters, context);
    }
    if let (Some(expression), Asker::Backward { covers, .. }) = (&method.expression, asker)
        && covers.complete
    {
        is_owned(expression, context);
        operands::check(expression, context);
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
    let gradients = context.forward.gradient_names();
    let lacks_one = uses::names(expression, &gradients).is_empty();
    for name in reported {
        unknown(name, false, lacks_one && is_like_a_gradient(name), context);
    }
    context.has_strangers |= !strangers.is_empty();
}

/// Returns whether this is what an incoming gradient is called elsewhere: `dy`, `g`, `grads`.
fn is_like_a_gradient(name: &Ident) -> bool {
    const LETTERS: usize = 5;
    const WORDS: [&str; 6] = ["g", "gy", "ct", "cotangent", "upstream", "seed"];
    let name = name.to_string();
    let is_differential = name.starts_with('d') && name.len() <= LETTERS;
    is_differential || name.starts_with("grad") || WORDS.contains(&&*name)
}

/// Tensors do not have the methods of arrays, and are references already.
///
/// ```text
/// #[custom_function(higher_order, grad(x) = grad_output * x.mapv(f64::cos))]
/// //                                                        ^^^^ `mapv` is a method of arrays, but `x` is a `&Tensor`
/// #[custom_function(higher_order, grad(x) = &grad_output * x.cos())]
/// //                                         ^^^^^^^^^^^ `grad_output` is a `&Tensor` already
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
    // A function may take tensors by value.
    let expression = method.expression.as_ref();
    let referenced = expression.and_then(|expression| operands::referenced(expression, &is_tensor));
    if let Some(tensor) = referenced {
        let message = format!("`{tensor}` is a `&Tensor` already");
        let help = format!("write `{tensor}` without `&`");
        context.diagnostics.error_with_help(tensor, &message, &help);
    }
}

/// Returns a call of a method that only arrays have, `x.mapv(…)`, on a tensor.
fn call_of_an_array(
    body: &TokenStream,
    is_tensor: &dyn Fn(&Ident) -> bool,
) -> Option<(Ident, Ident)> {
    const OF_ARRAYS: [&str; 4] = ["mapv", "mapv_into", "mapv_inplace", "map_inplace"];
    let tokens: Vec<TokenTree> = body.clone().into_iter().listed();
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
    let tokens: Vec<TokenTree> = body.clone().into_iter().listed();
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

/// Whether a gradient is needed is the flag of its own input.
///
/// ```text
/// #[backward(x, w)]
/// fn backward(…, needs_input_grad: MulNeedsInputGrad) -> (Option<Array1<f64>>, Option<Array1<f64>>) {
///     (needs_input_grad.w.then(|| &grad_output * &w), needs_input_grad.x.then(|| &grad_output * &x))
/// //                    ^ this is the gradient of `x`, but asks whether that of `w` is needed
/// ```
fn flags_are_of_their_gradients(body: &TokenStream, edges: &[usize], context: &mut Context<'_>) {
    let forward = context.forward;
    let inputs = forward.differentiable();
    let covered: Vec<&Ident> = edges.iter().map(|edge| &inputs[*edge].0.name).listed();
    for (place, tokens) in gradients_in(body, covered.len()).into_iter().enumerate() {
        // By name, `x: needs_input_grad.x.then(…)`, or in their order.
        let (gradient, tokens) = match tokens.as_slice() {
            [TokenTree::Ident(name), TokenTree::Punct(colon), rest @ ..]
                if colon.as_char() == ':' =>
            {
                (name, rest)
            }
            all => (covered[place], all),
        };
        let flag = match tokens {
            [TokenTree::Ident(variable)] => flag_of_variable(body, variable),
            tokens => flag_of(tokens).cloned(),
        };
        let Some(flag) = flag else {
            continue;
        };
        let is_known = |name: &Ident| covered.contains(&name);
        if flag != *gradient
            && is_known(gradient)
            && inputs.iter().any(|(input, _)| input.name == flag)
        {
            let message = format!(
                "this is the gradient of `{gradient}`, but asks whether that of `{flag}` is needed"
            );
            let help = format!("write `needs_input_grad.{gradient}`");
            context.diagnostics.error_with_help(&flag, &message, &help);
            // Where two are exchanged, one of them says so.
            return;
        }
    }
}

/// Returns the gradients that a body ends in, if there are as many: those of a tuple, of a struct, and within `Ok`.
fn gradients_in(body: &TokenStream, number: usize) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = body.clone().into_iter().listed();
    if number == 1 {
        return vec![tokens];
    }
    let Some(TokenTree::Group(last)) = tokens.last() else {
        return Vec::new();
    };
    let inner: Vec<TokenTree> = last.stream().into_iter().listed();
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let mut gradients: Vec<Vec<TokenTree>> = inner.split(is_comma).map(<[_]>::to_vec).listed();
    // A comma may be the last token.
    if gradients.last().is_some_and(Vec::is_empty) {
        gradients.pop();
    }
    if gradients.len() == 1 {
        return gradients_in(&last.stream(), number);
    }
    if gradients.len() == number {
        gradients
    } else {
        Vec::new()
    }
}

/// Returns `x` of `let variable = needs_input_grad.x.then(…);`, of the only such statement.
fn flag_of_variable(body: &TokenStream, variable: &Ident) -> Option<Ident> {
    let tokens: Vec<TokenTree> = body.clone().into_iter().listed();
    let bindings = (0..tokens.len()).filter_map(|place| match &tokens[place..] {
        [TokenTree::Ident(key), TokenTree::Ident(name), rest @ ..]
            if key == "let" && name == variable =>
        {
            Some(rest)
        }
        _ => None,
    });
    let bindings: Vec<&[TokenTree]> = bindings.listed();
    match bindings.as_slice() {
        [[TokenTree::Punct(equals), value @ ..]] if equals.as_char() == '=' => {
            flag_of(value).cloned()
        }
        _ => None,
    }
}

/// Returns `x` of `needs_input_grad.x.then(…)` and `if needs_input_grad.x { … }`.
fn flag_of(tokens: &[TokenTree]) -> Option<&Ident> {
    let is_dot = |token: &TokenTree| matches!(token, TokenTree::Punct(dot) if dot.as_char() == '.');
    let rest = match tokens {
        [TokenTree::Ident(word), rest @ ..] if word == "if" => rest,
        all => all,
    };
    let [
        TokenTree::Ident(flags),
        dot,
        TokenTree::Ident(flag),
        next,
        then @ ..,
    ] = rest
    else {
        return None;
    };
    let decides = match next {
        TokenTree::Group(block) => block.delimiter() == Delimiter::Brace,
        next => {
            is_dot(next)
                && matches!(then.first(), Some(TokenTree::Ident(method)) if method == "then" || method == "then_some")
        }
    };
    (flags == "needs_input_grad" && is_dot(dot) && decides).then_some(flag)
}
