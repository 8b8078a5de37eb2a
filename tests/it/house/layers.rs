//! The modules of each crate import only what is above them in the picture of `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};

use super::{CRATES, imports, read};
use crate::sources::{Crate, root, short, text};

/// Modules that may import less than the picture allows: everything that they may import.
const NARROW: &[(&str, &str, &[&str])] = &[
    // The built-in functions are written as a user's are: on tensors and through the attribute.
    ("autograd-core", "basic", &["error", "tensor"]),
    ("autograd-core", "ops", &["basic", "error", "tensor"]),
];

/// Words that the code of a stage of the macros never contains.
const NEVER: &[(&[&str], &[&str])] = &[
    (&["parse"], &["quote", "quote_spanned", "parse_quote"]),
    (&["model"], &["quote", "quote_spanned", "format_ident", "parse_quote"]),
    (&["expand"], &["parse2", "parse_str", "parse_macro_input"]),
    (&["module", "parse"], &["quote", "quote_spanned", "parse_quote"]),
    (&["module", "model"], &["quote", "quote_spanned", "format_ident", "parse_quote"]),
    (&["module", "expand"], &["parse2", "parse_str", "parse_macro_input"]),
];

/// Stages of the macros, and others that they do not import though these are above them.
const APART: &[(&[&str], &[&[&str]])] = &[
    (&["model"], &[&["diagnostics"]]),
    (&["expand"], &[&["parse"]]),
    (&["module", "parse"], &[&["module", "model"], &["module", "validate"], &["module", "expand"]]),
    (&["module", "model"], &[&["module", "validate"], &["module", "expand"], &["diagnostics"]]),
    (&["module", "expand"], &[&["module", "parse"]]),
];

/// Returns the rows of modules of each crate, as the picture has them, the lowest first. A crate's rows begin with
/// its name.
fn picture() -> BTreeMap<String, Vec<Vec<String>>> {
    let page = text(&root().join("ARCHITECTURE.md"));
    let picture = page.split("```").nth(1).expect("a picture");
    let mut rows: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    let mut of = None;
    for line in picture.lines() {
        let line = line.split('(').next().unwrap_or_default();
        let mut words = line.split_whitespace().map(str::to_owned);
        if line.starts_with("autograd-") || line.starts_with("pullback") {
            of = words.next();
        }
        if let Some(of) = &of {
            rows.entry(of.clone()).or_default().push(words.collect());
        }
    }
    rows
}

fn starts_with(module: &[String], path: &[&str]) -> bool {
    module.len() >= path.len() && module.iter().zip(path).all(|(own, other)| own == other)
}

#[test]
fn modules_import_only_what_is_above_them() {
    let picture = picture();
    let mut found = String::new();
    for (folder, name) in CRATES {
        let key = if folder == "." { "pullback" } else { folder };
        let Some(rows) = picture.get(key) else {
            panic!("{key} is not in the picture of ARCHITECTURE.md");
        };
        let row = |module: &str| rows.iter().position(|row| row.iter().any(|own| own == module));
        let sources = read(folder);
        let modules: BTreeSet<&String> = sources.modules.keys().filter_map(|path| path.first()).collect();
        let drawn: BTreeSet<&String> = rows.iter().flatten().collect();
        assert_eq!(modules, drawn, "the modules of {key}, and those in ARCHITECTURE.md");
        for import in imports::of(&sources, name) {
            let (Some(from), Some(to)) = (import.from.first(), import.door.as_ref()) else {
                continue;
            };
            let narrow = NARROW.iter().find(|(of, own, _)| *of == folder && own == from);
            let is_allowed = narrow.map_or(row(to) < row(from), |(.., all)| all.contains(&to.as_str()));
            if from != to && !is_allowed {
                let file = short(&sources.modules[&import.from].file);
                found += &format!("\n{file} imports `{}`: `{to}` is not above `{from}`", import.path.join("::"));
            }
        }
    }
    assert!(found.is_empty(), "against the picture in ARCHITECTURE.md:{found}");
}

#[test]
fn crates_depend_only_on_those_above_them() {
    for (place, (folder, _)) in CRATES.iter().enumerate() {
        let manifest = text(&root().join(folder).join("Cargo.toml"));
        let dependencies = manifest.split("\n[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for (other, _) in CRATES.iter().skip(place) {
            let has = dependencies.lines().any(|line| line.starts_with(other));
            assert!(!has, "{folder} must not depend on {other}");
        }
    }
}

#[test]
fn stages_of_the_macros_keep_to_their_work() {
    let sources: Crate = read("autograd-macros");
    let mut found = String::new();
    let imports = imports::of(&sources, "autograd_macros");
    for (stage, others) in APART {
        for import in imports.iter().filter(|import| starts_with(&import.from, stage)) {
            if others.iter().any(|other| starts_with(&import.home, other)) {
                let file = short(&sources.modules[&import.from].file);
                found += &format!("\n{file} must not import `{}`", import.path.join("::"));
            }
        }
    }
    for (stage, words) in NEVER {
        for (_, module) in sources.modules.iter().filter(|(path, _)| starts_with(path, stage)) {
            for (path, _) in imports::Used::by(&module.items).paths {
                if path.iter().any(|name| words.contains(&name.as_str())) {
                    let file = short(&module.file);
                    found += &format!("\n{file} must not use `{}`", path.join("::"));
                }
            }
        }
    }
    assert!(found.is_empty(), "stages of autograd-macros:{found}");
}
