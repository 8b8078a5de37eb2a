//! Examples are what a user of `pullback` can copy: they name no other crate of the workspace.

use std::path::Path;

use crate::sources::{fences, files, root, short, text};

/// The folders with documentation. The guide's chapters are in `docs`.
const FOLDERS: [&str; 9] = [
    "autograd-core/src",
    "autograd-graph/src",
    "autograd-kernels/src",
    "autograd-macros/src",
    "autograd-math/src",
    "autograd-nn/src",
    "docs",
    "examples",
    "src",
];

/// Returns the documentation in a file: a whole Markdown file, or the lines of `///` and `//!`.
fn documentation(file: &Path) -> String {
    let text = text(file);
    if file.extension().is_some_and(|extension| extension == "md") {
        return text;
    }
    let line = |line: &str| {
        let line = line.trim_start();
        let of_item = line.strip_prefix("///");
        Some(of_item.or_else(|| line.strip_prefix("//!"))?.to_owned() + "\n")
    };
    text.lines().filter_map(line).collect()
}

/// Returns the code of the examples in a documentation.
fn examples(documentation: &str) -> impl Iterator<Item = String> {
    let is_code = |kind: &str| {
        let kinds = ["", "rust", "should_panic", "no_run", "ignore"];
        kinds.contains(&kind) || kind.starts_with("compile_fail")
    };
    let fences = fences(documentation).into_iter();
    fences.filter_map(move |(kind, code)| is_code(&kind).then_some(code))
}

/// Returns code without the text between quotation marks.
fn without_texts(code: &str) -> String {
    let code = code.replace("\\\"", "");
    code.split('"').step_by(2).collect()
}

#[test]
fn examples_name_no_crate_but_pullback() {
    let mut found = Vec::new();
    let mut seen = 0;
    let all = FOLDERS.map(|folder| root().join(folder));
    let all = all
        .iter()
        .flat_map(|folder| [files(folder, "rs"), files(folder, "md")].concat());
    for file in all.chain([root().join("README.md")]) {
        for example in examples(&documentation(&file)) {
            seen += 1;
            let code = without_texts(&example);
            // A line that begins with `#` is hidden.
            let mut shown = code.lines().filter(|line| !line.trim().starts_with("# "));
            let line = shown.find(|line| line.contains("autograd_"));
            if let Some(line) = line {
                found.push(format!(
                    "{}: `{}`: write `pullback::…`",
                    short(&file),
                    line.trim()
                ));
            }
        }
    }
    assert!(seen > 200, "{seen} examples");
    assert!(
        found.is_empty(),
        "examples that a user cannot copy: {found:#?}"
    );
}

/// The compiler shows these notes to users.
#[test]
fn notes_of_traits_name_no_crate_but_pullback() {
    let mut seen = 0;
    for file in FOLDERS
        .iter()
        .flat_map(|folder| files(&root().join(folder), "rs"))
    {
        let text = text(&file);
        for note in text.split("#[diagnostic::on_unimplemented(").skip(1) {
            let note = note.split(")]").next().unwrap_or_default();
            seen += 1;
            assert!(!note.contains("autograd_"), "{}: {note}", short(&file));
        }
    }
    assert!(seen > 5, "{seen} notes");
}

#[test]
fn text_between_quotation_marks_is_not_code() {
    let page =
        "One.\n```\nuse a::b;\nlet c = \"autograd_core\";\n```\n```text\nautograd_core\n```\n";
    let example = examples(page).collect::<String>();
    assert!(example.contains("autograd_core"));
    assert!(!without_texts(&example).contains("autograd_core"));
}
