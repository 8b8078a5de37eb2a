//! Mistakes in the attributes: of the definition, and of its functions.

use super::{Editor, Make};
use crate::model::Content;
use crate::text::{Line, Part, Role};

pub(super) const KINDS: &[(&str, Make)] = &[
    ("a misspelt input whose gradient it is", misspelt_target),
    ("an input twice in a list", doubled_target),
    ("the gradient of a value", value_as_target),
    ("the gradient of an exempt input", exempt_target),
    ("an input that another function has", target_of_another),
    ("a misspelt attribute", misspelt_helper),
    ("an attribute missing", helper_missing),
    ("an attribute twice", helper_twice),
    ("a gradient missing", function_missing),
    ("a gradient twice", function_twice),
    ("a name too many", name_too_many),
    ("a name too few", name_too_few),
    ("a misspelt option of forward", misspelt_option),
    ("an unknown exemption", unknown_exemption),
    ("an exempt value", exempt_value),
    ("`jvp` with arguments", jvp_with_arguments),
    ("a gradient that is ignored and used", ignored_and_used),
    ("an empty list", empty_list),
    ("an option with a value", option_with_a_value),
    ("an unknown argument", unknown_argument),
    ("an argument twice", argument_twice),
    ("an argument of the other form", argument_of_the_other_form),
    ("a gradient without an expression", no_expression),
];

/// Returns a line with `#[backward(…)]` or `grad(…)` that names inputs.
fn backward(editor: &mut Editor<'_>) -> Option<(usize, usize)> {
    let definition = editor.definition;
    let place = editor.pick(|role| {
        matches!(role, Role::Helper(Part::Backward(index)) if !definition.backwards[index].plain)
    })?;
    match editor.text.0[place].role {
        Role::Helper(Part::Backward(index)) => Some((place, index)),
        _ => None,
    }
}

/// Returns the names in the brackets of a line.
fn names(line: &str) -> Option<Vec<String>> {
    let (_, list) = line.split_once('(')?;
    let (list, _) = list.split_once(')')?;
    Some(list.split(", ").map(str::to_owned).collect())
}

fn with_names(editor: &mut Editor<'_>, place: usize, names: &[String]) -> Option<Vec<usize>> {
    let (before, rest) = editor.text(place).split_once('(')?;
    let (_, after) = rest.split_once(')')?;
    let text = format!("{before}({}){after}", names.join(", "));
    editor.set(place, text)
}

fn with_another_name(editor: &mut Editor<'_>, place: usize, name: String) -> Option<Vec<usize>> {
    let mut names = names(editor.text(place))?;
    let at = editor.random.below(names.len() + 1);
    names.insert(at, name);
    with_names(editor, place, &names)
}

fn misspelt_target(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = backward(editor)?;
    let mut names = names(editor.text(place))?;
    let at = editor.random.below(names.len());
    names[at] = editor.misspelt(&names[at].clone());
    with_names(editor, place, &names)
}

fn doubled_target(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = backward(editor)?;
    let names = names(editor.text(place))?;
    let name = editor.random.pick(&names);
    with_another_name(editor, place, name)
}

fn value_as_target(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = backward(editor)?;
    let name = editor
        .definition
        .inputs
        .iter()
        .find(|input| input.is_value())?;
    with_another_name(editor, place, name.name.clone())
}

fn exempt_target(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, _) = backward(editor)?;
    let name = editor.definition.inputs.iter().find(|input| input.exempt)?;
    with_another_name(editor, place, name.name.clone())
}

fn target_of_another(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, index) = backward(editor)?;
    let definition = editor.definition;
    let others = definition
        .backwards
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != index);
    let inputs: Vec<usize> = others.flat_map(|(_, other)| other.covers.clone()).collect();
    let input = (!inputs.is_empty()).then(|| editor.random.pick(&inputs))?;
    with_another_name(editor, place, definition.inputs[input].name.clone())?;
    let owns = |role| match role {
        Role::Helper(Part::Backward(other)) => definition.backwards[other].covers.contains(&input),
        _ => false,
    };
    let mut places = editor.text.places(owns);
    places.push(place);
    Some(places)
}

