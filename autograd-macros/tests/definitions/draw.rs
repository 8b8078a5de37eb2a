//! Draws definitions of every shape that the contract allows.

use super::batch;
use super::formula::{Factor, Term};
use super::model::{
    Backward, Content, Definition, Element, Holds, Input, Intermediate, Kind, Output, Rank, Save,
    Twin, Value,
};
use super::names::{self, Names};
use super::random::Random;

/// Draws the definition with this number.
pub(crate) fn definition(number: u64) -> Definition {
    let random = &mut Random::new(number);
    let elementwise = random.chance(12);
    let short = elementwise || random.chance(30);
    let mut names = Names::new(random);
    let rank = match random.below(10) {
        // The rank of an elementwise function is any already.
        0 | 1 if !elementwise => Rank::Generic,
        2 => Rank::Dyn,
        fixed => Rank::Fixed(fixed % 3 + 1),
    };
    let mut inputs = inputs(random, &mut names);
    if elementwise {
        inputs = numbers(inputs);
    }
    let mut definition = Definition {
        name: if short {
            names::of_function(random)
        } else {
            names::of_type(random)
        },
        short,
        element: match random.chance(35) {
            _ if elementwise => Element::Number,
            true => Element::Generic,
            false => Element::Double,
        },
        rank,
        shape: shape(rank, random),
        inputs,
        named_outputs: true,
        outputs: Vec::new(),
        written: Vec::new(),
        saves: Vec::new(),
        fallible: !elementwise && random.chance(15),
        backwards: Vec::new(),
        jvp: None,
        vmap: None,
        batch: Vec::new(),
        twin: None,
    };
    if !elementwise {
        saves(&mut definition, random, &mut names);
    }
    outputs(&mut definition, random, &mut names);
    everything_matters(&mut definition, random);
    backwards(&mut definition, random);
    if elementwise {
        // The others are generated.
        definition.backwards.retain(|_| random.chance(30));
    }
    if !short && random.chance(45) {
        definition.jvp = Some(random.chance(40));
    }
    definition.vmap = batch::draw(&definition, random);
    definition
}

/// Adds options that the mistakes do not know: entries of an elementwise function, `batch(…)`, gradients by name.
pub(crate) fn with_options(mut definition: Definition, number: u64) -> Definition {
    let random = &mut Random::new(number ^ 0x0911);
    if definition.is_elementwise() {
        if random.chance(50) {
            entries(&mut definition, random);
        }
        return definition;
    }
    let may_lack = |output: &Output| {
        matches!(
            &output.content,
            Content::Sum {
                holds: Holds::Maybe(_),
                ..
            }
        )
    };
    let may_be_batched =
        definition.in_place().is_none() && !definition.outputs.iter().any(may_lack);
    if may_be_batched && random.chance(50) {
        let tensors = 0..definition.inputs.len();
        let mut tensors: Vec<usize> = tensors
            .filter(|input| !definition.inputs[*input].is_value())
            .collect();
        random.shuffle(&mut tensors);
        tensors.truncate(random.between(1, tensors.len()));
        definition.batch = tensors;
    }
    // The struct has the parameters of its fields, and no others.
    let is_plain = !definition.takes(Value::Closure) && !definition.takes(Value::Row);
    let inputs = &definition.inputs;
    let mut several = definition.backwards.iter_mut().filter(|backward| {
        let mut covers = backward.covers.iter();
        backward.covers.len() > 1 && !backward.once && covers.all(|input| !inputs[*input].alias)
    });
    if let Some(backward) = several.next()
        && is_plain
        && !definition.short
        && random.chance(60)
    {
        backward.by_name = true;
    }
    definition
}

