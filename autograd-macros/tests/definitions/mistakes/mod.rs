//! One mistake in a definition: which line is edited how, and on which lines the compiler's one error may be.

mod asked;
mod attributes;
mod batch;
mod bodies;
mod items;
mod numbers;
mod returned;
mod samples;

use std::fmt::Write as _;

use super::compile::{self, Error};
use super::model::{Definition, unraw};
use super::random::Random;
use super::text::{Line, Part, Role, Text, Types};
use super::{checks, draw, forward, write};

/// Makes a mistake, if the definition has what it is about, and returns the lines that the error may be on.
type Make = fn(&mut Editor<'_>) -> Option<Vec<usize>>;

/// The number of mistakes that are made in each definition, one at a time.
pub(crate) const EACH: u64 = 2;

/// Compiles a definition with the mistake of this number and returns what is wrong with its errors.
pub(crate) fn check(number: u64) -> Vec<String> {
    let Mistaken { kind, text, lines } = mistaken(number);
    let (definition, nth) = (number / EACH, number % EACH);
    let before = format!("{}mod m {{\nuse super::*;\n", checks::PRELUDE);
    let offset = before.lines().count();
    let errors = compile::errors(
        &format!("mistake_{definition}_{nth}"),
        &format!("{before}{}}}\n", text.source()),
    );
    let place = |error: &Error| error.line.and_then(|line| line.checked_sub(offset));
    let is_right = |error: &Error| place(error).is_some_and(|line| lines.contains(&line));
    if matches!(&errors[..], [error] if is_right(error)) {
        return Vec::new();
    }
    let mut found = String::new();
    let count = errors.len();
    let _ = writeln!(
        found,
        "definition {definition} with the mistake {kind}: {count} errors"
    );
    for error in &errors {
        let line = place(error).map(|line| line + 1);
        let _ = writeln!(found, "  {} on {line:?}", error.message);
    }
    for (index, line) in text.0.iter().enumerate() {
        let mark = if lines.contains(&index) { ">" } else { " " };
        let _ = writeln!(found, "{:3} {mark} {}", index + 1, line.text);
    }
    vec![found]
}

/// A definition with a mistake, and the lines where its error may be.
struct Mistaken {
    kind: &'static str,
    text: Text,
    lines: Vec<usize>,
}

/// Makes a mistake in a definition; all kinds take turns, where the definition has what they are about.
fn mistaken(number: u64) -> Mistaken {
    let definition = draw::definition(number / EACH);
    let right = write::definition(&definition, number / EACH);
    let kinds = kinds(&definition);
    let first = usize::try_from(number).expect("a number of a definition");
    for next in 0..kinds.len() {
        let (kind, make) = kinds[(first + next) % kinds.len()];
        let mut editor = Editor {
            definition: &definition,
            types: forward::types(&definition),
            text: right.clone(),
            random: &mut Random::new(number ^ 0xbad),
        };
        if let Some(lines) = make(&mut editor) {
            let text = editor.text;
            return Mistaken { kind, text, lines };
        }
    }
    unreachable!("some mistakes fit any definition")
}

fn kinds(definition: &Definition) -> Vec<(&'static str, Make)> {
    if definition.is_elementwise() {
        return [
            numbers::KINDS,
            attributes::KINDS,
            samples::KINDS,
            bodies::KINDS,
        ]
        .concat();
    }
    [
        asked::KINDS,
        returned::KINDS,
        attributes::KINDS,
        samples::KINDS,
        items::KINDS,
        bodies::KINDS,
        batch::KINDS,
    ]
    .concat()
}

struct Editor<'a> {
    definition: &'a Definition,
    types: Types,
    text: Text,
    random: &'a mut Random,
}

