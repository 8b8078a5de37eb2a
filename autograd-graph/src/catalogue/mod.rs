//! A page of all functions of a program, with a search.
//!
//! ```
//! use pullback::custom_function;
//! use pullback::ndarray::{Array1, ArrayView1};
//! use pullback::catalogue;
//!
//! /// y = x³
//! #[custom_function(grad(x) = &grad_output * &x * &x * 3.0)]
//! fn cube(x: ArrayView1<f64>) -> Array1<f64> {
//!     x.mapv(|x| x.powi(3))
//! }
//!
//! let page = catalogue::html();
//! assert!(page.contains("y = x³"));
//! ```
//!
//! A formula of [`math!`](autograd_core::math) next to the first paragraph is shown below that paragraph.

// `card` writes one function, `prose` its documentation. The page includes the style and the
// script from separate files: it is self-contained, and forbids the browser to load anything.

mod card;
mod docs;
mod formula;
mod prose;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use crate::text::xml;
use autograd_core::Order;
use autograd_core::catalogue::{Entry, catalogue};

/// A page that lists functions: the inputs, outputs and saved values of each, the gradients that need the saved values,
/// how often it can be differentiated, the command that runs its gradcheck, and its line in the source. The page is one
/// HTML file, with light or dark colors as in the reader's settings. [`Display`](fmt::Display) writes it too.
///
/// The search box, which the key `/` focuses, finds the functions that contain all of its words;
/// `catalogue.html#q=conv` opens the page with a search, `catalogue.html#autograd_core.ops.exp.Exp` at a function.
///
/// ```
/// use pullback::catalogue::Page;
///
/// let mut functions = pullback::catalogue();
/// functions.retain(|function| function.signature.forward_mode);
/// let page = Page::new().title("Forward mode").functions(functions).html();
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Exp"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a page is not written before `html`"]
pub struct Page {
    title: String,
    functions: Vec<&'static Entry>,
}

impl Default for Page {
    fn default() -> Self {
        Self::new()
    }
}

impl Page {
    /// Returns a page of all functions of the program.
    pub fn new() -> Self {
        Self {
            title: "Differentiable functions".to_owned(),
            functions: catalogue(),
        }
    }

    /// Sets the title.
    pub fn title(self, title: impl Into<String>) -> Self {
        let title = title.into();
        Self { title, ..self }
    }

    /// Sets the functions that the page lists.
    pub fn functions(self, functions: impl IntoIterator<Item = &'static Entry>) -> Self {
        let functions = functions.into_iter().collect();
        Self { functions, ..self }
    }

    /// Returns the page.
    pub fn html(&self) -> String {
        self.to_string()
    }

