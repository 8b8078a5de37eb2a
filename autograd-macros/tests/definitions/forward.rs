//! Writes forward: its parameters, what it returns, its body.

use super::formula::{Factor, Term};
use super::generics::in_brackets;
use super::model::{Content, Definition, Holds, Input, Intermediate, Kind, Value};
use super::numbers;
use super::random::Random;
use super::sum::{self, Operand, Product};
use super::text::{Form, Part, Role, Text, Types};
use super::values;

pub(crate) fn types(definition: &Definition) -> Types {
    Types {
        element: definition.element,
        rank: definition.rank,
    }
}

/// The shares of a sum in the tensors of a list.
pub(crate) const HALVES: [f64; 2] = [1.0, 0.5];

/// Writes the attribute, the signature and the body; `indent` before each line.
pub(crate) fn write(
    definition: &Definition,
    generics: &str,
    where_: &str,
    random: &mut Random,
    text: &mut Text,
) {
    let indent = if definition.short { "" } else { "    " };
    let lifetime = if random.chance(20) { "'a" } else { "" };
    let name = if definition.short {
        definition.name.clone()
    } else {
        "forward".to_owned()
    };
    let vis = random.pick(&["pub ", "pub ", "pub(crate) ", "pub(super) ", ""]);
    let generics = match (generics.is_empty(), lifetime.is_empty()) {
        (true, _) => in_brackets(lifetime),
        (false, true) => in_brackets(generics),
        (false, false) => in_brackets(&format!("{lifetime}, {generics}")),
    };
    let part = Part::Forward;
    text.push(
        Role::Function(part),
        format!("{indent}{vis}fn {name}{generics}("),
    );
    for (index, input) in definition.inputs.iter().enumerate() {
        let parameter = parameter(definition, input, lifetime, random);
        text.push(Role::Parameter(index), format!("{indent}    {parameter},"));
    }
    returns(definition, indent, random, text);
    if definition.short && !where_.is_empty() {
        text.push(Role::Other, where_);
    }
    text.push(Role::Body(part), format!("{indent}{{"));
    body(definition, indent, text);
    text.push(Role::Body(part), format!("{indent}}}"));
}

fn parameter(
    definition: &Definition,
    input: &Input,
    lifetime: &str,
    random: &mut Random,
) -> String {
    let (name, types) = (&input.name, types(definition));
    if let Kind::Value(value) = input.kind {
        let each = if value == Value::Entries {
            "#[each] "
        } else {
            ""
        };
        return format!("{each}{name}: {}", values::ty(value, types));
    }
    let form = match input.kind {
        Kind::Owned => Form::Owned,
        Kind::TensorRef => Form::TensorRef,
        Kind::InPlace => Form::ViewMut,
        _ => Form::View,
    };
    let lifetime = match (random.chance(50), lifetime.is_empty()) {
        (true, true) if random.chance(20) => "'_",
        (true, false) => lifetime,
        _ => "",
    };
    let mut ty = if definition.is_elementwise() {
        "T".to_owned()
    } else if input.alias {
        types.alias(form, lifetime)
    } else {
        types.with_lifetime(form, lifetime, random)
    };
    if input.kind == Kind::List {
        ty = format!("&[{ty}]");
    }
    if input.optional {
        ty = format!("Option<{ty}>");
    }
    let is_mut = input.kind == Kind::InPlace || random.chance(8);
    let mutable = if is_mut { "mut " } else { "" };
    let mut attributes = Vec::new();
    attributes.extend(input.exempt.then_some("#[non_differentiable] "));
    attributes.extend(input.alias.then_some("#[tensor] "));
    random.shuffle(&mut attributes);
    format!("{}{mutable}{name}: {ty}", attributes.concat())
}

