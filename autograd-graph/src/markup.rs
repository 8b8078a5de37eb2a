//! What XML and HTML write for letters that mean something there, for pictures and pages.

/// What stands for a letter between tags and in quotes, if it cannot stand for itself.
pub(crate) fn entity(letter: char) -> Option<&'static str> {
    match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        _ => None,
    }
}
