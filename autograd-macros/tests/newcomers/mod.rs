//! Mistakes that newcomers from PyTorch, candle, ndarray and serde make, each in a crate of its own: how many errors
//! rustc emits, before a terminal hides those that are alike, and what the first of them says.
//!
//! `mistakes.txt` has the mistakes, and the table in `tests/README.md` what each prints
//! (`UPDATE_EXPECT=1 cargo test -p autograd-macros --test ui newcomers` writes it anew). The lines are compared on the
//! compiler that they were recorded with; elsewhere only their number.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use super::{RECORDED_WITH, check, compiler, workspace};

const BEGIN: &str = "<!-- newcomers: begin -->\n";
const END: &str = "<!-- newcomers: end -->";

#[test]
fn each_mistake_is_one_error() {
    let text = fs::read_to_string("tests/newcomers/mistakes.txt").expect("a readable file");
    let mut cases = text.split("// == ");
    let prelude = cases.next().expect("what all cases begin with");
    let cases: Vec<(&str, String)> = cases
        .map(|case| {
            let (name, body) = case.split_once('\n').expect("a name and a body");
            (
                name,
                format!("#![allow(unused)]\n{prelude}{body}\nfn main() {{}}\n"),
            )
        })
        .collect();
    assert!(cases.len() >= 140, "{} mistakes", cases.len());
    let printed = errors(&cases);
    let mut table = String::from("| mistake | what it prints |\n|---|---|\n");
    let several: Vec<_> = cases
        .iter()
        .zip(&printed)
        .filter(|(_, errors)| errors.len() != 1)
        .map(|((name, _), errors)| (name, errors))
        .collect();
    assert!(several.is_empty(), "not one error: {several:#?}");
    for ((name, _), errors) in cases.iter().zip(&printed) {
        let _ = writeln!(
            table,
            "| {} | {} |",
            name.replace('_', " "),
            errors[0].replace('|', "\\|")
        );
    }
    if compiler().starts_with(RECORDED_WITH) {
        compare(&table);
    }
}

/// Holds the table against that of `tests/README.md`.
fn compare(table: &str) {
    let path = workspace().join("tests/README.md");
    let readme = fs::read_to_string(&path).expect("a readable file");
    let (before, rest) = readme.split_once(BEGIN).expect("the table's place");
    let (recorded, after) = rest.split_once(END).expect("the table's end");
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path, format!("{before}{BEGIN}{table}{END}{after}")).expect("a writable file");
    } else {
        assert!(
            recorded == table,
            "`tests/README.md` says otherwise:\n{table}"
        );
    }
}

/// Compiles each case and returns what rustc emits, the first two lines of each error.
fn errors(cases: &[(&str, String)]) -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomers");
    fs::create_dir_all(&folder).expect("a temporary folder");
    let programs = cases.iter().map(|(name, text)| {
        let file = folder.join(format!("{name}.rs"));
        fs::write(&file, text).expect("a temporary file");
        ((*name).to_owned(), file)
    });
    let (_, output) = check("newcomers", programs, "json");
    let mut printed = vec![Vec::new(); cases.len()];
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).expect("JSON");
        let target = message["target"]["name"].as_str();
        let place = cases.iter().position(|(name, _)| target == Some(*name));
        let message = &message["message"];
        let text = message["message"].as_str().unwrap_or_default();
        if let (Some(place), Some("error")) = (place, message["level"].as_str())
            && !text.starts_with("aborting due to")
        {
            printed[place].push(text.replace('\n', " "));
        }
    }
    assert!(
        !printed.concat().is_empty(),
        "nothing was checked: {output:?}"
    );
    printed
}
