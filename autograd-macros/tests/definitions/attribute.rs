//! Writes `#[custom_function(…)]`, with the check and, in the short form, with gradients and options.

use super::model::{Definition, Kind, Rank, Value};
use super::random::Random;
use super::text::{Part, Role, Text};
use super::values;
use super::write::{Written, targets};

/// Writes `#[custom_function(…)]`, with the gradients of the short form.
pub(crate) fn write(
    definition: &Definition,
    gradients: &[Written],
    random: &mut Random,
    text: &mut Text,
) {
    text.push(Role::Attribute, "#[custom_function(");
    let mut arguments = vec![Text::default()];
    samples(definition, random, &mut arguments[0]);
    if random.chance(20) {
        let mut name = Text::default();
        name.push(Role::Argument, "    name = \"a name\",");
        arguments.push(name);
    }
    if random.chance(10) {
        let mut path = Text::default();
        path.push(Role::Argument, "    crate = pullback,");
        arguments.push(path);
    }
    if !definition.batch.is_empty() {
        let names = definition.batch.iter();
        let names: Vec<&str> = names
            .map(|input| &definition.inputs[*input].name[..])
            .collect();
        let mut batch = Text::default();
        batch.push(Role::Argument, format!("    batch({}),", names.join(", ")));
        arguments.push(batch);
    }
    for gradient in gradients {
        arguments.push(expression(definition, gradient));
    }
    if definition.short {
        for option in forward_options(definition) {
            let mut one = Text::default();
            one.push(Role::Argument, format!("    {option},"));
            arguments.push(one);
        }
        let word = if definition.is_elementwise() {
            Some(random.pick(&["elementwise", "elementwise", "elementwise(order = 3)"]))
        } else {
            let tensors = definition.backwards[0].tensors;
            tensors.then_some("higher_order")
        };
        if let Some(word) = word {
            let mut one = Text::default();
            one.push(Role::Argument, format!("    {word},"));
            arguments.push(one);
        }
    }
    random.shuffle(&mut arguments);
    text.0
        .extend(arguments.into_iter().flat_map(|argument| argument.0));
    text.push(Role::AttributeEnd, ")]");
}

fn samples(definition: &Definition, random: &mut Random, text: &mut Text) {
    text.push(Role::Gradcheck, "    gradcheck(");
    let mut order: Vec<usize> = (0..definition.inputs.len()).collect();
    if random.chance(30) {
        random.shuffle(&mut order);
    }
    for index in order {
        let input = &definition.inputs[index];
        let sample = match input.kind {
            Kind::Value(value) => values::example(value, &definition.shape),
            Kind::List => format!("[{:?}, {:?}]", definition.shape, definition.shape),
            _ if definition.is_elementwise()
                && random.chance(20)
                && !definition.takes(Value::Entries) =>
            {
                // Stretched along an axis.
                let mut shape = definition.shape.clone();
                let axis = random.below(shape.len());
                shape[axis] = 1;
                format!("{shape:?}")
            }
            _ => format!("{:?}", definition.shape),
        };
        let range = if !input.is_value() && random.chance(15) {
            " in -1.0..1.0"
        } else {
            ""
        };
        text.push(
            Role::Sample(index),
            format!("        {} = {sample}{range},", input.name),
        );
    }
    // No macro sees the rank in a type of another name.
    let mut tensors = definition.inputs.iter().filter(|input| !input.is_value());
    if definition.rank == Rank::Generic && tensors.all(|input| input.alias) {
        let rank = format!("        D = Ix{},", definition.shape.len());
        text.push(Role::Other, rank);
    }
    text.push(Role::Other, "    ),");
}

/// Returns the options of forward, such as `saves(…)`.
pub(crate) fn forward_options(definition: &Definition) -> Vec<String> {
    let mut options = Vec::new();
    let list = |names: Vec<&str>| names.join(", ");
    if definition.named_outputs {
        let names = definition.outputs.iter().map(|output| &output.name[..]);
        options.push(format!("outputs({})", list(names.collect())));
    }
    if !definition.saves.is_empty() {
        let names = definition.saves.iter().map(|save| &save.name[..]);
        options.push(format!("saves({})", list(names.collect())));
    }
    let exempt = definition
        .outputs
        .iter()
        .filter(|output| output.is_exempt());
    let exempt: Vec<&str> = exempt.map(|output| &output.name[..]).collect();
    if !exempt.is_empty() {
        options.push(format!("non_differentiable({})", list(exempt)));
    }
    options
}

/// Writes `grad(x) = …`.
fn expression(definition: &Definition, gradient: &Written) -> Text {
    let part = gradient.part;
    let Part::Backward(index) = part else {
        unreachable!("the short form has no rule");
    };
    let backward = &definition.backwards[index];
    let (left, right) = if backward.covers.len() == 1 {
        ("", "")
    } else {
        ("(", ")")
    };
    let results = format!("{left}{}{right}", gradient.results.join(", "));
    let mut text = Text::default();
    let braces = !gradient.statements.is_empty();
    let brace = if braces { "{" } else { "" };
    text.push(
        Role::Helper(part),
        format!("    grad({}) = {brace}", targets(definition, backward)),
    );
    for statement in &gradient.statements {
        text.push(Role::Body(part), format!("        {statement}"));
    }
    text.push(Role::Last(part), format!("        {results}"));
    text.push(Role::Body(part), if braces { "    }," } else { "    ," });
    text
}