fn misspelt_helper(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| matches!(role, Role::Helper(_)))?;
    let (right, wrong) = editor.random.pick(&[
        ("#[forward", "#[foward"),
        ("#[backward", "#[bakward"),
        ("#[backward", "#[grad"),
        ("#[jvp", "#[jpv"),
        ("grad(", "gard("),
        ("grad(", "backward("),
    ]);
    editor.replace(place, right, wrong)
}

fn helper_missing(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| matches!(role, Role::Helper(part) if part != Part::Jvp))?;
    let Role::Helper(part) = editor.text.0[place].role else {
        return None;
    };
    if editor.definition.short {
        return None;
    }
    editor.text.0.remove(place);
    match part {
        Part::Backward(index) => uncovered(editor, index),
        _ => Some(editor.text.places(|role| role == Role::Block)),
    }
}

/// Returns where it is reported that a backward function is not there.
fn uncovered(editor: &Editor<'_>, index: usize) -> Option<Vec<usize>> {
    let backwards = &editor.definition.backwards;
    let covers = &backwards[index].covers;
    if backwards.len() == 1 {
        let is_one = |role| {
            if editor.definition.short {
                role == Role::Function(Part::Forward)
            } else {
                // There, or on the function that is there without its attribute.
                role == Role::Block || role == Role::Function(Part::Backward(index))
            }
        };
        return Some(editor.text.places(is_one));
    }
    let places = editor
        .text
        .places(|role| role == Role::Parameter(covers[0]));
    // For several inputs there are several errors.
    (covers.len() == 1).then_some(places)
}

fn helper_twice(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| matches!(role, Role::Helper(_)))?;
    let line = editor.text.0[place].clone();
    if editor.definition.short {
        return None;
    }
    editor.insert(place, line.role, line.text);
    Some(vec![place, place + 1])
}

/// Returns the lines of a backward function, or of an expression of a gradient.
fn lines_of(editor: &Editor<'_>, part: Part) -> Vec<usize> {
    editor.text.places(|role| match role {
        Role::Helper(of)
        | Role::Function(of)
        | Role::Asked(of, _)
        | Role::Returns(of)
        | Role::Returned(of, _)
        | Role::ReturnsEnd(of)
        | Role::Body(of)
        | Role::Last(of) => of == part,
        _ => false,
    })
}

fn function_missing(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    if editor.definition.is_elementwise() {
        return None;
    }
    let index = editor.random.below(editor.definition.backwards.len());
    for place in lines_of(editor, Part::Backward(index)).into_iter().rev() {
        editor.text.0.remove(place);
    }
    uncovered(editor, index)
}

fn function_twice(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    if editor.definition.backwards.is_empty() {
        return None;
    }
    let index = editor.random.below(editor.definition.backwards.len());
    if editor.definition.backwards[index].covers.len() > 1 {
        return None;
    }
    let places = lines_of(editor, Part::Backward(index));
    let name = format!("fn {}(", editor.definition.backwards[index].name);
    let lines: Vec<Line> = places
        .iter()
        .map(|place| editor.text.0[*place].clone())
        .collect();
    let after = places[places.len() - 1] + 1;
    let copy = lines.into_iter().map(|mut line| {
        line.text = line.text.replace(&name, "fn another(");
        line
    });
    editor.text.0.splice(after..after, copy);
    Some(vec![places[0], after, after + 1])
}

/// Returns the line with an option of forward, such as `saves(…)`, and what it has in its brackets.
fn option(editor: &mut Editor<'_>, option: &str) -> Option<(usize, String)> {
    let place = editor.pick_line(|role, text| {
        matches!(role, Role::Helper(Part::Forward) | Role::Argument)
            && text.contains(&format!("{option}("))
    })?;
    let (_, list) = editor.text(place).split_once(&format!("{option}("))?;
    let list = list.split_once(')')?.0.to_owned();
    Some((place, list))
}

fn lists(editor: &mut Editor<'_>) -> Option<(usize, &'static str, String)> {
    let name = editor.random.pick(&["saves", "outputs"]);
    let (place, list) = option(editor, name)?;
    Some((place, name, list))
}

