//! Whether the crate that a macro is expanded in is compiled for speed.

use std::env;
use std::path::Path;

use proc_macro2::TokenStream;
use quote::quote;

/// Generates what a formula says of a crate that is not optimized; nothing where that cannot be told.
///
/// Its loops are compiled in that crate, once for each instruction set, which without optimization is several copies of
/// slow code. Nobody tells a macro, and assertions say nothing of it, as a profile may have both: the compiler's own
/// arguments do. Results do not depend on it.
pub(crate) fn of_formula() -> Option<TokenStream> {
    let arguments = env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    (!may_be(arguments)).then(|| {
        quote!(
            const IS_OPTIMIZED: ::core::primitive::bool = false;
        )
    })
}

/// Returns whether a compiler that was called so may optimize.
fn may_be(mut arguments: impl Iterator<Item = String>) -> bool {
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
            // With `@`, arguments are in a file.
            return true;
        }
        if let Some(asked) = option.strip_prefix("opt-level=") {
            asked.clone_into(&mut level);
        }
    }
    level != "0"
}

#[cfg(test)]
mod tests {
    use super::may_be;

    fn called(line: &str) -> bool {
        may_be(line.split(' ').map(str::to_owned))
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
        assert!(may_be(std::iter::empty()));
    }
}
