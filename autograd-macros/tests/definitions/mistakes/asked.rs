//! Mistakes in the parameters of backward functions and of the `#[jvp]` rule.

use super::{Editor, Make, name, ty, with_another_element, with_another_rank};
use crate::model::{Content, Holds, Intermediate, Kind, Save, unraw};
use crate::text::{Form, Part, Role, Wants};

pub(super) const KINDS: &[(&str, Make)] = &[
    ("a misspelt name", misspelt),
    ("another rank", another_rank),
    ("another element type", another_element),
    ("a value of another type", another_value),
    ("an array beside tensors", array_beside_tensors),
    ("a tensor beside arrays", tensor_beside_arrays),
    ("an optional input taken plain", optional_taken_plain),
    ("something plain taken as optional", plain_as_optional),
    ("a list as a vector", list_as_vector),
    ("a list as one tensor", list_as_one),
    ("an intermediate as a tensor", intermediate_as_tensor),
    ("a number of forward beside tensors", number_beside_tensors),
    ("an intermediate in a `jvp` rule", intermediate_in_jvp),
    ("a parameter twice", twice),
    ("the gradient of what has none", gradient_of_what_has_none),
    ("an unknown name", unknown),
    ("`context` by value", context_by_value),
    ("`needs_input_grad` by index", needs_input_grad_by_index),
    ("a gradient to write to", gradient_to_write_to),
    ("a tensor as a number", tensor_as_number),
    ("no name", no_name),
    ("no gradient asked for", no_gradient),
    ("no tangent", no_tangent),
    ("the tangent of a value", tangent_of_a_value),
    ("a value as a view", value_as_view),
];

fn is_tensor(wants: Wants) -> bool {
    matches!(
        wants,
        Wants::Input(_) | Wants::Output | Wants::Gradient(_) | Wants::Tangent(_)
    )
}

/// Returns whether a line has the type of a tensor of rank 0.
fn is_reduced(text: &str) -> bool {
    text.contains("0<") || text.contains("Ix0>")
}

fn asked(editor: &mut Editor<'_>, accept: impl Fn(Part, Wants, &str) -> bool) -> Option<usize> {
    editor.pick_line(|role, text| match role {
        Role::Asked(part, wants) => accept(part, wants, text),
        _ => false,
    })
}

/// Returns a tensor whose element type and rank the macro sees: another is rustc's to report, in the body too.
fn tensor_of_known_type(editor: &mut Editor<'_>) -> Option<usize> {
    let inputs = &editor.definition.inputs;
    asked(editor, |_, wants, _| match wants {
        Wants::Input(input) | Wants::Tangent(input) => !inputs[input].alias,
        _ => is_tensor(wants),
    })
}

fn misspelt(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, _, _| true)?;
    let name = name(editor.text(place)).to_owned();
    let misspelt = editor.misspelt(&name);
    editor.replace(place, &format!("{name}: "), &format!("{misspelt}: "))
}

fn another_rank(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = tensor_of_known_type(editor)?;
    let ty = with_another_rank(ty(editor.text(place)));
    editor.retype(place, &ty)
}

fn another_element(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = tensor_of_known_type(editor)?;
    let ty = with_another_element(ty(editor.text(place)));
    editor.retype(place, &ty)
}

fn another_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let types = ["f64", "&f64", "usize", "&usize"];
    let place = asked(editor, |_, wants, text| {
        matches!(wants, Wants::Value(_) | Wants::Saved(_)) && types.contains(&ty(text))
    })?;
    let other = ty(editor.text(place))
        .replace("f64", "f32")
        .replace("usize", "i64");
    editor.retype(place, &other)
}

/// Returns the parameters of a function that are tensors, or arrays.
fn tensors(editor: &Editor<'_>, part: Part) -> Vec<usize> {
    let is_one = |role| match role {
        Role::Asked(of, wants @ Wants::Saved(_)) => of == part && is_array(editor, wants),
        Role::Asked(of, wants) => of == part && is_tensor(wants),
        _ => false,
    };
    editor.text.places(is_one)
}

fn is_one_array(save: &Save) -> bool {
    matches!(save.what, Intermediate::Exp(_)) && save.holds == Holds::One
}

fn is_array(editor: &Editor<'_>, wants: Wants) -> bool {
    let saves = &editor.definition.saves;
    matches!(wants, Wants::Saved(save) if is_one_array(&saves[save]))
}

