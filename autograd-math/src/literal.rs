//! Reads string literals.

use std::str::Chars;

/// Returns the value of a literal `"…"` or `r#"…"#`; `None` for any other token.
pub(crate) fn text(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let text = raw.trim_start_matches('#');
        let marks = &raw[..raw.len() - text.len()];
        let text = text.strip_suffix(marks)?;
        return Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    let mut letters = literal.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.extend(escaped(&mut letters)),
            letter => text.push(letter),
        }
    }
    Some(text)
}

/// Returns the letter of an escape after its backslash, which the compiler has checked.
fn escaped(letters: &mut Chars<'_>) -> Option<char> {
    let code = |digits: &str| char::from_u32(u32::from_str_radix(digits, 16).ok()?);
    match letters.next()? {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '0' => Some('\0'),
        'x' => code(&letters.by_ref().take(2).collect::<String>()),
        'u' => {
            let digits = letters.by_ref().skip(1).take_while(|letter| *letter != '}');
            code(&digits.filter(|letter| *letter != '_').collect::<String>())
        }
        // The line continues at the first letter of the next one.
        '\n' => {
            *letters = letters
                .as_str()
                .trim_start_matches([' ', '\t', '\n', '\r'])
                .chars();
            None
        }
        itself => Some(itself),
    }
}
