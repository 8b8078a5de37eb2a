//! The rules of `ARCHITECTURE.md` and `CONTRIBUTING.md` that the compiler does not check.

mod examples;
mod imports;
mod inlining;
mod layers;
mod rare;
mod rings;
mod tables;

use std::collections::BTreeSet;
use std::fs;

use syn::{Item, ItemImpl, Type};

pub(crate) use self::tables::{file_of_mistake, table};

use self::imports::Used;
use crate::sources::{Crate, files, root, short};

/// The crates of this workspace: the folder, and the name that the crate has in its own code.
const CRATES: [(&str, &str); 7] = [
    ("autograd-kernels", "autograd_kernels"),
    ("autograd-math", "autograd_math"),
    ("autograd-macros", "autograd_macros"),
    ("autograd-core", "autograd_core"),
    ("autograd-graph", "autograd_graph"),
    ("autograd-nn", "pullback"),
    (".", "pullback"),
];

/// The files that may have `unsafe` code, each block with its safety argument.
const UNSAFE: [&str; 4] = [
    "autograd-core/src/alloc/",
    "autograd-core/src/array/",
    "autograd-kernels/src/",
    "examples/heat_adjoint/src/kernels.rs",
];

fn read(folder: &str) -> Crate {
    Crate::read(&format!("{folder}/src"))
}

/// Returns the crates of this workspace and those of `bridges/`, each with the name that it has in its own code.
fn crates() -> Vec<(String, &'static str)> {
    let mut crates: Vec<_> = CRATES
        .map(|(folder, name)| (folder.to_owned(), name))
        .into();
    let bridges = fs::read_dir(root().join("bridges")).expect("a readable folder");
    for bridge in bridges.map(|entry| entry.expect("a readable folder").path()) {
        if bridge.join("src/lib.rs").is_file() {
            crates.push((short(&bridge), ""));
        }
    }
    assert!(crates.len() > CRATES.len(), "no bridges");
    crates
}

#[test]
fn nothing_is_imported_through_the_root_of_its_own_crate() {
    let mut found = Vec::new();
    for (folder, name) in crates() {
        let sources = read(&folder);
        for import in imports::of(&sources, name) {
            if import.is_through_root {
                let written = import.path.join("::");
                let name = import.path.last().map_or("", String::as_str);
                let file = short(&sources.modules[&import.from].file);
                let home = import.home.join("::");
                found.push(format!(
                    "{file} imports `{written}`: write `crate::{home}::{name}`"
                ));
            }
        }
    }
    assert!(found.is_empty(), "imports through `lib.rs`: {found:#?}");
}

#[test]
fn unsafe_code_is_only_where_it_is_allowed() {
    let mut found = BTreeSet::new();
    for folder in CRATES.map(|(folder, _)| format!("{folder}/src")) {
        for module in Crate::read(&folder).modules.into_values() {
            if Used::by(&module.items).has_unsafe {
                found.insert(short(&module.file));
            }
        }
    }
    for file in files(&root().join("examples"), "rs") {
        let parsed = syn::parse_file(&crate::sources::text(&file)).expect("a source that parses");
        if Used::by(&parsed.items).has_unsafe {
            found.insert(short(&file));
        }
    }
    assert!(found.len() > UNSAFE.len(), "unsafe code is not found");
    found.retain(|file| !UNSAFE.iter().any(|allowed| file.contains(allowed)));
    assert!(found.is_empty(), "unsafe code in {found:?}");
}

/// A derived `Debug` would hide the message where an error is printed by `?`, `unwrap` or `expect`.
#[test]
fn errors_write_their_debug_by_hand() {
    for folder in ["autograd-core", "autograd-nn"] {
        let sources = read(folder);
        let items = sources.modules.values().flat_map(|module| &module.items);
        let impls: Vec<&ItemImpl> = items
            .filter_map(|item| match item {
                Item::Impl(item) => Some(item),
                _ => None,
            })
            .collect();
        let of_trait = |name: &str| {
            let named = |item: &&&ItemImpl| {
                let path = item.trait_.as_ref().map(|(path, _)| path);
                path.and_then(|path| path.segments.last())
                    .is_some_and(|last| last.ident == name)
            };
            let types = impls
                .iter()
                .filter(named)
                .map(|item| type_name(&item.self_ty));
            types.collect::<BTreeSet<String>>()
        };
        let (errors, by_hand) = (of_trait("Error"), of_trait("Debug"));
        assert!(!errors.is_empty(), "no errors in {folder}");
        let derived: Vec<&String> = errors.difference(&by_hand).collect();
        assert!(
            derived.is_empty(),
            "{derived:?} of {folder} show their fields in place of their message"
        );
    }
}

fn type_name(of: &Type) -> String {
    let Type::Path(path) = of else {
        return String::new();
    };
    let last = path.path.segments.last();
    last.map_or_else(String::new, |last| last.ident.to_string())
}
