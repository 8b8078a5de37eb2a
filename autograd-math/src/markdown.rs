//! Writes the paragraph of a formula.

#[cfg(any(feature = "mathml", test))]
use crate::{mathml::to_mathml, written::FRAME};

/// A function that writes a formula, or returns an error.
pub(crate) type Form = fn(&str) -> Result<String, String>;

/// The form of the features of this build.
#[cfg(feature = "mathml")]
pub(crate) const FORM: Form = element;
#[cfg(not(feature = "mathml"))]
pub(crate) const FORM: Form = code;

/// Returns a formula of one line or more as a paragraph of Markdown.
///
/// There are empty lines around the paragraph: one more before and two more after than needed, because rustdoc removes
/// as many from an attribute.
pub(crate) fn paragraph(formula: &str, form: Form) -> Result<String, String> {
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
    Ok(format!("{begin}{}{end}", to_mathml(formula)?))
}

/// Returns the unchanged formula in a block of code, whose fence is longer than any in the formula.
#[cfg(any(not(feature = "mathml"), test))]
#[expect(clippy::unnecessary_wraps, reason = "the other form can fail")]
pub(crate) fn code(formula: &str) -> Result<String, String> {
    let runs = formula.split(|letter| letter != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    Ok(format!("{fence}text\n{formula}\n{fence}"))
}

/// Returns the lines without empty lines around them and without their common indentation.
fn without_indent(formula: &str) -> String {
    let is_empty = |line: &&str| line.trim().is_empty();
    let lines: Vec<&str> = formula.lines().map(str::trim_end).collect();
    let indents = lines
        .iter()
        .filter(|line| !is_empty(line))
        .map(|line| line.len() - line.trim_start().len());
    // White space may have several bytes: no line is cut within a letter.
    let indent = indents.min().unwrap_or(0);
    let cut: Vec<&str> = lines
        .iter()
        .map(|line| line.get(indent..).unwrap_or(line.trim_start()))
        .skip_while(is_empty)
        .collect();
    cut.join("\n").trim_end().to_owned()
}