fn mixed(editor: &mut Editor<'_>, tensors_first: bool) -> Option<Vec<usize>> {
    let part = editor.derivative()?;
    if editor.is_on_tensors(part) != tensors_first || editor.is_once(part) {
        return None;
    }
    let all = tensors(editor, part);
    let place = editor.random.pick(&all);
    let reduced = is_reduced(editor.text(place));
    let is_other = matches!(editor.text.0[place].role, Role::Asked(_, Wants::Saved(_)));
    let is_list = ty(editor.text(place)).starts_with("&[");
    if all.len() < 2 || reduced || is_other || is_list {
        return None;
    }
    let form = if tensors_first {
        Form::View
    } else {
        Form::TensorRef
    };
    let mut other = editor.types.tensor(form, editor.random);
    if ty(editor.text(place)).starts_with("Option") {
        other = format!("Option<{other}>");
    }
    editor.retype(place, &other)?;
    Some(all)
}

fn array_beside_tensors(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    mixed(editor, true)
}

fn tensor_beside_arrays(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    mixed(editor, false)
}

fn optional_taken_plain(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let definition = editor.definition;
    let alone = |part, input| match part {
        Part::Backward(index) => definition.backwards[index].covers == [input],
        _ => false,
    };
    let place = asked(editor, |part, wants, text| match wants {
        Wants::Input(input) => ty(text).starts_with("Option") && !alone(part, input),
        Wants::Tangent(input) => definition.inputs[input].optional,
        _ => false,
    })?;
    let plain = ty(editor.text(place))
        .strip_prefix("Option<")?
        .strip_suffix('>')?
        .to_owned();
    editor.retype(place, &plain)
}

fn plain_as_optional(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let definition = editor.definition;
    let place = asked(editor, |_, wants, _| match wants {
        Wants::Input(input) => definition.inputs[input].is_certain(),
        Wants::Output => true,
        _ => false,
    })?;
    let optional = format!("Option<{}>", ty(editor.text(place)));
    editor.retype(place, &optional)
}

fn a_list(editor: &mut Editor<'_>) -> Option<usize> {
    let inputs = &editor.definition.inputs;
    asked(editor, |_, wants, _| match wants {
        Wants::Input(input) | Wants::Tangent(input) => inputs[input].kind == Kind::List,
        _ => false,
    })
}

fn list_as_vector(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = a_list(editor)?;
    let element = ty(editor.text(place))
        .strip_prefix("&[")?
        .strip_suffix(']')?
        .to_owned();
    editor.retype(place, &format!("Vec<{element}>"))
}

fn list_as_one(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = a_list(editor)?;
    let Role::Asked(part, _) = editor.text.0[place].role else {
        return None;
    };
    let form = if editor.is_on_tensors(part) {
        Form::TensorRef
    } else {
        Form::View
    };
    let ty = editor.types.tensor(form, editor.random);
    editor.retype(place, &ty)
}

fn an_intermediate(editor: &mut Editor<'_>, part: Part) -> Option<String> {
    let saves = editor.definition.saves.iter();
    let arrays = saves.filter(|save| is_one_array(save));
    let names: Vec<String> = arrays.map(|save| save.name.clone()).collect();
    let name = (!names.is_empty()).then(|| editor.random.pick(&names))?;
    let is_asked = |role: Role, text: &str| {
        matches!(role, Role::Asked(of, _) if of == part) && super::name(text) == name
    };
    editor.pick_line(is_asked).is_none().then_some(name)
}

fn intermediate_as_tensor(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let part = editor.derivative()?;
    let name = an_intermediate(editor, part)?;
    if part == Part::Jvp || !editor.is_on_tensors(part) || editor.is_once(part) {
        return None;
    }
    let ty = editor.types.tensor(Form::TensorRef, editor.random);
    editor.insert_parameter(part, format!("        {name}: {ty},"))
}

fn number_beside_tensors(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let part = editor.derivative()?;
    let saves = editor.definition.saves.iter();
    let mut numbers = saves.filter(|save| matches!(save.what, Intermediate::Number(_)));
    let name = numbers.next()?.name.clone();
    if part == Part::Jvp || !editor.is_on_tensors(part) || editor.is_once(part) {
        return None;
    }
    let element = editor.types.element();
    editor.insert_parameter(part, format!("        {name}: {element},"))
}

