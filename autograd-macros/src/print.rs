//! Prints an expansion as it is compiled: `PULLBACK_EXPAND=LinearFunction cargo build`.

use std::env;
use std::io::Write as _;
use std::process::{Command, Stdio};

use proc_macro2::TokenStream;
use syn::Ident;
use syn::ext::IdentExt as _;

/// Prints the expansion of the item with these names to stderr if `PULLBACK_EXPAND` lists one of them.
pub(crate) fn if_wanted(names: &[&Ident], expansion: &TokenStream) {
    let Ok(wanted) = env::var("PULLBACK_EXPAND") else {
        return;
    };
    if let Some(name) = named(names, &wanted) {
        let tokens = expansion.to_string();
        let text = formatted(&tokens).unwrap_or(tokens);
        eprintln!("// the expansion of `{name}`\n\n{text}");
    }
}

/// Returns the first name in `wanted`, a list of names with commas between them.
fn named<'a>(names: &[&'a Ident], wanted: &str) -> Option<&'a Ident> {
    let is_wanted = |name: &&Ident| wanted.split(',').any(|word| name.unraw() == word.trim());
    names.iter().copied().find(is_wanted)
}

/// Returns the tokens as rustfmt formats them, where it is installed.
fn formatted(tokens: &str) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let written = rustfmt.stdin.take()?.write_all(tokens.as_bytes());
    // Waits before it looks at `written`, so that no process is left behind.
    let output = rustfmt.wait_with_output().ok()?;
    written.ok().filter(|()| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn a_definition_is_named_by_its_type_or_its_function() {
        let [of_type, of_function] = [parse_quote!(Type), parse_quote!(r#type)];
        let names = [&of_type, &of_function];
        assert_eq!(named(&names, "Type"), Some(&of_type));
        assert_eq!(named(&names, "Linear, type"), Some(&of_function));
        assert_eq!(named(&names, "Typ"), None);
    }
}
