//! Every public name has an example that runs with the tests of the documentation.
//!
//! It sees what the list of names sees: not what macros make, whose examples stand in the macro or not at all.
//! What `#[custom_function]` reads is left out: the documentation of forward becomes that of `apply` and of the
//! catalogue, so its type has the example.

use std::collections::BTreeMap;
use std::path::PathBuf;

use syn::{Attribute, Expr, ImplItem, Item, ItemImpl, Lit, Meta, TraitItem};

use super::crates::{Crate, ModulePath, head, is_public, is_seen};
use super::{Place, root, shown};

/// What has none, and why.
const WITHOUT: &[(&str, &[&str], &str)] = &[
    (
        "autograd_core::functional::Functional",
        &["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"],
        "the functions of the module have them",
    ),
    (
        "autograd_nn::nn::Visitor",
        &[
            "parameter",
            "buffer",
            "rng_state",
            "absent",
            "enter",
            "leave",
        ],
        "they do nothing: the trait's example writes one",
    ),
    (
        "autograd_nn::nn::VisitorMut",
        &["parameter", "buffer", "rng_state", "mode", "enter", "leave"],
        "they do nothing: the trait's example writes one",
    ),
    (
        "autograd_nn::nn::Module",
        &[
            "visit_fields",
            "visit_fields_mut",
            "as_module",
            "as_module_mut",
        ],
        "`#[derive(Module)]` writes them, and they are not called by hand",
    ),
];

/// What should have an example and has none.
struct Missing<'a> {
    of: &'a Crate,
    /// By file and name in it, so that what has several public paths is found once.
    found: BTreeMap<(PathBuf, String), String>,
    seen: usize,
}

impl Missing<'_> {
    /// The public paths with their files, and how many names were looked at.
    fn of_crate(name: &str, source: &str) -> (Vec<(String, PathBuf)>, usize) {
        let of = Crate::read(&root().join(source));
        let mut missing = Missing {
            of: &of,
            found: BTreeMap::new(),
            seen: 0,
        };
        missing.module(name, &Vec::new());
        let found = missing.found.into_iter();
        let found = found.map(|((file, _), path)| (path, file)).collect();
        (found, missing.seen)
    }

    /// What a module exports, under its public path.
    fn module(&mut self, public: &str, module: &[String]) {
        let of = self.of;
        for (name, place) in of.exports(module) {
            let path = format!("{public}::{name}");
            match place {
                Place::Module(inner) => self.module(&path, &inner),
                Place::Item(module, item) => self.item(&path, &module, item),
                // Another name of this crate has its impls beside it.
                Place::Elsewhere(source) if source.starts_with("crate::") => {}
                // Of a type that a macro makes, the methods may stand outside of it.
                Place::Elsewhere(_) => self.methods(&path, &shown::impls_at(of, &name, None)),
            }
        }
    }

    fn item(&mut self, path: &str, module: &ModulePath, item: &Item) {
        if let Some((name, _, attributes)) = head(item) {
            // Another name of a type says what it is; methods of its own may stand beside it.
            if !matches!(item, Item::Type(_) | Item::Const(_) | Item::Static(_)) {
                self.look(path, module, attributes);
            }
            let of = self.of;
            self.methods(path, &shown::impls_at(of, &name.to_string(), Some(module)));
        }
        if let Item::Trait(item) = item {
            for method in &item.items {
                if let TraitItem::Fn(method) = method {
                    let path = format!("{path}::{}", method.sig.ident);
                    self.look(&path, module, &method.attrs);
                }
            }
        }
    }

    fn methods(&mut self, path: &str, impls: &[(&ModulePath, &ItemImpl)]) {
        let is_read = |attribute: &Attribute| attribute.path().is_ident("custom_function");
        for (module, item) in impls {
            if item.trait_.is_some() || item.attrs.iter().any(is_read) {
                continue;
            }
            for method in &item.items {
                if let ImplItem::Fn(method) = method
                    && is_public(&method.vis)
                {
                    let path = format!("{path}::{}", method.sig.ident);
                    self.look(&path, module, &method.attrs);
                }
            }
        }
    }

    fn look(&mut self, path: &str, module: &ModulePath, attributes: &[Attribute]) {
        if !is_seen(attributes) {
            return;
        }
        self.seen += 1;
        if !has_example(&documentation(attributes)) {
            let file = self.of.file(module).strip_prefix(root());
            // INVARIANT: the sources are below the root.
            let file = file.expect("a file of the workspace").to_owned();
            let parts: Vec<&str> = path.rsplit("::").take(2).collect();
            let place = (file, parts.join(" of "));
            self.found.entry(place).or_insert_with(|| path.to_owned());
        }
    }
}

/// What is written above an item, line by line.
fn documentation(attributes: &[Attribute]) -> Vec<String> {
    let texts = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(value) = &pair.value else {
            return None;
        };
        match &value.lit {
            Lit::Str(text) if pair.path.is_ident("doc") => Some(text.value()),
            _ => None,
        }
    });
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.collect()
}

/// Whether a block of code that is compiled and runs is among the lines.
fn has_example(lines: &[String]) -> bool {
    let fences = lines
        .iter()
        .filter_map(|line| line.trim().strip_prefix("```"));
    let mut opening = fences.step_by(2);
    opening.any(|kind| matches!(kind, "" | "should_panic"))
}

#[test]
fn every_public_name_has_an_example() {
    let mut missing = Vec::new();
    for (name, source) in [
        ("autograd_core", "autograd-core/src"),
        ("autograd_graph", "autograd-graph/src"),
        ("autograd_kernels", "autograd-kernels/src"),
        ("autograd_nn", "autograd-nn/src"),
    ] {
        let (found, seen) = Missing::of_crate(name, source);
        assert!(seen > 20, "{name} has {seen} names");
        missing.extend(found);
    }
    for (path, methods, reason) in WITHOUT {
        for method in *methods {
            let name = format!("{path}::{method}");
            let place = missing.iter().position(|(missing, _)| *missing == name);
            let Some(place) = place else {
                panic!("`{name}` has an example, or is no more: it needs no exception ({reason})")
            };
            missing.remove(place);
        }
    }
    let lines = missing
        .iter()
        .map(|(name, file)| format!("\n`{name}` in {}", file.display()));
    assert!(
        missing.is_empty(),
        "these have no example that runs:{}",
        lines.collect::<String>()
    );
}

#[test]
fn only_code_that_runs_is_an_example() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(has_example(&lines(
        "What it does.\n\n```\nassert!(true);\n```"
    )));
    assert!(has_example(&lines(
        "```text\na picture\n```\n```should_panic\npanic!()\n```"
    )));
    assert!(!has_example(&lines("```text\na picture\n```")));
    assert!(!has_example(&lines("```no_run\nloop {}\n```")));
    assert!(!has_example(&lines(
        "```compile_fail,E0277\nlet x: u8 = \"\";\n```"
    )));
    assert!(!has_example(&lines("`new` makes one.")));
}
