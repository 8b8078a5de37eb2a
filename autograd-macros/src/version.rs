//! Checks that macros and runtime have the same version: an expansion uses hidden items of the runtime.

use proc_macro2::TokenStream;
use quote::quote;

/// Returns an error if the version of the runtime is not that of the macros, else nothing.
pub(crate) fn agree(runtime: &str) -> TokenStream {
    let macros = env!("CARGO_PKG_VERSION");
    if runtime == macros {
        return TokenStream::new();
    }
    let message = format!(
        "`autograd-core` {runtime} needs `autograd-macros` {runtime}, and found {macros}; \
         give both the same version in Cargo.toml and run `cargo update`"
    );
    quote!(::core::compile_error!(#message);)
}

#[cfg(test)]
mod tests {
    use super::agree;

    #[test]
    fn a_runtime_of_another_version_is_refused_in_a_sentence() {
        assert!(agree(env!("CARGO_PKG_VERSION")).is_empty());
        let refused = agree("9.8.7").to_string();
        assert!(
            refused.contains("`autograd-core` 9.8.7 needs `autograd-macros` 9.8.7, and found"),
            "{refused}"
        );
    }
}
