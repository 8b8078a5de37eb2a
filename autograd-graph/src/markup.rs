//! The entities of XML and HTML, for pictures and pages.

/// Returns the entity of a character that has to be escaped between tags or in quotes.
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
