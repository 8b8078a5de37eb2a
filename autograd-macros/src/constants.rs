//! The constants beside a formula, as far as its file shows their numbers: a loop to a constant is written out as one to a
//! number. The compiler checks what was read: a file may be written meanwhile.

use std::collections::BTreeMap;

use proc_macro2::{Group, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{Attribute, BinOp, Block, Expr, Ident, Item, ItemConst, Lit, Stmt, Type};

use crate::lists::Lists as _;
use crate::spell::{at, for_each_word, has_word, is_word};
use crate::types::{is_primitive, peel, whole};

/// Constants by their names.
#[derive(Clone, Default)]
pub(crate) struct Constants(BTreeMap<String, Constant>);

#[derive(Clone)]
struct Constant {
    /// The number, or the length of the row.
    number: u64,
    /// The type of the number, unless it is a row.
    ty: Option<String>,
    /// Its name where the formula has it.
    used: Option<Ident>,
}

impl Constants {
    /// Reads the constants among items without their attributes.
    pub(crate) fn among<'a>(items: impl Iterator<Item = &'a [TokenTree]>) -> Self {
        let is_one = |item: &&[TokenTree]| item.iter().any(|token| is_word(token, "const"));
        let items = items.filter(is_one);
        let parsed = items.filter_map(|item| syn::parse2(item.iter().tokens()).ok());
        let mut constants = Self::default();
        constants.extend(parsed.listed());
        constants
    }

    fn extend(&mut self, mut items: Vec<ItemConst>) {
        // One may have the number of another.
        loop {
            let before = items.len();
            items.retain(|item| match self.read(item) {
                Some(constant) => {
                    self.0.insert(item.ident.to_string(), constant);
                    false
                }
                None => true,
            });
            if items.len() == before {
                return;
            }
        }
    }

    fn read(&self, item: &ItemConst) -> Option<Constant> {
        let (number, ty) = match peel(&item.ty) {
            Type::Array(array) => (self.whole(&array.len)?, None),
            ty if is_primitive(ty) => {
                let ty = ty.to_token_stream().to_string();
                (self.whole(&item.expr)?, Some(ty))
            }
            _ => return None,
        };
        let used = None;
        Some(Constant { number, ty, used })
    }

    /// Adds a number.
    pub(crate) fn define(&mut self, name: &Ident, number: u64) {
        let constant = Constant {
            number,
            ty: Some("usize".to_owned()),
            used: None,
        };
        self.0.insert(name.to_string(), constant);
    }

    /// Removes the constant that a parameter of this name hides.
    pub(crate) fn hide(&mut self, name: &Ident) {
        self.0.remove(&name.to_string());
    }

    pub(crate) fn has(&self, name: &Ident) -> bool {
        self.0.contains_key(&name.to_string())
    }

    /// Returns those that a formula names, and those of its body.
    /// `others` is what else it is made of: its signature and the functions that it calls.
    pub(crate) fn of_formula(&self, body: &Group, others: TokenStream) -> Self {
        let mut known = Self::default();
        let (mut items, mut is_item) = (BTreeMap::<String, usize>::new(), false);
        for_each_word(body.stream(), &mut |word| {
            if is_item {
                *items.entry(word.to_string()).or_default() += 1;
            }
            is_item = word == "const" || word == "static";
        });
        // What is imported hides what is beside the formula.
        if !has_word(body.stream(), "use") {
            for tokens in [others, body.stream()] {
                for_each_word(tokens, &mut |word| {
                    let name = word.to_string();
                    if let Some(constant) = self.0.get(&name)
                        && !items.contains_key(&name)
                    {
                        let used = known.0.entry(name).or_insert_with(|| constant.clone());
                        used.used.get_or_insert_with(|| word.clone());
                    }
                });
            }
        }
        if !items.is_empty()
            && let Ok(block) = syn::parse2::<Block>(body.to_token_stream())
        {
            let own = block
                .stmts
                .into_iter()
                .filter_map(|statement| match statement {
                    Stmt::Item(Item::Const(item)) => Some(item),
                    _ => None,
                });
            // In a block within, another one may have its name.
            let is_only = |item: &ItemConst| {
                items.get(&item.ident.to_string()) == Some(&1) && item.attrs.is_empty()
            };
            known.extend(own.filter(is_only).listed());
        }
        known
    }

    /// Returns the whole number that an expression is, if that is known.
    pub(crate) fn whole(&self, expression: &Expr) -> Option<u64> {
        match expression {
            Expr::Lit(_) => whole(expression),
            Expr::Paren(inner) => self.whole(&inner.expr),
            Expr::Group(inner) => self.whole(&inner.expr),
            Expr::Path(path) => {
                let constant = self.0.get(&path.path.get_ident()?.to_string())?;
                constant.ty.is_some().then_some(constant.number)
            }
            Expr::Binary(binary) => {
                let (left, right) = (self.whole(&binary.left)?, self.whole(&binary.right)?);
                match binary.op {
                    BinOp::Add(_) => left.checked_add(right),
                    BinOp::Sub(_) => left.checked_sub(right),
                    BinOp::Mul(_) => left.checked_mul(right),
                    BinOp::Div(_) => left.checked_div(right),
                    _ => None,
                }
            }
            Expr::MethodCall(call) if call.method == "len" && call.args.is_empty() => {
                match &*call.receiver {
                    Expr::Path(path) => self.row(path.path.get_ident()?),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the length of a constant that is a row.
    pub(crate) fn row(&self, name: &Ident) -> Option<u64> {
        let constant = self.0.get(&name.to_string())?;
        constant.ty.is_none().then_some(constant.number)
    }

    /// Returns the type of the whole numbers of an expression, as far as it shows.
    pub(crate) fn type_of(&self, expression: &Expr) -> Option<String> {
        match expression {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) if !number.suffix().is_empty() => Some(number.suffix().to_owned()),
                _ => None,
            },
            Expr::Paren(inner) => self.type_of(&inner.expr),
            Expr::Group(inner) => self.type_of(&inner.expr),
            Expr::Path(path) => self.0.get(&path.path.get_ident()?.to_string())?.ty.clone(),
            Expr::Binary(binary) => {
                let first = self.type_of(&binary.left);
                first.or_else(|| self.type_of(&binary.right))
            }
            Expr::MethodCall(_) => Some("usize".to_owned()),
            _ => None,
        }
    }

    /// Returns checks that the constants are what was read, which the compiler makes.
    pub(crate) fn checks(&self, cfgs: &[Attribute]) -> TokenStream {
        let checks = self.0.values().filter_map(|Constant { number, ty, used }| {
            let name = used.as_ref()?;
            let message = format!(
                "`#[custom_function]` has read {number} for `{name}` in the file, which is another number: compile again"
            );
            let number = Literal::u64_unsuffixed(*number);
            let of_row = ty.is_none().then(|| quote_spanned!(at(name)=> .len()));
            Some(quote_spanned! {at(name)=>
                #(#cfgs)*
                const _: () = ::core::assert!(#name #of_row == #number, #message);
            })
        });
        checks.tokens()
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// Returns constants, each of which ends with a semicolon.
    fn read(items: TokenStream) -> Constants {
        let tokens = items.into_iter().listed();
        let ends = |token: &TokenTree| token.to_string() == ";";
        Constants::among(tokens.split_inclusive(ends))
    }

    fn whole(constants: &Constants, expression: TokenStream) -> Option<u64> {
        constants.whole(&syn::parse2(expression).unwrap())
    }

    #[test]
    fn numbers_and_lengths_are_read() {
        let constants = read(quote! {
            const TWICE: usize = 2 * N - 1;
            pub(crate) const N: usize = 3;
            const POWER: i32 = 4;
            const WEIGHTS: [f64; TWICE] = [0.0; TWICE];
            const HALF: f64 = 0.5;
            const OF_A_FUNCTION: usize = size();
            const BELOW: usize = N - 4;
            static STATIC: usize = 3;
        });
        for (expression, expected) in [
            (quote!(N), Some(3)),
            (quote!(TWICE), Some(5)),
            (quote!((TWICE + 1) / 2 * N), Some(9)),
            (quote!(POWER), Some(4)),
            (quote!(WEIGHTS.len()), Some(5)),
            (quote!(WEIGHTS), None),
            (quote!(N.len()), None),
            (quote!(other::N), None),
            (quote!(HALF), None),
            (quote!(OF_A_FUNCTION), None),
            (quote!(BELOW), None),
            (quote!(STATIC), None),
            (quote!(N / 0), None),
            (quote!(7), Some(7)),
        ] {
            assert_eq!(
                whole(&constants, expression.clone()),
                expected,
                "{expression}"
            );
        }
        let of = |expression: TokenStream| constants.type_of(&syn::parse2(expression).unwrap());
        assert_eq!(of(quote!(POWER)).as_deref(), Some("i32"));
        assert_eq!(of(quote!(2 * N)).as_deref(), Some("usize"));
        assert_eq!(of(quote!(3_u8)).as_deref(), Some("u8"));
        assert_eq!(of(quote!(3)), None);
    }

    #[test]
    fn a_body_hides_those_of_its_names() {
        let beside = read(quote!(
            const N: usize = 3;
            const M: usize = 5;
        ));
        for (body, [n, m], checks) in [
            (quote!({ N }), [Some(3), Some(5)], 2),
            (
                quote!({
                    const N: usize = 4;
                    N
                }),
                [Some(4), Some(5)],
                1,
            ),
            (
                quote!({
                    {
                        const N: usize = 4;
                    }
                    N
                }),
                [None, Some(5)],
                1,
            ),
            (
                quote!({
                    const N: usize = 4;
                    {
                        const N: usize = 2;
                    }
                    N
                }),
                [None, Some(5)],
                1,
            ),
            (
                quote!({
                    const N: usize = 4;
                    use a::*;
                    N
                }),
                [Some(4), None],
                0,
            ),
            (
                quote!({
                    static N: usize = 4;
                    N
                }),
                [None, Some(5)],
                1,
            ),
        ] {
            let body: Group = syn::parse2(body).unwrap();
            let constants = beside.of_formula(&body, quote!(x: [T; M]));
            assert_eq!(whole(&constants, quote!(N)), n, "{body}");
            assert_eq!(whole(&constants, quote!(M)), m, "{body}");
            let text = constants.checks(&[]).to_string();
            assert_eq!(text.matches("assert").count(), checks, "{body}");
        }
    }
}
