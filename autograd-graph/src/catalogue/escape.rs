//! Escaping for HTML.

use std::fmt::{self, Write as _};

use crate::markup::entity;

/// A text between tags or within quotes.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.chars() {
            match entity(letter) {
                Some(entity) => f.write_str(entity)?,
                None => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// Returns a path as an anchor in the page: `autograd_core.ops.exp.Exp`.
pub(super) fn anchor(path: &str) -> String {
    let plain = |letter: char| {
        if letter.is_alphanumeric() || "._-".contains(letter) {
            letter
        } else {
            '-'
        }
    };
    path.replace("::", ".").chars().map(plain).collect()
}
