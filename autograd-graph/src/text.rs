//! Text in drawings: its width, its escapes, and the format of numbers.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::panic::Location;
use std::path::Path;

use autograd_core::Shape;

/// The widths of the characters from the space to `~` in thousandths of the size: the larger of those in
/// Helvetica, which most systems have in some form, and in `DejaVu Sans`, the widest in use.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 556, 1015, 684, 686, 722, 770, 667,
    611, 778, 752, 295, 500, 667, 557, 863, 748, 787, 667, 787, 722, 667, 611, 732, 684, 989, 685,
    667, 685, 390, 337, 390, 838, 556, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];
const BOLD_WIDTHS: [u16; 95] = [
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696,
    696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 611, 1000, 774, 762, 734, 830, 683,
    683, 821, 837, 372, 556, 775, 637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771,
    724, 725, 457, 365, 457, 838, 556, 500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665,
    343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
];

/// The factor of the width in bold, for other scripts.
const BOLD: f64 = 1.13;

/// A factor for fonts that are wider still.
const MARGIN: f64 = 1.02;

/// Returns the width of a line of text, in the unit of `size`.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let thousandths: f64 = text.chars().map(|letter| width_of(letter, bold)).sum();
    thousandths / 1000.0 * size * MARGIN
}

fn width_of(letter: char, bold: bool) -> f64 {
    let other = match u32::from(letter) {
        code @ 0x20..=0x7e => {
            let widths = if bold { &BOLD_WIDTHS } else { &WIDTHS };
            return f64::from(widths[code as usize - 0x20]);
        }
        // Combining marks, joiners and selectors.
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => return 0.0,
        // Scripts whose letters fill a square.
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xff00..=0xff60 => {
            return 1000.0;
        }
        0x1_f000.. => return 1400.0,
        // ×, ÷, dots, arrows and signs of mathematics.
        0xd7 | 0xf7 | 0x2026 | 0x2190..=0x22ff => 1000.0,
        0x400..=0x52f => match letter {
            'Ж' | 'Ш' | 'Щ' | 'Ю' | 'Ы' => 1250.0,
            'ж' | 'ш' | 'щ' | 'ю' | 'ы' | 'м' => 960.0,
            _ => 780.0,
        },
        _ => 680.0,
    };
    if bold { other * BOLD } else { other }
}

/// The most characters of a name, and of a line below it, in a box.
pub(crate) const LETTERS_OF_NAME: usize = 48;
pub(crate) const LETTERS_OF_LINE: usize = 64;

/// Returns a text of at most `most` characters: of a longer text, its beginning and its end, which distinguishes the
/// names in one module.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= most {
        return Cow::Borrowed(text);
    }
    let kept = most - 1;
    let before = kept * 2 / 5;
    let mut short: String = text.chars().take(before).collect();
    short.push('…');
    short.extend(text.chars().skip(count - (kept - before)));
    Cow::Owned(short)
}

/// Escapes a text for XML and HTML, between tags or in quotes. Characters that XML does not allow are removed.
pub(crate) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' | '\n' | '\r' => escaped.push(letter),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if letter.is_control() => {}
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Escapes a text for a string of Graphviz.
pub(crate) fn quoted(text: &str) -> String {
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

/// Formats a whole number with commas.
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of bytes.
pub(crate) fn bytes(bytes: usize) -> String {
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

/// Formats a number with three significant digits.
pub(crate) fn number(value: f64) -> String {
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

/// Formats the file, with its folder only, and the line.
pub(crate) fn line_of(at: &Location<'_>) -> String {
    let parts = Path::new(at.file()).components().rev().take(2);
    let mut parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.reverse();
    format!("{}:{}", parts.join("/"), at.line())
}

/// Formats shapes, separated by commas.
pub(crate) fn shapes(shapes: &[Shape]) -> String {
    let shapes: Vec<String> = shapes.iter().map(Shape::to_string).collect();
    series(&shapes)
}

/// Formats words, separated by commas; of many, the first and the last.
pub(crate) fn series(words: &[String]) -> String {
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

/// Returns the common beginning and end of names, with a star for the rest: `layers.*.weight`.
pub(crate) fn pattern(names: &[String]) -> String {
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
        .take_while(|&index| same(&|name| name[index]))
        .count();
    let after = (0..shortest - before)
        .take_while(|&index| same(&|name| name[name.len() - 1 - index]))
        .count();
    let first = &letters[0];
    let mut text: String = first[..before].iter().collect();
    text.push('*');
    text.extend(&first[first.len() - after..]);
    text
}

/// Appends to a text, which cannot fail.
macro_rules! push {
    ($text:expr, $($what:tt)*) => {
        $crate::text::append($text, format_args!($($what)*))
    };
}
pub(crate) use push;

pub(crate) fn append(text: &mut String, what: std::fmt::Arguments<'_>) {
    // INVARIANT: writing to a `String` cannot fail.
    text.write_fmt(what).expect("a string");
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
        let many: Vec<String> = (0..50).map(|index| format!("x[{index}]")).collect();
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
        assert!(width("язык", 10.0, true) > width("язык", 10.0, false));
        assert_eq!(width("e\u{301}", 10.0, false), width("e", 10.0, false));
    }

    #[test]
    fn long_names_show_their_ends() {
        assert_eq!(shortened("größe", 5), "größe");
        assert_eq!(shortened("größe", 4), "g…ße");
        let name = "encoder.layers.11.attention.in_proj_weight";
        assert_eq!(shortened(name, 20), "encoder…_proj_weight");
    }
}
