//! Text in drawings: how wide it is, how it is escaped, how numbers are written.

use std::fmt::Write as _;
use std::panic::Location;
use std::path::Path;

use crate::array::Shape;
use crate::markup::entity;

/// The widths of the characters from the space to `~` in Helvetica, in thousandths of the size. The sans
/// serif fonts that systems have differ from these by a few per cent.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// What a wider font may take more.
const MARGIN: f64 = 1.1;

/// The width of a line of text, in the unit of `size`.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let thousandths: f64 = text.chars().map(|letter| f64::from(width_of(letter))).sum();
    let bold = if bold { 1.06 } else { 1.0 };
    thousandths / 1000.0 * size * MARGIN * bold
}

fn width_of(letter: char) -> u16 {
    match u32::from(letter) {
        code @ 0x20..=0x7e => WIDTHS[code as usize - 0x20],
        // Scripts whose letters fill a square.
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xff00..=0xff60 => {
            1000
        }
        0x1_f300.. => 1200,
        _ => 620,
    }
}

/// Text for XML and HTML, between tags or in quotes. Characters that XML cannot have are left out.
pub(super) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' | '\n' | '\r' => escaped.push(letter),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if letter.is_control() => {}
            _ => match entity(letter) {
                Some(entity) => escaped.push_str(entity),
                None => escaped.push(letter),
            },
        }
    }
    escaped
}

/// Text between the quotes of Graphviz.
pub(super) fn quoted(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            _ if letter.is_control() => {}
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A whole number, with commas.
pub(super) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes.
pub(super) fn bytes(bytes: usize) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = "";
    for next in UNITS {
        if value < 1023.95 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    format!("{value:.1} {unit}")
}

/// A number to three significant digits.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-3..1e4).contains(&size) {
        return format!("{value:.2e}");
    }
    let digits = if size >= 100.0 {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        4
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The file, without the folders that lead to its own, and the line.
pub(super) fn line_of(at: &Location<'_>) -> String {
    let parts = Path::new(at.file()).components().rev().take(2);
    let mut parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.reverse();
    format!("{}:{}", parts.join("/"), at.line())
}

/// Shapes, side by side.
pub(super) fn shapes(shapes: impl Iterator<Item = Shape>) -> String {
    let shapes: Vec<String> = shapes.map(|shape| shape.to_string()).collect();
    series(&shapes)
}

/// Some words; of many the first and the last.
pub(super) fn series(words: &[String]) -> String {
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.is_empty())
        .collect();
    match words[..] {
        [first, .., last] if words.len() > 4 => {
            format!("{first} … {last} ({})", count(words.len()))
        }
        _ => words.join(", "),
    }
}

/// What names have in common, with a star for the rest: `layers.*.weight`.
pub(super) fn pattern(names: &[String]) -> String {
    let Some(first) = names.first() else {
        return String::new();
    };
    if names.iter().all(|name| name == first) {
        return first.clone();
    }
    let letters: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let shortest = letters.iter().map(Vec::len).min().unwrap_or(0);
    let same =
        |at: &dyn Fn(&[char]) -> char| letters.iter().all(|name| at(name) == at(&letters[0]));
    let before = (0..shortest)
        .take_while(|&place| same(&|name| name[place]))
        .count();
    let behind = (0..shortest - before)
        .take_while(|&place| same(&|name| name[name.len() - 1 - place]))
        .count();
    let first = &letters[0];
    let mut text: String = first[..before].iter().collect();
    text.push('*');
    text.extend(&first[first.len() - behind..]);
    text
}

/// Appends to a text, which cannot fail.
macro_rules! push {
    ($text:expr, $($what:tt)*) => {
        $crate::graph::text::append($text, format_args!($($what)*))
    };
}
pub(super) use push;

pub(super) fn append(text: &mut String, what: std::fmt::Arguments<'_>) {
    // INVARIANT: a `String` takes whatever is written to it.
    text.write_fmt(what).expect("a text takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(3 << 20), "3.0 MiB");
        assert_eq!(bytes((1 << 20) - 1), "1.0 MiB");
        let texts = [0.0, 10.0, 0.012_34, 1234.5, 1e-9, f64::NAN].map(number);
        assert_eq!(texts, ["0", "10", "0.0123", "1234", "1.00e-9", "NaN"]);
    }

    #[test]
    fn many_words_are_shortened() {
        assert_eq!(series(&owned(&["a", "", "b"])), "a, b");
        let many: Vec<String> = (0..50).map(|place| format!("x[{place}]")).collect();
        assert_eq!(series(&many), "x[0] … x[49] (50)");
        assert_eq!(pattern(&owned(&["a.0.w", "a.1.w", "a.10.w"])), "a.*.w");
        assert_eq!(pattern(&owned(&["aa", "aaa"])), "aa*");
        assert_eq!(pattern(&owned(&["größe", "größe"])), "größe");
        assert_eq!(pattern(&owned(&["x", "y"])), "*");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            xml("a<b & \"c\" 'd'\u{0}>"),
            "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;"
        );
        assert_eq!(quoted("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    #[test]
    fn wide_letters_are_wider() {
        assert!(width("WWW", 10.0, false) > 2.0 * width("iii", 10.0, false));
        assert!(width("relu", 10.0, true) > width("relu", 10.0, false));
        assert!(width("漢字", 10.0, false) >= 20.0);
    }
}
