//! The function of a batch: `apply` of one example after the other, and what it returns in a stack.

use super::forward::types;
use super::model::{Content, Definition, Holds, Input, Kind, Rank};
use super::random::Random;
use super::text::{Form, Role, Text, Types};
use super::values;

/// Draws which inputs have an axis for the examples, where there can be such a function.
pub(crate) fn draw(definition: &Definition, random: &mut Random) -> Option<Vec<bool>> {
    let is_single =
        |input: &Input| !input.alias && !matches!(input.kind, Kind::InPlace | Kind::List);
    let is_tensor = |content: &Content| {
        matches!(
            content,
            Content::Sum {
                holds: Holds::One,
                ..
            }
        )
    };
    let mut outputs = definition.outputs.iter();
    let may_be = !definition.short
        && matches!(definition.rank, Rank::Fixed(_))
        && definition.inputs.iter().all(is_single)
        && outputs.all(|output| is_tensor(&output.content));
    if !may_be || random.chance(40) {
        return None;
    }
    let anchor = definition.anchor();
    let inputs = definition.inputs.iter().enumerate();
    let is_mapped =
        inputs.map(|(place, input)| place == anchor || !input.is_value() && random.chance(60));
    Some(is_mapped.collect())
}

/// Writes it as the last function of the block.
pub(crate) fn write(
    definition: &Definition,
    mapped: &[bool],
    random: &mut Random,
    text: &mut Text,
) {
    let types = types(definition);
    let vis = random.pick(&["", "pub "]);
    text.push(Role::Other, "    #[vmap]");
    text.push(Role::Batch, format!("    {vis}fn of_batch("));
    for (place, (input, mapped)) in definition.inputs.iter().zip(mapped).enumerate() {
        let ty = match input.kind {
            Kind::Value(value) => values::ty(value, types),
            _ => taken(input, with_axes(types, usize::from(*mapped)), random),
        };
        text.push(
            Role::OfBatch(place),
            format!("        {}: {ty},", input.name),
        );
    }
    let returned: Vec<String> = (definition.outputs.iter())
        .map(|output| {
            let reduced = matches!(output.content, Content::Sum { reduced: true, .. });
            let one = if reduced { types.reduced() } else { types };
            with_axes(one, 1).tensor(Form::Tensor, random)
        })
        .collect();
    let one = returned.len() == 1;
    let in_tuple = |parts: &[String]| match parts {
        [one] => one.clone(),
        parts => format!("({})", parts.join(", ")),
    };
    let (before, after, question) = if definition.fallible {
        ("Result<", ", String>", "?")
    } else {
        ("", "", "")
    };
    let returns = format!("    ) -> {before}{}{after} {{", in_tuple(&returned));
    text.push(Role::BatchReturns, returns);
    let anchor = &definition.inputs[definition.anchor()].name;
    text.push(Role::Other, "        let mut examples = Vec::new();");
    text.push(
        Role::Other,
        format!("        for index in 0..{anchor}.shape()[0] {{"),
    );
    let arguments = definition.inputs.iter().zip(mapped);
    let arguments: Vec<String> = arguments
        .map(|(input, mapped)| argument(input, *mapped, types))
        .collect();
    let call = format!("Self::apply({}){question}", arguments.join(", "));
    text.push(Role::Other, format!("            examples.push({call});"));
    text.push(Role::Other, "        }");
    let stacks = 0..returned.len();
    let stacks: Vec<String> = stacks
        .map(|place| {
            let each = if one {
                "example".to_owned()
            } else {
                format!("&example.{place}")
            };
            let each = format!("examples.iter().map(|example| {each}).collect::<Vec<_>>()");
            format!("Tensor::stack(pullback::ndarray::Axis(0), &{each})")
        })
        .collect();
    let result = in_tuple(&stacks);
    let result = if definition.fallible {
        format!("Ok({result})")
    } else {
        result
    };
    text.push(Role::Other, format!("        {result}"));
    text.push(Role::Other, "    }");
}

fn with_axes(types: Types, more: usize) -> Types {
    let rank = Rank::Fixed(axes(types) + more);
    Types { rank, ..types }
}

fn axes(types: Types) -> usize {
    match types.rank {
        Rank::Fixed(axes) => axes,
        _ => unreachable!("drawn so that the rank is fixed"),
    }
}

fn taken(input: &Input, types: Types, random: &mut Random) -> String {
    let ty = types.tensor(Form::TensorRef, random);
    if input.optional {
        format!("Option<{ty}>")
    } else {
        ty
    }
}

/// Returns an argument of `apply` for the example with this index.
fn argument(input: &Input, mapped: bool, types: Types) -> String {
    let name = &input.name;
    if let Kind::Value(value) = input.kind {
        let is_reference = values::ty(value, types).starts_with('&');
        return if is_reference {
            name.clone()
        } else {
            format!("{name}.clone()")
        };
    }
    let example = |of: &str| {
        let rest = ", ..".repeat(axes(types));
        format!("{of}.slice(pullback::ndarray::s![index{rest}])")
    };
    let is_owned = input.kind == Kind::Owned;
    match (input.optional, mapped, is_owned) {
        (true, true, true) => format!("{name}.map(|one| {})", example("one")),
        (true, true, false) => format!("{name}.map(|one| {}).as_ref()", example("one")),
        (true, false, true) => format!("{name}.cloned()"),
        (false, true, true) => example(name),
        (false, true, false) => format!("&{}", example(name)),
        (false, false, true) => format!("{name}.clone()"),
        (_, false, false) => name.clone(),
    }
}
