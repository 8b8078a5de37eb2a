//! Every error that a user can meet when a program runs, and a sample of the panics, read as prose:
//! `tests/messages.txt`. `UPDATE_EXPECT=1 cargo test --test it messages` writes it anew.

mod core;
mod facade;
mod panics;

use std::error::Error;
use std::fmt::{self, Write};

use expect_test::expect_file;

use crate::sources::{root, text};

/// The messages, in sections.
struct Page(String);

impl Page {
    fn section(&mut self, title: &str) {
        // INVARIANT: writing to a text does not fail.
        write!(self.0, "\n## {title}\n\n").expect("a text");
    }

    /// A message, under the name of the variant or of the type.
    fn says(&mut self, name: &str, error: &dyn Error) {
        self.line(&format!("{name}: {}", message(error)));
    }

    fn line(&mut self, line: &str) {
        let line = without_places(line);
        writeln!(self.0, "{line}").expect("a text");
    }
}

/// Returns an error's message, which `Debug` has too: `?` in `main`, `unwrap` and `expect` print that.
fn message(error: &dyn Error) -> String {
    let message = error.to_string();
    assert_eq!(format!("{error:?}"), message);
    message
}

/// The name of a variant, from its derived `Debug`.
fn name_of(variant: &dyn fmt::Debug) -> String {
    let shown = format!("{variant:?}");
    let end = shown.find(|c: char| !c.is_alphanumeric());
    shown[..end.unwrap_or(shown.len())].to_owned()
}

/// Lines and columns change with every line that is added above them: `messages/core.rs:12:9` becomes
/// `messages/core.rs:…`.
fn without_places(text: &str) -> String {
    let mut pieces = text.split(".rs:");
    let mut all = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
        all.push_str(".rs:…");
        all.push_str(rest);
    }
    all
}

/// The names of the variants of an enum, as its source has them.
fn variants(file: &str, name: &str) -> Vec<String> {
    let source = text(&root().join(file));
    let body = source.split_once(&format!("pub enum {name} {{\n"));
    let body = body.unwrap_or_else(|| panic!("no `{name}` in {file}")).1;
    let body = body.split_once("\n}").expect("its end").0;
    let names = body.lines().filter_map(|line| {
        let line = line.strip_prefix("    ")?;
        let length = line
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(line.len());
        line.starts_with(char::is_uppercase)
            .then(|| line[..length].to_owned())
    });
    names.collect()
}

#[test]
fn messages_are_those_that_were_read() {
    let mut page = Page("# What is said when a program runs\n".to_owned());
    core::errors(&mut page);
    core::mismatches(&mut page);
    facade::states(&mut page);
    facade::norms(&mut page);
    panics::all(&mut page);
    for (file, name) in [
        ("autograd-core/src/error/kind.rs", "ErrorKind"),
        ("autograd-nn/src/state/error.rs", "Difference"),
        ("autograd-nn/src/state/error.rs", "StateError"),
    ] {
        let variants = variants(file, name);
        assert!(variants.len() > 1, "{name}: {variants:?}");
        for variant in variants {
            let is_there = page.0.contains(&format!("\n{variant}: "));
            assert!(is_there, "no message of `{name}::{variant}`");
        }
    }
    expect_file!["../../messages.txt"].assert_eq(&page.0);
}
