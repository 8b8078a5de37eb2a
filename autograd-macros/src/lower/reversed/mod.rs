//! Writes the derivatives of a formula in reverse: runs it on names in place of numbers, and notes each operation.
//!
//! Dual numbers need a tangent for each number in each operation. In reverse, an operation is differentiated once, however
//! many numbers there are. That works without a tape where the operations are known when the formula is compiled: it has
//! operators and functions of numbers, rows, closures of its own and functions beside it, and does everything a known number
//! of times. Any other formula has no such derivatives. Nothing is reported here: of a formula with a mistake, the compiler
//! reports it where the formula is used as it is written.
//!
//! Of an `if`, both branches are computed, as vector code has to, and for each variable the number of one of them is chosen.
//! A branch that is not taken may compute anything, such as NaN: it passes zeros to what is outside of it.

mod branches;
mod functions;
mod rounds;

use std::collections::BTreeMap;
use std::rc::Rc;

use proc_macro2::{Group, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    BinOp, Block, Expr, ExprBinary, ExprCall, ExprClosure, ExprIndex, ExprMethodCall, ExprPath,
    Ident, Item, Lit, Local, Member, Pat, ReturnType, Stmt, Type, UnOp, parse_quote,
};

use self::branches::{is_of_truth, returns};
use super::plain::{Known, Plain, is_in, is_of_constants};
use super::written_out::METHODS;
use crate::constants::Constants;
use crate::lists::Lists as _;
use crate::model::{Branch, Condition, Elementwise, Operand, Operation, Reversed};
use crate::spell::has_word;
use crate::types::{is_one_of, peel};

/// The most operations: no formula that is written by hand has more.
const OPERATIONS: usize = 1024;

/// The most expressions within each other: the stack is finite.
const DEPTH: usize = 128;

/// The most expressions that are run: functions that call others twice could take forever.
const STEPS: usize = 1 << 16;

/// The words of items that a body may have.
const ITEMS: [&str; 4] = ["const", "fn", "static", "use"];

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
        function: Function {
            is_the_formula: true,
            number: elementwise.number.clone(),
            constants: elementwise.constants.clone(),
        },
        are_functions_known: !ITEMS.iter().any(|word| has_word(body.stream(), *word)),
        steps: 0,
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
                Value::Row((0..length).map(|_| run.input()).listed())
            }
        };
        run.bind(name, value);
    }
    let is_long = elementwise.scan.is_some() && run.numbers > MOST_OF_STEP;
    if is_long {
        return None;
    }
    let block: Block = syn::parse2(body.to_token_stream()).ok()?;
    let ty = match &elementwise.formula.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some(&**ty),
    };
    let returned = run.block_of(&block, ty)?;
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
        has_outputs: false,
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

/// The function that is run: the formula, or one beside it.
struct Function {
    is_the_formula: bool,
    /// Its type of numbers.
    number: Ident,
    /// The constants that it may name.
    constants: Constants,
}

