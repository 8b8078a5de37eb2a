//! What is inlined in every loop: see DESIGN.md.

use syn::visit::{self, Visit};
use syn::{Expr, ItemFn};

use crate::sources::{files, root, short, text};

/// In a build without optimization, each function that is inlined is compiled once for each call, and none is faster.
#[test]
fn functions_of_kernels_are_inlined_only_where_they_are_optimized() {
    let (mut found, mut count) = (Vec::new(), 0);
    for file in files(&root().join("autograd-kernels/src"), "rs") {
        if short(&file).contains("/tests") {
            continue;
        }
        for (line, number) in text(&file).lines().zip(1..) {
            if line.contains("cfg_attr(optimized, inline(always))") {
                count += 1;
            } else if line.trim_start().starts_with("#[inline(always)]") {
                found.push(format!("{}:{number}", short(&file)));
            }
        }
    }
    assert!(count > 400, "{count} attributes are too few to be all");
    assert!(
        found.is_empty(),
        "`#[inline(always)]` without `cfg_attr(optimized, …)`: {found:#?}"
    );
}

/// The functions with loops, or with calls that are loops in the standard library, and the one that is read.
#[derive(Default)]
struct Loops {
    function: String,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Loops {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.function = function.sig.ident.to_string();
        visit::visit_item_fn(self, function);
        // Outside of a function are constants, which the compiler computes.
        self.function.clear();
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        let is_loop = match expr {
            Expr::ForLoop(_) | Expr::Loop(_) | Expr::While(_) => true,
            Expr::MethodCall(call) => call.method.to_string().contains("iter"),
            _ => false,
        };
        if is_loop && !self.function.is_empty() {
            self.found.push(self.function.clone());
        }
        visit::visit_expr(self, expr);
    }
}

/// The loop over an array is vector code if none is within it, and whether the compiler unrolls one before depends on the
/// profile of the program.
#[test]
fn functions_of_numbers_have_no_loops() {
    let (mut found, mut functions) = (Vec::new(), 0);
    for file in files(&root().join("autograd-kernels/src/math"), "rs") {
        if file.ends_with("tests.rs") {
            continue;
        }
        let source = text(&file);
        functions += source.matches("fn ").count();
        let mut loops = Loops::default();
        loops.visit_file(&syn::parse_file(&source).expect("Rust"));
        let named = |function| format!("`{function}` in {}", short(&file));
        found.extend(loops.found.into_iter().map(named));
    }
    assert!(
        functions > 80,
        "{functions} functions are too few to be all"
    );
    assert!(found.is_empty(), "functions with loops: {found:#?}");
}
