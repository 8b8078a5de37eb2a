//! A crate without the default features: formulas are compiled there, not in the library, and are as right.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::package::cargo;
use crate::sources::root;

const MANIFEST: &str = r#"
[package]
name = "without_ops"
version = "0.0.0"
edition = "2024"

[dependencies]
pullback = { path = "ROOT", default-features = false }

[workspace]
"#;

/// One formula of each kind, each with its generated test.
const SOURCE: &str = r"
use pullback::prelude::*;

#[custom_function(elementwise, gradcheck(x = [3, 4], limit = [3, 4] in 1.0..2.0))]
pub fn squash<T: Real>(x: T, limit: T) -> T {
    x / (1.0 + (x / limit) * (x / limit)).sqrt()
}

#[custom_function(scan, outputs(last, rate), gradcheck(v = [3], x = [20, 3], tau = [3] in 0.5..0.9))]
pub fn leaky<T: Real>(#[state] v: T, #[step] x: T, tau: T) -> (T, T) {
    let v = tau * v + x;
    (v, v.sigmoid())
}

#[custom_function(pairs, gradcheck(x = [5, 3], y = [7, 3], b = [7]))]
pub fn gaussian<T: Real>(#[row] x: [T; 3], #[column] y: [T; 3], #[column] b: T) -> T {
    let square = |k: usize| (x[k] - y[k]) * (x[k] - y[k]);
    (-(square(0) + square(1) + square(2))).exp() * b
}
";

#[test]
fn formulas_of_a_crate_without_features_pass_their_generated_tests() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("without_ops");
    fs::create_dir_all(folder.join("src")).expect("a temporary folder");
    let write = |file: &str, text: &str| {
        fs::write(folder.join(file), text).expect("a temporary file");
    };
    write(
        "Cargo.toml",
        &MANIFEST.replace("ROOT", &root().display().to_string()),
    );
    write("src/lib.rs", SOURCE);
    // The versions that the workspace was tested with.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("a lock file");
    let output = Command::new(cargo())
        .args(["test", "--offline", "--lib"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output()
        .expect("cargo runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    assert!(printed.contains("3 passed"), "{printed}");
}