    fn write(&self, html: &mut String) -> fmt::Result {
        let title = xml(&self.title);
        let groups = self.groups();
        write!(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{HEAD}")?;
        write!(html, "<title>{title}</title>\n<style>\n{STYLE}</style>\n")?;
        write!(html, "</head>\n<body>\n<header>\n<h1>{title}</h1>\n")?;
        self.counts(html)?;
        html.push_str(SEARCH);
        html.push_str("<nav class=\"modules\" aria-label=\"Modules\">\n");
        for (group, functions) in &groups {
            let (id, count) = (of_group(group), functions.len());
            let group = xml(group);
            writeln!(html, "<a href=\"#{id}\">{group} <span>{count}</span></a>")?;
        }
        html.push_str("</nav>\n</header>\n<div class=\"page\">\n");
        index(html, &groups)?;
        write!(html, "<main>\n{NOTHING}")?;
        for (group, functions) in &groups {
            let (id, is_ops, group) = (of_group(group), group == OPS, xml(group));
            writeln!(html, "<section aria-labelledby=\"{id}\">")?;
            writeln!(html, "<h2 id=\"{id}\"><a href=\"#{id}\">{group}</a></h2>")?;
            if is_ops {
                html.push_str(BUILT_IN);
            }
            html.push_str("<div class=\"cards\">\n");
            for (function, id) in functions {
                card::write(html, function, id)?;
            }
            html.push_str("</div>\n</section>\n");
        }
        write!(
            html,
            "</main>\n</div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }

    /// Writes the number of functions of each kind.
    fn counts(&self, html: &mut String) -> fmt::Result {
        let count = |is: fn(&Entry) -> bool| {
            self.functions
                .iter()
                .filter(|function| is(function))
                .count()
        };
        let counts = [
            (self.functions.len(), "functions"),
            (
                count(|function| function.signature.order == Order::Any),
                "differentiable any number of times",
            ),
            (
                count(|function| function.signature.forward_mode),
                "with a rule for forward mode",
            ),
            (
                count(|function| function.test.is_some()),
                "with a generated gradcheck",
            ),
        ];
        html.push_str("<ul class=\"counts\">\n");
        for (count, what) in counts {
            writeln!(html, "<li><b>{count}</b> {what}</li>")?;
        }
        html.push_str("</ul>\n");
        Ok(())
    }

    /// Returns the functions by crate and outermost module, in alphabetical order, each with its anchor. Built-in
    /// functions are last.
    fn groups(&self) -> Vec<Group> {
        let mut groups = BTreeMap::<_, Vec<_>>::new();
        let mut uses = BTreeMap::<String, usize>::new();
        for function in &self.functions {
            let outer: Vec<&str> = function.module.split("::").take(2).collect();
            let mut id = anchor(&function.path());
            let used = uses.entry(id.clone()).or_default();
            *used += 1;
            if *used > 1 {
                id = format!("{id}-{used}");
            }
            let group = groups
                .entry((outer[0] == CORE, outer.join("::")))
                .or_default();
            group.push((*function, id));
        }
        groups
            .into_iter()
            .map(|((_, group), mut functions)| {
                functions.sort_by_key(|(function, _)| function.name().to_lowercase());
                (group, functions)
            })
            .collect()
    }
}

/// Returns a page of all functions of the program: [`Page::html`] without options.
pub fn html() -> String {
    Page::new().html()
}

/// A module, and the functions in it with their anchors.
type Group = (String, Vec<(&'static Entry, String)>);

/// Writes the index: the names of all functions, with links.
fn index(html: &mut String, groups: &[Group]) -> fmt::Result {
    html.push_str("<nav class=\"index\" aria-label=\"Functions\">\n<ul>\n");
    for (group, functions) in groups {
        writeln!(html, "<li><p>{}</p>\n<ul>", xml(group))?;
        for (function, id) in functions {
            let name = xml(function.name());
            writeln!(html, "<li><a href=\"#{id}\">{name}</a></li>")?;
        }
        html.push_str("</ul></li>\n");
    }
    html.push_str("</ul>\n</nav>\n");
    Ok(())
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut html = String::new();
        self.write(&mut html)?;
        f.write_str(&html)
    }
}

/// Returns a path as an anchor in the page: `autograd_core.ops.exp.Exp`.
fn anchor(path: &str) -> String {
    let plain = |letter: char| {
        if letter.is_alphanumeric() || "._-".contains(letter) {
            letter
        } else {
            '-'
        }
    };
    path.replace("::", ".").chars().map(plain).collect()
}

/// Returns the anchor of a module. A crate's name cannot contain `-`: it differs from the anchors of functions.
fn of_group(group: &str) -> String {
    format!("in-{}", anchor(group))
}

const HEAD: &str = r#"<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
"#;

/// Hidden until the script, which it needs, shows it.
const SEARCH: &str = r#"<div class="search" hidden>
<input id="search" type="search" placeholder="Search names, formulas, types…  ( / )" aria-label="Search" autocomplete="off" spellcheck="false">
<output id="found" for="search"></output>
</div>
"#;

/// The crate of the built-in functions, and their module.
const CORE: &str = "autograd_core";
const OPS: &str = "autograd_core::ops";
const BUILT_IN: &str = "<p class=\"none\">Built in: <code>ops::NAME::apply(…)</code>, and most are methods of \
                        <code>Tensor</code>.</p>\n";

const NOTHING: &str = r#"<p class="nothing" id="nothing" hidden>No function has all of these words. <button>Show all</button></p>
"#;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

#[cfg(test)]
mod tests;
