//! What the arguments of the compiler say of the crate that it compiles, and nobody else tells a macro.

use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs};

use proc_macro2::TokenStream;
use quote::quote;

use crate::lists::Lists as _;

/// Returns whether the crate that is compiled may be optimized.
///
/// Assertions say nothing of it, as a profile may have both. Results do not depend on it.
pub(crate) fn optimizes() -> bool {
    static OPTIMIZES: LazyLock<bool> = LazyLock::new(|| may_optimize(arguments()));
    *OPTIMIZES
}

/// Generates the attribute of what is part of a loop; nothing in a crate that is not optimized, where each copy of a
/// function costs time to compile and makes the caller's stack larger, and none is faster.
pub(crate) fn inline() -> Option<TokenStream> {
    optimizes().then(|| quote!(#[inline(always)]))
}

/// Generates what a formula says of a crate that is not optimized.
///
/// Its loops are compiled in that crate, once for each instruction set, which without optimization is several copies of
/// slow code.
pub(crate) fn of_formula() -> Option<TokenStream> {
    (!optimizes()).then(|| {
        quote!(
            const IS_OPTIMIZED: ::core::primitive::bool = false;
        )
    })
}

/// Returns the name by which the crate knows the library, a dependency that it may have renamed.
pub(crate) fn library() -> String {
    renamed(arguments()).unwrap_or_else(|| "pullback".to_owned())
}

/// Returns the arguments, with those in files in place of `@file`.
fn arguments() -> impl Iterator<Item = String> {
    env::args_os().flat_map(|argument| {
        let argument = argument.to_string_lossy().into_owned();
        let file = argument.strip_prefix('@').map(fs::read_to_string);
        match file {
            Some(Ok(lines)) => lines.lines().map(str::to_owned).listed(),
            _ => vec![argument],
        }
    })
}

/// Returns whether a compiler that was called so may optimize.
fn may_optimize(mut arguments: impl Iterator<Item = String>) -> bool {
    let program = arguments.next().unwrap_or_default();
    if Path::new(&program)
        .file_stem()
        .is_none_or(|name| name != "rustc")
    {
        return true;
    }
    let mut level = "0".to_owned();
    for argument in arguments {
        let option = ["-C", "--codegen="]
            .into_iter()
            .find_map(|flag| argument.strip_prefix(flag))
            .unwrap_or(&argument);
        if argument == "-O" || argument.starts_with('@') {
            // Of `@`, the file is not there any more.
            return true;
        }
        if let Some(asked) = option.strip_prefix("opt-level=") {
            asked.clone_into(&mut level);
        }
    }
    level != "0"
}

/// Returns the name of the library for a compiler that was called so, if it has the library by one other name alone.
fn renamed(mut arguments: impl Iterator<Item = String>) -> Option<String> {
    let mut found = None;
    while let Some(argument) = arguments.next() {
        let library = match argument.strip_prefix("--extern") {
            Some("") => arguments.next()?,
            Some(library) => library.trim_start_matches('=').to_owned(),
            None => continue,
        };
        // `noprelude:name=path`, or a name alone.
        let (name, path) = library.split_once('=').unwrap_or((&library, ""));
        let name = name.rsplit(':').next()?;
        if name == "pullback" {
            return None;
        }
        let file = Path::new(path).file_stem().unwrap_or_default();
        let file = file.to_string_lossy();
        if file == "libpullback" || file.starts_with("libpullback-") {
            if found.is_some() {
                return None;
            }
            found = Some(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> impl Iterator<Item = String> + '_ {
        line.split(' ').map(str::to_owned)
    }

    fn called(line: &str) -> bool {
        may_optimize(words(line))
    }

    #[test]
    fn the_level_is_the_last_that_the_compiler_was_given() {
        assert!(!called("rustc --crate-name ops src/lib.rs"));
        assert!(!called("/usr/bin/rustc --crate-name ops -C opt-level=0"));
        assert!(!called("rustc -C opt-level=3 -C opt-level=0"));
        assert!(called("rustc --crate-name ops -C opt-level=1"));
        assert!(called("rustc -Copt-level=s"));
        assert!(called("rustc --codegen opt-level=2"));
        assert!(called("rustc --codegen=opt-level=2"));
        assert!(called("rustc -O src/lib.rs"));
    }

    #[test]
    fn what_cannot_be_told_may_be_optimized() {
        assert!(called("rustc @arguments"));
        assert!(called("rust-analyzer-proc-macro-srv"));
        assert!(called("target/debug/deps/tests"));
        assert!(may_optimize(std::iter::empty()));
    }

    #[test]
    fn a_dependency_is_found_by_its_file() {
        let found = |line: &str| renamed(words(line));
        let file = "/target/debug/deps/libpullback-0123456789abcdef.rmeta";
        for flag in ["--extern ", "--extern="] {
            for name in ["pb", "noprelude:pb", "priv,noprelude:pb"] {
                let line =
                    format!("rustc --crate-name ops {flag}core {flag}{name}={file} -C debuginfo=2");
                assert_eq!(found(&line).as_deref(), Some("pb"), "{line}");
            }
        }
        let two = format!("rustc --extern old={file} --extern new={file}");
        let own = format!("rustc --extern pb={file} --extern pullback={file}");
        let other = "rustc --extern pb=/target/debug/deps/libpullback_tools-0123.rmeta";
        for line in [
            &two,
            &own,
            other,
            "rustc",
            "rustc --extern",
            "rust-analyzer",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
