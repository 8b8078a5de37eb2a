//! The tables of `tests/README.md`, whose rows name tests.

use std::path::PathBuf;

use crate::sources::{files, root, text};

/// Returns the rows of the table of `tests/README.md` whose first column has the title `title`, cut into cells.
pub(crate) fn table(title: &str) -> Vec<[String; 3]> {
    let readme = text(&root().join("tests/README.md"));
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

/// Returns the sources of all tests in this binary.
fn tests() -> String {
    let files = files(&root().join("tests/it"), "rs");
    files.iter().map(|file| text(file)).collect()
}

/// Returns the file of `autograd-macros/tests/ui/` with the module of a mistake, such as `gradients::too_few`, and its
/// text.
pub(crate) fn file_of_mistake(name: &str) -> Option<(PathBuf, String)> {
    let (rule, mistake) = name.split_once("::")?;
    let is_of_rule = |file: &PathBuf| {
        let stem = file.file_stem().map(|stem| stem.to_string_lossy());
        stem.is_some_and(|stem| stem == rule || stem.starts_with(&format!("{rule}_")))
    };
    let opening = format!("mod {mistake} {{");
    files(&root().join("autograd-macros/tests/ui"), "rs")
        .into_iter()
        .filter(is_of_rule)
        .map(|file| (text(&file), file))
        .find(|(text, _)| text.lines().any(|line| line == opening))
        .map(|(text, file)| (file, text))
}

/// Returns the tests that a cell names: functions, and mistakes of `autograd-macros/tests/ui/`. They must exist.
fn tests_named<'a>(cell: &'a str, tests: &str) -> Vec<&'a str> {
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
