//! The modules of each crate import only what is above them in the picture of `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};

use super::{CRATES, imports, read};
use crate::sources::{fences, root, short, text};

/// Modules that may import less than the picture allows: everything that they may import.
const NARROW: &[(&str, &str, &[&str])] = &[
    // The built-in functions are written as a user's are: on tensors and through the attribute.
    ("autograd-core", "basic", &["error", "tensor"]),
    ("autograd-core", "ops", &["basic", "error", "tensor"]),
];

/// Functions, macros and traits that write code, and that read it.
const WRITE: &[&str] = &[
    "quote",
    "quote_spanned",
    "format_ident",
    "parse_quote",
    "ToTokens",
];
const READ: &[&str] = &["parse2", "parse_str", "parse_macro_input"];

/// For each stage of the macros, the names that its code never contains.
const NEVER: [(&str, &[&str]); 7] = [
    ("parse", WRITE),
    ("validate", &["quote", "quote_spanned"]),
    ("model", WRITE),
    ("expand", READ),
    ("module::parse", WRITE),
    ("module::model", WRITE),
    ("module::expand", READ),
];

/// For each stage of the macros, modules that it does not import though the picture allows it.
const APART: [(&str, &[&str]); 5] = [
    ("model", &["diagnostics"]),
    ("expand", &["parse", "lower"]),
    (
        "module::parse",
        &["module::model", "module::validate", "module::expand"],
    ),
    (
        "module::model",
        &["module::validate", "module::expand", "diagnostics"],
    ),
    ("module::expand", &["module::parse"]),
];

/// Returns the rows of modules of each crate, as the picture has them, the lowest first. A crate's rows begin with
/// its name.
fn picture() -> BTreeMap<String, Vec<Vec<String>>> {
    let page = text(&root().join("ARCHITECTURE.md"));
    let (_, picture) = fences(&page).into_iter().next().expect("a picture");
    let mut rows: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    let mut of = None;
    for line in picture.lines() {
        let line = line.split('(').next().unwrap_or_default();
        let mut words = line.split_whitespace().map(str::to_owned);
        if line.starts_with("autograd-") {
            of = words.next();
        }
        if let Some(of) = &of {
            rows.entry(of.clone()).or_default().push(words.collect());
        }
    }
    rows
}

fn is_within(module: &[String], other: &str) -> bool {
    (module.join("::") + "::").starts_with(&format!("{other}::"))
}

/// The rows of a crate in the picture.
struct Rows(Vec<Vec<String>>);

impl Rows {
    fn row(&self, module: &str) -> Option<usize> {
        self.0.iter().position(|row| {
            let mut names = row.iter().flat_map(|name| name.split('+'));
            names.any(|name| name == module)
        })
    }

    /// Returns whether `from` may import `to`: a module above it, or one that is joined to it.
    fn allow(&self, from: &str, to: &str) -> bool {
        let is_pair =
            |pair: &String| [format!("{from}+{to}"), format!("{to}+{from}")].contains(pair);
        self.row(to) < self.row(from) || self.0.iter().flatten().any(is_pair)
    }
}

#[test]
fn modules_import_only_what_is_above_them() {
    let mut picture = picture();
    let (mut found, mut seen) = (Vec::new(), 0);
    // The facade has re-exports alone.
    for (folder, name) in CRATES.into_iter().filter(|(folder, _)| *folder != ".") {
        let rows = picture.remove(folder).map(Rows);
        let rows =
            rows.unwrap_or_else(|| panic!("{folder} is not in the picture of ARCHITECTURE.md"));
        let sources = read(folder);
        let modules = sources.modules.keys().filter_map(|path| path.first());
        let modules: BTreeSet<&str> = modules.map(String::as_str).collect();
        let drawn = rows.0.iter().flatten().flat_map(|name| name.split('+'));
        assert_eq!(
            modules,
            drawn.collect(),
            "the modules of {folder}, and those in ARCHITECTURE.md"
        );
        for import in imports::of(&sources, name) {
            let (Some(from), Some(to)) = (import.from.first(), import.door.as_ref()) else {
                continue;
            };
            seen += 1;
            let narrow = NARROW
                .iter()
                .find(|(of, own, _)| *of == folder && own == from);
            let is_allowed = match narrow {
                Some((.., all)) => all.contains(&to.as_str()),
                None => rows.allow(from, to),
            };
            if from != to && !is_allowed {
                let file = short(&sources.modules[&import.from].file);
                let path = import.path.join("::");
                found.push(format!(
                    "{file} imports `{path}`: `{to}` is not above `{from}`"
                ));
            }
        }
    }
    assert!(seen > 1000, "only {seen} imports are found");
    assert!(
        found.is_empty(),
        "against the picture in ARCHITECTURE.md: {found:#?}"
    );
}

#[test]
fn crates_depend_only_on_those_above_them() {
    for (place, (folder, _)) in CRATES.iter().enumerate() {
        let manifest = text(&root().join(folder).join("Cargo.toml"));
        let dependencies = manifest
            .split("\n[dependencies]")
            .nth(1)
            .unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for (other, _) in CRATES.iter().skip(place) {
            let has = dependencies.lines().any(|line| line.starts_with(other));
            assert!(!has, "{folder} must not depend on {other}");
        }
    }
}

#[test]
fn stages_of_the_macros_keep_to_their_work() {
    let sources = read("autograd-macros");
    let file = |module: &[String]| short(&sources.modules[module].file);
    let mut found = Vec::new();
    let imports = imports::of(&sources, "autograd_macros");
    for (stage, others) in APART {
        for import in imports
            .iter()
            .filter(|import| is_within(&import.from, stage))
        {
            if others.iter().any(|other| is_within(&import.home, other)) {
                let path = import.path.join("::");
                found.push(format!("{} must not import `{path}`", file(&import.from)));
            }
        }
    }
    for (stage, names) in NEVER {
        let modules = sources.modules.iter();
        for (path, module) in modules.filter(|(path, _)| is_within(path, stage)) {
            let used = imports::Used::by(&module.items).paths.into_iter();
            for name in used.filter_map(|(mut path, _)| path.pop()) {
                if names.contains(&name.as_str()) {
                    found.push(format!("{} must not use `{name}`", file(path)));
                }
            }
        }
    }
    assert!(found.is_empty(), "stages of autograd-macros: {found:#?}");
}