/// Adds a value with an entry for each element, as a factor of some terms.
fn entries(definition: &mut Definition, random: &mut Random) {
    let input = definition.inputs.len();
    definition.inputs.push(Input {
        name: "of_each".to_owned(),
        kind: Kind::Value(Value::Entries),
        optional: false,
        exempt: false,
        alias: false,
        inert: false,
    });
    let mut is_used = false;
    for output in &mut definition.outputs {
        let Content::Sum { terms, .. } = &mut output.content else {
            continue;
        };
        for term in terms {
            if !is_used || random.chance(50) {
                term.factors.push(Factor::Value(input));
                is_used = true;
            }
        }
    }
}

/// Makes a coefficient of a derivative wrong.
pub(crate) fn twin(mut definition: Definition, random: &mut Random) -> Definition {
    if definition.is_elementwise() {
        // What is generated cannot be wrong.
        definition.backwards.clear();
        backwards(&mut definition, random);
    }
    definition.twin = Some(match definition.jvp {
        Some(_) if random.chance(40) => Twin::Jvp,
        _ => Twin::Backward,
    });
    definition
}

fn shape(rank: Rank, random: &mut Random) -> Vec<usize> {
    let axes = match rank {
        Rank::Fixed(axes) => axes,
        Rank::Generic | Rank::Dyn => random.between(1, 3),
    };
    let lengths: &[usize] = [&[4, 3], &[2, 3], &[1, 2]][axes - 1];
    (0..axes).map(|_| random.pick(lengths)).collect()
}

fn inputs(random: &mut Random, names: &mut Names) -> Vec<Input> {
    let input = |names: &mut Names, kind| Input {
        name: names.next(),
        kind,
        optional: false,
        exempt: false,
        alias: false,
        inert: false,
    };
    let certain = [
        Kind::View,
        Kind::View,
        Kind::View,
        Kind::Owned,
        Kind::TensorRef,
        Kind::InPlace,
    ];
    let mut inputs = vec![input(names, random.pick(&certain))];
    for _ in 1..random.between(1, 4) {
        let kinds = [
            Kind::View,
            Kind::View,
            Kind::View,
            Kind::Owned,
            Kind::TensorRef,
            Kind::List,
        ];
        let mut another = input(names, random.pick(&kinds));
        another.optional = another.kind != Kind::List && random.chance(25);
        another.exempt = random.chance(12);
        another.inert = !another.exempt && random.chance(10);
        inputs.push(another);
    }
    // One of them must have a gradient.
    let matters = |input: &Input| input.is_differentiable() && !input.inert;
    inputs[0].exempt = inputs[1..].iter().any(matters) && random.chance(8);
    for input in &mut inputs {
        input.alias = input.kind != Kind::InPlace && random.chance(12);
    }
    for _ in 0..random.pick(&[0, 0, 1, 1, 2]) {
        let values = [
            Value::Number,
            Value::Number,
            Value::Numbers,
            Value::Count,
            Value::Maybe,
            Value::Label,
            Value::Settings,
            Value::Indices,
            Value::Closure,
            Value::Pointer,
            Value::Row,
        ];
        let kind = Kind::Value(random.pick(&values));
        // Each closure has a type of its own.
        let is_taken = |input: &Input| input.kind == Kind::Value(Value::Closure);
        if kind != Kind::Value(Value::Closure) || !inputs.iter().any(is_taken) {
            inputs.push(input(names, kind));
        }
    }
    random.shuffle(&mut inputs);
    inputs
}

/// Makes them the inputs of an elementwise function, whose only parameter is their type.
fn numbers(mut inputs: Vec<Input>) -> Vec<Input> {
    inputs.retain(|input| !matches!(input.kind, Kind::Value(Value::Closure | Value::Row)));
    for input in inputs.iter_mut().filter(|input| !input.is_value()) {
        input.kind = Kind::View;
        (input.optional, input.alias) = (false, false);
    }
    inputs
}

