//! What the expressions in arguments are.

use syn::{Expr, ExprArray};

/// Returns the list of lengths that a shape is: `[3, 4]`.
pub(super) fn lengths(expression: &Expr) -> Option<&ExprArray> {
    match peel(expression) {
        Expr::Array(lengths) => Some(lengths),
        _ => None,
    }
}

/// Returns an expression without parentheses and the invisible groups that `macro_rules!` leaves.
pub(super) fn peel(expression: &Expr) -> &Expr {
    match expression {
        Expr::Group(group) => peel(&group.expr),
        Expr::Paren(paren) => peel(&paren.expr),
        expression => expression,
    }
}
