//! Rules for the operators in a gradient that is an expression: tensors are views there, and values are references.

use syn::visit::{self, Visit};
use syn::{
    BinOp, Expr, ExprAsync, ExprBinary, ExprClosure, ExprTry, ExprUnary, Ident, Item, Lit, Token,
    UnOp,
};

use super::context::Context;
use super::expressions::peel;
use crate::model::{Source, Wants};
use crate::show::show;
use crate::types::{Kind, is_float, is_primitive, option_of};

/// Checks that nothing is returned, and the operators outside of closures and blocks, up to the first mistake.
pub(super) fn check(expression: &Expr, context: &mut Context<'_>) {
    let mut returned = Returned(None);
    returned.visit_expr(expression);
    if let Some(question) = returned.0 {
        let message = "`?` returns an error, which a gradient in this form cannot";
        let help = "write an `impl` block, whose backward functions may return a `Result`";
        return context.diagnostics.error_with_help(question, message, help);
    }
    let free = context.definition.kind.free();
    // With `higher_order`, tensors have other operators.
    if free.is_some_and(|free| !free.higher_order) {
        operators(expression, context);
    }
}

/// The first `?`, outside of functions of its own.
///
/// ```text
/// #[custom_function(grad(x) = solved(grad_output)?)]
/// //                                             ^ `?` returns an error
/// ```
struct Returned<'a>(Option<&'a Token![?]>);

impl<'a> Visit<'a> for Returned<'a> {
    fn visit_expr_try(&mut self, question: &'a ExprTry) {
        visit::visit_expr_try(self, question);
        self.0.get_or_insert(&question.question_token);
    }

    fn visit_expr_closure(&mut self, _: &'a ExprClosure) {}

    fn visit_expr_async(&mut self, _: &'a ExprAsync) {}

    fn visit_item(&mut self, _: &'a Item) {}
}

/// Returns a tensor that is an operand by reference, as arrays are: `&grad_output * 2.0`.
pub(super) fn referenced<'a>(
    expression: &'a Expr,
    is_tensor: &dyn Fn(&Ident) -> bool,
) -> Option<&'a Ident> {
    struct Referenced<'a, 'f>(Option<&'a Ident>, &'f dyn Fn(&Ident) -> bool);

    impl<'a> Visit<'a> for Referenced<'a, '_> {
        fn visit_expr_binary(&mut self, binary: &'a ExprBinary) {
            visit::visit_expr_binary(self, binary);
            if !is_arithmetic(&binary.op) {
                return;
            }
            for operand in [&binary.left, &binary.right] {
                if let Expr::Reference(reference) = peel(operand)
                    && let Some(tensor) = name(&reference.expr)
                    && (self.1)(tensor)
                {
                    self.0.get_or_insert(tensor);
                }
            }
        }
    }

    let mut referenced = Referenced(None, is_tensor);
    referenced.visit_expr(expression);
    referenced.0
}

/// Returns whether there is no mistake.
fn operators(expression: &Expr, context: &mut Context<'_>) -> bool {
    match peel(expression) {
        Expr::Binary(binary) if is_arithmetic(&binary.op) => {
            let (left, right) = (peel(&binary.left), peel(&binary.right));
            // An array that the left side computes takes a view on the right.
            let is_owned = !matches!(left, Expr::Reference(_) | Expr::Lit(_) | Expr::Path(_));
            operators(left, context)
                && operators(right, context)
                && is_no_view(left, context)
                && (is_owned || is_no_view(right, context))
                && operand(left, right, context)
                && operand(right, left, context)
        }
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => operators(expr, context) && is_no_view(peel(expr), context),
        Expr::Reference(reference) => operators(&reference.expr, context),
        Expr::MethodCall(call) => operators(&call.receiver, context),
        _ => true,
    }
}

/// Beside an array, there are no references, integers and options.
///
/// ```text
/// #[custom_function(grad(x) = &grad_output * scale)]
/// //                                         ^^^^^ `scale` is a reference
/// #[custom_function(grad(x) = &grad_output * &x * 2)]
/// //                                              ^ `2` is an integer
/// #[custom_function(grad(x) = &grad_output * *scale)]
/// fn f(x: ArrayView1<f64>, scale: Option<f64>) -> Array1<f64>
/// //                       ^^^^^ `scale` is an `Option<f64>`
/// #[custom_function(grad(x) = &grad_output * &gain)]
/// fn f(x: ArrayView1<f64>, gain: Option<ArrayView1<f64>>) -> Array1<f64>
/// //                       ^^^^ `gain` may be missing
/// ```
fn operand(operand: &Expr, other: &Expr, context: &mut Context<'_>) -> bool {
    if !is_an_array(other, context) {
        return true;
    }
    let mistake = of_a_literal(operand, context).or_else(|| of_a_value(operand, context));
    let Some((message, help)) = mistake else {
        return true;
    };
    context
        .diagnostics
        .error_with_help(operand, &message, &help);
    false
}

