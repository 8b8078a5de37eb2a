//! Mistakes in bodies and in punctuation, which rustc reports: generated code must not report them again.

use super::{Editor, Make};
use crate::text::{Part, Role};

pub(super) const KINDS: &[(&str, Make)] = &[
    ("an unknown variable", unknown_variable),
    ("a statement of the wrong type", wrong_type),
    ("an unknown method", unknown_method),
    ("a `;` after the last expression", semicolon),
    ("a comma missing", no_comma),
    ("a type that does not exist", unknown_type),
];

/// Inserts a statement into a body.
fn statement(editor: &mut Editor<'_>, statement: &str) -> Option<Vec<usize>> {
    let place = editor.pick_line(|role, text| {
        matches!(role, Role::Body(_) | Role::Helper(Part::Backward(_)))
            && text.trim_end().ends_with(" {")
            && !text.contains("if let")
            || matches!(role, Role::Body(_)) && text.trim() == "{"
    })?;
    Some(editor.insert(place + 1, Role::Other, format!("        {statement}")))
}

fn unknown_variable(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    statement(editor, "let _ = undefined_variable;")
}

fn wrong_type(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    statement(editor, "let _: usize = \"text\";")
}

fn unknown_method(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    statement(editor, "let _ = 1.0_f64.no_such_method();")
}

fn semicolon(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| matches!(role, Role::Last(_)))?;
    let Role::Last(part) = editor.text.0[place].role else {
        return None;
    };
    if editor.definition.short && part != Part::Forward {
        return None;
    }
    let text = format!("{};", editor.text(place));
    editor.set(place, text)?;
    let is_one = |role| match role {
        Role::Returns(of) | Role::Returned(of, _) | Role::ReturnsEnd(of) | Role::Last(of) => {
            of == part
        }
        _ => false,
    };
    Some(editor.text.places(is_one))
}

fn no_comma(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let is_one = |role| matches!(role, Role::Asked(..) | Role::Parameter(_));
    let place = editor.pick(is_one)?;
    if !editor
        .text
        .0
        .get(place + 1)
        .is_some_and(|next| is_one(next.role))
    {
        return None;
    }
    let text = editor.text(place).trim_end_matches(',').to_owned();
    editor.set(place, text)?;
    Some(vec![place, place + 1])
}

fn unknown_type(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let part = editor.derivative()?;
    statement(editor, "let _: Missing;").filter(|_| part != Part::Forward)
}