fn saves(definition: &mut Definition, random: &mut Random, names: &mut Names) {
    for _ in 0..random.pick(&[0, 0, 1, 1, 2]) {
        let candidates = exponents(definition);
        let what = if random.chance(75) && !candidates.is_empty() {
            Intermediate::Exp(random.pick(&candidates))
        } else {
            Intermediate::Number(coefficient(random))
        };
        let holds = match what {
            Intermediate::Exp(_) => {
                random.pick(&[Holds::One, Holds::One, Holds::Maybe(None), Holds::List])
            }
            Intermediate::Number(_) => Holds::One,
        };
        let name = names.next();
        definition.saves.push(Save { name, what, holds });
    }
}

/// Returns the inputs that an exponential can be of.
fn exponents(definition: &Definition) -> Vec<usize> {
    let inputs = 0..definition.inputs.len();
    inputs
        .filter(|input| definition.inputs[*input].is_certain() && !definition.inputs[*input].inert)
        .collect()
}

fn outputs(definition: &mut Definition, random: &mut Random, names: &mut Names) {
    let in_place = definition.in_place();
    let number = match in_place {
        Some(input) if !definition.inputs[input].exempt => random.pick(&[0, 0, 1, 2]),
        _ => random.pick(&[1, 1, 1, 2, 2, 3]),
    };
    definition.named_outputs = random.chance(50);
    let mut outputs = contents(definition, number, random);
    random.shuffle(&mut outputs);
    let unnamed = outputs.len();
    definition.named_outputs &= unnamed > 0;
    for (place, content) in outputs.into_iter().enumerate() {
        let name = match (definition.named_outputs, unnamed) {
            (true, _) => names.next(),
            (false, 1) => "output".to_owned(),
            (false, _) => format!("output_{place}"),
        };
        definition.outputs.push(Output { name, content });
    }
    if let Some(input) = in_place {
        definition.written = sum(definition, random);
        definition.written.retain(|term| !term.depends_on(input));
        definition.written.push(Term {
            coefficient: coefficient(random),
            factors: vec![Factor::Input(input)],
        });
    }
}

fn contents(definition: &Definition, number: usize, random: &mut Random) -> Vec<Content> {
    let mut outputs = Vec::new();
    for _ in 0..number {
        let mut terms = sum(definition, random);
        let exponents = exponents(definition);
        if random.chance(15) && !exponents.is_empty() {
            let factors = vec![Factor::Exp(random.pick(&exponents))];
            terms = vec![Term {
                coefficient: 1.0,
                factors,
            }];
        }
        let is_array = !definition.is_elementwise();
        outputs.push(Content::Sum {
            terms,
            holds: if is_array {
                holds(definition, random)
            } else {
                Holds::One
            },
            reduced: is_array && random.chance(15),
            tensor: is_array && random.chance(10),
            exempt: false,
        });
    }
    if number > 0 && !definition.is_elementwise() {
        if random.chance(15) {
            outputs.push(Content::Count);
        }
        if random.chance(10) {
            outputs.push(Content::Indices);
        }
        if definition.named_outputs && random.chance(15) {
            outputs.push(Content::Sum {
                terms: sum(definition, random),
                holds: Holds::One,
                reduced: false,
                tensor: false,
                exempt: true,
            });
        }
    }
    outputs
}

fn holds(definition: &Definition, random: &mut Random) -> Holds {
    match random.below(10) {
        0 => {
            let mut inputs = definition.inputs.iter();
            Holds::Maybe(inputs.position(|input| input.optional))
        }
        1 => Holds::List,
        _ => Holds::One,
    }
}

fn coefficient(random: &mut Random) -> f64 {
    random.pick(&[0.5, 0.75, 1.25, 1.5, 2.0, -0.5, -1.25, -1.5])
}