/// A view is an operand by reference.
///
/// ```text
/// #[custom_function(grad(x) = grad_output * &x * 2.0)]
/// //                          ^^^^^^^^^^^ `grad_output` is a view, which operators take by reference
/// ```
fn is_no_view(operand: &Expr, context: &mut Context<'_>) -> bool {
    let Some(name) = name(operand).filter(|name| is_a_view(name, context)) else {
        return true;
    };
    let message = format!("`{name}` is a view, which operators take by reference");
    let help = format!("write `&{name}`");
    context.diagnostics.error_with_help(name, &message, &help);
    false
}

fn of_a_literal(operand: &Expr, context: &Context<'_>) -> Option<(String, String)> {
    let Expr::Lit(literal) = operand else {
        return None;
    };
    let Lit::Int(number) = &literal.lit else {
        return None;
    };
    // Elements of a type parameter are not `f64`.
    if context.definition.generics.type_params().next().is_some() || !number.suffix().is_empty() {
        return None;
    }
    let message = format!("`{number}` is an integer, and the elements are floats");
    Some((message, format!("write `{number}.0`")))
}

fn of_a_value(operand: &Expr, context: &Context<'_>) -> Option<(String, String)> {
    let (name, is_read) = match operand {
        Expr::Unary(ExprUnary {
            op: UnOp::Deref(_),
            expr,
            ..
        }) => (name(peel(expr))?, true),
        Expr::Reference(reference) => (name(&reference.expr)?, true),
        operand => (name(operand)?, false),
    };
    let Wants::Saved(source) = context.forward.wanted(name, false)? else {
        return None;
    };
    if let Source::Axis(_) = source {
        let message = format!("`{name}` is a length, and the elements are floats");
        return (!is_read).then(|| (message, format!("write `{name} as f64`")));
    }
    let value = context.forward.source(source);
    if value.tensor.is_some() {
        let message = format!("`{name}` may be missing, and an `Option` has no operators");
        let help = format!("write `match &{name} {{ Some({name}) => …, None => … }}`");
        return (value.kind == Kind::Optional).then_some((message, help));
    }
    let ty = show(value.ty);
    if option_of(value.ty).is_some_and(is_primitive) {
        let message = format!("`{name}` is an `{ty}`, which has no operators");
        return Some((message, format!("write `{name}.unwrap_or(…)`")));
    }
    if !is_primitive(value.ty) || ty == "bool" || ty == "char" {
        return None;
    }
    if !is_float(value.ty) {
        let message = format!("`{name}` is of type `{ty}`, and the elements are floats");
        return Some((message, format!("write `*{name} as f64`")));
    }
    let message = format!("`{name}` is a reference here, as values are in gradients");
    (!is_read).then(|| (message, format!("write `*{name}`")))
}

/// Returns whether this is an array or a view, as far as it shows.
fn is_an_array(expression: &Expr, context: &Context<'_>) -> bool {
    match peel(expression) {
        Expr::Binary(binary) if is_arithmetic(&binary.op) => {
            is_an_array(&binary.left, context) || is_an_array(&binary.right, context)
        }
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => is_an_array(expr, context),
        Expr::Reference(reference) => is_an_array(&reference.expr, context),
        Expr::MethodCall(call) => {
            call.method == "mapv"
                || call.method == "to_owned" && is_an_array(&call.receiver, context)
        }
        other => name(other).is_some_and(|name| is_a_view(name, context)),
    }
}

/// Returns whether a name is that of a tensor that is always there.
fn is_a_view(name: &Ident, context: &Context<'_>) -> bool {
    let forward = context.forward;
    match forward.wanted(name, false) {
        Some(Wants::Gradient(output)) => {
            forward.differentiable_outputs()[output].0.kind == Kind::Single
        }
        Some(Wants::Saved(Source::Axis(_))) | None => false,
        Some(Wants::Saved(source)) => {
            let saved = forward.source(source);
            saved.tensor.is_some() && saved.kind == Kind::Single
        }
        Some(_) => false,
    }
}

fn name(expression: &Expr) -> Option<&Ident> {
    match peel(expression) {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

fn is_arithmetic(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_)
    )
}
