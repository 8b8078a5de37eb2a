//! Mistakes in elementwise functions.

use super::{Editor, Make, name};
use crate::text::{Part, Role};

pub(super) const KINDS: &[(&str, Make)] = &[
    ("a number by reference", by_reference),
    ("a view of numbers", view),
    ("an `f64` returned", double),
    ("an optional number returned", optional),
    ("another bound", another_bound),
    ("a second parameter", another_parameter),
    ("an order too high", order),
    ("`higher_order` with `elementwise`", higher_order),
    ("a value of one thread", of_one_thread),
];

/// Writes another type into a line with a number.
fn number(editor: &mut Editor<'_>, ty: &str) -> Option<Vec<usize>> {
    let inputs = &editor.definition.inputs;
    let place = editor
        .pick(|role| matches!(role, Role::Parameter(input) if inputs[input].is_differentiable()))?;
    let name = name(editor.text(place)).to_owned();
    editor.set(place, format!("    {name}: {ty},"))
}

fn by_reference(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    number(editor, "&T")
}

fn view(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let ty = editor
        .random
        .pick(&["ArrayView1<f64>", "&Tensor1<f64>", "&[T]", "Option<T>"]);
    number(editor, ty)
}

fn of_one_thread(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let definition = editor.definition;
    let place = editor.pick(
        |role| matches!(role, Role::Parameter(input) if definition.inputs[input].is_value()),
    )?;
    let ty = editor.random.pick(&[
        "std::rc::Rc<f64>",
        "&std::cell::RefCell<f64>",
        "Option<std::rc::Rc<str>>",
        "*const f64",
    ]);
    let name = name(editor.text(place)).to_owned();
    editor.set(place, format!("    {name}: {ty},"))
}

fn returned(editor: &mut Editor<'_>, ty: &str) -> Option<Vec<usize>> {
    let place = editor.pick(|role| matches!(role, Role::Returned(..)))?;
    editor.replace(place, "T", ty)
}

fn double(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    returned(editor, "f64")
}

fn optional(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    returned(editor, "Option<T>")
}

/// Writes something for the bound, be it in the brackets or in a clause.
fn bound(editor: &mut Editor<'_>, other: &str) -> Option<Vec<usize>> {
    let place = editor.pick_line(|_, text| text.contains("T: Real"))?;
    editor.replace(place, "T: Real", other)
}

fn another_bound(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let other = editor
        .random
        .pick(&["T: Element", "T: Real + Default", "T: Real + Send", "T:"]);
    bound(editor, other)
}

fn another_parameter(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| role == Role::Function(Part::Forward))?;
    let other = editor
        .random
        .pick(&["<D: Dimension, ", "<const N: usize, ", "<U, "]);
    // Lifetimes are first.
    if editor.text(place).contains('\'') {
        return None;
    }
    editor.replace(place, "<", other)
}

fn elementwise(editor: &mut Editor<'_>, other: &str) -> Option<Vec<usize>> {
    let place = editor.pick_line(|role, text| {
        role == Role::Argument && text.trim_start().starts_with("elementwise")
    })?;
    let text = format!("    {other},");
    editor.set(place, text)
}

fn order(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let order = editor.random.pick(&["order = 7", "order = 0", "odrer = 2"]);
    elementwise(editor, &format!("elementwise({order})"))
}

fn higher_order(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    elementwise(editor, "elementwise, higher_order")
}
