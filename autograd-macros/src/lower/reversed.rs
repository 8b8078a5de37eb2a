//! Writes the derivatives of a formula in reverse: runs it on names in place of numbers, and notes each operation.
//!
//! Dual numbers need a tangent for each number in each operation. In reverse, an operation is differentiated once, however
//! many numbers there are. That works without a tape where the operations are known when the formula is compiled: it has
//! operators and functions of numbers, rows and closures of its own, and no loops that are not written out. Any other
//! formula has no such derivatives. Nothing is reported here: of a formula with a mistake, the compiler reports it where the
//! formula is used as it is written.
//!
//! Of an `if`, both branches are computed, as vector code has to, and for each variable the number of one of them is chosen.
//! A branch that is not taken may compute anything, such as NaN: it passes zeros to what is outside of it.

use std::collections::BTreeMap;
use std::rc::Rc;

use proc_macro2::{Group, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprCall, ExprClosure, ExprIf, ExprIndex, ExprMethodCall,
    ExprPath, Ident, Item, Lit, Local, Member, Pat, Stmt, Type, UnOp, parse_quote,
};

use super::plain::{Known, Plain, is_in, is_of_constants};
use super::written_out::METHODS;
use crate::model::{Branch, Condition, Elementwise, Operand, Operation, Reversed};
use crate::spell::{has_word, numbered};
use crate::types::{is_one_of, peel};

/// The most operations: no formula that is written by hand has more.
const OPERATIONS: usize = 1024;

/// The most expressions within each other: the stack is finite.
const DEPTH: usize = 128;

/// The most numbers of a row that is made in the formula.
const ROW: usize = 64;

/// The fewest numbers: with fewer, dual numbers are as fast.
const FEWEST: usize = 3;

/// The most numbers of the step of a scan, which is in more loops.
const MOST_OF_STEP: usize = 16;

/// The most numbers of the inputs and outputs, with their components at the highest order: loops have a block of each on the
/// stack.
const BLOCKS: usize = 64;

/// Returns the derivatives of a formula in reverse, if it is one that has them.
pub(super) fn reversed(body: &Group, elementwise: &Elementwise) -> Option<Reversed> {
    // What rounds to 32 bits in the formula would not here, where literals have no type.
    let has_singles = has_word(body.stream(), "f32");
    if !elementwise.replaced.is_empty() || elementwise.has_slices() || has_singles {
        return None;
    }
    let mut run = Run {
        elementwise,
        items: Vec::new(),
        operations: Vec::new(),
        branches: Vec::new(),
        numbers: 0,
        scopes: vec![BTreeMap::new()],
        depth: 0,
        closed: 0,
        branch: None,
        may_be_skipped: false,
    };
    for (name, row) in elementwise.inputs.iter().zip(&elementwise.rows) {
        let value = match row {
            None => run.input(),
            Some(row) => {
                let length = usize::try_from(elementwise.length_of(row)?).ok()?;
                Value::Row((0..length).map(|_| run.input()).collect())
            }
        };
        run.bind(name, value);
    }
    let is_long = elementwise.scan.is_some() && run.numbers > MOST_OF_STEP;
    if is_long || run.numbers < FEWEST {
        return None;
    }
    let block: Block = syn::parse2(body.to_token_stream()).ok()?;
    let returned = run.block(&block)?;
    let outputs = match (&elementwise.outputs[..], returned) {
        ([_], single) => vec![single],
        (_, Value::Tuple(outputs)) => outputs,
        _ => return None,
    };
    if outputs.len() != elementwise.outputs.len() {
        return None;
    }
    let mut results = Vec::new();
    for (row, output) in elementwise.outputs.iter().zip(outputs) {
        let numbers = match (row, output) {
            (None, number) => vec![number],
            (Some(row), Value::Row(numbers))
                if elementwise.length_of(row) == u64::try_from(numbers.len()).ok() =>
            {
                numbers
            }
            _ => return None,
        };
        for number in numbers {
            let Value::Number(number) = number else {
                return None;
            };
            results.push(number);
        }
    }
    let components = 1_usize << (elementwise.order.clamp(1, 8) - 1);
    if (run.numbers + results.len()) * components > BLOCKS {
        return None;
    }
    Some(Reversed {
        items: run.items,
        inputs: run.numbers,
        operations: run.operations,
        branches: run.branches,
        outputs: results,
    })
}

/// What an expression is.
#[derive(Clone)]
enum Value {
    /// A number that may have a derivative: an input, or the result of an operation.
    Number(usize),
    /// What has none: an `f64`, a whole number, a value of the function or a part of it.
    Plain(Plain),
    Truth(Truth),
    Row(Vec<Self>),
    Tuple(Vec<Self>),
    Closure(Rc<Closure>),
}

/// A `bool`.
#[derive(Clone, Copy, PartialEq)]
enum Truth {
    Known(bool),
    /// That of an operation.
    Noted(usize),
}

impl Value {
    fn field(self, member: &Member) -> Option<Self> {
        match (self, member) {
            (Self::Tuple(values), Member::Unnamed(place)) => {
                values.into_iter().nth(usize::try_from(place.index).ok()?)
            }
            (Self::Plain(plain), member) => plain.field(member).map(Self::Plain),
            _ => None,
        }
    }

    fn cast(self, ty: &Type) -> Option<Self> {
        match self {
            Self::Plain(plain) => plain.cast(ty).map(Self::Plain),
            _ => None,
        }
    }

