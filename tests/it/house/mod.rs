//! Who may know whom: the arrows of `ARCHITECTURE.md`, kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{ItemMod, ItemUse, UseName, UseRename, UseTree};

/// The modules of `autograd-core`, the lowest first. Each may import those of the lines above its own.
const LAYERS: &[&[&str]] = &[
    &["thread"],
    &["alloc", "error", "memory"],
    &["array"],
    &["tape"],
    &["tensor"],
    &["erased", "hooks"],
    &["forward_mode", "saved"],
    // They meet in a `dyn` node alone.
    &["checkpoint", "engine", "function"],
    &["catalogue", "inspect", "recording"],
    &["foreign", "functional"],
    &["gradcheck"],
    &["basic"],
    &["elementwise", "ops"],
    &["__private"],
];

/// The built-in functions are written as a user's are: on tensors and through the attribute.
const OPS: &[&str] = &["basic", "error", "tensor"];

/// For each stage of `autograd-macros`, what it must not mention.
const MACROS: [(&str, &[&str]); 6] = [
    (
        "model",
        &[
            "quote",
            "crate::expand",
            "crate::validate",
            "crate::diagnostics",
        ],
    ),
    (
        "parse",
        &["quote!", "crate::expand", "crate::validate", "crate::model"],
    ),
    ("expand", &["crate::parse", "parse_macro_input"]),
    (
        "module/model",
        &["quote", "expand::", "validate::", "diagnostics"],
    ),
    (
        "module/parse",
        &["quote!", "expand::", "validate::", "model::"],
    ),
    ("module/expand", &["parse::", "parse_macro_input"]),
];

fn sources(module: &Path) -> Vec<PathBuf> {
    if module.with_extension("rs").is_file() {
        return vec![module.with_extension("rs")];
    }
    let entries =
        fs::read_dir(module).unwrap_or_else(|_| panic!("{} is missing", module.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("a readable folder").path()) {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The code of a file: no comments, no tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a readable source");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths that begin with `crate` or `super` in a file of the module `module`, as paths from the crate's root.
struct Imports {
    module: Vec<String>,
    found: BTreeSet<Vec<String>>,
}

impl Imports {
    fn of(file: &Path, module: Vec<String>) -> BTreeSet<Vec<String>> {
        let source = fs::read_to_string(file).expect("a readable source");
        let file = syn::parse_file(&source).expect("a source that parses");
        let found = BTreeSet::new();
        let mut imports = Self { module, found };
        imports.visit_file(&file);
        imports.found
    }

    fn add(&mut self, path: &[String]) {
        let parents = path.iter().take_while(|name| *name == "super").count();
        if parents > 0 {
            let kept = self.module.len().saturating_sub(parents);
            let path = [&self.module[..kept], &path[parents..]].concat();
            self.found.insert(path);
        } else if path.first().is_some_and(|first| first == "crate") {
            self.found.insert(path[1..].to_vec());
        }
    }

    fn add_tree(&mut self, tree: &UseTree, mut before: Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.add_tree(&path.tree, before);
            }
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.add_tree(tree, before.clone())),
            UseTree::Name(UseName { ident, .. }) | UseTree::Rename(UseRename { ident, .. }) => {
                before.push(ident.to_string());
                self.add(&before);
            }
            UseTree::Glob(_) => self.add(&before),
        }
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        // Tests may look anywhere.
        if !item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("cfg"))
        {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_tree(&item.tree, Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        self.add(&names.collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    /// What a macro is given is no syntax yet: its paths are found as words.
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let words = item.tokens.to_string().replace(" :: ", "::");
        for word in words
            .split_whitespace()
            .filter(|word| word.starts_with("crate::"))
        {
            self.add(&word.split("::").map(str::to_owned).collect::<Vec<_>>());
        }
        visit::visit_macro(self, item);
    }
}

/// The module of the core that a path leads to: names that `lib.rs` re-exports are those of their module.
fn module_of(path: &[String], exports: &BTreeMap<String, String>) -> Option<&'static str> {
    let first = path.first()?;
    let first = exports.get(first).unwrap_or(first);
    let mut modules = LAYERS.iter().copied().flatten();
    modules.find(|module| **module == first).copied()
}

/// For each name that `lib.rs` re-exports, the module that it comes from.
fn exports_of(lib: &Path) -> BTreeMap<String, String> {
    let source = fs::read_to_string(lib).expect("a readable source");
    let file = syn::parse_file(&source).expect("a source that parses");
    let mut exports = BTreeMap::new();
    for item in file.items {
        let syn::Item::Use(ItemUse {
            tree: UseTree::Path(path),
            ..
        }) = item
        else {
            continue;
        };
        let module = path.ident.to_string();
        let names = match *path.tree {
            UseTree::Group(group) => group.items.into_iter().collect(),
            tree => vec![tree],
        };
        for name in names {
            if let UseTree::Name(name) = name {
                exports.insert(name.ident.to_string(), module.clone());
            }
        }
    }
    exports
}

#[test]
fn modules_of_the_core_import_only_what_is_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("autograd-core/src");
    let exports = exports_of(&root.join("lib.rs"));
    let layer_of = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    for file in sources(&root) {
        let path = file
            .strip_prefix(&root)
            .expect("below the root")
            .with_extension("");
        let mut module: Vec<String> = path
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        if module == ["lib"] || module.contains(&"tests".to_owned()) {
            continue;
        }
        if module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        let own = module[0].clone();
        let layer = layer_of(&own);
        assert!(layer.is_some(), "{} is in no layer", file.display());
        for import in Imports::of(&file, module) {
            let Some(other) = module_of(&import, &exports).filter(|other| *other != own) else {
                continue;
            };
            let may = if ["basic", "ops"].contains(&&own[..]) {
                OPS.contains(&other)
            } else {
                layer_of(other) < layer
            };
            assert!(
                may,
                "{} must not import `{}`",
                file.display(),
                import.join("::")
            );
        }
    }
}