impl Editor<'_> {
    /// Returns one of the lines with such a role.
    fn pick(&mut self, accept: impl Fn(Role) -> bool) -> Option<usize> {
        let places = self.text.places(accept);
        (!places.is_empty()).then(|| self.random.pick(&places))
    }

    /// Returns one of the lines with such a role and such a text.
    fn pick_line(&mut self, accept: impl Fn(Role, &str) -> bool) -> Option<usize> {
        let mut places = self.text.places(|_| true);
        places.retain(|place| accept(self.text.0[*place].role, &self.text.0[*place].text));
        (!places.is_empty()).then(|| self.random.pick(&places))
    }

    fn text(&self, place: usize) -> &str {
        &self.text.0[place].text
    }

    /// Writes another text into a line, where the error is then.
    fn set(&mut self, place: usize, text: String) -> Option<Vec<usize>> {
        if self.text.0[place].text == text {
            return None;
        }
        self.text.0[place].text = text;
        Some(vec![place])
    }

    /// Replaces something in a line once; none if it is not there.
    fn replace(&mut self, place: usize, from: &str, to: &str) -> Option<Vec<usize>> {
        let text = self.text(place).replacen(from, to, 1);
        self.set(place, text)
    }

    /// Writes another type into a line with a parameter.
    fn retype(&mut self, place: usize, ty: &str) -> Option<Vec<usize>> {
        let (name, _) = self.text(place).split_once(": ")?;
        let text = format!("{name}: {ty},");
        self.set(place, text)
    }

    /// Inserts a line before another.
    fn insert(&mut self, place: usize, role: Role, text: String) -> Vec<usize> {
        self.text.0.insert(place, Line { role, text });
        vec![place]
    }

    /// Inserts a parameter into a function, among the others.
    fn insert_parameter(&mut self, part: Part, text: String) -> Option<Vec<usize>> {
        let of_part = |role| match role {
            Role::Returns(other) | Role::Asked(other, _) => other == part,
            Role::Parameter(_) => part == Part::Forward,
            _ => false,
        };
        let place = self.pick(of_part)?;
        Some(self.insert(place, Role::Other, text))
    }

    /// Returns a function other than forward that has a signature.
    fn derivative(&mut self) -> Option<Part> {
        let place =
            self.pick(|role| matches!(role, Role::Function(part) if part != Part::Forward))?;
        match self.text.0[place].role {
            Role::Function(part) => Some(part),
            _ => None,
        }
    }

    fn is_on_tensors(&self, part: Part) -> bool {
        match part {
            Part::Backward(index) => self.definition.backwards[index].tensors,
            _ => self.definition.jvp == Some(true),
        }
    }

    fn is_once(&self, part: Part) -> bool {
        matches!(part, Part::Backward(index) if self.definition.backwards[index].once)
    }

    /// Returns a name like this one that is not taken.
    fn misspelt(&mut self, name: &str) -> String {
        let letters: Vec<char> = unraw(name).chars().collect();
        let mut misspelt = letters.clone();
        if letters.len() > 3 {
            let place = self.random.between(1, letters.len() - 2);
            misspelt.swap(place, place + 1);
        }
        if misspelt == letters {
            misspelt.push('z');
        }
        misspelt.into_iter().collect()
    }
}

/// Returns the type in a line with a parameter.
fn ty(line: &str) -> &str {
    let (_, ty) = line.split_once(": ").unwrap_or_default();
    ty.trim_end_matches(',')
}

/// Returns the name in a line with a parameter.
fn name(line: &str) -> &str {
    let (name, _) = line.split_once(": ").unwrap_or_default();
    name.rsplit(' ').next().unwrap_or_default()
}

/// Returns a type of tensors with another rank.
fn with_another_rank(ty: &str) -> String {
    let mut other = ty.to_owned();
    for (rank, another) in [("0", "1"), ("1", "2"), ("2", "3"), ("3", "1")] {
        for (from, to) in [
            (format!("{rank}<"), format!("{another}<")),
            (format!("Ix{rank}>"), format!("Ix{another}>")),
        ] {
            if ty.contains(&from) {
                return ty.replacen(&from, &to, 1);
            }
        }
    }
    for (from, to) in [
        (", D>", ", Ix1>"),
        ("IxDyn>", "Ix1>"),
        ("D<", "1<"),
        ("MutD<", "Mut1<"),
    ] {
        if ty.contains(from) {
            other = ty.replacen(from, to, 1);
        }
    }
    other
}

/// Returns a type of tensors with another element type.
fn with_another_element(ty: &str) -> String {
    let mut other = ty.to_owned();
    for end in [">", ","] {
        for start in ["<", ", "] {
            other = other.replace(&format!("{start}f64{end}"), &format!("{start}f32{end}"));
            other = other.replace(&format!("{start}T{end}"), &format!("{start}f64{end}"));
        }
    }
    other
}
