//! Writes the paragraph of a formula.

#[cfg(any(feature = "mathml", test))]
use crate::{mathml, written::FRAME};

/// A function that returns what a formula becomes, or what is wrong with it.
pub(crate) type Form = fn(&str) -> Result<String, String>;

/// The form that this is built for.
#[cfg(feature = "mathml")]
pub(crate) const FORM: Form = element;
#[cfg(not(feature = "mathml"))]
pub(crate) const FORM: Form = code;

/// Returns a formula of one line or more as a paragraph of Markdown.
///
/// It has empty lines around it, whatever is next to it. Of those that an attribute begins and ends with,
/// rustdoc removes one before and two after.
pub(crate) fn of(formula: &str, form: Form) -> Result<String, String> {
    let formula = without_indent(formula);
    if formula.is_empty() {
        return Err("this formula is empty".to_owned());
    }
    Ok(format!("\n\n{}\n\n\n", form(&formula)?))
}

/// Returns the formula as an element in its frame.
#[cfg(any(feature = "mathml", test))]
pub(crate) fn element(formula: &str) -> Result<String, String> {
    let [begin, end] = FRAME;
    Ok(format!("{begin}{}{end}", mathml::of(formula)?))
}

/// Returns the formula as it was written, in a block of code that nothing in it can end.
#[cfg(any(not(feature = "mathml"), test))]
#[expect(clippy::unnecessary_wraps, reason = "the other form can fail")]
pub(crate) fn code(formula: &str) -> Result<String, String> {
    let runs = formula.split(|letter| letter != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    Ok(format!("{fence}text\n{formula}\n{fence}"))
}

/// Returns the lines without empty ones around them, and without the spaces that all of them begin with.
fn without_indent(formula: &str) -> String {
    let is_empty = |line: &&str| line.trim().is_empty();
    let lines: Vec<&str> = formula.lines().map(str::trim_end).collect();
    let indents = lines
        .iter()
        .filter(|line| !is_empty(line))
        .map(|line| line.len() - line.trim_start().len());
    // White space may be of several bytes: no line is cut within a letter.
    let indent = indents.min().unwrap_or(0);
    let cut: Vec<&str> = lines
        .iter()
        .map(|line| line.get(indent..).unwrap_or(line.trim_start()))
        .skip_while(is_empty)
        .collect();
    cut.join("\n").trim_end().to_owned()
}
