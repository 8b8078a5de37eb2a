//! The compiler's messages for mistakes: `tests/ui/<rule>.rs` has a module for each mistake against a
//! rule, and its `.stderr` all messages. Some mistakes need a file of their own: lints are only reported
//! where there is no error (`asked_lints.rs`), and some errors list all modules of the crate
//! (`module_types.rs`). `tests/ui/pass.rs`, which must compile, is a separate test target.
//!
//! The messages are compared to the letter on the compiler that they were recorded with
//! (`TRYBUILD=overwrite cargo test -p autograd-macros --test ui` records them anew). Another compiler may word its own
//! messages differently: there, each file must still have an error on every line that its `.stderr`
//! names. `UI=lines` checks in that way on any compiler.

mod newcomers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

/// The compiler that the `.stderr` files were recorded with.
const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn mistakes_are_compile_errors() {
    let files = files();
    let mistakes: usize = files.iter().map(|file| mistakes_in(file)).sum();
    assert!(mistakes >= 290, "{mistakes} mistakes are too few to be all");

    let compiler = compiler();
    if compiler.starts_with(RECORDED_WITH) && env::var("UI").as_deref() != Ok("lines") {
        // Without a case that passes, trybuild checks all files with one call of Cargo.
        let cases = trybuild::TestCases::new();
        for file in &files {
            cases.compile_fail(file);
        }
    } else {
        println!("on {compiler} the lines of the errors are compared, not their words");
        compare_lines(&files);
    }
}

/// Returns the files with mistakes, relative, as trybuild knows the files that it keeps line numbers of.
fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir("tests/ui").expect("a readable folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter(|path| !path.ends_with("pass.rs"))
        .collect();
    files.sort();
    files
}

/// Returns the number of modules at the top of a file.
fn mistakes_in(file: &Path) -> usize {
    let text = fs::read_to_string(file).expect("a readable file");
    text.lines().filter(|line| line.starts_with("mod ")).count()
}

fn compiler() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("--version")
        .output()
        .expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Compiles all files in one crate and compares where the errors are.
fn compare_lines(files: &[PathBuf]) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files: Vec<PathBuf> = files.iter().map(|file| project.join(file)).collect();
    let found = errors(&files);
    let mut wrong = String::new();
    for file in &files {
        let expected = expected_lines(file);
        let found = found.get(file).cloned().unwrap_or_default();
        if expected.is_empty() || !expected.is_subset(&found) {
            let _ = writeln!(wrong, "{}: {expected:?}, found {found:?}", file.display());
        }
    }
    assert!(
        wrong.is_empty(),
        "errors are expected on other lines:\n{wrong}"
    );
}

/// The lines that the errors in a file's `.stderr` point to; notes may point elsewhere too.
fn expected_lines(file: &Path) -> BTreeSet<usize> {
    let recorded = fs::read_to_string(file.with_extension("stderr")).unwrap_or_default();
    let mut lines = BTreeSet::new();
    let mut of_an_error = false;
    for line in recorded.lines() {
        let place = line.trim_start().strip_prefix("--> tests/ui/");
        if line.starts_with("error") {
            of_an_error = true;
        } else if let (true, Some(place)) = (of_an_error, place) {
            of_an_error = false;
            lines.extend(
                place
                    .split(':')
                    .nth(1)
                    .and_then(|line| line.parse::<usize>().ok()),
            );
        }
    }
    lines
}

/// The lines with errors in each file, from one `cargo check` of a crate with all of them.
fn errors(files: &[PathBuf]) -> BTreeMap<PathBuf, BTreeSet<usize>> {
    let programs = files.iter().enumerate();
    let programs = programs.map(|(number, file)| (format!("file{number}"), file.clone()));
    let (folder, output) = check("mistakes", programs, "short");
    let printed = String::from_utf8_lossy(&output.stderr);
    let mut errors: BTreeMap<PathBuf, BTreeSet<usize>> = BTreeMap::new();
    for line in printed.lines().filter(|line| line.contains(": error")) {
        let mut parts = line.splitn(3, ':');
        if let (Some(file), Some(Ok(line))) = (parts.next(), parts.next().map(str::parse)) {
            errors.entry(folder.join(file)).or_default().insert(line);
        }
    }
    assert!(!errors.is_empty(), "nothing was checked:\n{printed}");
    errors
}

/// Checks programs of these names, in a crate outside the workspace, which is in the folder that is returned.
fn check(
    name: &str,
    programs: impl Iterator<Item = (String, PathBuf)>,
    format: &str,
) -> (PathBuf, Output) {
    let mut manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\npullback = {{ path = {:?}, features = [\"nn\"] }}\n\n[workspace]\n",
        workspace().display().to_string()
    );
    for (name, file) in programs {
        let path = file.to_string_lossy();
        let _ = write!(manifest, "\n[[bin]]\nname = {name:?}\npath = {path:?}\n");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a temporary folder");
    fs::write(folder.join("Cargo.toml"), manifest).expect("a temporary file");
    // With versions that are there, whatever else is.
    let lock = workspace().join("Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).expect("the workspace's versions");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--keep-going", "--bins"])
        .arg(format!("--message-format={format}"))
        // With what trybuild has compiled.
        .env(
            "CARGO_TARGET_DIR",
            workspace().join("target/tests/trybuild"),
        )
        .current_dir(&folder)
        .output()
        .expect("cargo runs");
    (folder, output)
}

fn workspace() -> PathBuf {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    parent.expect("the workspace").to_owned()
}
