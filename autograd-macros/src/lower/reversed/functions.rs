//! Runs closures, and the functions beside a formula.

use std::collections::BTreeMap;
use std::rc::Rc;

use proc_macro2::Span;
use quote::ToTokens as _;
use syn::{
    Expr, ExprClosure, ExprPath, FnArg, Ident, ItemFn, ReturnType, Safety, Type, parse_quote,
};

use super::{Closure, Function, Run, Value, text};
use crate::lists::Lists as _;
use crate::lower::written_out::METHODS;
use crate::spell::{has_word, local};
use crate::types::peel;

impl<'a> Run<'a> {
    /// Returns the function beside the formula that is called so.
    pub(super) fn function_beside(&self, path: &str) -> Option<&'a ItemFn> {
        let beside = self.elementwise.functions.iter();
        let mut beside = beside.filter(|_| self.are_functions_known);
        beside
            .find(|beside| beside.path == path)
            .map(|beside| &beside.function)
    }

    /// Runs a function beside the formula.
    pub(super) fn called(&mut self, function: &ItemFn, arguments: Vec<Value>) -> Option<Value> {
        let number = number_of(function)?;
        let mut constants = self.elementwise.constants.clone();
        for length in function.sig.generics.const_params() {
            constants.hide(&length.ident);
        }
        let own = Function {
            is_the_formula: false,
            number,
            constants,
        };
        let around = std::mem::replace(&mut self.function, own);
        let scopes = std::mem::replace(&mut self.scopes, vec![BTreeMap::new()]);
        let closed = std::mem::take(&mut self.closed);
        let value = self.returned(function, arguments);
        (self.function, self.scopes, self.closed) = (around, scopes, closed);
        value
    }

    fn returned(&mut self, function: &ItemFn, arguments: Vec<Value>) -> Option<Value> {
        let parameters = function.sig.inputs.iter();
        if parameters.len() != arguments.len() {
            return None;
        }
        for (parameter, argument) in parameters.zip(arguments) {
            let FnArg::Typed(parameter) = parameter else {
                return None;
            };
            self.bind_lengths(function, &parameter.ty, &argument);
            if !self.has_type(&argument, &parameter.ty) {
                return None;
            }
            self.pattern(&parameter.pat, argument)?;
        }
        let mut lengths = function.sig.generics.const_params();
        if !lengths.all(|length| self.function.constants.has(&length.ident)) {
            return None;
        }
        let ReturnType::Type(_, ty) = &function.sig.output else {
            return None;
        };
        let value = self.block_of(&function.block, Some(ty))?;
        self.has_type(&value, ty).then_some(value)
    }

    /// Finds the length `N` of a row that is passed as `[T; N]`.
    fn bind_lengths(&mut self, function: &ItemFn, ty: &Type, value: &Value) {
        match (peel(ty), value) {
            (Type::Reference(reference), value) => {
                self.bind_lengths(function, &reference.elem, value);
            }
            (Type::Array(array), Value::Row(values)) => {
                let mut generics = function.sig.generics.const_params();
                if let Expr::Path(path) = &array.len
                    && let Some(name) = path.path.get_ident()
                    && generics.any(|generic| generic.ident == *name)
                {
                    self.function.constants.define(name, values.len() as u64);
                }
                if let Some(first) = values.first() {
                    self.bind_lengths(function, &array.elem, first);
                }
            }
            _ => {}
        }
    }

    pub(super) fn closure(&mut self, closure: &Closure, arguments: Vec<Value>) -> Option<Value> {
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

    /// Returns the closure that an expression is, or that calls the function which it names.
    pub(super) fn closure_of(&mut self, expression: &Expr) -> Option<Rc<Closure>> {
        let written = match expression {
            Expr::Path(path) => self.calling(path),
            _ => None,
        };
        if let Some(written) = written {
            let scopes = Vec::new();
            return Some(Rc::new(Closure { written, scopes }));
        }
        match self.value(expression)? {
            Value::Closure(closure) => Some(closure),
            _ => None,
        }
    }

    /// Returns a closure that calls `T::exp`, `Real::exp` or a function beside the formula.
    pub(super) fn calling(&self, path: &ExprPath) -> Option<ExprClosure> {
        let is_variable = |name| self.variable(name).is_some();
        if path.qself.is_some() || path.path.get_ident().is_some_and(is_variable) {
            return None;
        }
        let text = text(path);
        let names = |count: usize| {
            let names = (0..count).map(|place| local(format_args!("argument_{place}")));
            names.listed()
        };
        if let Some(function) = self.function_beside(&text) {
            let names = names(function.sig.inputs.len());
            return Some(parse_quote!(|#(#names),*| #path(#(#names),*)));
        }
        let (of, method) = text.split_once("::")?;
        let of_numbers = of == "Real" || self.function.number == of;
        let is_known = |methods: &&[&str]| of_numbers && methods.contains(&method);
        let others = METHODS.iter().position(is_known)?;
        let method = Ident::new(method, Span::call_site());
        let names = names(others + 1);
        let (receiver, others) = names.split_first()?;
        Some(parse_quote!(|#(#names),*| #receiver.#method(#(#others),*)))
    }
}

/// Returns the type of numbers of a function beside the formula: it has one parameter, which is bound by `Real`.
fn number_of(function: &ItemFn) -> Option<Ident> {
    let sig = &function.sig;
    let is_plain =
        sig.asyncness.is_none() && matches!(sig.safety, Safety::Default) && sig.abi.is_none();
    let mut types = sig.generics.type_params();
    let number = types
        .next()
        .filter(|_| is_plain && types.next().is_none())?;
    // As for the formula itself.
    let has_singles = has_word(function.to_token_stream(), "f32");
    let is_of_numbers = has_word(sig.to_token_stream(), "Real") && !has_singles;
    is_of_numbers.then(|| number.ident.clone())
}