fn sum(definition: &Definition, random: &mut Random) -> Vec<Term> {
    let mut pool = Vec::new();
    let inputs = definition.inputs.iter().enumerate();
    for (index, input) in inputs.filter(|(_, input)| !input.inert) {
        pool.push(match input.kind {
            Kind::Value(_) => Factor::Value(index),
            Kind::List => Factor::List(index),
            _ => Factor::Input(index),
        });
        // Tensors more often than values.
        pool.extend((!input.is_value()).then_some(pool[pool.len() - 1]));
    }
    pool.extend(exponents(definition).into_iter().map(Factor::Exp));
    for (index, save) in definition.saves.iter().enumerate() {
        pool.push(match save.what {
            Intermediate::Exp(input) => Factor::Exp(input),
            Intermediate::Number(_) => Factor::Saved(index),
        });
    }
    let mut terms = Vec::new();
    for _ in 0..random.between(1, 3) {
        let factors = (0..random.between(1, 3))
            .map(|_| random.pick(&pool))
            .collect();
        terms.push(Term {
            coefficient: coefficient(random),
            factors,
        });
    }
    terms
}

/// Adds terms until each differentiable result depends on an input that has a gradient, and each such input
/// is in some result.
fn everything_matters(definition: &mut Definition, random: &mut Random) {
    let mut inputs = definition.differentiable_inputs();
    inputs.retain(|input| !definition.inputs[*input].inert);
    let product = |definition: &Definition, input: usize, random: &mut Random| Term {
        coefficient: coefficient(random),
        factors: vec![match definition.inputs[input].kind {
            Kind::List => Factor::List(input),
            _ => Factor::Input(input),
        }],
    };
    let matters = |terms: &[Term], inputs: &[usize]| {
        inputs
            .iter()
            .any(|input| terms.iter().any(|term| term.depends_on(*input)))
    };
    for place in 0..definition.outputs.len() {
        let more = product(definition, random.pick(&inputs), random);
        if let Content::Sum { terms, .. } = &mut definition.outputs[place].content
            && !matters(terms, &inputs)
        {
            terms.push(more);
        }
    }
    if definition.in_place().is_some() && !matters(&definition.written, &inputs) {
        let more = product(definition, random.pick(&inputs), random);
        definition.written.push(more);
    }
    for input in inputs {
        let all = definition.differentiable_outputs();
        if all.iter().any(|one| matters(&one.terms, &[input])) {
            continue;
        }
        let more = product(definition, input, random);
        let outputs = definition.outputs.iter_mut();
        let mut sums: Vec<&mut Vec<Term>> = outputs
            .filter_map(|output| match &mut output.content {
                Content::Sum {
                    terms,
                    exempt: false,
                    ..
                } => Some(terms),
                _ => None,
            })
            .collect();
        if sums.is_empty() {
            sums.push(&mut definition.written);
        }
        let place = random.below(sums.len());
        sums[place].push(more);
    }
}

fn backwards(definition: &mut Definition, random: &mut Random) {
    let mut inputs = definition.differentiable_inputs();
    let tensors = random.chance(45);
    let differ = random.chance(15);
    let may_be_once = !definition.is_elementwise();
    let mut backward = |covers: Vec<usize>, plain, random: &mut Random| {
        let number = definition.backwards.len();
        let name = match (plain, random.below(3)) {
            (true, _) | (_, 0) if number == 0 => "backward".to_owned(),
            (_, 1) => format!("grad_{number}"),
            _ => format!("gradient_{number}"),
        };
        // In the short form all expressions are of one kind.
        let tensors = if differ && !definition.short {
            random.chance(50)
        } else {
            tensors
        };
        definition.backwards.push(Backward {
            name,
            covers,
            plain,
            tensors,
            once: may_be_once && random.chance(10),
            by_name: false,
        });
    };
    if !definition.short && random.chance(25) {
        backward(std::mem::take(&mut inputs), true, random);
    }
    random.shuffle(&mut inputs);
    while !inputs.is_empty() {
        let number = random.pick(&[1, 1, 2, 3]).min(inputs.len());
        let covers = inputs.split_off(inputs.len() - number);
        backward(covers, false, random);
    }
    // One must be able to ask for what is saved.
    let is_able = definition.backwards.iter().any(Backward::loses_nothing);
    if let Some(first) = definition.backwards.first_mut()
        && !definition.saves.is_empty()
        && !is_able
    {
        first.once = true;
    }
}
