//! Each file that defines public types, traits or functions has an example that runs with the documentation tests: of
//! one of them, of a method, or of the whole file. A file holds one idea, which the example shows.
//!
//! The test sees what the list of names sees: not what macros make.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, Lit, Meta};

use super::Place;
use crate::sources::{Crate, Module, fences, short};

/// Adds the files that define public items to those with an example, or to those without.
fn files(source: &str, with: &mut BTreeSet<String>, without: &mut BTreeSet<String>) {
    let of = Crate::read(source);
    let mut modules = vec![Vec::new()];
    while let Some(module) = modules.pop() {
        for (_, place) in of.exports(&module) {
            match place {
                Place::Module(inner) => modules.push(inner),
                Place::Item(
                    home,
                    Item::Enum(_) | Item::Fn(_) | Item::Struct(_) | Item::Trait(_),
                ) => {
                    let home = &of.modules[&home];
                    let files = if has_example(home) {
                        &mut *with
                    } else {
                        &mut *without
                    };
                    files.insert(short(&home.file));
                }
                Place::Item(..) | Place::Elsewhere(_) => {}
            }
        }
    }
}

fn has_example(module: &Module) -> bool {
    let mut documentation = Documentation(String::new());
    for attribute in &module.attributes {
        documentation.visit_attribute(attribute);
    }
    for item in &module.items {
        documentation.visit_item(item);
    }
    documentation.has_example()
}

/// All documentation of some items, in their order.
struct Documentation(String);

impl Documentation {
    fn has_example(&self) -> bool {
        let mut kinds = fences(&self.0).into_iter().map(|(kind, _)| kind);
        kinds.any(|kind| matches!(kind.as_str(), "" | "should_panic"))
    }
}

impl<'ast> Visit<'ast> for Documentation {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(value) = &pair.value
            && let Lit::Str(text) = &value.lit
        {
            self.0 += &(text.value() + "\n");
        }
    }

    /// Modules inside of a file are looked at by themselves.
    fn visit_item(&mut self, item: &'ast Item) {
        if !matches!(item, Item::Mod(_)) {
            visit::visit_item(self, item);
        }
    }
}

#[test]
fn every_file_with_public_items_has_an_example() {
    let (mut with, mut without) = (BTreeSet::new(), BTreeSet::new());
    for of in ["core", "graph", "kernels", "nn"] {
        files(&format!("autograd-{of}/src"), &mut with, &mut without);
    }
    assert!(with.len() > 100, "{} files have examples", with.len());
    assert!(without.is_empty(), "no example that runs: {without:#?}");
}

#[test]
fn only_code_that_runs_is_an_example() {
    let has_example = |text: &str| Documentation(text.to_owned()).has_example();
    assert!(has_example(
        "```text\na picture\n```\n```should_panic\npanic!()\n```"
    ));
    for kind in ["text", "no_run", "compile_fail,E0277"] {
        assert!(
            !has_example(&format!("```{kind}\nloop {{}}\n```")),
            "{kind}"
        );
    }
}
