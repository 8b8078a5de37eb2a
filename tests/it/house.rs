//! Who may know whom: the arrows of `ARCHITECTURE.md`, kept.

use std::fs;
use std::path::{Path, PathBuf};

/// For each module of `autograd-core`, the others whose names may stand in it.
const CORE: &[(&str, &[&str])] = &[
    ("element", &[]),
    ("error", &["array", "words"]),
    ("array", &["element"]),
    ("kernels", &["array", "element", "words"]),
    ("grad_mode", &[]),
    (
        "tensor",
        &[
            "array",
            "element",
            "error",
            "grad_mode",
            "hooks",
            "kernels",
            "tape",
        ],
    ),
    ("tape", &["array", "element", "error", "hooks", "tensor"]),
    ("hooks", &["array", "element", "error", "tape", "tensor"]),
    (
        "engine",
        &[
            "array",
            "element",
            "erased",
            "error",
            "grad_mode",
            "hooks",
            "saved",
            "tape",
            "tensor",
        ],
    ),
    (
        "saved",
        &[
            "array",
            "element",
            "erased",
            "error",
            "grad_mode",
            "tape",
            "tensor",
        ],
    ),
    (
        "checkpoint",
        &["array", "erased", "grad_mode", "saved", "words"],
    ),
    (
        "function",
        &[
            "array", "element", "error", "hooks", "saved", "tape", "tensor",
        ],
    ),
    (
        "__private",
        &[
            "array",
            "catalogue",
            "element",
            "error",
            "function",
            "grad_mode",
            "gradcheck",
            "saved",
            "tape",
            "tensor",
        ],
    ),
    ("ops", &["kernels", "words"]),
    ("markup", &[]),
    ("words", &[]),
    ("catalogue", &["error", "function", "markup"]),
    ("erased", &["array", "element", "error", "tape", "tensor"]),
    (
        "graph",
        &[
            "array", "element", "engine", "erased", "markup", "tape", "tensor",
        ],
    ),
    ("forward_mode", &["erased", "error", "tensor"]),
    (
        "recorded",
        &["array", "engine", "erased", "error", "grad_mode", "tape"],
    ),
    (
        "functional",
        &[
            "array",
            "element",
            "erased",
            "error",
            "forward_mode",
            "grad_mode",
            "recorded",
            "tape",
            "tensor",
        ],
    ),
    (
        "gradcheck",
        &[
            "catalogue",
            "element",
            "erased",
            "error",
            "forward_mode",
            "grad_mode",
            "recorded",
            "tape",
            "tensor",
        ],
    ),
];

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

#[test]
fn modules_of_the_core_import_only_what_lies_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("autograd-core/src");
    let modules: Vec<&str> = CORE.iter().map(|(module, _)| *module).collect();
    for &(module, may) in CORE {
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
    for package in [
        "autograd-core/src",
        "autograd-macros/src",
        "src",
        "examples",
    ] {
        for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(package)) {
            let path = file.to_string_lossy();
            let allowed = path.contains("/array/")
                || path.contains("/kernels/")
                || path.ends_with("examples/heat_adjoint/src/kernels.rs");
            assert!(
                allowed || !code(&file).contains("unsafe "),
                "{path} has unsafe code"
            );
        }
    }
}

/// A derived `Debug` would hide the message from whoever prints an error by `?`, `unwrap` or `expect`.
#[test]
fn errors_write_their_debug_by_hand() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for package in ["autograd-core/src", "src"] {
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

/// The lines of a table in `tests/README.md` whose rows begin with `letter`, cut into cells.
pub fn table(letter: char) -> Vec<[String; 3]> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("tests/README.md")).expect("a readable file");
    let is_row = |line: &&str| {
        let number = line
            .strip_prefix("| ")
            .and_then(|line| line.strip_prefix(letter));
        number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    };
    let rows = readme.lines().filter(is_row);
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

/// The names in a cell that say where something is tested: files of `tests/ui/` and functions, which
/// must exist.
fn tests_named<'a>(cell: &'a str, tests: &str) -> Vec<&'a str> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_name = |name: &&str| {
        let mut letters = name.chars();
        name.contains('_') && letters.all(|c| c.is_ascii_alphanumeric() || "_/".contains(c))
    };
    let names: Vec<&str> = cell.split('`').skip(1).step_by(2).filter(is_name).collect();
    for name in &names {
        let file = root.join("tests/ui").join(name).with_extension("rs");
        let exists = file.is_file() || tests.contains(&format!("fn {name}("));
        assert!(exists, "{cell}: no test is named `{name}`");
    }
    names
}

#[test]
fn the_table_of_mistakes_names_tests_that_exist() {
    let (rows, tests) = (table('M'), tests());
    assert_eq!(rows.len(), 99);
    for [_, _, test] in &rows {
        tests_named(test, &tests);
    }
}

/// The rows of the list of behaviours.
const BEHAVIOURS: &[u32] = &[
    1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 25, 26, 27, 29, 30, 31,
    33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 48, 49, 50, 52, 54, 55, 56, 57, 58, 59,
    60, 61, 63, 64, 65, 66, 67, 68, 70, 71, 72, 73, 74, 76, 77, 78, 79, 80, 82, 83, 84, 85, 86, 87,
    88, 89, 90, 91, 94, 95, 96, 97, 98, 99, 100, 102, 103, 104, 106, 107, 108, 109, 110,
];

#[test]
fn the_table_of_behaviours_has_every_row_and_names_tests_that_exist() {
    let (rows, tests) = (table('B'), tests());
    let numbers = rows
        .iter()
        .map(|[row, _, _]| row[1..].parse().expect("a number"));
    assert_eq!(numbers.collect::<Vec<u32>>(), BEHAVIOURS);
    for ([row, kind, test], number) in rows.iter().zip(BEHAVIOURS) {
        let names = tests_named(test, &tests);
        // What is done has a test that bears the row's number.
        let own = format!("b{number:03}_");
        let shown = names.iter().any(|name| name.contains(&own));
        assert!(
            shown || !["=", "≠"].contains(&&kind[..]),
            "{row} is not shown by a test of its own"
        );
    }
}
