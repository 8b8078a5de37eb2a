//! Finds the names that an expression uses, which the gradient of the short form asks for.
//!
//! A name is used where it is a value: not as a method, a field, a segment of a longer path or
//! a variable that the expression binds itself. Within the arguments of macros (`array![x, y]`) nothing
//! is known but tokens, and a name counts wherever it could be a value.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    Arm, Block, Expr, ExprClosure, ExprForLoop, ExprIf, ExprLet, ExprPath, ExprWhile, Item, Local,
    Macro, PatIdent,
};

use crate::lists::Lists as _;

/// Returns the `known` names that `expression` uses, each where it is first, in that order.
pub(crate) fn names(expression: &Expr, known: &[String]) -> Vec<Ident> {
    Uses::of(expression, known).found
}

/// Returns the names that `expression` computes with and that nothing has, each where it is first. A function, a constant
/// (in capitals), or a name after `self::` is not one of the gradient's.
pub(crate) fn strangers(expression: &Expr, known: &[String]) -> Vec<Ident> {
    let uses = Uses::of(expression, known);
    if uses.has_items {
        return Vec::new();
    }
    uses.strangers
}

/// Returns whether the tokens of a body bind a name anew: by `let`, `for` or `fn`, or as what a closure takes.
pub(crate) fn rebinds(body: &TokenStream, name: &str) -> bool {
    bindings(body, name) > 0
}

/// Returns whether the tokens of a body bind a name by `let` or `fn`.
pub(crate) fn lets(body: &TokenStream, name: &str) -> bool {
    count_bindings(body.clone(), false, false, name) > 0
}

/// Returns how often the tokens of a body bind a name.
pub(crate) fn bindings(body: &TokenStream, name: &str) -> usize {
    count_bindings(body.clone(), false, true, name)
}

/// Returns how often tokens bind a name, also for a closure or a loop if these count; as a pattern, they do with each word.
fn count_bindings(
    tokens: TokenStream,
    mut is_pattern: bool,
    parts_count: bool,
    name: &str,
) -> usize {
    let (mut in_bars, mut count) = (false, 0);
    for token in tokens {
        match token {
            TokenTree::Ident(word) if word == "let" || word == "fn" => is_pattern = true,
            TokenTree::Ident(word) if word == "for" => is_pattern = parts_count,
            TokenTree::Ident(word) if word == "in" => is_pattern = false,
            TokenTree::Ident(word) if (is_pattern || in_bars) && word == name => count += 1,
            TokenTree::Group(group) => {
                let is_pattern = is_pattern || in_bars;
                count += count_bindings(group.stream(), is_pattern, parts_count, name);
            }
            TokenTree::Punct(sign) => {
                is_pattern &= sign.as_char() != '=';
                in_bars ^= parts_count && sign.as_char() == '|';
            }
            _ => {}
        }
    }
    count
}

struct Uses<'a> {
    known: &'a [String],
    /// The variables in scope that the expression binds itself, inner ones last.
    bound: Vec<String>,
    found: Vec<Ident>,
    strangers: Vec<Ident>,
    has_items: bool,
}

impl<'a> Uses<'a> {
    fn of(expression: &Expr, known: &'a [String]) -> Self {
        let mut uses = Self {
            known,
            bound: Vec::new(),
            found: Vec::new(),
            strangers: Vec::new(),
            has_items: false,
        };
        uses.compute_with(expression);
        uses.visit_expr(expression);
        uses
    }

    /// Looks at an operand.
    fn compute_with(&mut self, operand: &Expr) {
        let name = match operand {
            Expr::Paren(paren) => return self.compute_with(&paren.expr),
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let Some(name) = name else {
            return;
        };
        let text = name.to_string();
        let is_variable = text.starts_with(|first: char| first.is_lowercase()) && text != "self";
        let is_known = self.known.contains(&text) || self.bound.contains(&text);
        if is_variable && !is_known && !self.strangers.contains(name) {
            self.strangers.push(name.clone());
        }
    }

    fn use_name(&mut self, name: &Ident) {
        let text = name.to_string();
        let is_new = !self.found.contains(name);
        if is_new && self.known.contains(&text) && !self.bound.contains(&text) {
            self.found.push(name.clone());
        }
    }

    /// Visits a part whose variables end with it.
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = self.bound.len();
        visit(self);
        self.bound.truncate(outer);
    }

