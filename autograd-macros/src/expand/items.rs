//! The numbers of a formula in one array, and its numbers and rows, which are parts of it.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Expr, Ident};

use super::tokens::{local, number};
use crate::lists::Lists as _;
use crate::model::{Elementwise, Row};

/// The inputs of a formula, or its outputs: the length of each that is a row. There are no slices among them.
pub(super) struct Items<'a>(Vec<Option<&'a Expr>>);

impl<'a> Items<'a> {
    pub(super) fn inputs(elementwise: &'a Elementwise) -> Self {
        Self::of(&elementwise.rows)
    }

    pub(super) fn outputs(elementwise: &'a Elementwise) -> Self {
        Self::of(&elementwise.outputs)
    }

    fn of(rows: &'a [Option<Row>]) -> Self {
        let length = |row: &'a Option<Row>| row.as_ref().and_then(Row::length);
        Self(rows.iter().map(length).listed())
    }

    /// Returns the inputs, and after them the gradients of the outputs.
    pub(super) fn both(elementwise: &'a Elementwise) -> Self {
        let (mut inputs, outputs) = (Self::inputs(elementwise), Self::outputs(elementwise));
        inputs.0.extend(outputs.0);
        inputs
    }

    /// Returns these and a number after them.
    pub(super) fn and_a_number(mut self) -> Self {
        self.0.push(None);
        self
    }

    /// Returns some of the items.
    pub(super) fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self(self.0[range].to_vec())
    }

    pub(super) fn has_rows(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    pub(super) fn row(&self, item: usize) -> Option<&'a Expr> {
        self.0[item]
    }

    /// Returns the number of numbers before an item, as an argument.
    pub(super) fn start(&self, item: usize) -> TokenStream {
        let before = &self.0[..item];
        if before.iter().all(Option::is_none) {
            return number(item).into_token_stream();
        }
        let lengths = before.iter().map(|row| match row {
            None => quote!(1),
            Some(length) => quote!((#length)),
        });
        quote!({ #(#lengths)+* })
    }

    /// Returns the number of all numbers, as an argument.
    pub(super) fn count(&self) -> TokenStream {
        self.start(self.0.len())
    }

    /// Returns a variable for each.
    pub(super) fn names(&self, name: &str) -> Vec<Ident> {
        let name = |index| local(format_args!("{name}_{index}"));
        (0..self.0.len()).map(name).listed()
    }

    /// Returns the pattern of the array.
    pub(super) fn pattern(&self, name: &str) -> TokenStream {
        if self.has_rows() {
            return local(name).into_token_stream();
        }
        let names = self.names(name);
        quote!([#(#names),*])
    }

    /// Generates the statements that take the array apart, which has been bound to its pattern.
    pub(super) fn taken_apart(&self, name: &str, p: &TokenStream) -> TokenStream {
        if !self.has_rows() {
            return TokenStream::new();
        }
        let (all, real) = (local(name), local("R"));
        let names = self.names(name).into_iter().enumerate();
        let statements = names.map(|(item, name)| {
            let start = self.start(item);
            match self.row(item) {
                None => quote!(let #name = #all[#start];),
                Some(length) => quote!(let #name: [#real; #length] = #p::row(&#all, #start);),
            }
        });
        statements.tokens()
    }

    /// Returns the array of these numbers and rows.
    pub(super) fn put_together(&self, values: &[Ident], p: &TokenStream) -> TokenStream {
        if !self.has_rows() {
            return quote!([#(#values),*]);
        }
        let (all, real, count) = (local("all"), local("R"), self.count());
        let puts = values.iter().enumerate();
        let puts = puts.map(|(item, value)| self.put(item, &all, &value.to_token_stream(), p));
        quote! {
            let mut #all = [<#real as ::core::convert::From<::core::primitive::f64>>::from(0.0); #count];
            #(#puts)*
            #all
        }
    }

    /// Generates the statement that writes a number or a row to the array.
    pub(super) fn put(
        &self,
        item: usize,
        all: &Ident,
        value: &TokenStream,
        p: &TokenStream,
    ) -> TokenStream {
        let start = self.start(item);
        if self.row(item).is_some() {
            quote!(#p::put(&mut #all, #start, #value);)
        } else {
            quote!(#all[#start] = #value;)
        }
    }

    /// Returns the items, as the runtime has them.
    pub(super) fn list(&self, p: &TokenStream) -> TokenStream {
        let items = self.0.iter().map(|row| match row {
            None => quote!(#p::Item::Number),
            Some(length) => quote!(#p::Item::Row(#length)),
        });
        quote!(&[#(#items),*])
    }
}
