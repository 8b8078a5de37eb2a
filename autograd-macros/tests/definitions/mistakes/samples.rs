//! Mistakes in `gradcheck(…)`.

use super::{Editor, Make};
use crate::model::{Kind, Rank, Value};
use crate::text::Role;

pub(super) const KINDS: &[(&str, Make)] = &[
    ("a shape of another rank", another_rank),
    ("no sample", missing),
    ("an unknown sample", unknown),
    ("a misspelt sample", misspelt),
    ("a sample twice", twice),
    ("a shape for a number", shape_for_a_number),
    ("a number for a tensor", number_for_a_tensor),
    ("half a length", half_a_length),
    ("an empty range", empty_range),
    ("a range for a value", range_for_a_value),
    ("a sample without a value", no_value),
    ("one shape for a list", one_shape_for_a_list),
    ("nothing in the list", no_list),
];

/// Returns the line of a sample for an input that is accepted, and its name.
fn sample(editor: &mut Editor<'_>, accept: impl Fn(Kind) -> bool) -> Option<(usize, String)> {
    let inputs = &editor.definition.inputs;
    let place =
        editor.pick(|role| matches!(role, Role::Sample(input) if accept(inputs[input].kind)))?;
    let name = editor.text(place).trim().split(' ').next()?.to_owned();
    Some((place, name))
}

fn is_one_tensor(kind: Kind) -> bool {
    !matches!(kind, Kind::Value(_) | Kind::List)
}

fn given(
    editor: &mut Editor<'_>,
    accept: impl Fn(Kind) -> bool,
    sample_: &str,
) -> Option<Vec<usize>> {
    let (place, name) = sample(editor, accept)?;
    editor.set(place, format!("        {name} = {sample_},"))
}

fn another_rank(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let Rank::Fixed(axes) = editor.definition.rank else {
        return None;
    };
    // Numbers have any rank, but all the same; in a type of another name, only a run shows it.
    let mut inputs = editor.definition.inputs.iter();
    if editor.definition.is_elementwise() || inputs.any(|input| input.alias) {
        return None;
    }
    let axes = if editor.random.chance(50) {
        axes + 1
    } else {
        axes - 1
    };
    let shape = vec![2; axes];
    let is_list = editor.random.chance(20);
    if is_list {
        given(editor, |kind| kind == Kind::List, &format!("[{shape:?}]"))
    } else {
        given(editor, is_one_tensor, &format!("{shape:?}"))
    }
}

fn missing(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = sample(editor, |_| true)?;
    editor.text.0.remove(place);
    Some(editor.text.places(|role| role == Role::Gradcheck))
}

fn unknown(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = sample(editor, |_| true)?;
    let name = editor
        .random
        .pick(&["fast", "second_order", "tolerance", "grad_output", "T2"]);
    Some(editor.insert(place, Role::Other, format!("        {name} = [2],")))
}

fn misspelt(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, name) = sample(editor, |_| true)?;
    let misspelt = editor.misspelt(&name);
    editor.replace(place, &format!("{name} ="), &format!("{misspelt} ="))
}

fn twice(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = sample(editor, |_| true)?;
    let line = editor.text.0[place].clone();
    editor.insert(place, line.role, line.text);
    Some(vec![place, place + 1])
}

fn shape_for_a_number(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    given(editor, |kind| kind == Kind::Value(Value::Count), "[3]")
}

fn number_for_a_tensor(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let sample = editor
        .random
        .pick(&["2.5", "3", "(2, 3)", "vec![2, 3]", "\"text\""]);
    given(editor, |kind| !matches!(kind, Kind::Value(_)), sample)
}

fn half_a_length(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let mut shape: Vec<String> = editor
        .definition
        .shape
        .iter()
        .map(ToString::to_string)
        .collect();
    let place = editor.random.below(shape.len());
    let half = editor.random.pick(&["2.5", "-1", "\"2\""]);
    half.clone_into(&mut shape[place]);
    given(editor, is_one_tensor, &format!("[{}]", shape.join(", ")))
}

fn empty_range(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let range = editor
        .random
        .pick(&["1.0..-1.0", "1.0..1.0", "2.0", "1.0..", "..1.0"]);
    let sample = format!("{:?} in {range}", editor.definition.shape);
    given(editor, is_one_tensor, &sample)
}

fn range_for_a_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    given(
        editor,
        |kind| kind == Kind::Value(Value::Number),
        "1.25 in 0.0..1.0",
    )
}

fn no_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, name) = sample(editor, |_| true)?;
    let text = editor.random.pick(&["", "([3])"]);
    editor.set(place, format!("        {name}{text},"))
}

fn one_shape_for_a_list(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let shape = vec![3; 1];
    given(editor, |kind| kind == Kind::List, &format!("{shape:?}"))
}

fn no_list(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let opening = editor.pick(|role| role == Role::Gradcheck)?;
    let text = editor
        .random
        .pick(&["    gradcheck,", "    gradcheck = true,"]);
    let mut lines = editor.text.0[opening..].iter();
    let closing = opening + lines.position(|line| line.text.trim() == "),")?;
    editor.text.0.drain(opening + 1..=closing);
    editor.set(opening, text.to_owned())
}
