//! Every public type, trait and function has an example that runs with the documentation tests: its own, that of a
//! method in its file, or one in its file that names it. The functions of a file, built-in functions too, may share one.
//!
//! The test sees what the list of names sees: not what macros make.

use syn::{Attribute, Expr, ImplItem, Item, Lit, Meta, TraitItem, Type};

use super::Place;
use crate::sources::{Crate, Module, fences, head, short};

/// Returns the paths and files of the public items without an example, and the number of all public items.
fn without_example(name: &str, source: &str) -> (Vec<String>, usize) {
    let of = Crate::read(source);
    let (mut found, mut seen) = (Vec::new(), 0);
    let mut modules = vec![(name.to_owned(), Vec::new())];
    while let Some((public, module)) = modules.pop() {
        for (name, place) in of.exports(&module) {
            let path = format!("{public}::{name}");
            match place {
                Place::Module(inner) => modules.push((path, inner)),
                Place::Item(home, item) if needs_example(item) => {
                    seen += 1;
                    let home = &of.modules[&home];
                    if !is_shown(home, item, &name) {
                        found.push(format!("`{path}` in {}", short(&home.file)));
                    }
                }
                Place::Item(..) | Place::Elsewhere(_) => {}
            }
        }
    }
    (found, seen)
}

/// Returns whether an item has an example, or its file has one that shows it.
fn is_shown(home: &Module, item: &Item, name: &str) -> bool {
    if !examples(attributes(item)).is_empty() {
        return true;
    }
    let of_items = home
        .items
        .iter()
        .flat_map(|item| examples(attributes(item)));
    let mut of_items = of_items.collect::<Vec<_>>().into_iter();
    let of_methods: Vec<String> = home.items.iter().flat_map(examples_of_methods).collect();
    let is_word = |code: String| {
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word == name)
    };
    !of_methods.is_empty()
        || ((is_function(home, name) || matches!(item, Item::Fn(_))) && of_items.len() > 0)
        || of_items.any(is_word)
}

/// Returns whether an item needs an example. Another name of a type does not: it says what it is.
fn needs_example(item: &Item) -> bool {
    matches!(
        item,
        Item::Enum(_) | Item::Fn(_) | Item::Struct(_) | Item::Trait(_)
    )
}

fn attributes(item: &Item) -> &[Attribute] {
    head(item).map_or(&[], |(.., attributes)| attributes)
}

/// Returns whether a type has an impl with `#[custom_function]`.
fn is_function(module: &Module, name: &str) -> bool {
    module.items.iter().any(|item| {
        let Item::Impl(item) = item else { return false };
        let Type::Path(of) = &*item.self_ty else {
            return false;
        };
        let marked = item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("custom_function"));
        marked
            && of
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == name)
    })
}

fn examples_of_methods(item: &Item) -> Vec<String> {
    let of_impl = |item: &ImplItem| match item {
        ImplItem::Fn(method) => examples(&method.attrs),
        _ => Vec::new(),
    };
    let of_trait = |item: &TraitItem| match item {
        TraitItem::Fn(method) => examples(&method.attrs),
        _ => Vec::new(),
    };
    match item {
        Item::Impl(item) => item.items.iter().flat_map(of_impl).collect(),
        Item::Trait(item) => item.items.iter().flat_map(of_trait).collect(),
        _ => Vec::new(),
    }
}

/// Returns the blocks of code in an item's documentation that are compiled and run.
fn examples(attributes: &[Attribute]) -> Vec<String> {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            Expr::Lit(value) if pair.path.is_ident("doc") => match &value.lit {
                Lit::Str(text) => Some(text.value() + "\n"),
                _ => None,
            },
            _ => None,
        }
    });
    let fences = fences(&lines.collect::<String>()).into_iter();
    fences
        .filter(|(kind, _)| matches!(kind.as_str(), "" | "should_panic"))
        .map(|(_, code)| code)
        .collect()
}

#[test]
fn every_public_item_has_an_example() {
    let mut missing = Vec::new();
    for (name, source) in [
        ("autograd_core", "autograd-core/src"),
        ("autograd_graph", "autograd-graph/src"),
        ("autograd_kernels", "autograd-kernels/src"),
        ("autograd_nn", "autograd-nn/src"),
    ] {
        let (found, seen) = without_example(name, source);
        assert!(seen > 4, "{name} has {seen} public items");
        missing.extend(found);
    }
    assert!(
        missing.is_empty(),
        "these have no example that runs:\n{}",
        missing.join("\n")
    );
}

#[test]
fn only_code_that_runs_is_an_example() {
    let shows = |code: syn::ItemFn| !examples(&code.attrs).is_empty();
    assert!(shows(syn::parse_quote! {
        #[doc = "```text\na picture\n```\n```should_panic\npanic!()\n```"]
        fn f() {}
    }));
    for kind in ["text", "no_run", "compile_fail,E0277"] {
        let text = format!("It does.\n\n```{kind}\nloop {{}}\n```");
        assert!(
            !shows(syn::parse_quote!(#[doc = #text] fn f() {})),
            "{kind}"
        );
    }
}
