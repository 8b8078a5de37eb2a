//! Rules for what `gradcheck(…)` gives for one input.

use syn::{Expr, ExprArray, ExprLit, ExprRange, ExprUnary, Ident, Lit, UnOp};

use super::Reader;
use crate::diagnostics::count;
use crate::model::{Concrete, Input, Sample, Within};
use crate::show::show;
use crate::types::{Content, Rank, TensorType, is_primitive};

impl Reader<'_> {
    /// Reads what is given for an input.
    pub(super) fn given(&mut self, input: &Input, value: &Expr, within: Option<&Expr>) -> Sample {
        let shape = shape(value);
        match (&input.tensor, shape) {
            (Some(tensor), Some(list)) if tensor.list => {
                let shapes = self.list(input, &tensor.ty, list);
                Sample::Shapes(shapes, self.within(input, within))
            }
            (Some(tensor), Some(shape)) => {
                self.lengths_are_numbers(shape);
                self.has_the_rank(input, &tensor.ty, shape);
                Sample::Shape(shape.clone(), self.within(input, within))
            }
            (Some(_), None) => {
                self.is_a_shape(input, value);
                Sample::Value(value.clone())
            }
            (None, _) => {
                self.is_no_shape(input, shape);
                self.is_not_drawn(&input.name, within);
                Sample::Value(value.clone())
            }
        }
    }

    /// A range has two ends, the lower one first.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3] in 2.0))]
    /// //                                     ^^^ `x` is drawn from a range with two ends, and this is none
    /// #[custom_function(gradcheck(x = [3] in 1.0..-1.0))]
    /// //                                     ^^^^^^^^^ no number lies in this range
    /// ```
    fn within(&mut self, input: &Input, within: Option<&Expr>) -> Option<Within> {
        let (name, within) = (&input.name, within?);
        let help = format!(
            "write two numbers: `{name} = {} in -1.0..1.0`",
            example(input)
        );
        let Expr::Range(ExprRange {
            start: Some(low),
            end: Some(high),
            ..
        }) = peel(within)
        else {
            let message = format!("`{name}` is drawn from a range with two ends, and this is none");
            self.diagnostics.error_with_help(within, &message, &help);
            return None;
        };
        if let (Some(low), Some(high)) = (literal(low), literal(high))
            && low >= high
        {
            let message = "no number lies in this range";
            self.diagnostics.error_with_help(within, message, &help);
        }
        let (low, high) = (Expr::clone(low), Expr::clone(high));
        Some(Within { low, high })
    }

    /// What is given as it is has no range.
    ///
    /// ```text
    /// #[custom_function(gradcheck(x = [3], factor = 2.5 in 1.0..3.0))]
    /// //                                                   ^^^^^^^^ `factor` is no tensor
    /// ```
    pub(super) fn is_not_drawn(&mut self, name: &Ident, within: Option<&Expr>) {
        if let Some(within) = within {
            let message = format!("`{name}` is no tensor, and is not drawn from a range");
            let help = format!("write one expression for it: `{name} = …`");
            self.diagnostics.error_with_help(within, &message, &help);
        }
    }

    /// A list is given by a list of shapes.
    ///
    /// ```text
    /// #[custom_function(gradcheck(parts = [3]))]
    /// //                                   ^ `parts` is a list of tensors, and this is no shape
    /// ```
    fn list(&mut self, input: &Input, ty: &TensorType, list: &ExprArray) -> Vec<ExprArray> {
        if list.elems.is_empty() {
            let message = format!("a check of no tensors in `{}` finds nothing", input.name);
            let help = format!(
                "write a shape for each: `{} = {}`",
                input.name,
                example(input)
            );
            self.diagnostics.error_with_help(list, &message, &help);
        }
        let mut shapes = Vec::new();
        for element in &list.elems {
            if let Some(shape) = shape(element) {
                self.lengths_are_numbers(shape);
                self.has_the_rank(input, ty, shape);
                shapes.push(shape.clone());
            } else {
                let name = &input.name;
                let message = format!("`{name}` is a list of tensors, and this is no shape of one");
                let help = format!("write a shape for each: `{name} = {}`", example(input));
                self.diagnostics.error_with_help(element, &message, &help);
            }
        }
        shapes
    }

    /// A tensor is given by its shape.
    ///
    /// ```text
    /// #[custom_function(gradcheck(input = 2.5))]
    /// //                                  ^^^ `input` is a tensor, and this is no shape
    /// ```
    fn is_a_shape(&mut self, input: &Input, value: &Expr) {
        let name = &input.name;
        let message = format!("`{name}` is a tensor, and this is no shape");
        let shape = example(input);
        let help = format!(
            "write the lengths of its axes, and where its elements lie if that matters: `{name} = {shape}`, \
             `{name} = {shape} in -1.0..1.0`"
        );
        self.diagnostics.error_with_help(value, &message, &help);
    }

    /// A value is given as what it is.
    ///
    /// ```text
    /// #[custom_function(gradcheck(constant = [3]))]
    /// //                                     ^^^ `constant` is a value of type `f64`, and this is a shape
    /// ```
    fn is_no_shape(&mut self, input: &Input, shape: Option<&ExprArray>) {
        // An array is a value too, but no number.
        if let Some(shape) = shape.filter(|_| is_primitive(&input.ty)) {
            let (name, ty) = (&input.name, show(&input.ty));
            let message = format!("`{name}` is a value of type `{ty}`, and this is a shape");
            let help = format!("write an expression of that type: `{name} = …`");
            self.diagnostics.error_with_help(shape, &message, &help);
        }
    }

    /// Lengths are whole numbers.
    ///
    /// ```text
    /// #[custom_function(gradcheck(input = [3, 2.5]))]
    /// //                                      ^^^ a length is a whole number
    /// ```
    fn lengths_are_numbers(&mut self, shape: &ExprArray) {
        for length in &shape.elems {
            let is_number = match peel(length) {
                Expr::Lit(ExprLit { lit, .. }) => matches!(lit, Lit::Int(_)),
                Expr::Unary(ExprUnary {
                    op: UnOp::Neg(_), ..
                })
                | Expr::Array(_)
                | Expr::Tuple(_) => false,
                // A constant, or what can be computed from some.
                _ => true,
            };
            if !is_number {
                let message = "a length is a whole number, or an expression of type `usize`";
                self.diagnostics.error(length, message);
            }
        }
    }

    /// A shape has a length for each axis.
    ///
    /// ```text
    /// #[custom_function(gradcheck(input = [3]))]
    /// //                                  ^^^ `input` has rank 2, and this shape has 1 length
    /// fn forward(input: ArrayView2<f32>) -> Array2<f32>
    /// ```
    fn has_the_rank(&mut self, input: &Input, ty: &TensorType, shape: &ExprArray) {
        let (name, found) = (&input.name, shape.elems.len());
        let plural = if found == 1 { "" } else { "s" };
        let has = format!("{found} length{plural}");
        match rank(ty) {
            Some(Rank::Fixed(rank)) if usize::from(*rank) != found => {
                let message = format!("`{name}` has rank {rank}, and this shape has {has}");
                let help = format!(
                    "write a length for each axis: `{name} = {}`",
                    example(input)
                );
                self.diagnostics.error_with_help(shape, &message, &help);
            }
            Some(Rank::Named(dimension)) => {
                let Some(parameter) = self.parameter(dimension) else {
                    return;
                };
                let known = self
                    .parameters
                    .iter()
                    .find(|(known, _)| *known == parameter);
                match known {
                    Some((_, Concrete::Rank(rank))) if *rank != found => {
                        let message = format!(
                            "`{name}` has rank `{parameter}`, for which {} given before, and this \
                             shape has {has}",
                            count(*rank, "length")
                        );
                        self.diagnostics.error(shape, message);
                    }
                    Some(_) => {}
                    None => self.parameters.push((parameter, Concrete::Rank(found))),
                }
            }
            _ => {}
        }
    }
}

