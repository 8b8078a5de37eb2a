//! Mistakes in functions as such, and in the parameters of forward.

use super::{Editor, Make, name, ty};
use crate::model::Kind;
use crate::text::{Form, Part, Role};

pub(super) const KINDS: &[(&str, Make)] = &[
    ("`self`", receiver),
    ("`async`", asynchronous),
    ("`unsafe`", unsafe_),
    ("a generic function", generic),
    ("`apply` by hand", apply),
    ("a parameter without a bound", no_bound),
    ("`impl Trait`", impl_trait),
    ("a pattern", pattern),
    ("a `ctx`", ctx),
    ("a tensor by value", tensor_by_value),
    ("a view by reference", view_by_reference),
    ("a vector of views", vector_of_views),
    ("an optional tensor that is written to", optional_in_place),
    ("tensors in a tuple", tuple),
    ("a misspelt attribute of a parameter", misspelt_attribute),
    ("an exempt value as an input", exempt_value),
    ("an exemption twice", exempt_twice),
    ("an output's gradient as an input", input_like_a_gradient),
    ("an input twice", input_twice),
];

fn function(editor: &mut Editor<'_>) -> Option<(usize, Part)> {
    let place = editor.pick(|role| matches!(role, Role::Function(_)))?;
    match editor.text.0[place].role {
        Role::Function(part) => Some((place, part)),
        _ => None,
    }
}

fn receiver(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = function(editor)?;
    let receiver = editor.random.pick(&["&self", "self", "&mut self"]);
    Some(editor.insert(place + 1, Role::Other, format!("        {receiver},")))
}

fn asynchronous(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = function(editor)?;
    editor.replace(place, "fn ", "async fn ")
}

fn unsafe_(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = function(editor)?;
    editor.replace(place, "fn ", "unsafe fn ")
}

fn generic(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = function(editor)?;
    if editor.text(place).contains('<') || editor.definition.short {
        return None;
    }
    let text = editor.text(place).trim_end_matches('(').to_owned();
    editor.set(place, format!("{text}<U>("))
}

fn apply(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| role == Role::Block)?;
    Some(editor.insert(place + 1, Role::Other, "    pub fn apply() {}".to_owned()))
}

fn no_bound(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| matches!(role, Role::Block | Role::Function(Part::Forward)))?;
    let bound = editor.random.pick(&["T: Element", "D: Dimension"]);
    editor.replace(place, bound, &bound[..1])
}

fn parameter(editor: &mut Editor<'_>, accept: impl Fn(Kind, bool) -> bool) -> Option<usize> {
    let inputs = &editor.definition.inputs;
    editor.pick(|role| {
        matches!(role, Role::Parameter(input) if accept(inputs[input].kind, inputs[input].optional))
    })
}

fn impl_trait(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = parameter(editor, |kind, _| matches!(kind, Kind::Value(_)))?;
    editor.retype(place, "impl Into<f64>")
}

fn pattern(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    editor.insert_parameter(
        Part::Forward,
        "        (height, width): (usize, usize),".to_owned(),
    )
}

fn ctx(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let ty = editor
        .random
        .pick(&["&mut Context", "&Ctx", "()", "&mut Vec<Array1<f64>>"]);
    editor.insert_parameter(Part::Forward, format!("        ctx: {ty},"))
}

fn tensor_by_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = parameter(editor, |kind, _| kind == Kind::TensorRef)?;
    // Under another name it is an array, for all that the macro sees: rustc reports it.
    if editor.text(place).contains("#[tensor]") {
        return None;
    }
    editor.replace(place, "&", "")
}

fn view_by_reference(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = parameter(editor, |kind, _| kind == Kind::View)?;
    editor.replace(place, "ArrayView", "&ArrayView")
}

fn vector_of_views(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = parameter(editor, |kind, _| kind == Kind::List)?;
    let element = ty(editor.text(place))
        .strip_prefix("&[")?
        .strip_suffix(']')?
        .to_owned();
    editor.retype(place, &format!("Vec<{element}>"))
}

fn optional_in_place(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = parameter(editor, |kind, _| kind == Kind::InPlace)?;
    let optional = format!("Option<{}>", ty(editor.text(place)));
    editor.retype(place, &optional)
}

fn tuple(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let view = editor.types.tensor(Form::View, editor.random);
    with_a_sample(editor, "        pair = todo!(),".to_owned())?;
    editor.insert_parameter(Part::Forward, format!("        pair: ({view}, usize),"))
}

fn misspelt_attribute(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick_line(|role, text| {
        matches!(role, Role::Parameter(_)) && text.contains("#[non_differentiable]")
    })?;
    editor.replace(place, "#[non_differentiable]", "#[non_diferentiable]")
}

fn exempt_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = parameter(editor, |kind, _| matches!(kind, Kind::Value(_)))?;
    let name = name(editor.text(place)).to_owned();
    editor.replace(place, &name, &format!("#[non_differentiable] {name}"))
}

fn exempt_twice(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick_line(|role, text| {
        matches!(role, Role::Parameter(_)) && text.contains("#[non_differentiable]")
    })?;
    let twice = "#[non_differentiable] #[non_differentiable]";
    editor.replace(place, "#[non_differentiable]", twice)
}

fn input_like_a_gradient(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let gradient = editor.definition.differentiable_outputs()[0]
        .gradient
        .clone();
    let sample = format!("        {gradient} = 2,");
    let parameter = format!("        {gradient}: usize,");
    with_a_sample(editor, sample)?;
    editor.insert_parameter(Part::Forward, parameter)
}

/// Adds the sample of a new value, above all others.
fn with_a_sample(editor: &mut Editor<'_>, sample: String) -> Option<Vec<usize>> {
    let place = editor.pick(|role| role == Role::Gradcheck)?;
    Some(editor.insert(place + 1, Role::Other, sample))
}

fn input_twice(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = parameter(editor, |_, _| true)?;
    let line = editor.text.0[place].clone();
    editor.insert(place, line.role, line.text);
    Some(vec![place, place + 1])
}