#[test]
fn stages_of_the_macros_keep_to_their_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("autograd-macros/src");
    for (stage, never) in MACROS {
        for file in sources(&root.join(stage)) {
            let code = code(&file);
            for word in never {
                assert!(
                    !code.contains(word),
                    "{} must not use `{word}`",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn unsafe_code_stands_where_it_may() {
    for package in [
        "autograd-core/src",
        "autograd-graph/src",
        "autograd-kernels/src",
        "autograd-macros/src",
        "autograd-nn/src",
        "src",
        "examples",
    ] {
        for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(package)) {
            let path = file.to_string_lossy();
            let allowed = path.contains("/alloc/")
                || path.contains("/array/")
                || path.contains("/autograd-kernels/src/")
                || path.ends_with("examples/heat_adjoint/src/kernels.rs");
            assert!(
                allowed || !code(&file).contains("unsafe "),
                "{path} has unsafe code"
            );
        }
    }
}

/// A derived `Debug` would hide the message where an error is printed by `?`, `unwrap` or `expect`.
#[test]
fn errors_write_their_debug_by_hand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for package in ["autograd-core/src", "autograd-nn/src"] {
        let files = sources(&root.join(package));
        let all = files
            .iter()
            .map(|file| code(file) + "\n")
            .collect::<String>();
        let errors = all.lines().filter_map(|line| {
            let (before, name) = line.split_once("Error for ")?;
            (before.starts_with("impl ")).then(|| name.trim_end_matches([' ', '{', '}']))
        });
        let errors: Vec<&str> = errors.collect();
        assert!(!errors.is_empty(), "no errors in {package}");
        for error in errors {
            let by_hand = all.contains(&format!("impl fmt::Debug for {error} "));
            assert!(
                by_hand,
                "`{error}` shows its fields in place of its message"
            );
        }
    }
}

/// Returns the rows of the table of `tests/README.md` whose first column has the title `title`, cut into cells.
pub fn table(title: &str) -> Vec<[String; 3]> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("tests/README.md")).expect("a readable file");
    let head = format!("| {title} | kind |");
    let lines = readme.lines().skip_while(|line| !line.starts_with(&head));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let mut cells = row
            .trim_matches(['|', ' '])
            .splitn(3, " | ")
            .map(str::to_owned);
        std::array::from_fn(|_| cells.next().expect("three cells"))
    })
    .collect()
}

/// The code of all tests in this binary.
fn tests() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = sources(&root.join("tests/it"));
    files.iter().map(|file| code(file)).collect()
}

/// Returns the file of `autograd-macros/tests/ui/` with the module of a mistake, such as `gradients::too_few`, and its text.
pub(crate) fn file_of_mistake(name: &str) -> Option<(PathBuf, String)> {
    let (rule, mistake) = name.split_once("::")?;
    let is_of_rule = |file: &PathBuf| {
        let stem = file.file_stem().map(|stem| stem.to_string_lossy());
        let is_rule =
            stem.is_some_and(|stem| stem == rule || stem.starts_with(&format!("{rule}_")));
        is_rule && file.extension().is_some_and(|extension| extension == "rs")
    };
    let opening = format!("mod {mistake} {{");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("autograd-macros/tests/ui");
    fs::read_dir(folder)
        .expect("a readable folder")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(is_of_rule)
        .map(|file| (fs::read_to_string(&file).expect("a readable file"), file))
        .find(|(text, _)| text.lines().any(|line| line == opening))
        .map(|(text, file)| (file, text))
}

/// Returns the names in a cell of where something is tested: functions, and mistakes of `autograd-macros/tests/ui/`.
/// They must exist.
pub(crate) fn tests_named<'a>(cell: &'a str, tests: &str) -> Vec<&'a str> {
    let is_name = |name: &&str| {
        let mut letters = name.chars();
        (name.contains('_') || name.contains("::"))
            && letters.all(|c| c.is_ascii_alphanumeric() || "_:".contains(c))
    };
    let names: Vec<&str> = cell.split('`').skip(1).step_by(2).filter(is_name).collect();
    for name in &names {
        let exists = file_of_mistake(name).is_some() || tests.contains(&format!("fn {name}("));
        assert!(exists, "{cell}: no test is named `{name}`");
    }
    names
}

#[test]
fn the_table_of_mistakes_names_tests_that_exist() {
    let (rows, tests) = (table("mistake"), tests());
    assert_eq!(rows.len(), 99);
    for [_, _, test] in &rows {
        tests_named(test, &tests);
    }
}

#[test]
fn the_table_of_behaviors_names_tests_that_exist() {
    let (rows, tests) = (table("row"), tests());
    assert_eq!(rows.len(), 93);
    for [row, kind, test] in &rows {
        let is_shown = !tests_named(test, &tests).is_empty();
        assert!(
            is_shown || !["=", "≠"].contains(&&kind[..]),
            "{row} has no test"
        );
    }
}