    fn use_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().listed();
        let is_punct = |index: Option<usize>, char| match index.and_then(|index| tokens.get(index))
        {
            Some(TokenTree::Punct(punct)) => punct.as_char() == char,
            _ => false,
        };
        for (index, token) in tokens.iter().enumerate() {
            let before = |by: usize| index.checked_sub(by);
            match token {
                TokenTree::Group(group) => self.use_tokens(group.stream()),
                TokenTree::Ident(name) => {
                    // `.name`, but not `..name`
                    let is_member = is_punct(before(1), '.') && !is_punct(before(2), '.');
                    let in_path = is_punct(before(1), ':') && is_punct(before(2), ':')
                        || is_punct(Some(index + 1), ':') && is_punct(Some(index + 2), ':');
                    if !is_member && !in_path {
                        self.use_name(name);
                    }
                }
                TokenTree::Literal(literal) => self.use_format(literal),
                TokenTree::Punct(_) => {}
            }
        }
    }

    /// `"{name}"` and `"{name:?}"` name variables too.
    fn use_format(&mut self, literal: &proc_macro2::Literal) {
        let text = literal.to_string();
        if !text.starts_with('"') && !text.starts_with('r') {
            return;
        }
        for name in self.known {
            let names_it = |end| text.contains(&format!("{{{name}{end}"));
            // A raw identifier cannot be in a format string.
            if (names_it('}') || names_it(':')) && !name.starts_with("r#") {
                self.use_name(&Ident::new(name, literal.span()));
            }
        }
    }
}

