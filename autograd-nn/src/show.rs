//! Printing of modules as trees.

use std::collections::HashSet;
use std::fmt;

use crate::buffer::AnyBuffer;
use crate::module::Module;
use crate::parameter::ParameterId;
use crate::parameter::any::AnyParameter;
use crate::path::ParameterPath;
use crate::visit::{Field, Visitor};

/// Prints a module as a tree: its name, its `extra_repr`, its parameters and buffers with their shapes, the modules
/// in it, and the number of elements of its parameters, where tied parameters count once. Neighbors in a list whose
/// trees are equal are printed once, with their number. Generated `Display` implementations call this function.
#[doc(hidden)]
pub fn fmt(module: &dyn Module, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut tree = Tree {
        open: vec![Shown::default()],
        seen: HashSet::new(),
    };
    module.visit(&ParameterPath::root(), &mut tree);
    let shown = tree
        .open
        .pop()
        .and_then(|mut outside| outside.modules.pop());
    shown.map_or(Ok(()), |shown| {
        write!(f, "{}{}", shown.tree(0), shown.count(""))
    })
}

/// Formats the values of fields with `#[module(skip, show)]`: `in_features=784, out_features=10`. A value with an
/// empty label is printed alone.
#[doc(hidden)]
pub fn extra_repr(shown: &[(&str, &dyn fmt::Display)]) -> String {
    let shown = shown.iter().map(|(label, value)| match *label {
        "" => value.to_string(),
        label => format!("{label}={value}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The parts of one printed module.
#[derive(Default)]
struct Shown {
    /// The path from the module above.
    field: String,
    depth: usize,
    name: String,
    /// The texts of `extra_repr`, parameters, buffers, and fields that are `None`.
    own: Vec<String>,
    modules: Vec<Shown>,
    parameters: usize,
}

/// The modules that were entered and not left, in an empty outermost one.
struct Tree {
    open: Vec<Shown>,
    seen: HashSet<ParameterId>,
}

impl Tree {
    /// Returns the module whose fields are visited.
    fn innermost(&mut self) -> &mut Shown {
        // INVARIANT: the outermost module is never left.
        self.open.last_mut().expect("a module is open")
    }

    /// Adds a text to the innermost module.
    fn show(&mut self, path: &ParameterPath<'_>, what: fmt::Arguments<'_>) {
        let depth = self.innermost().depth;
        let field = path.below(depth);
        self.innermost().own.push(format!("{field}: {what}"));
    }
}

impl<'a> Visitor<'a> for Tree {
    fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
        let is_new = self.seen.insert(parameter.id());
        let shape = parameter.shape();
        let note = match (is_new, parameter.requires_grad()) {
            (false, _) => " (tied)",
            (true, false) => " (frozen)",
            (true, true) => "",
        };
        self.show(path, format_args!("{shape:?}{note}"));
        if is_new {
            self.innermost().parameters += parameter.len();
        }
    }

    fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &'a dyn AnyBuffer) {
        self.show(path, format_args!("{:?} (buffer)", buffer.shape()));
    }

    fn absent(&mut self, path: &ParameterPath<'_>) {
        self.show(path, format_args!("None"));
    }

    fn enter(&mut self, path: &ParameterPath<'_>, module: &'a dyn Module) -> bool {
        let above = self.innermost().depth;
        let extra = module.extra_repr();
        self.open.push(Shown {
            field: path.below(above).to_string(),
            depth: path.depth(),
            name: module.name().into_owned(),
            own: if extra.is_empty() {
                vec![]
            } else {
                vec![extra]
            },
            ..Shown::default()
        });
        true
    }

    fn leave(&mut self, _: &ParameterPath<'_>, _: &'a dyn Module) {
        // INVARIANT: it was entered.
        let shown = self.open.pop().expect("the module was entered");
        let above = self.innermost();
        above.parameters += shown.parameters;
        above.modules.push(shown);
    }
}

impl Shown {
    /// Returns the tree of the module, without its count.
    fn tree(&self, indent: usize) -> String {
        let own = self.own.join(", ");
        let name = &self.name;
        if self.modules.is_empty() {
            return format!("{name}({own})");
        }
        let margin = "  ".repeat(indent + 1);
        let mut lines = format!("{name}(");
        if !own.is_empty() {
            lines.extend(["\n", &margin, &own]);
        }
        for alike in self.neighbors(indent + 1) {
            lines.extend(["\n", &margin, &alike.to_string()]);
        }
        lines.extend(["\n", &"  ".repeat(indent), ")"]);
        lines
    }

    /// Returns the number of elements of the parameters, as a comment.
    fn count(&self, each: &str) -> String {
        match self.parameters {
            0 => String::new(),
            1 => format!(" # 1 parameter{each}"),
            count => format!(" # {} parameters{each}", grouped(count)),
        }
    }

    /// Groups the modules in it: neighbors in a list whose trees are equal.
    fn neighbors(&self, indent: usize) -> Vec<Alike<'_>> {
        let mut all: Vec<Alike<'_>> = Vec::new();
        for module in &self.modules {
            let tree = module.tree(indent);
            match all.last_mut() {
                Some(last) if last.is_continued_by(module, &tree) => last.times += 1,
                _ => all.push(Alike {
                    first: module,
                    tree,
                    times: 1,
                }),
            }
        }
        all
    }

    /// Returns the name of the list that holds it, and its index there.
    fn place(&self) -> Option<(&str, usize)> {
        let (list, number) = self.field.rsplit_once('.').unwrap_or(("", &self.field));
        Some((list, number.parse().ok()?))
    }
}

/// Neighbors in a list whose trees are equal.
struct Alike<'a> {
    first: &'a Shown,
    tree: String,
    times: usize,
}

impl Alike<'_> {
    fn is_continued_by(&self, module: &Shown, tree: &str) -> bool {
        let place = self.first.place();
        let next = place.map(|(list, number)| (list, number + self.times));
        next.is_some()
            && next == module.place()
            && self.first.parameters == module.parameters
            && self.tree == tree
    }
}

impl fmt::Display for Alike<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, tree, times } = self;
        let field = &first.field;
        match first.place() {
            Some((_, number)) if *times > 1 => {
                let last = number + times - 1;
                write!(
                    f,
                    "({field}-{last}): {times} x {tree}{}",
                    first.count(" each")
                )
            }
            _ => write!(f, "({field}): {tree}{}", first.count("")),
        }
    }
}

/// Formats a number with a comma before every three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let shown = [7, 123, 1_234, 1_234_567].map(grouped);
        assert_eq!(shown, ["7", "123", "1,234", "1,234,567"]);
    }
}
