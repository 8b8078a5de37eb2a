//! Dependencies and packages: few crates and one version of each, and packages that can be
//! published. Licenses and sources are for `cargo deny`, which `.ci/run` runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::sources::root;

/// The packages that are published, in this order.
const OURS: [&str; 7] = [
    "autograd-kernels",
    "autograd-macros",
    "autograd-math",
    "autograd-core",
    "autograd-graph",
    "autograd-nn",
    "pullback",
];

/// The crates of others that a program takes in with `pullback` and its default features.
const MOST: usize = 25;

/// A program of Rust's, in the workspace: what it prints.
fn printed(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(root()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Returns the output of `cargo metadata` for this machine's tree; other targets need crates that are not here.
fn metadata() -> Value {
    let rustc = printed("rustc", &["-vV"]);
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.expect("the machine's name");
    let arguments = [
        "metadata",
        "--offline",
        "--format-version=1",
        "--filter-platform",
        host,
    ];
    serde_json::from_str(&printed(&cargo(), &arguments)).expect("JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn named<'a>(metadata: &'a Value, name: &str) -> &'a Value {
    let mut packages = list(metadata, "packages").iter();
    let package = packages.find(|package| text(package, "name") == name);
    package.unwrap_or_else(|| panic!("no package `{name}`"))
}

/// Returns `pullback` and its dependencies, those of build scripts included and those of tests not.
fn tree(metadata: &Value) -> Vec<&Value> {
    let nodes = list(&metadata["resolve"], "nodes").iter();
    let nodes: BTreeMap<&str, &Value> = nodes.map(|node| (text(node, "id"), node)).collect();
    let (mut found, mut next) = (
        BTreeSet::new(),
        vec![text(named(metadata, "pullback"), "id")],
    );
    while let Some(id) = next.pop() {
        if !found.insert(id) {
            continue;
        }
        for dependency in list(nodes[id], "deps") {
            let mut kinds = list(dependency, "dep_kinds").iter();
            if kinds.any(|kind| text(kind, "kind") != "dev") {
                next.push(text(dependency, "pkg"));
            }
        }
    }
    let packages = list(metadata, "packages").iter();
    packages
        .filter(|package| found.contains(text(package, "id")))
        .collect()
}

#[test]
fn a_user_takes_in_few_crates_and_one_version_of_each() {
    let metadata = metadata();
    let tree = tree(&metadata);
    let names: Vec<&str> = tree.iter().map(|package| text(package, "name")).collect();
    for ours in OURS {
        assert!(names.contains(&ours), "{ours} is not in {names:?}");
    }
    let others = names.len() - OURS.len();
    assert!(others <= MOST, "{others} crates of others: {names:?}");
    let different: BTreeSet<&&str> = names.iter().collect();
    assert_eq!(
        different.len(),
        names.len(),
        "two versions of one: {names:?}"
    );
    // Its `PartialEq` makes comparisons with `Array2::ones((2, 2))` ambiguous in whatever program has it.
    assert!(!names.contains(&"serde_json"), "{names:?}");
}

/// `1.89` and `1.89.0` as numbers, to be compared.
fn version(text: &str) -> Vec<u32> {
    let parts = text.split('.').map(|part| part.parse().expect("a number"));
    let mut parts: Vec<u32> = parts.collect();
    parts.resize(3, 0);
    parts
}

/// Clippy's `incompatible_msrv` holds our own sources to it.
#[test]
fn no_crate_of_the_tree_needs_a_newer_compiler_than_we_say() {
    let metadata = metadata();
    let ours = text(named(&metadata, "pullback"), "rust_version");
    let mut stated = 0;
    for package in tree(&metadata) {
        if let Some(theirs) = package["rust_version"].as_str() {
            let name = text(package, "name");
            assert!(
                version(theirs) <= version(ours),
                "`{name}` needs Rust {theirs}, `pullback` promises {ours}"
            );
            stated += 1;
        }
    }
    assert!(stated > 10, "only {stated} crates say what they need");
    assert!(version("1.100") > version("1.89.1"));
}

#[test]
fn our_packages_say_what_they_are() {
    let metadata = metadata();
    let core = named(&metadata, "autograd-core");
    for name in OURS {
        let package = named(&metadata, name);
        for key in ["version", "edition", "rust_version", "license"] {
            assert!(package[key].is_string(), "`{name}` has no {key}");
            assert_eq!(package[key], core[key], "the {key} of `{name}`");
        }
        assert!(text(package, "description").len() > 20, "`{name}`");
        let keywords = list(package, "keywords").len();
        assert!(
            (1..=5).contains(&keywords),
            "`{name}` has {keywords} keywords"
        );
        assert!(!list(package, "categories").is_empty(), "`{name}`");
        let folder = Path::new(text(package, "manifest_path"))
            .parent()
            .expect("a folder");
        let readme = fs::read_to_string(folder.join(text(package, "readme")));
        let readme = readme.unwrap_or_else(|error| panic!("the readme of `{name}`: {error}"));
        assert!(readme.starts_with(&format!("# {name}\n")), "`{name}`");
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let license = fs::read(folder.join(file))
                .unwrap_or_else(|error| panic!("`{name}`, {file}: {error}"));
            assert!(
                license == fs::read(root().join(file)).expect("ours"),
                "`{name}`, {file}"
            );
        }
    }
}

/// The package has the files that its documentation includes, and not those that serve the repository alone.
#[test]
fn the_package_has_what_it_is_built_of() {
    let arguments = [
        "package",
        "--list",
        "--allow-dirty",
        "--offline",
        "--package",
        "pullback",
    ];
    let listed = printed(&cargo(), &arguments);
    let files: BTreeSet<&str> = listed.lines().collect();
    for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(files.contains(file), "{file} is missing");
    }
    for folder in ["docs", "src"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root())
                .expect("ours")
                .to_string_lossy()
                .into_owned();
            let is_in = files.iter().any(|file| file.starts_with(&name));
            assert!(is_in, "{name} is missing");
        }
    }
    for start in [
        ".ci",
        "deny.toml",
        "target",
        "tests",
        "autograd-",
        "examples/heat_adjoint",
    ] {
        let found = files.iter().find(|file| file.starts_with(start));
        assert_eq!(found, None);
    }
    // Where the manifest is read as it is, in a source distribution of a wheel, it is refused without what it names.
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let benches = manifest.split("[[bench]]\nname = \"").skip(1);
    let benches: Vec<&str> = benches.filter_map(|of| of.split('"').next()).collect();
    assert!(benches.contains(&"sweep"), "{benches:?}");
    for bench in benches {
        let main = format!("benches/{bench}/main.rs");
        assert!(files.contains(&*main), "{main} is missing");
    }
}
