//! Mistakes in what functions return.

use super::{Editor, Make, with_another_element, with_another_rank};
use crate::model::Kind;
use crate::text::{Form, Part, Role};

pub(super) const KINDS: &[(&str, Make)] = &[
    ("another rank returned", another_rank),
    ("another element type returned", another_element),
    ("a gradient too many", too_many),
    ("a gradient too few", too_few),
    ("a number returned", number),
    ("a view returned", view),
    ("nothing returned", nothing),
    ("a tensor returned beside arrays", tensor),
    ("an array returned beside tensors", array),
    ("one array for a list", one_for_a_list),
    ("a list for one array", a_list_for_one),
    ("whole numbers returned", whole_numbers),
    ("an optional output in a vector", optional_in_a_vector),
    ("an optional list of outputs", optional_list),
    ("an output that is borrowed", borrowed_output),
    ("nothing returned by forward", nothing_from_forward),
];

/// Returns a line with a gradient or a tangent, not of an input whose type the macro does not see: there, rustc reports
/// another type in the body too.
fn returned(editor: &mut Editor<'_>) -> Option<(usize, Part)> {
    let definition = editor.definition;
    let place = editor.pick(|role| match role {
        Role::Returned(Part::Backward(index), nth) => {
            let input = definition.backwards[index].covers[nth];
            !definition.inputs[input].alias
        }
        Role::Returned(part, _) => part == Part::Jvp,
        _ => false,
    })?;
    match editor.text.0[place].role {
        Role::Returned(part, _) => Some((place, part)),
        _ => None,
    }
}

fn signature(editor: &Editor<'_>, part: Part) -> Vec<usize> {
    let is_one = |role| match role {
        Role::Returns(of) | Role::Returned(of, _) | Role::ReturnsEnd(of) => of == part,
        _ => false,
    };
    editor.text.places(is_one)
}

fn another_rank(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = returned(editor)?;
    let text = with_another_rank(editor.text(place));
    editor.set(place, text)
}

fn another_element(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = returned(editor)?;
    let text = with_another_element(editor.text(place));
    editor.set(place, text)
}

fn too_many(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, part) = returned(editor)?;
    let lines = signature(editor, part);
    let text = editor.text(place).to_owned();
    if let [first, _, last] = lines[..] {
        editor.set(first, "    ) -> (".to_owned())?;
        editor.set(place, format!("{text},{text}"))?;
        editor.set(last, "    )".to_owned())?;
        return Some(lines);
    }
    editor.set(place, format!("{text} {}", text.trim()))?;
    Some(lines)
}

fn too_few(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, part) = returned(editor)?;
    if signature(editor, part).len() < 4 {
        return None;
    }
    editor.text.0.remove(place);
    Some(signature(editor, part))
}

fn replaced(editor: &mut Editor<'_>, place: usize, ty: &str) -> Option<Vec<usize>> {
    let comma = if editor.text(place).ends_with(',') {
        ","
    } else {
        ""
    };
    editor.set(place, format!("        {ty}{comma}"))
}

fn number(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = returned(editor)?;
    let ty = editor
        .random
        .pick(&["f64", "Option<f64>", "bool", "usize", "Vec<f64>"]);
    replaced(editor, place, ty)
}

fn view(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, part) = returned(editor)?;
    if editor.is_on_tensors(part) {
        return None;
    }
    let ty = editor
        .types
        .with_lifetime(Form::View, "'static", editor.random);
    replaced(editor, place, &ty)
}

fn nothing(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (_, part) = returned(editor)?;
    let lines = signature(editor, part);
    for place in &lines {
        editor.text.0[*place].text = String::new();
    }
    editor.set(lines[0], "    )".to_owned())?;
    Some(editor.text.places(|role| role == Role::Function(part)))
}

fn tensor(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, part) = returned(editor)?;
    if editor.is_on_tensors(part) || editor.is_once(part) {
        return None;
    }
    editor.replace(place, "Array", "Tensor")
}

fn array(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, part) = returned(editor)?;
    if !editor.is_on_tensors(part) || editor.is_once(part) {
        return None;
    }
    editor.replace(place, "Tensor", "Array")
}

/// Returns a line with a gradient of a list, or of anything else.
fn gradient(editor: &mut Editor<'_>, of_a_list: bool) -> Option<(usize, Part)> {
    let (place, part) = returned(editor)?;
    let (Part::Backward(index), Role::Returned(_, nth)) = (part, editor.text.0[place].role) else {
        return None;
    };
    let input = editor.definition.backwards[index].covers[nth];
    let is_list = editor.definition.inputs[input].kind == Kind::List;
    (is_list == of_a_list).then_some((place, part))
}

fn one_for_a_list(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, part) = gradient(editor, true)?;
    let form = if editor.is_on_tensors(part) {
        Form::Tensor
    } else {
        Form::Owned
    };
    let ty = editor.types.tensor(form, editor.random);
    replaced(editor, place, &ty)
}

fn a_list_for_one(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, part) = gradient(editor, false)?;
    let form = if editor.is_on_tensors(part) {
        Form::Tensor
    } else {
        Form::Owned
    };
    let ty = editor.types.tensor(form, editor.random);
    replaced(editor, place, &format!("Vec<{ty}>"))
}

fn whole_numbers(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, part) = returned(editor)?;
    if editor.is_on_tensors(part) {
        return None;
    }
    let text = editor
        .text(place)
        .replace("f64", "i64")
        .replace("<T", "<i64")
        .replace(" T,", " i64,");
    editor.set(place, text)
}

fn output(editor: &mut Editor<'_>, wrap: impl Fn(&str) -> String) -> Option<Vec<usize>> {
    let outputs = editor.definition.outputs.len();
    let place = editor.pick_line(|role, text| match role {
        Role::Returned(Part::Forward, nth) => {
            nth < outputs && text.contains('<') && !text.contains("usize")
        }
        _ => false,
    })?;
    let text = editor.text(place);
    let ty = text.trim().trim_end_matches(',');
    let text = text.replace(ty, &wrap(ty));
    editor.set(place, text)
}

fn optional_in_a_vector(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    output(editor, |ty| format!("Vec<Option<{ty}>>"))
}

fn optional_list(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    output(editor, |ty| format!("Option<Vec<{ty}>>"))
}

fn borrowed_output(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    output(editor, |ty| {
        if ty.starts_with("Array") {
            format!(
                "ArrayView{}",
                ty.trim_start_matches("Array").replace('<', "<'static, ")
            )
        } else {
            format!("&'static {ty}")
        }
    })
}

fn nothing_from_forward(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    if editor.definition.in_place().is_some() {
        return None;
    }
    let lines = signature(editor, Part::Forward);
    for place in &lines {
        editor.text.0[*place].text = String::new();
    }
    editor.set(lines[0], ")".to_owned())?;
    Some(
        editor
            .text
            .places(|role| role == Role::Function(Part::Forward)),
    )
}
