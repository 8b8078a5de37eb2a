//! The names that a user can write, in `tests/public_api.txt`: a change of them shows in a review.
//! `UPDATE_EXPECT=1 cargo test --test it public_api` writes the file anew.
//!
//! The names are read with syn: cargo-public-api reads the JSON of rustdoc, which only a nightly compiler writes.

mod examples;
mod generated;
mod shown;

use std::collections::BTreeMap;
use std::fmt::Write;

use expect_test::expect_file;

use crate::sources::{Crate, Place};

const HEAD: &str = "\
// The public names of the crates, as their sources have them: items that can be reached from `lib.rs`, their
// public fields and methods, and the traits that are implemented for them.
//
// What macros generate is in `tests/generated_api.txt`. It does not see derived traits, types and impls of
// `macro_rules!`, of which only the names are here if they are exported one by one; nor impls of traits for types of
// other crates. Features and other conditions are ignored; what is `#[doc(hidden)]` or for tests is left out.
//
// `UPDATE_EXPECT=1 cargo test --test it public_api` updates it.
//
";

/// The public names of a crate, in the order of their paths.
fn listing(name: &str, source: &str) -> BTreeMap<String, String> {
    let of = Crate::read(source);
    let mut listing = BTreeMap::new();
    list(&of, name, &Vec::new(), &mut listing);
    listing
}

/// Adds the exports of a module, under its public path.
fn list(of: &Crate, public: &str, module: &[String], listing: &mut BTreeMap<String, String>) {
    for (name, place) in of.exports(module) {
        let path = format!("{public}::{name}");
        match place {
            Place::Module(inner) => {
                // `mod nn` and `fn nn` may have one path.
                if listing
                    .insert(format!("{path}::"), format!("mod {path}\n"))
                    .is_none()
                {
                    list(of, &path, &inner, listing);
                }
            }
            Place::Item(module, item) => {
                let text = format!("{}{}", shown::item(item), shown::impls(of, &module, item));
                listing.insert(path, text);
            }
            Place::Elsewhere(source) => {
                let mut text = format!("pub use {source};\n");
                // Another name of this crate has its impls beside it.
                if !source.starts_with("crate::") {
                    text.push_str(&shown::impls_of_name(of, &name));
                }
                listing.insert(path, text);
            }
        }
    }
}

#[test]
fn names_are_those_that_were_agreed_on() {
    let (mut names, mut entries, mut items) = (String::new(), 0, 0);
    for (name, source) in [
        ("pullback", "src"),
        ("autograd_core", "autograd-core/src"),
        ("autograd_graph", "autograd-graph/src"),
        ("autograd_kernels", "autograd-kernels/src"),
        ("autograd_nn", "autograd-nn/src"),
    ] {
        let listing = listing(name, source);
        let least = 10;
        assert!(listing.len() > least, "{name} has {} names", listing.len());
        for (path, shown) in listing {
            entries += 1;
            items += usize::from(!shown.starts_with("pub use") && !shown.starts_with("mod "));
            // INVARIANT: writing to a text does not fail.
            write!(names, "\n// {path}\n{shown}").expect("a text");
        }
    }
    let text = format!("{HEAD}// {entries} entries, {items} of them items.\n{names}");
    for known in [
        "pub fn matmul",
        "pub trait Module",
        "pub struct Gradcheck",
        "pub use autograd_core::Tensor;",
    ] {
        assert!(text.contains(known), "`{known}` is missing");
    }
    expect_file!["../../public_api.txt"].assert_eq(&text);
}
