//! Runs the branches of `if` and `match`: all are computed, and for each variable the number of one is chosen.

use std::collections::BTreeMap;
use std::rc::Rc;

use quote::quote;
use syn::{Arm, BinOp, Expr, ExprBinary, ExprIf, Ident, Lit, Pat, Stmt, parse_quote};

use super::{Run, Truth, Value, operand, whole_number};
use crate::lower::plain::{Known, Plain};
use crate::model::{Branch, Condition, Operation};
use crate::spell::numbered;

impl Run<'_> {
    /// Runs the branches of an `if` that may be taken.
    pub(super) fn choice(
        &mut self,
        condition: &Expr,
        then: impl FnOnce(&mut Self) -> Option<Value>,
        otherwise: impl FnOnce(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let condition = self.condition(condition)?;
        self.chosen_by(condition, then, otherwise)
    }

    fn chosen_by(
        &mut self,
        condition: Truth,
        then: impl FnOnce(&mut Self) -> Option<Value>,
        otherwise: impl FnOnce(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let condition = match condition {
            Truth::Known(true) => return then(self),
            Truth::Known(false) => return otherwise(self),
            Truth::Noted(condition) => condition,
        };
        let opposite = self.note(Operation::Condition(Condition::Not(condition)))?;
        let before = self.scopes.clone();
        let first = self.in_branch(condition, then)?;
        let of_first = std::mem::replace(&mut self.scopes, before);
        let second = self.in_branch(opposite, otherwise)?;
        let conditions = [condition, opposite];
        let mut scopes = std::mem::take(&mut self.scopes);
        for (scope, of_first) in scopes.iter_mut().zip(of_first) {
            for (name, first) in of_first {
                let second = scope.get_mut(&name)?;
                *second = self.chosen(conditions, first, second.clone())?;
            }
        }
        self.scopes = scopes;
        self.chosen(conditions, first, second)
    }

    /// Runs the arms of a `match` that may be taken.
    pub(super) fn arms(&mut self, value: &Value, arms: &[Arm]) -> Option<Value> {
        let (arm, others) = arms.split_first()?;
        let (pattern, guard) = match &arm.pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
            pattern => (pattern, None),
        };
        let is_last = others.is_empty() && guard.is_none();
        // Any other arm of a variable would be the last: this is a constant in small letters.
        if matches!(pattern, Pat::Ident(_))
            && guard.is_none()
            && !is_last
            && !binds_nothing(pattern)
        {
            return None;
        }
        let mut truth = if is_last {
            Truth::Known(true)
        } else {
            self.is_matched(pattern, value)?
        };
        if let Some(guard) = guard {
            let around = std::mem::replace(&mut self.may_be_skipped, true);
            let guard = self.in_arm(pattern, value, |run| run.condition(guard));
            self.may_be_skipped = around;
            truth = self.joined([truth, guard?], false)?;
        }
        self.chosen_by(
            truth,
            |run| run.in_arm(pattern, value, |run| run.value(&arm.body)),
            |run| run.arms(value, others),
        )
    }

    /// Runs something where the variables of a pattern are.
    fn in_arm<R>(
        &mut self,
        pattern: &Pat,
        value: &Value,
        run: impl FnOnce(&mut Self) -> Option<R>,
    ) -> Option<R> {
        self.scopes.push(BTreeMap::new());
        self.bind_matched(pattern, value)?;
        let result = run(self);
        self.scopes.pop();
        result
    }

    /// Returns whether a value has a pattern.
    fn is_matched(&mut self, pattern: &Pat, value: &Value) -> Option<Truth> {
        match (pattern, value) {
            (Pat::Paren(inner), value) => self.is_matched(&inner.pat, value),
            (Pat::Wild(_), _) => Some(Truth::Known(true)),
            (Pat::Ident(name), _) if !is_constant_pattern(&name.ident) => Some(Truth::Known(true)),
            (
                pattern,
                Value::Plain(Plain {
                    tokens,
                    ty: Known::Type(_) | Known::Unknown,
                }),
            ) if binds_nothing(pattern) => {
                let matches = quote!(::core::matches!(#tokens, #pattern));
                self.noted(Condition::Plain(matches))
            }
            (Pat::Or(or), value) => {
                let mut cases = or.cases.iter();
                let first = self.is_matched(cases.next()?, value)?;
                cases.try_fold(first, |truth, case| {
                    let case = self.is_matched(case, value)?;
                    self.joined([truth, case], true)
                })
            }
            (Pat::Tuple(parts), Value::Tuple(values)) if parts.elems.len() == values.len() => {
                let mut pairs = parts.elems.iter().zip(values);
                pairs.try_fold(Truth::Known(true), |truth, (part, value)| {
                    let part = self.is_matched(part, value)?;
                    self.joined([truth, part], false)
                })
            }
            (Pat::Lit(literal), &Value::Truth(truth)) => {
                let Lit::Bool(expected) = &literal.lit else {
                    return None;
                };
                match truth {
                    Truth::Known(known) => Some(Truth::Known(known == expected.value)),
                    Truth::Noted(_) if expected.value => Some(truth),
                    Truth::Noted(condition) => self.noted(Condition::Not(condition)),
                }
            }
            (Pat::Lit(literal), value) => {
                let Lit::Int(number) = &literal.lit else {
                    return None;
                };
                let number = number.base10_parse().ok()?;
                whole_number(value).map(|value| Truth::Known(value == number))
            }
            _ => None,
        }
    }

    /// Binds the variables of a pattern that a value has.
    fn bind_matched(&mut self, pattern: &Pat, value: &Value) -> Option<()> {
        match (pattern, value) {
            (Pat::Paren(inner), value) => self.bind_matched(&inner.pat, value),
            (Pat::Ident(name), value) if !is_constant_pattern(&name.ident) => {
                let is_plain = name.by_ref.is_none() && name.subpat.is_none();
                is_plain.then(|| self.bind(&name.ident, value.clone()))
            }
            (Pat::Tuple(parts), Value::Tuple(values)) if parts.elems.len() == values.len() => {
                let mut pairs = parts.elems.iter().zip(values);
                pairs.try_for_each(|(part, value)| self.bind_matched(part, value))
            }
            (pattern, _) => binds_nothing(pattern).then_some(()),
        }
    }

    /// Returns whether both hold, or any of them if one is `decisive`.
    fn joined(&mut self, truths: [Truth; 2], decisive: bool) -> Option<Truth> {
        match truths {
            [Truth::Known(known), other] | [other, Truth::Known(known)] => {
                Some(if known == decisive {
                    Truth::Known(decisive)
                } else {
                    other
                })
            }
            [Truth::Noted(first), Truth::Noted(second)] => {
                let operator = if decisive {
                    parse_quote!(|)
                } else {
                    parse_quote!(&)
                };
                self.noted(Condition::Both(operator, [first, second]))
            }
        }
    }

    fn in_branch(
        &mut self,
        own: usize,
        run: impl FnOnce(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let around = (self.branch, self.may_be_skipped);
        let condition = match self.branch {
            None => own,
            Some(outer) => {
                let both = Condition::Both(parse_quote!(&), [outer.condition, own]);
                self.note(Operation::Condition(both))?
            }
        };
        let depth = 1 + self.branch.map_or(0, |outer| outer.depth);
        self.branch = Some(Branch { condition, depth });
        self.may_be_skipped = true;
        let value = run(self);
        (self.branch, self.may_be_skipped) = around;
        value
    }

    /// Returns what is chosen of two branches, if they have values of one kind.
    fn chosen(&mut self, conditions: [usize; 2], first: Value, second: Value) -> Option<Value> {
        match (first, second) {
            (Value::Number(first), Value::Number(second)) if first == second => {
                Some(Value::Number(first))
            }
            (Value::Plain(first), Value::Plain(second)) if first.is_same(&second) => {
                Some(Value::Plain(first))
            }
            (Value::Truth(first), Value::Truth(second)) if first == second => {
                Some(Value::Truth(first))
            }
            (Value::Closure(first), Value::Closure(second)) if Rc::ptr_eq(&first, &second) => {
                Some(Value::Closure(first))
            }
            (Value::Plain(first), Value::Plain(second)) => {
                let condition = numbered(conditions[0]);
                first.or(&second, &condition).map(Value::Plain)
            }
            (
                first @ (Value::Number(_) | Value::Plain(_)),
                second @ (Value::Number(_) | Value::Plain(_)),
            ) => {
                let operands = [operand(first)?, operand(second)?];
                self.operation(Operation::Chosen(conditions, operands))
            }
            (Value::Row(first), Value::Row(second)) => {
                self.each_chosen(conditions, first, second).map(Value::Row)
            }
            (Value::Tuple(first), Value::Tuple(second)) => {
                let values = self.each_chosen(conditions, first, second);
                values.map(Value::Tuple)
            }
            _ => None,
        }
    }

    fn each_chosen(
        &mut self,
        conditions: [usize; 2],
        first: Vec<Value>,
        second: Vec<Value>,
    ) -> Option<Vec<Value>> {
        if first.len() != second.len() {
            return None;
        }
        let pairs = first.into_iter().zip(second);
        pairs
            .map(|(first, second)| self.chosen(conditions, first, second))
            .collect()
    }

    pub(super) fn condition(&mut self, condition: &Expr) -> Option<Truth> {
        match condition {
            Expr::Paren(inner) => self.condition(&inner.expr),
            Expr::Group(inner) => self.condition(&inner.expr),
            Expr::Binary(binary) => match binary.op {
                BinOp::And(_) => self.both(binary, false),
                BinOp::Or(_) => self.both(binary, true),
                operator => {
                    let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
                    self.compared(operator, left, right)
                }
            },
            other => match self.value(other)? {
                Value::Truth(truth) => Some(truth),
                Value::Plain(plain) => {
                    let plain = plain.of_type(&parse_quote!(bool))?;
                    self.noted(Condition::Plain(plain))
                }
                _ => None,
            },
        }
    }

    /// Runs `&&` or `||`, of which one side decides if it is `decisive`.
    fn both(&mut self, binary: &ExprBinary, decisive: bool) -> Option<Truth> {
        let left = self.condition(&binary.left)?;
        if matches!(left, Truth::Known(left) if left == decisive) {
            return Some(left);
        }
        let around = std::mem::replace(&mut self.may_be_skipped, true);
        let right = self.condition(&binary.right);
        self.may_be_skipped = around;
        self.joined([left, right?], decisive)
    }

    fn compared(&mut self, operator: BinOp, left: Value, right: Value) -> Option<Truth> {
        if let (Some(left), Some(right)) = (whole_number(&left), whole_number(&right)) {
            return Some(Truth::Known(match operator {
                BinOp::Eq(_) => left == right,
                BinOp::Ne(_) => left != right,
                BinOp::Lt(_) => left < right,
                BinOp::Le(_) => left <= right,
                BinOp::Gt(_) => left > right,
                BinOp::Ge(_) => left >= right,
                _ => return None,
            }));
        }
        match (&left, &right) {
            _ if !is_of_truth(operator) => None,
            (Value::Plain(left), Value::Plain(right)) => {
                let compared = left.compared(&operator, right)?;
                self.noted(Condition::Plain(compared))
            }
            // No `f64` is compared with a number: that is an error of the compiler.
            (Value::Number(_), Value::Number(_) | Value::Plain(_)) => {
                let operands = [operand(left)?, operand(right)?];
                self.noted(Condition::Compared(operator, operands))
            }
            _ => None,
        }
    }
}

/// Returns whether a name in a pattern is that of a constant or of a variant.
fn is_constant_pattern(name: &Ident) -> bool {
    name.to_string().starts_with(char::is_uppercase)
}

/// Returns whether a pattern certainly has no variables.
fn binds_nothing(pattern: &Pat) -> bool {
    match pattern {
        Pat::Ident(name) => is_constant_pattern(&name.ident),
        Pat::Lit(_) | Pat::Path(_) | Pat::Range(_) | Pat::Rest(_) | Pat::Wild(_) => true,
        Pat::Or(or) => or.cases.iter().all(binds_nothing),
        Pat::Paren(inner) => binds_nothing(&inner.pat),
        Pat::Reference(inner) => binds_nothing(&inner.pat),
        Pat::Slice(slice) => slice.elems.iter().all(binds_nothing),
        Pat::Tuple(tuple) => tuple.elems.iter().all(binds_nothing),
        Pat::TupleStruct(tuple) => tuple.elems.iter().all(binds_nothing),
        Pat::Struct(fields) => fields.fields.iter().all(|field| binds_nothing(&field.pat)),
        _ => false,
    }
}

/// Returns whether an operator has a `bool`.
pub(super) fn is_of_truth(operator: BinOp) -> bool {
    matches!(
        operator,
        BinOp::And(_)
            | BinOp::Or(_)
            | BinOp::Eq(_)
            | BinOp::Ne(_)
            | BinOp::Lt(_)
            | BinOp::Le(_)
            | BinOp::Gt(_)
            | BinOp::Ge(_)
    )
}

/// Returns whether an `if` without an `else` leaves the body at its end.
pub(super) fn returns(choice: &ExprIf) -> bool {
    let last = choice.then_branch.stmts.last();
    choice.else_branch.is_none() && matches!(last, Some(Stmt::Expr(Expr::Return(_), _)))
}
