//! Who may know whom: the arrows of `ARCHITECTURE.md`, kept.

use std::fs;
use std::path::{Path, PathBuf};

/// For each module of `autograd-core`, the others whose names may stand in it.
const CORE: [(&str, &[&str]); 14] = [
    ("element", &[]),
    ("error", &["array"]),
    ("array", &["element"]),
    ("kernels", &["element"]),
    ("grad_mode", &[]),
    (
        "tensor",
        &["array", "element", "error", "grad_mode", "tape"],
    ),
    ("tape", &["array", "element", "error", "tensor"]),
    (
        "engine",
        &["array", "element", "error", "grad_mode", "tape", "tensor"],
    ),
    ("function", &["array", "element", "error", "tape", "tensor"]),
    (
        "__private",
        &[
            "array",
            "element",
            "error",
            "function",
            "grad_mode",
            "gradcheck",
            "tape",
            "tensor",
        ],
    ),
    ("ops", &["kernels"]),
    ("erased", &["array", "element", "error", "tape", "tensor"]),
    ("forward_mode", &["erased", "error", "tensor"]),
    (
        "gradcheck",
        &[
            "element",
            "engine",
            "erased",
            "error",
            "forward_mode",
            "grad_mode",
            "tape",
            "tensor",
        ],
    ),
];

/// For each stage of `autograd-macros`, what it must not mention.
const MACROS: [(&str, &[&str]); 3] = [
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

#[test]
fn modules_of_the_core_import_only_what_lies_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("autograd-core/src");
    let modules: Vec<&str> = CORE.iter().map(|(module, _)| *module).collect();
    for (module, may) in CORE {
        for file in sources(&root.join(module)) {
            let code = code(&file);
            for other in modules
                .iter()
                .filter(|other| **other != module && !may.contains(*other))
            {
                let arrow = format!("crate::{other}::");
                assert!(
                    !code.contains(&arrow),
                    "{} must not know `{other}`",
                    file.display()
                );
            }
        }
    }
    let known: Vec<PathBuf> = modules
        .iter()
        .flat_map(|module| sources(&root.join(module)))
        .collect();
    for file in sources(&root) {
        assert!(
            file.ends_with("lib.rs") || known.contains(&file),
            "{} has no arrows",
            file.display()
        );
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
    for package in ["autograd-core/src", "autograd-macros/src", "src"] {
        for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(package)) {
            let path = file.to_string_lossy();
            let allowed = path.contains("/array/") || path.contains("/kernels/");
            assert!(
                allowed || !code(&file).contains("unsafe "),
                "{path} has unsafe code"
            );
        }
    }
}

/// What the README of the workspace and the manifest say of the files' size.
#[test]
fn files_are_short_enough_to_read() {
    for package in [
        "autograd-core/src",
        "autograd-macros/src",
        "src",
        "examples",
        "benches",
        "tests/it",
        "tests/memory",
    ] {
        for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(package)) {
            let lines = fs::read_to_string(&file)
                .expect("a readable source")
                .lines()
                .count();
            assert!(lines <= 400, "{} has {lines} lines", file.display());
        }
    }
}

/// The table of mistakes in `tests/README.md` names files of `tests/ui/` and tests.
#[test]
fn the_table_of_mistakes_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("tests/README.md")).expect("a readable file");
    let files = sources(&root.join("tests/it"));
    let tests: String = files.iter().map(|file| code(file)).collect();
    let rows: Vec<&str> = readme
        .lines()
        .filter(|line| line.starts_with("| M"))
        .collect();
    assert_eq!(rows.len(), 99);
    for row in rows {
        let test = row.rsplit(" | ").next().unwrap_or_default();
        for name in test.split('`').skip(1).step_by(2) {
            let is_file = root
                .join("tests/ui")
                .join(name)
                .with_extension("rs")
                .is_file();
            let is_name = name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_/".contains(c));
            let exists = is_file || tests.contains(&format!("fn {name}("));
            assert!(
                exists || !is_name || !name.contains('_'),
                "{row}: no test is named `{name}`"
            );
        }
    }
}