fn rank(ty: &TensorType) -> Option<&Rank> {
    match &ty.content {
        Content::Known { rank, .. } => Some(rank),
        Content::Alias(_) => None,
    }
}

/// A shape that the input could have: `[2, 3]`, of a list `[[2, 3], [2, 3]]`.
pub(super) fn example(input: &Input) -> String {
    let rank = input.tensor.as_ref().and_then(|tensor| rank(&tensor.ty));
    let rank = match rank {
        Some(Rank::Fixed(rank)) => *rank,
        _ => 2,
    };
    let lengths: Vec<String> = (2..2 + rank).map(|length| length.to_string()).collect();
    let shape = format!("[{}]", lengths.join(", "));
    if input.tensor.as_ref().is_some_and(|tensor| tensor.list) {
        return format!("[{shape}, {shape}]");
    }
    shape
}

/// A number that is written out.
fn literal(expression: &Expr) -> Option<f64> {
    match peel(expression) {
        Expr::Lit(ExprLit {
            lit: Lit::Float(number),
            ..
        }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit {
            lit: Lit::Int(number),
            ..
        }) => number.base10_parse().ok(),
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => Some(-literal(expr)?),
        _ => None,
    }
}

fn shape(expression: &Expr) -> Option<&ExprArray> {
    match peel(expression) {
        Expr::Array(shape) => Some(shape),
        _ => None,
    }
}

/// An expression without parentheses and the invisible groups that `macro_rules!` leaves.
fn peel(expression: &Expr) -> &Expr {
    match expression {
        Expr::Group(group) => peel(&group.expr),
        Expr::Paren(paren) => peel(&paren.expr),
        expression => expression,
    }
}
