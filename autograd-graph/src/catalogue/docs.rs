//! The documentation of a function, in parts.

use std::iter::Peekable;
use std::str::Lines;

use super::formula;

/// The parts of a function's documentation.
pub(super) struct Docs<'a> {
    /// The lines of the first paragraph that is not a formula.
    pub(super) summary: Vec<&'a str>,
    /// The lines of the formulas next to it, which are MathML elements and code blocks of the language `text`, and of
    /// the paragraph after them, which explains their symbols.
    pub(super) formulas: Vec<&'a str>,
    /// All lines after them.
    pub(super) rest: Vec<&'a str>,
}

impl<'a> Docs<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut lines = text.lines().peekable();
        let mut formulas = Vec::new();
        take_formulas(&mut lines, &mut formulas);
        let mut summary = Vec::new();
        while let Some(line) = lines.next_if(|line| !is_empty(line) && !is_formula(line)) {
            summary.push(line.trim());
        }
        take_formulas(&mut lines, &mut formulas);
        if formulas.iter().all(|line| is_empty(line)) {
            formulas.clear();
        } else {
            while let Some(line) = lines.next_if(|line| is_prose(line)) {
                formulas.push(line);
            }
        }
        Self {
            summary,
            formulas,
            rest: lines.collect(),
        }
    }
}

/// Returns the marks that begin or end a block of code, and the text after them.
pub(super) fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let behind = line.trim_start_matches('`');
    let marks = &line[..line.len() - behind.len()];
    (marks.len() > 2 && !behind.contains('`')).then_some((marks, behind))
}

/// Returns whether a line ends the block of code that began with these marks.
pub(super) fn is_end(line: &str, marks: &str) -> bool {
    fence(line).is_some_and(|(own, behind)| behind.is_empty() && own.len() >= marks.len())
}

/// Takes the next formulas, with the empty lines around them.
fn take_formulas<'a>(lines: &mut Peekable<Lines<'a>>, formulas: &mut Vec<&'a str>) {
    while let Some(line) = lines.next_if(|line| is_empty(line) || is_formula(line)) {
        formulas.push(line);
        if let Some((marks, _)) = fence(line) {
            let inside = lines.by_ref().take_while(|line| !is_end(line, marks));
            formulas.extend(inside);
            formulas.push(marks);
        }
    }
}

fn is_formula(line: &str) -> bool {
    formula::element(line).is_some() || fence(line).is_some_and(|(_, behind)| behind == "text")
}

/// Returns whether it is a line of a paragraph, and not of another element of Markdown.
fn is_prose(line: &str) -> bool {
    let marks = ['#', '-', '*', '|', '<', '>'];
    !is_empty(line) && fence(line).is_none() && !line.trim_start().starts_with(marks)
}

fn is_empty(line: &str) -> bool {
    line.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> [String; 3] {
        let docs = Docs::of(text);
        [docs.summary, docs.formulas, docs.rest].map(|lines| lines.join("|"))
    }

    #[test]
    fn documentation_is_taken_apart() {
        assert_eq!(
            parts("a\n b\n\nc\n\nd"),
            ["a|b", "", "c||d"].map(String::from)
        );
        assert_eq!(parts("\na"), ["a", "", ""].map(String::from));
        assert_eq!(parts(""), ["", "", ""].map(String::from));
    }

    #[test]
    fn formulas_are_not_in_the_summary() {
        let math = "<math></math>";
        let around = format!("{math}\n\na\n{math}\n\n{math}\nb\nc\n\nd");
        let formulas = format!("{math}||{math}||{math}|b|c");
        assert_eq!(parts(&around), ["a", &formulas, "|d"].map(String::from));
        let code = "a\n\n````text\nx\n```\n\ny\n````\n\nb";
        let formulas = "|````text|x|```||y|````||b";
        assert_eq!(parts(code), ["a", formulas, ""].map(String::from));
        // An unclosed block, and an example.
        assert_eq!(parts("a\n\n```text\nx")[1], "|```text|x|```");
        assert_eq!(parts("a\n\n```\nx\n```")[2], "```|x|```");
        // Other HTML stays text, to be escaped.
        let hostile = "<math><script></script></math>";
        assert_eq!(parts(&format!("a\n\n{hostile}"))[2], hostile);
    }

    #[test]
    fn only_a_paragraph_explains_a_formula() {
        for behind in [
            "# Panics",
            "- a",
            "* a",
            "| a |",
            "<b>",
            "> a",
            "```\nx\n```",
        ] {
            let docs = format!("a\n\n<math></math>\n\n{behind}");
            assert_eq!(parts(&docs)[2], behind.replace('\n', "|"), "{behind}");
        }
        assert_eq!(parts("a\n\nb\n\n<math></math>")[1], "");
        assert!(Docs::of("\n \n").formulas.is_empty());
    }
}