    fn reference(self) -> Option<Self> {
        match self {
            Self::Plain(plain) => plain.reference().map(Self::Plain),
            value => Some(value),
        }
    }
}

#[derive(Clone)]
struct Closure {
    written: ExprClosure,
    /// The variables where it was written.
    scopes: Vec<Scope>,
}

/// Variables by their names, as [`name`] has them.
type Scope = BTreeMap<String, Value>;

struct Run<'a> {
    elementwise: &'a Elementwise,
    /// The constants and imports of the body.
    items: Vec<Item>,
    operations: Vec<Operation>,
    branches: Vec<Option<Branch>>,
    /// The count of the inputs.
    numbers: usize,
    scopes: Vec<Scope>,
    /// The number of expressions around this one.
    depth: usize,
    /// The number of scopes that are around a closure which is called: it has a copy of their variables.
    closed: usize,
    /// The branch that is run.
    branch: Option<Branch>,
    /// Whether what is run now may not be computed in the formula: then it must not panic.
    may_be_skipped: bool,
}

impl Run<'_> {
    fn input(&mut self) -> Value {
        self.numbers += 1;
        Value::Number(self.numbers - 1)
    }

    fn bind(&mut self, name: &Ident, value: Value) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(self::name(name), value);
        }
    }

    /// Notes an operation.
    fn operation(&mut self, operation: Operation) -> Option<Value> {
        self.note(operation).map(Value::Number)
    }

    /// Notes an operation that has a `bool`.
    fn noted(&mut self, condition: Condition) -> Option<Truth> {
        self.note(Operation::Condition(condition)).map(Truth::Noted)
    }

    /// Returns the place of an operation.
    fn note(&mut self, operation: Operation) -> Option<usize> {
        if self.operations.len() >= OPERATIONS {
            return None;
        }
        self.operations.push(operation);
        self.branches.push(self.branch);
        Some(self.numbers + self.operations.len() - 1)
    }

    fn block(&mut self, block: &Block) -> Option<Value> {
        self.scopes.push(BTreeMap::new());
        let value = self.statements(&block.stmts);
        self.scopes.pop();
        value
    }

    fn statements(&mut self, statements: &[Stmt]) -> Option<Value> {
        let mut returned = Value::Tuple(Vec::new());
        for (place, statement) in statements.iter().enumerate() {
            returned = Value::Tuple(Vec::new());
            match statement {
                Stmt::Expr(Expr::If(choice), _) if self.scopes.len() == 2 && returns(choice) => {
                    let rest = &statements[place + 1..];
                    let mut then = choice.then_branch.clone();
                    let Some(Stmt::Expr(Expr::Return(last), _)) = then.stmts.pop() else {
                        return None;
                    };
                    then.stmts.push(Stmt::Expr(*last.expr?, None));
                    return self.choice(
                        &choice.cond,
                        |run| run.block(&then),
                        |run| {
                            // Nothing comes after, and what has a name anew may be no number.
                            let around = run.scopes.clone();
                            let value = run.statements(rest);
                            run.scopes = around;
                            value
                        },
                    );
                }
                Stmt::Local(local) => self.local(local)?,
                Stmt::Expr(expression, None) => returned = self.value(expression)?,
                Stmt::Expr(expression, Some(_)) => {
                    self.value(expression)?;
                }
                // Of the body itself: elsewhere, another one may have its name.
                Stmt::Item(item @ (Item::Const(_) | Item::Use(_))) if self.scopes.len() == 2 => {
                    if has_word(item.to_token_stream(), &self.elementwise.number) {
                        return None;
                    }
                    self.items.push(item.clone());
                }
                Stmt::Item(_) | Stmt::Macro(_) => return None,
            }
        }
        Some(returned)
    }

    fn local(&mut self, local: &Local) -> Option<()> {
        let init = local.init.as_ref().filter(|init| init.diverge.is_none())?;
        let value = self.value(&init.expr)?;
        self.pattern(&local.pat, value)
    }

    fn pattern(&mut self, pattern: &Pat, value: Value) -> Option<()> {
        match (pattern, value) {
            (Pat::Ident(name), value) if name.by_ref.is_none() && name.subpat.is_none() => {
                self.bind(&name.ident, value);
            }
            (Pat::Type(typed), value) => {
                if !self.has_type(&value, &typed.ty) {
                    return None;
                }
                self.pattern(&typed.pat, value)?;
            }
            (Pat::Paren(inner), value) => self.pattern(&inner.pat, value)?,
            (Pat::Reference(inner), value) if !matches!(value, Value::Plain(_)) => {
                self.pattern(&inner.pat, value)?;
            }
            // `&w` of `&weights[0]`.
            (Pat::Reference(inner), Value::Plain(reference)) => {
                self.pattern(&inner.pat, Value::Plain(reference.target()?))?;
            }
            (Pat::Tuple(pattern), Value::Tuple(values)) => {
                self.patterns(pattern.elems.iter(), values)?;
            }
            (Pat::Slice(pattern), Value::Row(values)) => {
                self.patterns(pattern.elems.iter(), values)?;
            }
            (Pat::Wild(_), _) => {}
            _ => return None,
        }
        Some(())
    }

    fn patterns<'p>(
        &mut self,
        patterns: impl ExactSizeIterator<Item = &'p Pat>,
        values: Vec<Value>,
    ) -> Option<()> {
        if patterns.len() != values.len() {
            return None;
        }
        let mut pairs = patterns.zip(values);
        pairs.try_for_each(|(pattern, value)| self.pattern(pattern, value))
    }

    fn value(&mut self, expression: &Expr) -> Option<Value> {
        if self.depth == DEPTH {
            return None;
        }
        self.depth += 1;
        let value = self.value_of(expression);
        self.depth -= 1;
        value
    }

    fn value_of(&mut self, expression: &Expr) -> Option<Value> {
        match expression {
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Group(inner) => self.value(&inner.expr),
            Expr::Block(block) if block.label.is_none() => self.block(&block.block),
            Expr::Lit(literal) => Self::literal(&literal.lit),
            Expr::Path(path) => self.path(path),
            Expr::Reference(reference) if reference.mutability.is_none() => {
                self.value(&reference.expr)?.reference()
            }
            Expr::Unary(unary) => {
                let operand = self.value(&unary.expr)?;
                self.unary(unary.op, operand)
            }
            Expr::Binary(binary) if is_of_truth(binary.op) => {
                self.condition(expression).map(Value::Truth)
            }
            Expr::Binary(binary) => self.operator(binary),
            Expr::If(choice) => self.choice(
                &choice.cond,
                |run| run.block(&choice.then_branch),
                |run| match &choice.else_branch {
                    Some((_, otherwise)) => run.value(otherwise),
                    None => Some(Value::Tuple(Vec::new())),
                },
            ),
            Expr::Assign(assign) => {
                let value = self.value(&assign.right)?;
                self.assign(&assign.left, value)
            }
            Expr::Array(array) => Some(Value::Row(self.values(array.elems.iter())?)),
            Expr::Tuple(tuple) => Some(Value::Tuple(self.values(tuple.elems.iter())?)),
            Expr::Repeat(repeat) => {
                let count = self.elementwise.constants.whole(&repeat.len)?;
                let count = usize::try_from(count).ok()?;
                let value = self.value(&repeat.expr)?;
                (count <= ROW).then(|| Value::Row(vec![value; count]))
            }
            Expr::Index(index) => self.index(index),
            Expr::Field(field) => self.value(&field.base)?.field(&field.member),
            Expr::Cast(cast) => self.value(&cast.expr)?.cast(&cast.ty),
            Expr::MethodCall(call) => self.method(call),
            Expr::Call(call) => self.call(call),
            Expr::Closure(closure) => Some(Value::Closure(Rc::new(Closure {
                written: closure.clone(),
                scopes: self.scopes.clone(),
            }))),
            _ => None,
        }
    }

    fn operator(&mut self, binary: &ExprBinary) -> Option<Value> {
        let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
        match assigned(&binary.op) {
            Some(operator) => {
                let value = self.binary(&operator, left, right)?;
                self.assign(&binary.left, value)
            }
            None => self.binary(&binary.op, left, right),
        }
    }

    /// Runs the branches of an `if` that may be taken.
    fn choice(
        &mut self,
        condition: &Expr,
        then: impl FnOnce(&mut Self) -> Option<Value>,
        otherwise: impl FnOnce(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let condition = match self.condition(condition)? {
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

    fn condition(&mut self, condition: &Expr) -> Option<Truth> {
        match condition {
            Expr::Paren(inner) => self.condition(&inner.expr),
            Expr::Group(inner) => self.condition(&inner.expr),
            Expr::Binary(binary) => match binary.op {
                BinOp::And(_) => self.both(binary, false, &parse_quote!(&)),
                BinOp::Or(_) => self.both(binary, true, &parse_quote!(|)),
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
    fn both(&mut self, binary: &ExprBinary, decisive: bool, operator: &BinOp) -> Option<Truth> {
        let left = self.condition(&binary.left)?;
        if matches!(left, Truth::Known(left) if left == decisive) {
            return Some(left);
        }
        let around = std::mem::replace(&mut self.may_be_skipped, true);
        let right = self.condition(&binary.right);
        self.may_be_skipped = around;
        match (left, right?) {
            (Truth::Noted(left), Truth::Noted(right)) => {
                self.noted(Condition::Both(*operator, [left, right]))
            }
            (Truth::Noted(_), Truth::Known(right)) if right != decisive => Some(left),
            (_, right) => Some(right),
        }
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

    fn values<'e>(&mut self, expressions: impl Iterator<Item = &'e Expr>) -> Option<Vec<Value>> {
        expressions
            .map(|expression| self.value(expression))
            .collect()
    }

    fn has_number(&self, ty: &Type) -> bool {
        has_word(ty.to_token_stream(), &self.elementwise.number)
    }

    /// Returns whether a value certainly has the type that is written for it.
    fn has_type(&self, value: &Value, ty: &Type) -> bool {
        match (value, peel(ty)) {
            (_, Type::Infer(_)) => true,
            (Value::Plain(plain), ty) => !self.has_number(ty) && plain.of_type(ty).is_some(),
            (Value::Row(values), Type::Array(array)) => {
                values.iter().all(|value| self.has_type(value, &array.elem))
            }
            (Value::Row(_), Type::Reference(reference)) => self.has_type(value, &reference.elem),
            (Value::Tuple(values), Type::Tuple(tuple)) => {
                let mut types = tuple.elems.iter();
                let has_its = |value| types.next().is_some_and(|ty| self.has_type(value, ty));
                values.iter().all(has_its)
            }
            (Value::Number(_), ty) => self.has_number(ty),
            (Value::Truth(_), ty) => is_one_of(ty, &["bool"]),
            _ => false,
        }
    }

    /// Returns the variable of a name.
    fn variable(&self, name: &Ident) -> Option<&Value> {
        let name = self::name(name);
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.get(&name))
    }

    fn literal(literal: &Lit) -> Option<Value> {
        match literal {
            Lit::Float(number) if number.suffix() != "f32" => {
                plain(literal.to_token_stream(), Known::float())
            }
            Lit::Bool(known) => Some(Value::Truth(Truth::Known(known.value))),
            Lit::Int(number) => {
                let count = number.base10_parse().ok()?;
                let ty: Option<Type> = match number.suffix() {
                    "" => None,
                    suffix => Some(syn::parse_str(suffix).ok()?),
                };
                let fits = ty.is_none_or(|ty| is_in(count, &ty));
                fits.then(|| Plain::whole(count).map(Value::Plain))?
            }
            _ => None,
        }
    }

    fn path(&self, path: &ExprPath) -> Option<Value> {
        if path.qself.is_some() {
            return None;
        }
        let tokens = path.to_token_stream();
        let Some(name) = path.path.get_ident() else {
            let is_own = ["Self", "self"]
                .iter()
                .any(|word| has_word(tokens.clone(), *word));
            let is_constant = path
                .path
                .segments
                .last()?
                .ident
                .to_string()
                .chars()
                .all(is_of_constants);
            let is_number = has_word(tokens.clone(), &self.elementwise.number);
            return if is_own || is_number || !is_constant {
                None
            } else {
                plain(tokens, Known::Unknown)
            };
        };
        if let Some(value) = self.variable(name) {
            return Some(value.clone());
        }
        if let Some(ty) = self.elementwise.type_of(name) {
            return plain(tokens, Known::of(peel(ty)));
        }
        let constant = Expr::Path(path.clone());
        match self.elementwise.constants.whole(&constant) {
            Some(number) => Plain::whole(i64::try_from(number).ok()?).map(Value::Plain),
            None if name.to_string().chars().all(is_of_constants) => plain(tokens, Known::Unknown),
            None => None,
        }
    }

    fn unary(&mut self, operator: UnOp, operand: Value) -> Option<Value> {
        match (operator, operand) {
            (UnOp::Neg(_), Value::Number(number)) => self.operation(Operation::Negated(number)),
            (UnOp::Neg(_), Value::Plain(plain)) if self.never_panics(&plain) => {
                plain.negated().map(Value::Plain)
            }
            (UnOp::Not(_), Value::Truth(Truth::Known(known))) => {
                Some(Value::Truth(Truth::Known(!known)))
            }
            (UnOp::Not(_), Value::Truth(Truth::Noted(condition))) => {
                self.noted(Condition::Not(condition)).map(Value::Truth)
            }
            (UnOp::Not(_), Value::Plain(plain)) => {
                let plain = plain.of_type(&parse_quote!(bool))?;
                let opposite = self.noted(Condition::Plain(quote!((!#plain))))?;
                Some(Value::Truth(opposite))
            }
            (UnOp::Deref(_), Value::Plain(plain)) => plain.target().map(Value::Plain),
            (UnOp::Deref(_), value) => Some(value),
            _ => None,
        }
    }

    fn binary(&mut self, operator: &BinOp, left: Value, right: Value) -> Option<Value> {
        let is_of_numbers = matches!(
            operator,
            BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_)
        );
        if !is_of_numbers && !matches!(operator, BinOp::Rem(_)) {
            return None;
        }
        match (&left, &right) {
            (Value::Plain(left), Value::Plain(right)) => {
                let result = left.with(operator, right)?;
                self.never_panics(&result).then_some(Value::Plain(result))
            }
            (Value::Number(_) | Value::Plain(_), Value::Number(_) | Value::Plain(_))
                if is_of_numbers =>
            {
                let operands = [operand(left)?, operand(right)?];
                self.operation(Operation::Operator(*operator, operands))
            }
            _ => None,
        }
    }

    /// Assigns to a variable, or to a number of a row.
    fn assign(&mut self, place: &Expr, value: Value) -> Option<Value> {
        let mut indices = Vec::new();
        let mut place = place;
        let name = loop {
            match place {
                Expr::Paren(inner) => place = &inner.expr,
                Expr::Index(index) => {
                    let at = whole_number(&self.value(&index.index)?)?;
                    indices.push(usize::try_from(at).ok()?);
                    place = &index.expr;
                }
                Expr::Path(path) => break name(path.path.get_ident()?),
                _ => return None,
            }
        };
        let own = &mut self.scopes[self.closed..];
        let mut scopes = own.iter_mut().rev();
        let mut variable = scopes.find_map(|scope| scope.get_mut(&name))?;
        for index in indices.into_iter().rev() {
            let Value::Row(row) = variable else {
                return None;
            };
            variable = row.get_mut(index)?;
        }
        *variable = value;
        Some(Value::Tuple(Vec::new()))
    }

    fn index(&mut self, index: &ExprIndex) -> Option<Value> {
        match (self.value(&index.expr)?, self.value(&index.index)?) {
            (Value::Row(row), place) => {
                let place = usize::try_from(whole_number(&place)?).ok()?;
                row.into_iter().nth(place)
            }
            (Value::Plain(_), Value::Plain(place))
                if self.may_be_skipped && !self.is_within(&index.expr, &place) =>
            {
                None
            }
            (Value::Plain(list), Value::Plain(place)) => list.entry(&place).map(Value::Plain),
            _ => None,
        }
    }

    /// Returns whether a constant certainly has an entry at a place.
    fn is_within(&self, list: &Expr, place: &Plain) -> bool {
        let length = match list {
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let length = length.filter(|name| self.variable(name).is_none());
        let length = length.and_then(|name| self.elementwise.constants.row(name));
        let place = place
            .whole_number()
            .and_then(|place| u64::try_from(place).ok());
        matches!((place, length), (Some(place), Some(length)) if place < length)
    }

    /// Returns whether what is computed, of some type, panics never where the formula may not compute it.
    fn never_panics(&self, result: &Plain) -> bool {
        let is_known = result.is_float() || result.whole_number().is_some();
        !self.may_be_skipped || is_known || result.is_constant()
    }

    fn method(&mut self, call: &ExprMethodCall) -> Option<Value> {
        if call.turbofish.is_some() {
            return None;
        }
        let receiver = self.value(&call.receiver)?;
        let arguments = self.values(call.args.iter())?;
        let method = &call.method;
        if method == "is_nan" && arguments.is_empty() {
            return self.is_nan(receiver);
        }
        if !METHODS
            .get(arguments.len())?
            .iter()
            .any(|known| method == known)
        {
            return None;
        }
        let is_power = method == "powi";
        let arguments = arguments.into_iter().map(|value| {
            if is_power {
                Some(Operand::Plain(exponent(value)?))
            } else {
                operand(value)
            }
        });
        if let Value::Plain(receiver) = &receiver {
            // With bounds in another order, that of `f64` panics.
            if self.may_be_skipped && method == "clamp" {
                return None;
            }
            let arguments: Option<Vec<_>> = arguments.map(|argument| plain_of(argument?)).collect();
            let (of, arguments) = (receiver.receiver()?, arguments?);
            return plain(quote!((#of.#method(#(#arguments),*))), receiver.ty.clone());
        }
        if !matches!(receiver, Value::Number(_)) {
            return None;
        }
        let operands: Option<Vec<_>> = std::iter::once(operand(receiver))
            .chain(arguments)
            .collect();
        self.operation(Operation::Method(method.clone(), operands?))
    }

    fn is_nan(&mut self, number: Value) -> Option<Value> {
        let condition = match number {
            Value::Plain(plain) => {
                let of = plain.receiver()?;
                Condition::Plain(quote!((#of.is_nan())))
            }
            Value::Number(number) => {
                let operands = [Operand::Number(number), Operand::Number(number)];
                Condition::Compared(parse_quote!(!=), operands)
            }
            _ => return None,
        };
        self.noted(condition).map(Value::Truth)
    }

    fn call(&mut self, call: &ExprCall) -> Option<Value> {
        let Expr::Path(ExprPath {
            path, qself: None, ..
        }) = &*call.func
        else {
            return None;
        };
        let arguments = self.values(call.args.iter())?;
        if let Some(name) = path.get_ident() {
            let Some(Value::Closure(closure)) = self.variable(name) else {
                return None;
            };
            let closure = Rc::clone(closure);
            return self.closure(&closure, arguments);
        }
        let text = path.to_token_stream().to_string().replace(' ', "");
        let number = &self.elementwise.number;
        let mut arguments = arguments.into_iter();
        if text == "::core::convert::identity" {
            return arguments.next();
        }
        let first = arguments.next()?;
        if text == format!("{number}::from") {
            return match operand(first)? {
                Operand::Number(number) => Some(Value::Number(number)),
                Operand::Plain(plain) => self.operation(Operation::Constant(plain)),
            };
        }
        let function = text.strip_prefix("f64::")?;
        if function == "from" {
            let Value::Plain(number) = first else {
                return None;
            };
            return arguments
                .next()
                .is_none()
                .then(|| number.converted().map(Value::Plain))?;
        }
        let names = METHODS.get(arguments.len())?;
        let may_panic = self.may_be_skipped && function == "clamp";
        if !names.contains(&function) || function == "powi" || may_panic {
            return None;
        }
        let arguments = std::iter::once(first).chain(arguments);
        let arguments: Option<Vec<_>> = arguments
            .map(|argument| plain_of(operand(argument)?))
            .collect();
        let arguments = arguments?;
        plain(quote!((#path(#(#arguments),*))), Known::float())
    }

    fn closure(&mut self, closure: &Closure, arguments: Vec<Value>) -> Option<Value> {
        let Closure { written, scopes } = closure;
        let mut scopes = scopes.clone();
        if written.asyncness.is_some() || has_word(written.body.to_token_stream(), "return") {
            return None;
        }
        scopes.push(BTreeMap::new());
        let around = (std::mem::replace(&mut self.scopes, scopes), self.closed);
        self.closed = self.scopes.len() - 1;
        let value = self
            .patterns(written.inputs.iter(), arguments)
            .and_then(|()| self.value(&written.body));
        (self.scopes, self.closed) = around;
        value
    }
}

/// Returns an operand: a number, or an `f64`.
fn operand(value: Value) -> Option<Operand> {
    match value {
        Value::Number(number) => Some(Operand::Number(number)),
        Value::Plain(plain) => plain.float().map(Operand::Plain),
        _ => None,
    }
}

/// Returns an exponent.
fn exponent(value: Value) -> Option<TokenStream> {
    match value {
        Value::Plain(plain) => plain.of_type(&parse_quote!(i32)),
        _ => None,
    }
}

fn plain_of(operand: Operand) -> Option<TokenStream> {
    match operand {
        Operand::Plain(tokens) => Some(tokens),
        Operand::Number(_) => None,
    }
}

fn plain(tokens: TokenStream, ty: Known) -> Option<Value> {
    Plain::new(tokens, ty).map(Value::Plain)
}

fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Plain(plain) => plain.whole_number(),
        _ => None,
    }
}

/// Returns the name of a variable, with the macro that has written it: one of another macro is another variable.
fn name(name: &Ident) -> String {
    let span = format!("{:?}", name.span());
    let written_by = span.split(' ').next().filter(|by| by.starts_with('#'));
    format!("{name}{}", written_by.unwrap_or_default())
}

/// Returns the operator of `+=` and the like.
fn assigned(operator: &BinOp) -> Option<BinOp> {
    let operator = match operator {
        BinOp::AddAssign(_) => quote!(+),
        BinOp::SubAssign(_) => quote!(-),
        BinOp::MulAssign(_) => quote!(*),
        BinOp::DivAssign(_) => quote!(/),
        _ => return None,
    };
    syn::parse2(operator).ok()
}

/// Returns whether an operator has a `bool`.
fn is_of_truth(operator: BinOp) -> bool {
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
fn returns(choice: &ExprIf) -> bool {
    let last = choice.then_branch.stmts.last();
    choice.else_branch.is_none() && matches!(last, Some(Stmt::Expr(Expr::Return(_), _)))
}

#[cfg(test)]
mod tests {
    use proc_macro2::{Delimiter, Group};
    use syn::parse_quote;

    use super::*;
    use crate::constants::Constants;
    use crate::lower::written_out::tests::sample;
    use crate::model::Row;

    /// Returns the operations of the body of `fn f<T: Real>(x: [T; 3], width: f64) -> T`, and the number that it returns.
    fn operations(body: TokenStream) -> Option<String> {
        let formula = sample(Some(Row::Of(parse_quote!(3))));
        shown(&Group::new(Delimiter::Brace, body), &formula)
    }

    /// Returns the operations of the body of a formula, and the number that it returns.
    fn shown(body: &Group, formula: &Elementwise) -> Option<String> {
        let reversed = reversed(body, formula)?;
        let shown = |operand: &Operand| match operand {
            Operand::Number(number) => number.to_string(),
            Operand::Plain(tokens) => format!("`{tokens}`").replace(' ', ""),
        };
        let operations = reversed.operations.iter();
        let texts = operations.map(|operation| match operation {
            Operation::Constant(tokens) | Operation::Condition(Condition::Plain(tokens)) => {
                format!("`{tokens}`")
            }
            Operation::Negated(number) => format!("- {number}"),
            Operation::Operator(operator, [left, right]) => {
                format!(
                    "{} {} {}",
                    shown(left),
                    operator.to_token_stream(),
                    shown(right)
                )
            }
            Operation::Method(method, operands) => {
                let operands: Vec<String> = operands.iter().map(shown).collect();
                format!("{method} {}", operands.join(" "))
            }
            Operation::Chosen([condition, _], [first, second]) => {
                format!("{condition} ? {} : {}", shown(first), shown(second))
            }
            Operation::Condition(Condition::Compared(operator, [left, right])) => format!(
                "{} {} {}",
                shown(left),
                operator.to_token_stream(),
                shown(right)
            ),
            Operation::Condition(Condition::Not(condition)) => format!("! {condition}"),
            Operation::Condition(Condition::Both(operator, [left, right])) => {
                format!("{left} {} {right}", operator.to_token_stream())
            }
        });
        // In brackets, how many branches are around.
        let texts = texts
            .zip(&reversed.branches)
            .map(|(text, branch)| match branch {
                None => text,
                Some(Branch { condition, depth }) => format!("[{condition}, {depth}] {text}"),
            });
        let mut texts: Vec<String> = texts.collect();
        assert_eq!(reversed.inputs, 3);
        texts.push(reversed.outputs[0].to_string());
        Some(texts.join("; "))
    }

    #[test]
    fn operations_are_noted_in_their_order() {
        for (body, expected) in [
            (quote!(x[0] * x[1] - x[2]), "0 * 1; 3 - 2; 4"),
            (quote!((-x[0]).exp() / 2.0), "- 0; exp 3; 4 / `2.0`; 5"),
            (
                quote!(width * x[0] + width.sqrt()),
                "`width` * 0; 3 + `(width.sqrt())`; 4",
            ),
            (quote!(x[1].powi(3).max(0.0)), "powi 1 `3`; max 3 `0.0`; 4"),
            (
                quote!(x[0].mul_add(x[1], PI * width)),
                "mul_add 0 1 `(__p::known::<::core::primitive::f64,_>(&PI)*width)`; 3",
            ),
            (
                quote!(let half = T::from(0.5); half * x[0]),
                "`0.5`; 3 * 0; 4",
            ),
            (quote!(x[1]), "1"),
            (
                quote!(let half: f64 = 0.5; x[0] * half.sqrt()),
                "0 * `(__p::known::<::core::primitive::f64,_>(&0.5).sqrt())`; 3",
            ),
            (
                quote!(let n: usize = 3; x[0] * ((n - 5) as f64)),
                "0 * `(-2.0)`; 3",
            ),
            (
                quote!(x[1].powi(-LENGTH)),
                "powi 1 `__p::known::<::core::primitive::i32,_>(&(-LENGTH))`; 3",
            ),
        ] {
            assert_eq!(
                operations(body.clone()).as_deref(),
                Some(expected),
                "{body}"
            );
        }
    }

    #[test]
    fn variables_are_the_numbers_that_they_hold() {
        for (body, expected) in [
            (
                quote!(let [a, b, _] = x; let (a, b) = (b, a); a / b),
                "1 / 0; 3",
            ),
            (
                quote!(let mut y = x; y[1] = y[0] * 2.0; y[2] += y[1]; y[2]),
                "0 * `2.0`; 2 + 3; 4",
            ),
            (
                quote!(let mut sum = x[0]; { let sum = x[1]; } { sum -= x[2]; } sum),
                "0 - 2; 3",
            ),
            (
                quote!(let w = [1.0, width]; let n = 2; x[n - 1] * w[n - 1]),
                "1 * `width`; 3",
            ),
            (
                quote!(let k = 1; if k % 2 == 1 { x[k] } else { x[k - 2] }),
                "1",
            ),
            (quote!(let c = &x[0]; let &d = &x[1]; *c + d), "0 + 1; 3"),
            (
                quote!(let rows = [[x[0]; 2], [x[1]; 2]]; rows[1][0] - rows[0][1]),
                "1 - 0; 3",
            ),
            (
                quote!(let y = x[0]; const TWO: f64 = 2.0; y * TWO),
                "0 * `__p::known::<::core::primitive::f64,_>(&TWO)`; 3",
            ),
        ] {
            assert_eq!(
                operations(body.clone()).as_deref(),
                Some(expected),
                "{body}"
            );
        }
    }

    #[test]
    fn closures_are_run_where_they_are_called() {
        for (body, expected) in [
            (
                quote!(let dot = |a: [T; 3], b: [T; 3]| a[0] * b[0] + a[1] * b[1]; dot(x, x).sqrt()),
                "0 * 0; 1 * 1; 3 + 4; sqrt 5; 6",
            ),
            (
                quote!(let y = x[0]; let f = |z| { let y = y * z; y + 1.0 }; f(f(x[1]))),
                "0 * 1; 3 + `1.0`; 0 * 4; 5 + `1.0`; 6",
            ),
            (quote!((|z: T| z)(x[2])), ""),
        ] {
            let found = operations(body.clone());
            let expected = (!expected.is_empty()).then_some(expected);
            assert_eq!(found.as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn both_branches_are_run() {
        for (body, expected) in [
            (
                quote!(if x[0] > 0.0 { x[0] } else { x[1] }),
                "0 > `0.0`; ! 3; 3 ? 0 : 1; 5",
            ),
            (
                quote!(if x[0] > x[1] { x[0].exp() } else { 2.0 * x[1] }),
                "0 > 1; ! 3; [3, 1] exp 0; [4, 1] `2.0` * 1; 3 ? 5 : 6; 7",
            ),
            (
                quote!(let mut y = x[2]; if x[0] <= 0.0 { y = y * x[1]; } y),
                "0 <= `0.0`; ! 3; [3, 1] 2 * 1; 3 ? 5 : 2; 6",
            ),
            (
                quote!(let mut y = x; if x[0] <= 0.0 { y[1] += 1.0; } y[1] + y[2]),
                "0 <= `0.0`; ! 3; [3, 1] 1 + `1.0`; 3 ? 5 : 1; 6 + 2; 7",
            ),
            (
                quote!(if x[0] > 0.0 { return T::from(1.0); } let y = -x[1]; y),
                "0 > `0.0`; ! 3; [3, 1] `1.0`; [4, 1] - 1; 3 ? 5 : 6; 7",
            ),
            (
                quote!(if x[0] > 0.0 {
                    x[0]
                } else if x[1] > 0.0 {
                    x[1]
                } else {
                    x[2]
                }),
                "0 > `0.0`; ! 3; [4, 1] 1 > `0.0`; [4, 1] ! 5; [4, 1] 4 & 5; [4, 1] 4 & 6; [4, 1] 5 ? 1 : 2; \
                 3 ? 0 : 9; 10",
            ),
            (
                quote!(let near = x[0] < 1.0 && !(x[1] >= width) || width == 2.0; if near { x[0] } else { x[1] }),
                "0 < `1.0`; 1 >= `width`; ! 4; 3 & 5; `(width == 2.0)`; 6 | 7; ! 8; 8 ? 0 : 1; 10",
            ),
            (
                quote!(let (a, k) = if x[0] > 0.0 { (x[0], 1.0) } else { (x[0], 2.0) }; a * k),
                "0 > `0.0`; ! 3; 0 * `(ifnumber_3{1.0}else{2.0})`; 5",
            ),
            (quote!(if true && 1 < 2 { x[0] } else { x[1] }), "0"),
            (
                quote!(if x[0] > 0.0 {
                    x[0] * (A * B)
                } else {
                    x[0] * (width - 1.0)
                }),
                "0 > `0.0`; ! 3; [3, 1] 0 * `__p::known::<::core::primitive::f64,_>(&(A*B))`; \
                 [4, 1] 0 * `(width-1.0)`; 3 ? 5 : 6; 7",
            ),
        ] {
            assert_eq!(
                operations(body.clone()).as_deref(),
                Some(expected),
                "{body}"
            );
        }
    }

    #[test]
    fn constants_are_known_by_their_file() {
        let mut formula = sample(Some(Row::Of(parse_quote!(N))));
        let items = quote!(
            const N: usize = 3;
            const WEIGHTS: [f64; N] = [0.0; N];
        );
        let items: Vec<_> = items.into_iter().collect();
        let (first, second) = items.split_at(7);
        formula.constants = Constants::among([first, second].into_iter());
        for (body, expected) in [
            (quote!(x[N - 1] * (N as f64)), "2 * `3.0`; 3"),
            (quote!(let y = [x[0]; N]; y[2]), "0"),
            (
                quote!(if x[0] > 0.0 { x[0] * WEIGHTS[2] } else { x[1] }),
                "0 > `0.0`; ! 3; [3, 1] 0 * `__p::known::<::core::primitive::f64,_>(&WEIGHTS[2])`; 3 ? 5 : 1; 6",
            ),
        ] {
            let body = Group::new(Delimiter::Brace, body);
            assert_eq!(shown(&body, &formula).as_deref(), Some(expected), "{body}");
        }
        let beyond = quote!(if x[0] > 0.0 { x[0] * WEIGHTS[3] } else { x[1] });
        let beyond = Group::new(Delimiter::Brace, beyond);
        assert_eq!(shown(&beyond, &formula), None);
    }

    #[test]
    fn other_formulas_have_none() {
        for body in [
            quote!(for k in 0..3 { sum += x[k]; } x[0]),
            quote!(cdf(x[0])),
            quote!(x[0].turned()),
            quote!(x[0].exp(1.0)),
            quote!(x[0] * 2),
            quote!(x[0].max(0)),
            quote!(x[0] + x),
            quote!(x[0] % x[1]),
            quote!(x[k]),
            quote!(x[3]),
            quote!(y),
            quote!(x),
            quote!(2.0),
            quote!(return x[0];),
            quote!(assert!(width > 0.0); x[0]),
            quote!(let mut n = x[0]; let mut add = |z| n = n + z; add(x[1]); n),
            quote!(let Some(y) = x[0] else { return x[0] }; y),
            quote!(if x[0] > 0 { x[0] } else { x[1] }),
            quote!(if 0.0 < x[0] { x[0] } else { x[1] }),
            quote!(if x[0] > 0.0 { return x[0] } else { x[1] }),
            quote!(if x[0] { x[0] } else { x[1] }),
            quote!(if let true = x[0] > 0.0 { x[0] } else { x[1] }),
            quote!(let n = if x[0] > 0.0 { 1 } else { 2 }; x[n]),
            quote!(let n: usize = 3; if x[0] > 0.0 { x[0] * ((n - width as usize) as f64) } else { x[1] }),
            quote!(if x[0] > 0.0 { x[0] * HEIGHTS[3] } else { x[1] }),
            quote!(if x[0] > 0.0 {
                x[0] * width.clamp(0.0, LIMIT)
            } else {
                x[1]
            }),
            quote!(if x[0] > 0.0 { x[0] } else { panic!() }),
            quote!(let f = |a: T| a; let g = if x[0] > 0.0 { |a: T| -a } else { f }; g(x[0])),
            quote!(let n: i32 = if x[0] > 0.0 { 1 } else { 2 }; x[0].powi(n)),
            quote!(x[0] * 2.0f32),
            quote!(let one: f32 = 1.0; x[0] * (one as f64)),
            quote!(let half: f64 = 1; x[0] * half),
            quote!(let n: u8 = 200; x[0] * (n as i8 as f64)),
            quote!(let n: u64 = 5_000_000_000; x[0] * (n as f64)),
            quote!(x[0] * (-3).abs() as f64),
            quote!(x[0] * (true as f64)),
            quote!(x[0] * width[0]),
            quote!(x[0] * width * 2),
            quote!(x[0].powi(x[1])),
            quote!({
                const TWO: f64 = 2.0;
                x[0] * TWO
            }),
        ] {
            assert_eq!(operations(body.clone()), None, "{body}");
        }
        // A closure has all that are before it.
        let closures = (0..24).map(|index| {
            let name = quote::format_ident!("closure_{index}");
            quote!(let #name = |a: T| a + 1.0;)
        });
        assert!(operations(quote!(#(#closures)* closure_23(x[0]))).is_some());
        // Each time, twice as many operations.
        let doubled = quote!(let y = double(double(double(y))););
        let many = std::iter::repeat_n(doubled, 4);
        let body = quote!(let double = |y: T| y * y + y; let y = x[0]; #(#many)* y);
        assert!(operations(body).is_some());
        let sum = std::iter::repeat_n(quote!(+ x[0]), DEPTH);
        assert_eq!(operations(quote!(x[1] #(#sum)*)), None);
        let statements = std::iter::repeat_n(quote!(let y = y + x[0];), OPERATIONS + 1);
        assert_eq!(operations(quote!(let y = x[1]; #(#statements)* y)), None);
    }
}