/// Writes the return type, each part of it in a line of its own.
fn returns(definition: &Definition, indent: &str, random: &mut Random, text: &mut Text) {
    let types = types(definition);
    let mut returned: Vec<String> = Vec::new();
    for output in &definition.outputs {
        returned.push(match &output.content {
            Content::Sum { .. } if definition.is_elementwise() => "T".to_owned(),
            Content::Sum {
                holds,
                reduced,
                tensor,
                ..
            } => {
                let types = if *reduced { types.reduced() } else { types };
                let form = if *tensor { Form::Tensor } else { Form::Owned };
                held_type(*holds, types.tensor(form, random))
            }
            Content::Count => "usize".to_owned(),
            Content::Indices => "Array1<usize>".to_owned(),
        });
    }
    for save in &definition.saves {
        returned.push(match save.what {
            Intermediate::Exp(_) => held_type(save.holds, types.tensor(Form::Owned, random)),
            Intermediate::Number(_) => types.element().to_owned(),
        });
    }
    let part = Part::Forward;
    if returned.is_empty() && !definition.fallible {
        let unit = if random.chance(20) { ") -> ()" } else { ")" };
        text.push(Role::Returns(part), format!("{indent}{unit}"));
        return;
    }
    let (open, close) = if definition.fallible {
        ("Result<", ", String>")
    } else {
        ("", "")
    };
    let (left, right) = if returned.len() == 1 {
        ("", "")
    } else {
        ("(", ")")
    };
    let comma = if returned.len() == 1 { "" } else { "," };
    text.push(Role::Returns(part), format!("{indent}) -> {open}{left}"));
    for (place, ty) in returned.iter().enumerate() {
        text.push(
            Role::Returned(part, place),
            format!("{indent}    {ty}{comma}"),
        );
    }
    text.push(Role::ReturnsEnd(part), format!("{indent}{right}{close}"));
}

fn body(definition: &Definition, indent: &str, text: &mut Text) {
    let types = types(definition);
    let mut body = Body {
        definition,
        types,
        statements: Vec::new(),
        known: Vec::new(),
    };
    let mut results = if definition.is_elementwise() {
        let (statements, results) = numbers::body(definition);
        body.statements = statements;
        results
    } else {
        body.results()
    };
    if let Some(input) = definition.in_place() {
        let sum = body.sum(&definition.written, definition.outputs.len());
        body.statements.push(format!("let written = {sum};"));
        body.statements.push(format!(
            "{}.assign(&written);",
            definition.inputs[input].name
        ));
    }
    for statement in &body.statements {
        text.push(
            Role::Body(Part::Forward),
            format!("{indent}    {statement}"),
        );
    }
    let last = match (results.len(), definition.fallible) {
        (0, false) => return,
        (1, false) => results.remove(0),
        (1, true) => format!("Ok({})", results[0]),
        (_, false) => format!("({})", results.join(", ")),
        (_, true) => format!("Ok(({}))", results.join(", ")),
    };
    text.push(Role::Last(Part::Forward), format!("{indent}    {last}"));
}

/// Returns the type of an output that holds something.
pub(crate) fn held_type(holds: Holds, one: String) -> String {
    match holds {
        Holds::One => one,
        Holds::Maybe(_) => format!("Option<{one}>"),
        Holds::List => format!("Vec<{one}>"),
    }
}

/// Returns the expression of an output, or of its tangent, that holds something.
pub(crate) fn held(holds: Holds, one: String, definition: &Definition, types: Types) -> String {
    match holds {
        Holds::One => one,
        Holds::Maybe(None) => format!("Some({one})"),
        Holds::Maybe(Some(input)) => {
            format!(
                "{}.is_some().then_some({one})",
                definition.inputs[input].name
            )
        }
        Holds::List => {
            let [whole, half] = HALVES.map(|factor| types.number(factor));
            format!("{{ let one = {one}; vec![&one * {whole}, &one * {half}] }}")
        }
    }
}

struct Body<'a> {
    definition: &'a Definition,
    types: Types,
    statements: Vec<String>,
    /// Factors that have a variable.
    known: Vec<(Factor, Operand)>,
}

