//! Writes a whole definition.

use super::attribute::{self, forward_options};
use super::batch;
use super::derivative::{Asked, Asker};
use super::formula::Factor;
use super::forward;
use super::generics::{Generics, in_brackets};
use super::model::{Backward, Definition, Holds, Intermediate, Kind};
use super::numbers;
use super::random::Random;
use super::text::{Form, Part, Role, Text, Wants};

/// Writes a definition; the same text for the same seed.
pub(crate) fn definition(definition: &Definition, seed: u64) -> Text {
    let random = &mut Random::new(seed ^ 0x5eed);
    let mut text = Text::default();
    if definition.short {
        short(definition, random, &mut text);
    } else {
        block(definition, random, &mut text);
    }
    text
}

/// The gradients or tangents of one function, as text.
pub(crate) struct Written {
    pub(crate) part: Part,
    pub(crate) asked: Vec<Asked>,
    pub(crate) statements: Vec<String>,
    pub(crate) types: Vec<String>,
    pub(crate) results: Vec<String>,
}

fn block(definition: &Definition, random: &mut Random, text: &mut Text) {
    let name = &definition.name;
    let generics = Generics::of(definition);
    let vis = random.pick(&["pub ", "pub ", "pub(crate) ", ""]);
    let (of_struct, fields) = (in_brackets(&generics.unbounded()), generics.fields());
    text.push(
        Role::Other,
        format!("{vis}struct {name}{of_struct}{fields};"),
    );
    attribute::write(definition, &[], random, text);
    let (parameters, clause) = generics.declared(random.chance(30));
    let (parameters, arguments) = (in_brackets(&parameters), generics.arguments());
    text.push(
        Role::Block,
        format!("impl{parameters} {name}{arguments} {clause} {{"),
    );
    let mut written = functions(definition, random);
    extras(definition, &mut written, random);
    let place = random.below(written.len() + 1);
    for index in 0..=written.len() {
        if index == place {
            helper_of_forward(definition, random, text);
            forward::write(definition, "", "", random, text);
        }
        if let Some(function) = written.get_mut(index) {
            write_function(definition, function, random, text);
        }
    }
    if let Some(mapped) = &definition.vmap {
        batch::write(definition, mapped, random, text);
    }
    text.push(Role::Other, "}");
}

fn functions(definition: &Definition, random: &mut Random) -> Vec<Written> {
    let mut written = Vec::new();
    for index in 0..definition.backwards.len() {
        let function = if definition.is_elementwise() {
            numbers::gradients(definition, index, random)
        } else {
            gradients(definition, index, &written, random)
        };
        written.push(function);
    }
    if definition.jvp.is_some() {
        written.push(tangents(definition, random));
    }
    written
}

fn helper_of_forward(definition: &Definition, random: &mut Random, text: &mut Text) {
    let mut options = forward_options(definition);
    random.shuffle(&mut options);
    let role = Role::Helper(Part::Forward);
    if random.chance(20) {
        text.push(Role::Other, "    /// Returns a sum.");
    }
    text.push(
        role,
        if options.is_empty() {
            "    #[forward]".to_owned()
        } else {
            format!("    #[forward({})]", options.join(", "))
        },
    );
    if random.chance(15) {
        let other = random.pick(&[
            "#[must_use]",
            "#[inline]",
            "#[track_caller]",
            "#[allow(unused)]",
        ]);
        text.push(Role::Other, format!("    {other}"));
    }
}

/// Writes the gradients of a function, after those of others.
fn gradients(
    definition: &Definition,
    index: usize,
    others: &[Written],
    random: &mut Random,
) -> Written {
    let part = Part::Backward(index);
    // In the short form a gradient is what it is.
    let by_name = definition.backwards[index].by_name;
    let may_lack = !definition.short && !by_name;
    let mut asker = Asker::new(definition, part, random);
    let form = if asker.tensors {
        Form::Tensor
    } else {
        Form::Owned
    };
    let (mut types, mut results) = (Vec::new(), Vec::new());
    for input in asker.covers.clone() {
        let one = &definition.inputs[input];
        let mut result = asker.gradient(input);
        let mut ty = asker.types.tensor(form, asker.random);
        if one.kind == Kind::List {
            let name = one.name.clone();
            asker.list(&name, Wants::Input(input));
            if may_lack && asker.random.chance(25) {
                ty = format!("Option<{ty}>");
                result = format!("Some({result})");
            }
            ty = format!("Vec<{ty}>");
            result = format!("vec![{result}; {name}.len()]");
        }
        if may_lack && asker.random.chance(20) {
            ty = format!("Option<{ty}>");
            result = if asker.random.chance(50) {
                format!("Some({result})")
            } else {
                let by_reference = if asker.random.chance(30) { "&" } else { "" };
                let ty = format!("{by_reference}{}NeedsInputGrad", definition.name);
                asker.ask("needs_input_grad", ty, Wants::NeedsInputGrad);
                format!("needs_input_grad.{}.then_some({result})", one.name)
            };
        }
        if by_name {
            let value = if one.optional {
                format!("Some({result})")
            } else {
                result
            };
            result = format!("{}: {value}", one.name);
        }
        types.push(ty);
        results.push(result);
    }
    let mut backwards = definition.backwards.iter();
    if backwards.rposition(Backward::loses_nothing) == Some(index) {
        asker.rest(others);
    }
    if by_name {
        let name = format!("{}Gradients", definition.name);
        types = vec![format!("{name}{}", Generics::of(definition).arguments())];
        results = vec![format!("{name} {{ {} }}", results.join(", "))];
    }
    Written {
        part,
        asked: asker.asked,
        statements: asker.statements,
        types,
        results,
    }
}

