//! Mistakes in the function of a batch.

use super::{Editor, Make, with_another_element, with_another_rank};
use crate::text::{Form, Role};

pub(super) const KINDS: &[(&str, Make)] = &[
    ("another rank of a batch", another_rank),
    ("another element type of a batch", another_element),
    ("a batch of views", views),
    ("a batch without an input", missing),
    ("a batch without an axis", no_axis),
    ("one example returned", one_example),
];

fn tensor(editor: &mut Editor<'_>) -> Option<usize> {
    let definition = editor.definition;
    editor.pick(|role| matches!(role, Role::OfBatch(input) if !definition.inputs[input].is_value()))
}

fn another_rank(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = tensor(editor)?;
    let Role::OfBatch(input) = editor.text.0[place].role else {
        return None;
    };
    let is_mapped = editor.definition.vmap.as_ref()?[input];
    let text = with_another_rank(editor.text(place));
    // An axis more is none too many where examples share the input.
    (is_mapped || text.contains("1<") || text.contains("Ix1"))
        .then(|| editor.set(place, text))
        .flatten()
}

fn another_element(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = tensor(editor)?;
    let text = with_another_element(editor.text(place));
    editor.set(place, text)
}

fn views(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = tensor(editor)?;
    editor.replace(place, "&Tensor", "ArrayView")
}

fn missing(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| matches!(role, Role::OfBatch(_)))?;
    editor.text.0.remove(place);
    let is_near = |role| matches!(role, Role::Batch | Role::OfBatch(_));
    Some(editor.text.places(is_near))
}

fn no_axis(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let mapped = editor.definition.vmap.as_ref()?;
    let [only] = (0..mapped.len())
        .filter(|input| mapped[*input])
        .collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let place = editor.pick(|role| role == Role::OfBatch(only))?;
    let ty = editor.types.tensor(Form::TensorRef, editor.random);
    editor.retype(place, &ty)?;
    Some(editor.text.places(|role| role == Role::Batch))
}

fn one_example(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| role == Role::BatchReturns)?;
    let text = with_another_rank(editor.text(place));
    editor.set(place, text)
}