fn intermediate_in_jvp(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    editor.definition.jvp?;
    let name = an_intermediate(editor, Part::Jvp)?;
    let form = if editor.is_on_tensors(Part::Jvp) {
        Form::TensorRef
    } else {
        Form::View
    };
    let ty = editor.types.tensor(form, editor.random);
    editor.insert_parameter(Part::Jvp, format!("        {name}: {ty},"))
}

fn twice(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, _, _| true)?;
    let line = editor.text.0[place].clone();
    editor.insert(place, line.role, line.text);
    Some(vec![place, place + 1])
}

fn gradient_of_what_has_none(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let part = editor.derivative()?;
    let outputs = editor.definition.outputs.iter();
    let without = outputs
        .filter(|output| output.is_exempt() || !matches!(output.content, Content::Sum { .. }));
    let names: Vec<&str> = without.map(|output| &output.name[..]).collect();
    if part == Part::Jvp || names.is_empty() {
        return None;
    }
    let form = if editor.is_on_tensors(part) {
        Form::TensorRef
    } else {
        Form::View
    };
    let ty = editor.types.tensor(form, editor.random);
    let name = editor.random.pick(&names);
    editor.insert_parameter(part, format!("        grad_{}: {ty},", unraw(name)))
}

fn unknown(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let part = editor.derivative()?;
    let name = editor
        .random
        .pick(&["saved_tensors", "grad_inputs", "scale", "tangents"]);
    let ty = editor
        .random
        .pick(&["ArrayView1<f64>", "f64", "&[f64]", "()", "&Tensor2<f64>"]);
    editor.insert_parameter(part, format!("        {name}: {ty},"))
}

fn context_by_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, wants, _| wants == Wants::Context)?;
    let ty = ty(editor.text(place)).trim_start_matches('&').to_owned();
    editor.retype(place, &ty)
}

fn needs_input_grad_by_index(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, wants, _| wants == Wants::NeedsInputGrad)?;
    let ty = editor.random.pick(&["[bool; 2]", "&[bool]", "bool"]);
    editor.retype(place, ty)
}

fn gradient_to_write_to(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, wants, text| {
        matches!(wants, Wants::Gradient(_)) && !is_reduced(text)
    })?;
    let ty = if editor.random.chance(50) {
        editor.types.tensor(Form::ViewMut, editor.random)
    } else {
        format!("&mut {}", editor.types.tensor(Form::Owned, editor.random))
    };
    editor.retype(place, &ty)
}

fn tensor_as_number(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, wants, _| is_tensor(wants))?;
    let ty = editor
        .random
        .pick(&["f64", "f32", "&f64", "usize", "Vec<f64>", "&[f64]"]);
    editor.retype(place, ty)
}

fn no_name(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, _, _| true)?;
    let ty = ty(editor.text(place)).to_owned();
    editor.set(place, format!("        _: {ty},"))
}

fn no_gradient(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let part = editor.derivative()?;
    let Part::Backward(index) = part else {
        return None;
    };
    let definition = editor.definition;
    if definition.ignores_grad(&definition.backwards[index]) {
        return None;
    }
    let gradients = |role| matches!(role, Role::Asked(of, Wants::Gradient(_)) if of == part);
    editor.text.0.retain(|line| !gradients(line.role));
    Some(editor.text.places(|role| role == Role::Function(part)))
}

fn no_tangent(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, wants, _| matches!(wants, Wants::Tangent(_)))?;
    editor.text.0.remove(place);
    Some(editor.text.places(|role| role == Role::Function(Part::Jvp)))
}

fn tangent_of_a_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    editor.definition.jvp?;
    let mut inputs = editor.definition.inputs.iter();
    let value = inputs.find(|input| !input.is_differentiable())?;
    let form = if editor.is_on_tensors(Part::Jvp) {
        Form::TensorRef
    } else {
        Form::View
    };
    let ty = editor.types.tensor(form, editor.random);
    editor.insert_parameter(
        Part::Jvp,
        format!("        tangent_{}: {ty},", unraw(&value.name)),
    )
}

fn value_as_view(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = asked(editor, |_, wants, _| matches!(wants, Wants::Value(_)))?;
    let Role::Asked(part, _) = editor.text.0[place].role else {
        return None;
    };
    if editor.is_on_tensors(part) {
        return None;
    }
    let ty = editor.types.tensor(Form::View, editor.random);
    editor.retype(place, &ty)
}