struct Run<'a> {
    elementwise: &'a Elementwise,
    function: Function,
    /// Whether nothing in the formula's body hides what is beside it.
    are_functions_known: bool,
    /// The count of the expressions that were run.
    steps: usize,
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

    /// Returns the place of an operation: that of the same one of the same branch, if there is one. What passes to an
    /// operation is summed before it is passed on.
    fn note(&mut self, operation: Operation) -> Option<usize> {
        let mut noted = self.operations.iter().zip(&self.branches);
        let is_same = |(noted, branch): (&Operation, &Option<Branch>)| {
            noted.is_same(&operation) && *branch == self.branch
        };
        if let Some(place) = noted.position(is_same) {
            return Some(self.numbers + place);
        }
        if self.operations.len() >= OPERATIONS {
            return None;
        }
        self.operations.push(operation);
        self.branches.push(self.branch);
        Some(self.numbers + self.operations.len() - 1)
    }

    fn block(&mut self, block: &Block) -> Option<Value> {
        self.block_of(block, None)
    }

    /// Runs a block that returns a value of a type, as far as that is known.
    fn block_of(&mut self, block: &Block, ty: Option<&Type>) -> Option<Value> {
        self.scopes.push(BTreeMap::new());
        let value = self.statements(&block.stmts, ty);
        self.scopes.pop();
        value
    }

    fn statements(&mut self, statements: &[Stmt], ty: Option<&Type>) -> Option<Value> {
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
                        |run| run.block_of(&then, ty),
                        |run| {
                            // Nothing comes after, and what has a name anew may be no number.
                            let around = run.scopes.clone();
                            let value = run.statements(rest, ty);
                            run.scopes = around;
                            value
                        },
                    );
                }
                Stmt::Local(local) => self.local(local)?,
                Stmt::Expr(expression, None) => returned = self.value_as(expression, ty)?,
                Stmt::Expr(expression, Some(_)) => {
                    self.value(expression)?;
                }
                // Of the body itself: elsewhere, another one may have its name.
                Stmt::Item(item @ (Item::Const(_) | Item::Use(_)))
                    if self.scopes.len() == 2 && self.function.is_the_formula =>
                {
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
        let ty = match &local.pat {
            Pat::Type(typed) => Some(&*typed.ty),
            _ => None,
        };
        let value = self.value_as(&init.expr, ty)?;
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
        if self.depth == DEPTH || self.steps == STEPS {
            return None;
        }
        self.steps += 1;
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
                let count = self.few(&repeat.len)?;
                let value = self.value(&repeat.expr)?;
                Some(Value::Row(vec![value; count]))
            }
            Expr::Match(choice) => {
                let value = self.value(&choice.expr)?;
                self.arms(&value, &choice.arms)
            }
            Expr::ForLoop(of) if of.label.is_none() => self.for_loop(of),
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

    fn values<'e>(&mut self, expressions: impl Iterator<Item = &'e Expr>) -> Option<Vec<Value>> {
        expressions
            .map(|expression| self.value(expression))
            .collect()
    }

    fn has_number(&self, ty: &Type) -> bool {
        has_word(ty.to_token_stream(), &self.function.number)
    }

    /// Returns whether a value certainly has the type that is written for it.
    fn has_type(&self, value: &Value, ty: &Type) -> bool {
        match (value, peel(ty)) {
            (_, Type::Infer(_)) => true,
            (Value::Plain(plain), ty) => !self.has_number(ty) && plain.of_type(ty).is_some(),
            (Value::Row(values), Type::Array(array)) => {
                values.iter().all(|value| self.has_type(value, &array.elem))
            }
            (Value::Row(values), Type::Slice(slice)) => {
                values.iter().all(|value| self.has_type(value, &slice.elem))
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
            let is_number = has_word(tokens.clone(), &self.function.number);
            return if is_own || is_number || !is_constant {
                None
            } else {
                plain(tokens, Known::Unknown)
            };
        };
        if let Some(value) = self.variable(name) {
            return Some(value.clone());
        }
        if self.function.is_the_formula
            && let Some(ty) = self.elementwise.type_of(name)
        {
            return plain(tokens, Known::of(peel(ty)));
        }
        let constant = Expr::Path(path.clone());
        match self.function.constants.whole(&constant) {
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

    /// Returns the length of a constant that is a row.
    fn constant_row(&self, list: &Expr) -> Option<u64> {
        let Expr::Path(path) = list else {
            return None;
        };
        let name = path.path.get_ident()?;
        let is_variable = self.variable(name).is_some();
        let length = self.function.constants.row(name);
        length.filter(|_| !is_variable)
    }

    /// Returns whether a constant certainly has an entry at a place.
    fn is_within(&self, list: &Expr, place: &Plain) -> bool {
        let length = self.constant_row(list);
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
        let method = &call.method;
        if method == "sum" && call.args.is_empty() {
            return self.sum(call);
        }
        if call.turbofish.is_some() {
            return None;
        }
        if method == "fold" {
            return self.fold(call);
        }
        let receiver = self.value(&call.receiver)?;
        if method == "len" && call.args.is_empty() {
            let length = match &receiver {
                Value::Row(numbers) => numbers.len() as u64,
                Value::Plain(plain) => self.length_of(&call.receiver, plain)?,
                _ => return None,
            };
            return Plain::whole(i64::try_from(length).ok()?).map(Value::Plain);
        }
        if let Value::Row(numbers) = receiver {
            let closure = call.args.first().filter(|_| method == "map")?;
            return self.mapped(numbers, closure).map(Value::Row);
        }
        let arguments = self.values(call.args.iter())?;
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
            let ty = match receiver.ty {
                Known::Type(_) => Known::float(),
                _ => Known::Unknown,
            };
            return plain(quote!((#of.#method(#(#arguments),*))), ty);
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
        let Expr::Path(
            called @ ExprPath {
                path, qself: None, ..
            },
        ) = &*call.func
        else {
            return None;
        };
        let arguments = self.values(call.args.iter())?;
        if let Some(name) = path.get_ident()
            && let Some(variable) = self.variable(name)
        {
            let Value::Closure(closure) = variable else {
                return None;
            };
            let closure = Rc::clone(closure);
            return self.closure(&closure, arguments);
        }
        let text = text(path);
        if let Some(function) = self.function_beside(&text) {
            return self.called(function, arguments);
        }
        // `T::exp(x)`
        if let Some(written) = self.calling(called) {
            let scopes = Vec::new();
            return self.closure(&Closure { written, scopes }, arguments);
        }
        let number = &self.function.number;
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
}

/// Returns the text of a path, without spaces.
fn text(path: &impl ToTokens) -> String {
    path.to_token_stream().to_string().replace(' ', "")
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

#[cfg(test)]
mod tests;
