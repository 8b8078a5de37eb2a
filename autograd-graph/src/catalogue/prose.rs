//! The documentation of a function as HTML, from the parts of Markdown that it usually has: paragraphs, headings,
//! lists, code, formulas, and links as their text. Other Markdown is shown as it was written.

use std::fmt::{self, Write as _};

use super::{docs, formula};
use crate::text::xml;

/// Writes text with `code` and links.
pub(super) fn inline(html: &mut String, text: &str) -> fmt::Result {
    let mut text = &*without_links(text);
    // A single backtick begins nothing.
    while let Some((before, code, behind)) = split_code(text) {
        write!(html, "{}<code>{}</code>", xml(before), xml(code))?;
        text = behind;
    }
    write!(html, "{}", xml(text))
}

fn split_code(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, behind) = rest.split_once('`')?;
    Some((before, code, behind))
}

/// Writes lines of documentation as blocks.
pub(super) fn blocks<'a>(html: &mut String, lines: impl Iterator<Item = &'a str>) -> fmt::Result {
    let mut blocks = Blocks {
        html,
        open: Block::None,
        marks: "",
        paragraph: Vec::new(),
    };
    for line in lines {
        blocks.line(line)?;
    }
    blocks.begin(Block::None)
}

/// The kind of the open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    None,
    Code,
    List,
}

struct Blocks<'a, 'b> {
    html: &'a mut String,
    open: Block,
    /// The marks that began the block of code.
    marks: &'b str,
    /// The lines of the paragraph, or of the item of a list, that is not written yet.
    paragraph: Vec<&'b str>,
}

impl<'b> Blocks<'_, 'b> {
    fn line(&mut self, line: &'b str) -> fmt::Result {
        let text = line.trim();
        let hashes = text.trim_start_matches('#');
        if self.open == Block::Code {
            if docs::is_end(line, self.marks) {
                return self.begin(Block::None);
            }
            // Lines that only make an example complete are hidden in documentation.
            if text != "#" && !text.starts_with("# ") {
                writeln!(self.html, "{}", xml(line))?;
            }
        } else if let Some((marks, _)) = docs::fence(line) {
            self.marks = marks;
            self.begin(Block::Code)?;
        } else if let Some(element) = formula::element(line) {
            self.begin(Block::None)?;
            writeln!(self.html, "<div class=\"math\">{element}</div>")?;
        } else if text.is_empty() {
            self.end_paragraph()?;
        } else if hashes.len() < text.len() && hashes.starts_with(' ') {
            self.begin(Block::None)?;
            self.html.push_str("<h4>");
            inline(self.html, hashes.trim())?;
            self.html.push_str("</h4>\n");
        } else if let Some(item) = text.strip_prefix("- ").or(text.strip_prefix("* ")) {
            self.begin(Block::List)?;
            self.paragraph.push(item);
        } else {
            // After an empty line, text without indentation does not belong to a list.
            if self.paragraph.is_empty() && !line.starts_with("  ") {
                self.begin(Block::None)?;
            }
            self.paragraph.push(text);
        }
        Ok(())
    }

    /// Ends the open block, unless the next line continues it.
    fn begin(&mut self, next: Block) -> fmt::Result {
        self.end_paragraph()?;
        if self.open == next {
            return Ok(());
        }
        self.html.push_str(match self.open {
            Block::None => "",
            Block::Code => "</pre>\n",
            Block::List => "</ul>\n",
        });
        self.html.push_str(match next {
            Block::None => "",
            Block::Code => "<pre>",
            Block::List => "<ul>\n",
        });
        self.open = next;
        Ok(())
    }

    fn end_paragraph(&mut self) -> fmt::Result {
        if self.paragraph.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.paragraph).join(" ");
        let tag = if self.open == Block::List { "li" } else { "p" };
        write!(self.html, "<{tag}>")?;
        inline(self.html, &text)?;
        writeln!(self.html, "</{tag}>")
    }
}

/// Returns the text without the marks of links: `[Exp](crate::ops::Exp)` and `[`Exp`]` become their text. The URL of a
/// web link follows its text.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (before, link) = rest.split_at(open);
        plain.push_str(before);
        let Some(close) = link.find(']') else {
            rest = link;
            break;
        };
        let (shown, behind) = (&link[1..close], &link[close + 1..]);
        let address = behind
            .strip_prefix('(')
            .and_then(|behind| behind.split_once(')'));
        let is_code = shown.len() > 2 && shown.starts_with('`') && shown.ends_with('`');
        rest = match address {
            Some((address, behind)) => {
                plain.push_str(shown);
                if address.contains("//") {
                    plain.extend([" (", address, ")"]);
                }
                behind
            }
            None if is_code => {
                plain.push_str(shown);
                behind
            }
            // An interval, an index.
            None => {
                plain.push('[');
                &link[1..]
            }
        };
    }
    plain + rest
}
