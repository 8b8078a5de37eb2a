//! The `digits` example refuses damaged files, with the line. That it learns is shown by running it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the example, which `cargo test` has already built.
fn digits(arguments: &[&str]) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["run", "--quiet", "--example", "digits", "--"])
        .args(arguments);
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs")
}

#[track_caller]
fn refused(name: &str, contents: Option<&[u8]>, expected: &str) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    match contents {
        Some(contents) => fs::write(&file, contents).expect("a temporary file"),
        None => drop(fs::remove_file(&file)),
    }
    let output = digits(&["--csv", &file.to_string_lossy()]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{name} was accepted");
    assert!(
        message.contains(expected) && message.contains(name),
        "{message}"
    );
}

#[test]
fn damaged_files_are_refused() {
    let row = |label: &str| format!("{}{label}\n", "3,".repeat(64));
    refused("missing.csv", None, "cannot read");
    refused("empty.csv", Some(b""), "no rows");
    refused("binary.csv", Some(&[0xff, 0xfe, 0x00]), "cannot read");
    refused(
        "ragged.csv",
        Some((row("1") + "1,2\n").as_bytes()),
        "line 2: 64 pixels and a label",
    );
    refused(
        "label.csv",
        Some(row("x").as_bytes()),
        "line 1: the label is not a digit",
    );
    refused(
        "few.csv",
        Some((row("1") + &row("2")).as_bytes()),
        "too few",
    );
}

#[test]
fn unknown_options_are_refused() {
    let output = digits(&["--sed"]);
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("unknown option --sed") && message.contains("--seed"),
        "{message}"
    );
}
