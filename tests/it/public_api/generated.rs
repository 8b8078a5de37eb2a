//! What macros generate counts as public, too: the names and signatures of the snapshots of expansions, in
//! `tests/generated_api.txt`.

use std::fmt::Write;

use expect_test::expect_file;
use syn::{Expr, Item, Stmt, Visibility};

use super::shown;
use crate::sources::{files, is_seen, root, text};

const HEAD: &str = "\
// What the macros generate, in the examples of `autograd-macros/src/expand/snapshots` and `module/snapshots`: public
// names and signatures, and the traits that are implemented. A change of them is a change of the public interface.
// `__p` is `pullback::__private`, whose types are those that `pullback` exports, or hidden.
//
// `UPDATE_EXPECT=1 cargo test --test it public_api` updates it.
";

/// Returns the items of a file and of the blocks of its constants, which hold generated items.
fn flat(items: Vec<Item>) -> Vec<Item> {
    let mut found = Vec::new();
    for item in items {
        match item {
            Item::Const(constant) => {
                if let Expr::Block(block) = *constant.expr {
                    let inner = block.block.stmts.into_iter();
                    found.extend(flat(
                        inner
                            .filter_map(|statement| match statement {
                                Stmt::Item(item) => Some(item),
                                _ => None,
                            })
                            .collect(),
                    ));
                }
            }
            other => found.push(other),
        }
    }
    found
}

fn public(item: &Item) -> Option<String> {
    let (visibility, attributes) = match item {
        Item::Impl(item) => return shown::of_impl(item).map(|(_, text)| text),
        Item::Fn(item) => (&item.vis, &item.attrs),
        Item::Struct(item) => (&item.vis, &item.attrs),
        Item::Enum(item) => (&item.vis, &item.attrs),
        _ => return None,
    };
    (matches!(visibility, Visibility::Public(_)) && is_seen(attributes)).then(|| shown::item(item))
}

#[test]
fn generated_names_are_those_that_were_agreed_on() {
    let mut listed = HEAD.to_owned();
    for folder in ["expand", "module"] {
        let folder = format!("autograd-macros/src/{folder}/snapshots");
        let mut snapshots = files(&root().join(folder), "rs");
        snapshots.sort();
        for file in snapshots {
            let parsed = syn::parse_file(&text(&file)).expect("a snapshot that parses");
            let items: String = flat(parsed.items).iter().filter_map(public).collect();
            let name = file.file_stem().expect("a name").to_string_lossy();
            // INVARIANT: writing to a text does not fail.
            write!(listed, "\n// {name}\n{items}").expect("a text");
        }
    }
    for known in ["pub fn apply(", "pub fn formula<", "impl __p::Function for"] {
        assert!(listed.contains(known), "`{known}` is missing");
    }
    expect_file!["../../generated_api.txt"].assert_eq(&listed);
}
