//! The guide is true: its quotes are the compiler's messages, and its links and file names exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::house::table;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the chapter of mistakes.
fn chapter() -> String {
    read(&root().join("docs/what_the_compiler_checks.md"))
}

/// Returns each quoted message with the name of its test, such as `item/no_backward`.
fn quotes(chapter: &str) -> Vec<(String, &str)> {
    let blocks = chapter.split("```text\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
    let named = blocks.map(|block| {
        let place = block.split("--> tests/ui/").nth(1);
        let name = place.and_then(|place| place.split(".rs:").next());
        let name = name.unwrap_or_else(|| panic!("a message without a place:\n{block}"));
        (name.to_owned(), block.trim_end())
    });
    named.collect()
}

#[test]
fn quoted_messages_are_what_the_compiler_says() {
    let chapter = chapter();
    let quotes = quotes(&chapter);
    assert!(quotes.len() >= 44, "{} messages", quotes.len());
    for (name, quote) in quotes {
        let recorded = root().join("tests/ui").join(&name).with_extension("stderr");
        let said = read(&recorded);
        assert!(
            said.starts_with(quote),
            "the guide says of `{name}`:\n{quote}\nbut the compiler:\n{said}"
        );
    }
}

#[test]
fn each_mistake_has_its_line_and_each_compile_error_its_message() {
    let chapter = chapter();
    let quotes = quotes(&chapter);
    let rows = table('M');
    for [row, kind, test] in &rows {
        let lines = chapter.lines();
        let own = lines.filter(|line| {
            line.starts_with(&format!("**{row}**")) || line.starts_with(&format!("| {row} |"))
        });
        assert_eq!(own.count(), 1, "{row} has no line of its own");
        let quoted = quotes.iter().any(|(name, _)| test.contains(name.as_str()));
        assert!(kind != "C" || quoted, "{row} is a compile error: {test}");
    }
    let count = |of: &str| rows.iter().filter(|[_, kind, _]| kind == of).count();
    let counts = format!(
        "Here {} are compile errors, {} are errors at run time, {} are found by a check, {} cannot be written or \
         are harmless, and {} have no counterpart.",
        count("C"),
        count("R"),
        count("T"),
        count("–"),
        count("×"),
    );
    let words: Vec<&str> = chapter.split_whitespace().collect();
    assert!(words.join(" ").contains(&counts), "{counts}");
}

/// Returns all Markdown files below `folder`, except built and hidden ones.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy());
        if name.is_none_or(|name| name.starts_with('.') || name == "target") {
            continue;
        }
        if path.is_dir() {
            files.extend(markdown(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files
}

/// Returns the targets of the links of a file, within the repository.
fn relative_links(text: &str) -> Vec<&str> {
    // Every second part is code: first of blocks, then inline.
    let prose = text.split("```").step_by(2);
    let prose = prose.flat_map(|prose| prose.split('`').step_by(2));
    let links = prose.flat_map(|prose| prose.split("](").skip(1));
    let targets = links.filter_map(|link| link.split(')').next());
    let targets = targets.filter(|target| !target.contains("://") && !target.contains("::"));
    let files = targets.filter_map(|target| target.split('#').next());
    files.filter(|file| !file.is_empty()).collect()
}

#[test]
fn links_between_markdown_files_lead_to_files() {
    let files = markdown(root());
    let mut links = 0;
    for file in &files {
        let text = read(file);
        for target in relative_links(&text) {
            let there = file.with_file_name("").join(target);
            assert!(there.exists(), "{}: no file is at {target}", file.display());
            links += 1;
        }
    }
    assert!(
        files.len() >= 10 && links >= 12,
        "{links} links in {} files",
        files.len()
    );
}

#[test]
fn files_that_the_guide_names_exist() {
    let mut named = 0;
    for chapter in markdown(&root().join("docs")) {
        let text = read(&chapter);
        let prose = text.split("```").step_by(2);
        let code = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2));
        let is_file = |name: &&str| {
            let extension = Path::new(name).extension();
            extension.is_some_and(|extension| extension == "rs" || extension == "md")
        };
        for name in code.filter(is_file) {
            let places = ["", "autograd-core/src"].map(|folder| root().join(folder).join(name));
            let exists = places.iter().any(|place| place.is_file());
            assert!(exists, "{}: no file is at {name}", chapter.display());
            named += 1;
        }
    }
    assert!(named >= 10, "{named} files");
}

#[test]
fn every_chapter_is_shown() {
    let guide = read(&root().join("src/guide.rs"));
    for file in markdown(&root().join("docs")) {
        let name = file.file_name().expect("a file").to_string_lossy();
        assert!(
            guide.contains(&format!("\"../docs/{name}\"")),
            "{name} is not part of the guide"
        );
    }
}