impl Body<'_> {
    /// Writes the outputs and what is saved, and returns their expressions.
    fn results(&mut self) -> Vec<String> {
        let definition = self.definition;
        let mut results = Vec::new();
        for (place, output) in definition.outputs.iter().enumerate() {
            results.push(match &output.content {
                Content::Sum {
                    terms,
                    holds,
                    reduced,
                    tensor,
                    ..
                } => {
                    let mut sum = self.sum(terms, place);
                    if *reduced {
                        sum = format!("pullback::ndarray::arr0(({sum}).sum())");
                    }
                    self.statements.push(format!("let result_{place} = {sum};"));
                    let result = if *tensor {
                        format!("Tensor::from(result_{place})")
                    } else {
                        format!("result_{place}")
                    };
                    held(*holds, result, definition, self.types)
                }
                Content::Count => "3".to_owned(),
                Content::Indices => "Array1::from(vec![1_usize, 2])".to_owned(),
            });
        }
        for save in &definition.saves {
            results.push(match save.what {
                Intermediate::Exp(input) => {
                    let operand = self.operand(Factor::Exp(input));
                    let array = format!("{}.to_owned()", operand.text.trim_start_matches('&'));
                    held(save.holds, array, definition, self.types)
                }
                Intermediate::Number(number) => self.types.number(number),
            });
        }
        results
    }

    /// Writes a sum and returns its expression.
    fn sum(&mut self, terms: &[Term], place: usize) -> String {
        let products: Vec<Product> = terms
            .iter()
            .map(|term| Product {
                coefficient: term.coefficient,
                operands: term
                    .factors
                    .iter()
                    .map(|factor| self.operand(*factor))
                    .collect(),
            })
            .collect();
        // Of forward's own parameters: nothing has to be asked for.
        let anchor = self.operand(Factor::Input(self.definition.anchor()));
        let total = format!("total_{place}");
        let (statements, sum) = sum::sum(&products, &anchor.text, &total, self.types);
        self.statements.extend(statements);
        sum
    }

    fn operand(&mut self, factor: Factor) -> Operand {
        if let Some((_, operand)) = self.known.iter().find(|(known, _)| *known == factor) {
            return operand.clone();
        }
        let inputs = &self.definition.inputs;
        let operand = match factor {
            Factor::Input(input) => array(&inputs[input]),
            Factor::List(input) => {
                let name = &inputs[input].name;
                let first = format!("{name}[0].to_owned()");
                let variable = self.variable(&format!(
                    "{name}.iter().skip(1).fold({first}, |sum, one| sum + one)"
                ));
                Operand::tensor(format!("&{variable}"))
            }
            Factor::Exp(input) => {
                let array = array(&inputs[input]).text;
                let (array, element) = (array.trim_start_matches('&'), self.types.element());
                let variable = self.variable(&format!("{array}.mapv({element}::exp)"));
                Operand::tensor(format!("&{variable}"))
            }
            Factor::Value(input) => {
                let Kind::Value(value) = inputs[input].kind else {
                    unreachable!("a factor of a value");
                };
                let number = values::number(value, &inputs[input].name, false, self.types);
                Operand::number(self.variable(&number))
            }
            Factor::Saved(save) => {
                let Intermediate::Number(number) = self.definition.saves[save].what else {
                    unreachable!("a factor of a number");
                };
                Operand::number(self.types.number(number))
            }
            Factor::Gradient(_) | Factor::Tangent(_) => unreachable!("not in forward"),
        };
        self.known.push((factor, operand.clone()));
        operand
    }

    /// Binds a variable and returns its name.
    fn variable(&mut self, value: &str) -> String {
        let variable = format!("local_{}", self.known.len());
        self.statements.push(format!("let {variable} = {value};"));
        variable
    }
}

/// Returns an input of forward as an array.
fn array(input: &Input) -> Operand {
    let name = &input.name;
    let view = if input.kind == Kind::TensorRef {
        ".view()"
    } else {
        ""
    };
    // What is bound is a reference already.
    let reference = if input.optional && view.is_empty() {
        ""
    } else {
        "&"
    };
    Operand {
        text: format!("{reference}{name}{view}"),
        bound: input.optional.then(|| (name.clone(), format!("&{name}"))),
        is_number: false,
    }
}
