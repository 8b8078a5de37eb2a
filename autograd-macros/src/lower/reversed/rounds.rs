//! Runs what is done a known number of times: loops, rows that are made of a closure, and iterators.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use syn::{Expr, ExprForLoop, ExprMethodCall, ExprRange, RangeLimits, Type, parse_quote};

use super::{Closure, Run, Value, text, whole_number};
use crate::lists::Lists as _;
use crate::lower::plain::Plain;
use crate::lower::unrolled::few;
use crate::types::peel;

/// What one round of a loop or of an iterator has: it is computed in its round, as in the formula.
enum Round {
    Has(Value),
    /// Of `zip` or `enumerate`.
    Pair(Box<[Self; 2]>),
    Mapped(Box<Self>, Rc<Closure>),
}

impl Run<'_> {
    /// Returns the value of an expression that has a type, as far as that is known: it is how long a row is.
    pub(super) fn value_as(&mut self, expression: &Expr, ty: Option<&Type>) -> Option<Value> {
        match (expression, ty.map(peel)) {
            (Expr::Tuple(tuple), Some(Type::Tuple(types)))
                if tuple.elems.len() == types.elems.len() =>
            {
                let parts = tuple.elems.iter().zip(&types.elems);
                let values = parts.map(|(part, ty)| self.value_as(part, Some(ty)));
                values.collect::<Option<_>>().map(Value::Tuple)
            }
            (Expr::Call(call), Some(Type::Array(array))) if is_from_fn(&call.func) => {
                let places = whole_numbers(0..i64::try_from(self.few(&array.len)?).ok()?)?;
                self.mapped(places, call.args.first()?).map(Value::Row)
            }
            _ => self.value(expression),
        }
    }

    /// Returns how often something is done.
    pub(super) fn few(&self, count: &Expr) -> Option<usize> {
        few(self.function.constants.whole(count)?)
    }

    pub(super) fn for_loop(&mut self, of: &ExprForLoop) -> Option<Value> {
        for item in self.items(&of.expr)? {
            let item = self.item(item)?;
            self.scopes.push(BTreeMap::new());
            self.pattern(&of.pat, item)?;
            self.block(&of.body)?;
            self.scopes.pop();
        }
        Some(Value::Tuple(Vec::new()))
    }

    /// Returns what a loop over this has in each round.
    fn items(&mut self, over: &Expr) -> Option<Vec<Round>> {
        let values = match over {
            Expr::Paren(inner) => return self.items(&inner.expr),
            Expr::MethodCall(call) => return self.items_of_call(call),
            Expr::Reference(reference) if reference.mutability.is_none() => {
                return self.references(&reference.expr);
            }
            Expr::Range(range) => self.numbers_of(range)?,
            row => match self.value(row)? {
                Value::Row(numbers) => numbers,
                Value::Plain(plain) => self.entries(row, &plain)?,
                _ => return None,
            },
        };
        Some(values.into_iter().map(Round::Has).listed())
    }

    fn references(&mut self, row: &Expr) -> Option<Vec<Round>> {
        let items = self.items(row)?.into_iter();
        let references = items.map(|item| Some(Round::Has(self.item(item)?.reference()?)));
        references.collect()
    }

    fn items_of_call(&mut self, call: &ExprMethodCall) -> Option<Vec<Round>> {
        let receiver = &*call.receiver;
        let arguments: Vec<&Expr> = call.args.iter().listed();
        match (&*call.method.to_string(), &arguments[..]) {
            ("iter", []) => self.references(receiver),
            ("into_iter", []) => self.items(receiver),
            ("copied" | "cloned", []) => {
                let items = self.items(receiver)?.into_iter();
                let values = items.map(|item| match self.item(item)? {
                    Value::Plain(plain) => plain.target().map(Value::Plain),
                    value => Some(value),
                });
                values.map(|value| value.map(Round::Has)).collect()
            }
            ("rev", []) => Some(self.items(receiver)?.into_iter().rev().listed()),
            ("enumerate", []) => {
                let items = self.items(receiver)?.into_iter().zip(0..);
                let pairs = items.map(|(item, place)| {
                    let place = Value::Plain(Plain::whole(place)?);
                    Some(Round::Pair(Box::new([Round::Has(place), item])))
                });
                pairs.collect()
            }
            ("zip", [other]) => {
                let items = self.items(receiver)?.into_iter();
                let pairs = items.zip(self.items(other)?);
                let pairs = pairs.map(|(item, other)| Round::Pair(Box::new([item, other])));
                Some(pairs.listed())
            }
            ("map", [closure]) => {
                let items = self.items(receiver)?.into_iter();
                let closure = self.closure_of(closure)?;
                let mapped = items.map(|item| Round::Mapped(Box::new(item), Rc::clone(&closure)));
                Some(mapped.listed())
            }
            _ => None,
        }
    }

    /// Computes what a round has.
    fn item(&mut self, item: Round) -> Option<Value> {
        match item {
            Round::Has(value) => Some(value),
            Round::Pair(pair) => {
                let [first, second] = *pair;
                Some(Value::Tuple(vec![self.item(first)?, self.item(second)?]))
            }
            Round::Mapped(item, closure) => {
                let item = self.item(*item)?;
                self.closure(&closure, vec![item])
            }
        }
    }

    /// Returns the whole numbers of a range.
    fn numbers_of(&mut self, range: &ExprRange) -> Option<Vec<Value>> {
        let mut bound = |bound: &Option<Box<Expr>>| {
            let bound = self.value(bound.as_deref()?)?;
            whole_number(&bound)
        };
        let (start, end) = (bound(&range.start)?, bound(&range.end)?);
        let end = match range.limits {
            RangeLimits::HalfOpen(_) => end,
            RangeLimits::Closed(_) => end.checked_add(1)?,
        };
        few(u64::try_from(end.checked_sub(start)?.max(0)).ok()?)?;
        whole_numbers(start..end)
    }

    /// Returns the entries of a constant, or of a value whose type has their number.
    fn entries(&self, list: &Expr, plain: &Plain) -> Option<Vec<Value>> {
        let count = i64::try_from(few(self.length_of(list, plain)?)?).ok()?;
        let entries = (0..count).map(|place| plain.entry(&Plain::whole(place)?));
        entries.map(|entry| entry.map(Value::Plain)).collect()
    }

    /// Returns the number of entries of a constant, or of a value whose type has it.
    pub(super) fn length_of(&self, list: &Expr, plain: &Plain) -> Option<u64> {
        let own = self.constant_row(list);
        own.or_else(|| self.function.constants.whole(plain.length()?))
    }

    /// Returns the row that `map` makes of one.
    pub(super) fn mapped(&mut self, items: Vec<Value>, closure: &Expr) -> Option<Vec<Value>> {
        let closure = self.closure_of(closure)?;
        let items = items.into_iter();
        items
            .map(|item| self.closure(&closure, vec![item]))
            .collect()
    }

    /// Adds the items of an iterator.
    pub(super) fn sum(&mut self, call: &ExprMethodCall) -> Option<Value> {
        let mut items = self.items(&call.receiver)?.into_iter();
        let first = self.item(items.next()?)?;
        items.try_fold(first, |sum, item| {
            let item = self.item(item)?;
            self.binary(&parse_quote!(+), sum, item)
        })
    }

    pub(super) fn fold(&mut self, call: &ExprMethodCall) -> Option<Value> {
        let arguments: Vec<&Expr> = call.args.iter().listed();
        let [first, closure] = arguments[..] else {
            return None;
        };
        let mut items = self.items(&call.receiver)?.into_iter();
        let (first, closure) = (self.value(first)?, self.closure_of(closure)?);
        items.try_fold(first, |folded, item| {
            let item = self.item(item)?;
            self.closure(&closure, vec![folded, item])
        })
    }
}

fn whole_numbers(numbers: Range<i64>) -> Option<Vec<Value>> {
    let numbers = numbers.map(|number| Plain::whole(number).map(Value::Plain));
    numbers.collect()
}

/// Returns whether an expression is `std::array::from_fn`.
fn is_from_fn(function: &Expr) -> bool {
    let text = text(function);
    let path = text.trim_start_matches("::");
    ["std::array::from_fn", "core::array::from_fn"].contains(&path)
}