impl Visit<'_> for Uses<'_> {
    fn visit_expr(&mut self, expression: &Expr) {
        match expression {
            Expr::Verbatim(tokens) => return self.use_tokens(tokens.clone()),
            Expr::Binary(binary) => {
                // What the left side binds is there on the right.
                self.compute_with(&binary.left);
                self.visit_expr(&binary.left);
                self.compute_with(&binary.right);
                return self.visit_expr(&binary.right);
            }
            Expr::Unary(unary) => self.compute_with(&unary.expr),
            Expr::Reference(reference) => self.compute_with(&reference.expr),
            Expr::MethodCall(call) => self.compute_with(&call.receiver),
            Expr::Index(index) => self.compute_with(&index.expr),
            Expr::Field(field) => self.compute_with(&field.base),
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_expr_path(&mut self, path: &ExprPath) {
        match path.path.get_ident() {
            Some(name) => self.use_name(name),
            None => visit::visit_expr_path(self, path),
        }
    }

    fn visit_macro(&mut self, invocation: &Macro) {
        self.use_tokens(invocation.tokens.clone());
    }

    fn visit_block(&mut self, block: &Block) {
        self.within(|this| visit::visit_block(this, block));
    }

    fn visit_pat_ident(&mut self, binding: &PatIdent) {
        self.bound.push(binding.ident.to_string());
        visit::visit_pat_ident(self, binding);
    }

    /// An item within the expression sees none of its variables.
    fn visit_item(&mut self, _: &Item) {
        self.has_items = true;
    }

    fn visit_local(&mut self, local: &Local) {
        if let Some(init) = &local.init {
            self.visit_local_init(init);
        }
        self.visit_pat(&local.pat);
    }

    fn visit_expr_let(&mut self, condition: &ExprLet) {
        self.visit_expr(&condition.expr);
        self.visit_pat(&condition.pat);
    }

    fn visit_expr_if(&mut self, conditional: &ExprIf) {
        self.within(|this| {
            this.visit_expr(&conditional.cond);
            this.visit_block(&conditional.then_branch);
        });
        if let Some((_, otherwise)) = &conditional.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, conditional: &ExprWhile) {
        self.within(|this| visit::visit_expr_while(this, conditional));
    }

    fn visit_expr_for_loop(&mut self, repeated: &ExprForLoop) {
        self.visit_expr(&repeated.expr);
        self.within(|this| {
            this.visit_pat(&repeated.pat);
            this.visit_block(&repeated.body);
        });
    }

    fn visit_expr_closure(&mut self, closure: &ExprClosure) {
        self.within(|this| visit::visit_expr_closure(this, closure));
    }

    fn visit_arm(&mut self, arm: &Arm) {
        self.within(|this| visit::visit_arm(this, arm));
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;
    use syn::parse_quote;

    use super::*;

    #[track_caller]
    fn check(expression: &Expr, expected: &[&str]) {
        let known = ["x", "y", "grad_output", "r#in"].map(String::from);
        let found: Vec<String> = names(expression, &known)
            .iter()
            .map(Ident::to_string)
            .listed();
        assert_eq!(found, expected, "{}", quote!(#expression));
    }

    #[test]
    fn values_are_used() {
        check(
            &parse_quote!(&grad_output * *x + S { x, y: 1 }.x),
            &["grad_output", "x"],
        );
        check(&parse_quote!(f::<{ y }>(x)[r#in]), &["y", "x", "r#in"]);
    }

    #[test]
    fn methods_fields_and_paths_are_not() {
        check(&parse_quote!(a.x(b.y) + x::y() + S { x: 1 }.z), &[]);
    }

    #[test]
    fn variables_of_the_expression_are_its_own() {
        check(&parse_quote!(|x| x + y), &["y"]);
        check(
            &parse_quote!({
                let x = x + 1;
                x
            }),
            &["x"],
        );
        check(
            &parse_quote!({
                let x = 1;
                x + y
            }),
            &["y"],
        );
        check(
            &parse_quote!(match z {
                (x, 0) if x > y => x,
                _ => 0,
            }),
            &["y"],
        );
        check(&parse_quote!(if let Some(x) = y { x } else { 0 }), &["y"]);
        check(
            &parse_quote!(if let Some(x) = y { x } else { x }),
            &["y", "x"],
        );
        check(
            &parse_quote!({
                while let Some(x) = next() {
                    x;
                }
                for y in 0..x {
                    y;
                }
            }),
            &["x"],
        );
        check(
            &parse_quote!({
                fn f(x: u8) -> u8 {
                    x
                }
                f(y)
            }),
            &["y"],
        );
    }

    #[test]
    fn operands_that_nothing_has_are_strangers() {
        let known = ["x"].map(String::from);
        let found = |expression: Expr| -> Vec<String> {
            let strangers = strangers(&expression, &known);
            strangers.iter().map(Ident::to_string).listed()
        };
        assert_eq!(
            found(parse_quote!(&x / norm - x.dot(&(y)) * norm)),
            ["norm", "y"]
        );
        assert_eq!(found(parse_quote!(norm)), ["norm"]);
        assert_eq!(found(parse_quote!(-a.b + c[0].d())), ["a", "c"]);
        // Functions, constants, paths, variables of its own, and what an item may define.
        let none: [Expr; 6] = [
            parse_quote!(if let Some(on) = x
                && on
            {
                1
            } else {
                2
            }),
            parse_quote!(f(x).mapv(g) * LIMIT + self::k),
            parse_quote!(x.mapv(|a| a * 2.0)),
            parse_quote!({
                let k = 2.0;
                &x * k
            }),
            parse_quote!({
                const k: f64 = 2.0;
                &x * k
            }),
            parse_quote!(array![y] * self.k),
        ];
        assert_eq!(none.map(found), [(); 6].map(|()| Vec::<String>::new()));
    }

    #[test]
    fn names_are_bound_anew() {
        let rebinds = |body: TokenStream| rebinds(&body, "x");
        for body in [
            quote!(let x = 1.0; x),
            quote!({
                let (mut x, y) = f();
            }),
            quote!(for x in 0..3 {}),
            quote!(f(|y, x| x)),
            quote!(
                fn x() {}
            ),
        ] {
            assert!(rebinds(body.clone()), "{body}");
        }
        for body in [
            quote!(let y = x; y * x),
            quote!(for y in x {}),
            quote!(f(|y| x) + x),
        ] {
            assert!(!rebinds(body.clone()), "{body}");
        }
    }

    #[test]
    fn closures_and_loops_have_names_of_their_own() {
        for body in [
            quote!(let (mut x, y) = f();),
            quote!(
                fn x() {}
            ),
        ] {
            assert!(lets(&body, "x"), "{body}");
        }
        for body in [quote!(for x in 0..3 {}), quote!(f(|y, x| x))] {
            assert!(!lets(&body, "x"), "{body}");
        }
    }

    #[test]
    fn arguments_of_macros_are_read_as_tokens() {
        check(&parse_quote!(array![x.y(), z::x, 0..y]), &["x", "y"]);
        check(&parse_quote!(vec![[x; 2]]), &["x"]);
        check(
            &parse_quote!(panic!("{grad_output:?} {y} {{z}}")),
            &["y", "grad_output"],
        );
        check(&parse_quote!(assert!(x != 1, 'x')), &["x"]);
    }
}
