//! The guide is true: its quotes are the compiler's messages, and its links and file names exist.

use std::path::Path;

use crate::house::{file_of_mistake, table};
use crate::sources::{files, root, text};

/// Returns the chapter of mistakes.
fn chapter() -> String {
    text(&root().join("docs/what_the_compiler_checks.md"))
}

/// Returns each quoted message with the mistake that it is below, such as `No backward function`.
fn quotes(chapter: &str) -> Vec<(&str, &str)> {
    let mut mistake = "";
    let mut quotes = Vec::new();
    for (index, part) in chapter.split("```").enumerate() {
        if index % 2 == 0 {
            let last = part.rsplit_once("\n**").map(|(_, text)| text);
            mistake = last
                .and_then(|text| text.split(".**").next())
                .unwrap_or(mistake);
        } else if let Some(quote) = part.strip_prefix("text\n") {
            quotes.push((mistake, quote.trim_end()));
        }
    }
    quotes
}

/// Returns the messages that are recorded for a mistake such as `gradients::too_few`.
fn messages(mistake: &str) -> Vec<String> {
    let (file, source) = file_of_mistake(mistake).expect("a mistake of the table");
    let name = mistake.rsplit("::").next().unwrap_or_default();
    let lines: Vec<&str> = source.lines().collect();
    let start = lines
        .iter()
        .position(|line| *line == format!("mod {name} {{"));
    let start = start.expect("the module of the mistake");
    let length = lines[start..].iter().position(|line| *line == "}");
    let module = start + 1..=start + length.expect("the end of the module");
    let line_of = |message: &&str| {
        let place = message.split("--> tests/ui/").nth(1)?;
        place.split(':').nth(1)?.parse::<usize>().ok()
    };
    text(&file.with_extension("stderr"))
        .replace("\n\nerror", "\n\0error")
        .split('\0')
        .filter(|message| line_of(message).is_some_and(|line| module.contains(&line)))
        .map(str::to_owned)
        .collect()
}

/// A line without the number of the line of code that it shows, and without the place of an error.
fn unnumbered(line: &str) -> &str {
    let shown = line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit());
    if shown.starts_with("-->") {
        "-->"
    } else {
        shown
    }
}

/// Returns whether a message begins with a quote, apart from places and numbers of lines. A line of code may be
/// quoted up to its brace; in its module it is indented by four spaces more.
fn begins_with(message: &str, quote: &str) -> bool {
    let mut lines = message.lines().map(unnumbered);
    quote.lines().map(unnumbered).all(|quoted| {
        let line = lines.next().unwrap_or_default();
        if let Some(code) = line.strip_prefix("|     ") {
            let quoted = quoted.strip_prefix("| ");
            quoted.is_some_and(|quoted| {
                code == quoted || quoted.ends_with('{') && code.starts_with(quoted)
            })
        } else {
            line == quoted
        }
    })
}

#[test]
fn quoted_messages_are_what_the_compiler_says() {
    let chapter = chapter();
    let quotes = quotes(&chapter);
    assert!(quotes.len() >= 44, "{} messages", quotes.len());
    let rows = table("mistake");
    for (mistake, quote) in quotes {
        let row = rows.iter().find(|[name, ..]| name == mistake);
        let [.., cell] = row.unwrap_or_else(|| panic!("no row for: {mistake}"));
        let names = cell.split('`').filter(|name| name.contains("::"));
        let messages: Vec<String> = names.flat_map(messages).collect();
        assert!(
            messages.iter().any(|message| begins_with(message, quote)),
            "the guide says of {mistake}:\n{quote}\nbut the compiler:\n{}",
            messages.concat()
        );
    }
}

#[test]
fn each_mistake_has_its_line_and_each_compile_error_its_message() {
    let chapter = chapter();
    let quotes = quotes(&chapter);
    let rows = table("mistake");
    for [row, kind, test] in &rows {
        let lines = chapter.lines();
        let own = lines.filter(|line| {
            line.starts_with(&format!("**{row}.**")) || line.starts_with(&format!("| {row} |"))
        });
        assert_eq!(own.count(), 1, "{row} has no line of its own");
        // Of rows that are the same mistake one has the message.
        let mut alike = rows.iter().filter(|[.., other]| other == test);
        let quoted = alike.any(|[name, ..]| quotes.iter().any(|(of, _)| of == name));
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

#[test]
fn the_error_in_the_readme_is_that_of_its_example_with_a_misspelled_word() {
    let readme = text(&root().join("README.md"));
    let block = |opening| {
        let rest = readme.split_once(opening).expect("a block").1;
        rest.split_once("\n```").expect("its end").0
    };
    let (example, quote) = (block("```rust\n"), block("```text\n"));
    let messages = messages("asked::unknown_name");
    assert!(
        messages.iter().any(|message| begins_with(message, quote)),
        "the readme:\n{quote}\nbut the compiler:\n{}",
        messages.concat()
    );
    let shown = quote.lines().find_map(|line| line.split_once(" | "));
    let (number, code) = shown.expect("a line of code");
    let column = code.find("wieght").expect("the misspelled word") + 1;
    assert!(quote.contains(&format!("--> src/main.rs:{number}:{column}\n")));
    let line = number.parse::<usize>().expect("a number") - 1;
    assert_eq!(
        example.lines().nth(line),
        Some(&code.replace("wieght", "weight")[..])
    );
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
    let files = files(root(), "md");
    let mut links = 0;
    for file in &files {
        let text = text(file);
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
    for chapter in files(&root().join("docs"), "md") {
        let text = text(&chapter);
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
    let guide = text(&root().join("src/guide.rs"));
    for file in files(&root().join("docs"), "md") {
        let name = file.file_name().expect("a file").to_string_lossy();
        assert!(
            guide.contains(&format!("\"../docs/{name}\"")),
            "{name} is not part of the guide"
        );
    }
}