fn tangents(definition: &Definition, random: &mut Random) -> Written {
    let part = Part::Jvp;
    let mut asker = Asker::new(definition, part, random);
    let form = if asker.tensors {
        Form::Tensor
    } else {
        Form::Owned
    };
    // Those that nothing depends on must be asked for too.
    for input in definition.differentiable_inputs() {
        if definition.inputs[input].inert {
            asker.operand(Factor::Tangent(input));
        }
    }
    let (mut types, mut results) = (Vec::new(), Vec::new());
    for one in definition.differentiable_outputs() {
        let mut result = asker.tangent(&one.terms, one.reduced);
        let content = if one.reduced {
            asker.types.reduced()
        } else {
            asker.types
        };
        let mut ty = content.tensor(form, asker.random);
        if let Holds::Maybe(Some(input)) = one.holds {
            asker.operand(Factor::Input(input));
        }
        result = forward::held(one.holds, result, definition, content);
        ty = forward::held_type(one.holds, ty);
        if one.holds == Holds::One && asker.random.chance(20) {
            ty = format!("Option<{ty}>");
            result = format!("Some({result})");
        }
        types.push(ty);
        results.push(result);
    }
    Written {
        part,
        asked: asker.asked,
        statements: asker.statements,
        types,
        results,
    }
}

/// Lets some functions ask for `context`, where it is not empty and has nothing whose derivative would be lost.
fn extras(definition: &Definition, written: &mut [Written], random: &mut Random) {
    let asked = |accept: &dyn Fn(Wants) -> bool| {
        let backwards = written.iter().filter(|function| function.part != Part::Jvp);
        backwards
            .flat_map(|function| &function.asked)
            .any(|one| accept(one.wants))
    };
    let is_saved = |wants| {
        matches!(
            wants,
            Wants::Input(_) | Wants::Value(_) | Wants::Output | Wants::Saved(_)
        )
    };
    let is_array = |wants| matches!(wants, Wants::Saved(save) if matches!(definition.saves[save].what, Intermediate::Exp(_)));
    let (some, array) = (asked(&is_saved), asked(&is_array));
    let named = |name: &str| {
        let inputs = definition.inputs.iter().map(|input| &input.name);
        let outputs = definition.outputs.iter().map(|output| &output.name);
        let saves = definition.saves.iter().map(|save| &save.name);
        inputs
            .chain(outputs)
            .chain(saves)
            .any(|taken| taken == name)
    };
    for function in written {
        let Part::Backward(index) = function.part else {
            continue;
        };
        if some
            && !named("context")
            && !(array && definition.backwards[index].tensors)
            && random.chance(12)
        {
            let arguments = Generics::of(definition).arguments();
            function.asked.push(Asked {
                name: "context".to_owned(),
                ty: format!("&{}Context{arguments}", definition.name),
                wants: Wants::Context,
            });
        }
    }
}

/// Returns what is in the brackets of a backward function, or before the expression of a gradient.
pub(crate) fn targets(definition: &Definition, backward: &Backward) -> String {
    let covers = backward.covers.iter();
    let names = covers.map(|input| &definition.inputs[*input].name[..]);
    let mut targets: Vec<&str> = names.filter(|_| !backward.plain).collect();
    targets.extend(backward.once.then_some("once"));
    targets.extend(definition.ignores_grad(backward).then_some("ignores_grad"));
    targets.join(", ")
}

fn write_function(
    definition: &Definition,
    function: &mut Written,
    random: &mut Random,
    text: &mut Text,
) {
    let part = function.part;
    let vis = random.pick(&["", "", "", "pub ", "pub(crate) "]);
    let (helper, name) = match part {
        Part::Backward(index) => {
            let backward = &definition.backwards[index];
            let targets = targets(definition, backward);
            let helper = if targets.is_empty() {
                "    #[backward]".to_owned()
            } else {
                format!("    #[backward({targets})]")
            };
            (helper, &backward.name[..])
        }
        _ => ("    #[jvp]".to_owned(), "tangents"),
    };
    text.push(Role::Helper(part), helper);
    text.push(Role::Function(part), format!("    {vis}fn {name}("));
    random.shuffle(&mut function.asked);
    for asked in &function.asked {
        let mutable = if random.chance(8) { "mut " } else { "" };
        let parameter = format!("        {mutable}{}: {},", asked.name, asked.ty);
        text.push(Role::Asked(part, asked.wants), parameter);
    }
    let (left, right, comma) = match function.types.len() {
        1 => ("", "", ""),
        _ => ("(", ")", ","),
    };
    let may_fail = part != Part::Jvp && random.chance(15);
    let (before, after) = if may_fail {
        ("Result<", ", String>")
    } else {
        ("", "")
    };
    text.push(Role::Returns(part), format!("    ) -> {before}{left}"));
    for (place, ty) in function.types.iter().enumerate() {
        text.push(Role::Returned(part, place), format!("        {ty}{comma}"));
    }
    text.push(Role::ReturnsEnd(part), format!("    {right}{after}"));
    text.push(Role::Body(part), "    {");
    for statement in &function.statements {
        text.push(Role::Body(part), format!("        {statement}"));
    }
    let results = function.results.join(", ");
    let result = format!("{left}{results}{right}");
    let result = if may_fail {
        format!("Ok({result})")
    } else {
        result
    };
    text.push(Role::Last(part), format!("        {result}"));
    text.push(Role::Body(part), "    }");
}

fn short(definition: &Definition, random: &mut Random, text: &mut Text) {
    let written = functions(definition, random);
    attribute::write(definition, &written, random, text);
    let (parameters, where_) = Generics::of(definition).declared(random.chance(30));
    forward::write(definition, &parameters, &where_, random, text);
}
