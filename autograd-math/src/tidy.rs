//! Adapts the output of pulldown-latex to pages without its style sheet: one line, all text escaped, no classes, and
//! only the elements and attributes of `written`.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::written::{
    ATTRIBUTES, CASE, ELEMENTS, FONTS, LEFT, LEFT_SIDE, NEXT_SIDE, RIGHT, RIGHT_SIDE,
};

/// The alignment of the cells of a table.
#[derive(Clone, Copy)]
enum Table {
    Centered,
    Left,
    Right,
    /// Sides of equations, in pairs.
    Sides,
    Cases,
}

impl Table {
    fn of(classes: &str) -> Self {
        let has = |class| classes.split(' ').any(|other| other == class);
        if has("menv-alignlike") {
            Self::Sides
        } else if has("menv-cases") {
            Self::Cases
        } else if has("menv-cells-left") {
            Self::Left
        } else if has("menv-cells-right") {
            Self::Right
        } else {
            Self::Centered
        }
    }

    fn cell(self, column: usize, classes: &str) -> Option<&'static str> {
        let has = |class| classes.split(' ').any(|other| other == class);
        match self {
            _ if has("cell-left") => Some(LEFT),
            _ if has("cell-right") => Some(RIGHT),
            Self::Centered => None,
            Self::Left => Some(LEFT),
            Self::Right => Some(RIGHT),
            Self::Sides if column == 0 => Some(LEFT_SIDE),
            Self::Sides if column.is_multiple_of(2) => Some(NEXT_SIDE),
            Self::Sides => Some(RIGHT_SIDE),
            Self::Cases => Some(CASE),
        }
    }
}

/// Returns the element on one line, or an error that names the part that cannot be shown.
pub(crate) fn one_line(written: &str) -> Result<String, String> {
    let mut html = String::with_capacity(written.len());
    // Each table that is open, with the number of cells in its row so far.
    let mut tables: Vec<(Table, usize)> = Vec::new();
    let mut rest = written;
    while let Some(first) = rest.chars().next() {
        // A `<` that begins no tag is a sign of the formula.
        let is_tag = first == '<'
            && rest[1..].starts_with(|next: char| next == '/' || next.is_ascii_alphabetic());
        if !is_tag {
            rest = text(&mut html, rest, first);
            continue;
        }
        let (tag, behind) = rest[1..].split_once('>').ok_or_else(|| foreign(rest))?;
        rest = behind;
        match tag.strip_prefix('/') {
            Some(name) => {
                if name == "mtable" {
                    tables.pop();
                }
                let name = known(name).ok_or_else(|| foreign(tag))?;
                let _ = write!(html, "</{name}>");
            }
            None => open(&mut html, &mut tables, tag)?,
        }
    }
    Ok(html)
}

/// Writes one letter of a text, and returns the rest.
fn text<'a>(html: &mut String, rest: &'a str, first: char) -> &'a str {
    let entities = [
        ("&nbsp;", "\u{a0}"),
        ("&amp;", "&amp;"),
        ("&lt;", "&lt;"),
        ("&gt;", "&gt;"),
    ];
    for (entity, written) in entities {
        if let Some(behind) = rest.strip_prefix(entity) {
            html.push_str(written);
            return behind;
        }
    }
    match first {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        // The micro sign, which browsers do not slant, becomes the letter μ.
        '\u{b5}' => html.push('\u{3bc}'),
        control if control.is_control() => html.push(' '),
        letter => html.push(letter),
    }
    &rest[first.len_utf8()..]
}

/// Writes an opening tag, and the end of an element that is empty.
fn open(html: &mut String, tables: &mut Vec<(Table, usize)>, tag: &str) -> Result<(), String> {
    let (tag, is_empty) = match tag.strip_suffix('/') {
        Some(tag) => (tag.trim_end(), true),
        None => (tag, false),
    };
    let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let name = known(name).ok_or_else(|| foreign(tag))?;
    let _ = write!(html, "<{name}");
    let mut classes = "";
    while let Some((attribute, behind)) = attributes.split_once("=\"") {
        let (value, behind) = behind.split_once('"').ok_or_else(|| foreign(tag))?;
        // The space between two attributes may be missing.
        attributes = behind.trim_start();
        if attribute == "class" {
            classes = value;
            continue;
        }
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".%".contains(letter);
        if !(ATTRIBUTES.contains(&attribute) && value.chars().all(plain)) {
            return Err(foreign(tag));
        }
        let _ = write!(html, " {attribute}=\"{}\"", rounded(value));
    }
    if !attributes.is_empty() || classes.contains("mop-negated") {
        return Err(foreign(tag));
    }
    match (name, tables.last_mut()) {
        ("math", _) => {
            let _ = write!(html, " style=\"{FONTS}\"");
        }
        ("mtable", _) => {
            let table = Table::of(classes);
            // Fractions in several equations are as large as in a single one.
            if matches!(table, Table::Sides) {
                html.push_str(" displaystyle=\"true\"");
            }
            tables.push((table, 0));
        }
        ("mtr", Some((_, column))) => *column = 0,
        ("mtd", Some((table, column))) => {
            if let Some(style) = table.cell(*column, classes) {
                let _ = write!(html, " style=\"{style}\"");
            }
            *column += 1;
        }
        _ => {}
    }
    html.push('>');
    if is_empty {
        let _ = write!(html, "</{name}>");
    }
    Ok(())
}

/// Returns the name of an element that is allowed.
fn known(name: &str) -> Option<&str> {
    ELEMENTS.contains(&name).then_some(name)
}

/// Returns `0.1667em` of `0.16666667em`.
fn rounded(length: &str) -> Cow<'_, str> {
    let number =
        length.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '%');
    match number.parse::<f64>() {
        Ok(value) if number.len() > 6 => {
            Cow::from(format!("{value:.4}{}", &length[number.len()..]))
        }
        _ => Cow::from(length),
    }
}

fn foreign(tag: &str) -> String {
    let tag: String = tag.chars().take(60).collect();
    format!(
        "this formula needs more than a page can show by itself: `<{tag}>`\n= help: write it with simpler commands"
    )
}