/// Writes another list into `outputs(…)` or `saves(…)`: either could be the one that is wrong.
fn with_list(
    editor: &mut Editor<'_>,
    another: impl Fn(&str) -> Option<String>,
) -> Option<Vec<usize>> {
    let (place, name, list) = lists(editor)?;
    // Where outputs have no names, one of them would be taken for what is saved.
    if !editor.definition.named_outputs {
        return None;
    }
    let other = another(&list)?;
    let mut places = editor.replace(
        place,
        &format!("{name}({list})"),
        &format!("{name}({other})"),
    )?;
    for option in ["outputs", "saves"] {
        places.extend(self::option(editor, option).map(|(place, _)| place));
    }
    Some(places)
}

fn name_too_many(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    with_list(editor, |list| Some(format!("{list}, one_more")))
}

fn name_too_few(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    with_list(editor, |list| Some(list.rsplit_once(", ")?.0.to_owned()))
}

fn misspelt_option(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, name, list) = lists(editor)?;
    let wrong = editor.misspelt(name);
    editor.replace(
        place,
        &format!("{name}({list})"),
        &format!("{wrong}({list})"),
    )
}

fn unknown_exemption(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, list) = option(editor, "non_differentiable")?;
    let option = format!("non_differentiable({list}");
    editor.replace(place, &option, &format!("{option}, maks"))
}

fn exempt_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let outputs = editor.definition.outputs.iter();
    let mut values = outputs.filter(|output| !matches!(output.content, Content::Sum { .. }));
    let value = values.next()?.name.clone();
    let (place, list) = option(editor, "outputs")?;
    let outputs = format!("outputs({list})");
    if option(editor, "non_differentiable").is_some() {
        return None;
    }
    editor.replace(
        place,
        &outputs,
        &format!("{outputs}, non_differentiable({value})"),
    )
}

fn jvp_with_arguments(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| role == Role::Helper(Part::Jvp))?;
    let input = editor.definition.differentiable_inputs()[0];
    let input = &editor.definition.inputs[input].name;
    editor.replace(place, "#[jvp]", &format!("#[jvp({input})]"))
}

fn ignored_and_used(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, index) = backward(editor)?;
    let definition = editor.definition;
    if definition.ignores_grad(&definition.backwards[index]) {
        return None;
    }
    editor.replace(place, ")", ", ignores_grad)")
}

fn empty_list(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, name, list) = lists(editor)?;
    editor.replace(place, &format!("{name}({list})"), &format!("{name}()"))
}

fn option_with_a_value(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, name, list) = lists(editor)?;
    let first = list.split(", ").next()?.to_owned();
    editor.replace(
        place,
        &format!("{name}({list})"),
        &format!("{name} = {first}"),
    )
}

fn argument(editor: &mut Editor<'_>, text: String) -> Option<Vec<usize>> {
    let place = editor
        .pick(|role| matches!(role, Role::Argument | Role::Gradcheck | Role::AttributeEnd))?;
    Some(editor.insert(place, Role::Other, text))
}

fn unknown_argument(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let text = editor.random.pick(&[
        "    nmae = \"a name\",",
        "    rename = \"a name\",",
        "    second_order,",
        "    gradchek(x = [2]),",
        "    path = pullback,",
    ]);
    argument(editor, text.to_owned())
}

fn argument_twice(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let place = editor.pick(|role| role == Role::Argument)?;
    let line = editor.text.0[place].clone();
    editor.insert(place, line.role, line.text);
    Some(vec![place, place + 1])
}

fn argument_of_the_other_form(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    if editor.definition.short {
        return None;
    }
    let text = editor.random.pick(&[
        "    higher_order,",
        "    grad(x) = grad_output.clone(),",
        "    saves(y),",
        "    outputs(y),",
    ]);
    argument(editor, text.to_owned())
}

fn no_expression(editor: &mut Editor<'_>) -> Option<Vec<usize>> {
    let (place, index) = backward(editor)?;
    if !editor.definition.short {
        return None;
    }
    let text = format!("{},", editor.text(place).split(" =").next()?);
    editor.set(place, text)?;
    for other in lines_of(editor, Part::Backward(index)).into_iter().rev() {
        if other != place {
            editor.text.0.remove(other);
        }
    }
    Some(vec![place])
}
