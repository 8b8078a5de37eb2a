//! Writes what a backward function, an expression of a gradient or the `#[jvp]` rule asks for and computes.

use super::formula::{self, Factor, Term};
use super::forward;
use super::model::{
    Definition, Differentiable, Holds, Intermediate, Kind, Origin, Rank, Save, Twin,
};
use super::random::Random;
use super::sum::{self, Operand, Product};
use super::text::{Form, Part, Types, Wants};
use super::values;
use super::write::Written;

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) wants: Wants,
}

/// The factor of a wrong coefficient.
pub(crate) const WRONG: f64 = 1.5;

/// Returns whether a function has a wrong coefficient.
pub(crate) fn is_wrong(definition: &Definition, part: Part) -> bool {
    let Part::Backward(index) = part else {
        return definition.twin == Some(Twin::Jvp);
    };
    // Where gradients are ignored, there is nothing to be wrong.
    let mut backwards = definition.backwards.iter();
    let first = backwards.position(|one| !definition.ignores_grad(one));
    definition.twin == Some(Twin::Backward) && Some(index) == first
}

/// Returns the gradient of an input.
pub(crate) fn gradient(definition: &Definition, input: usize) -> Vec<Term> {
    let mut terms = Vec::new();
    for (place, one) in definition.differentiable_outputs().iter().enumerate() {
        let along = formula::derivative(&one.terms, input).into_iter();
        terms.extend(along.map(|term| term.times(Factor::Gradient(place))));
    }
    terms
}

/// Collects what one function asks for.
pub(crate) struct Asker<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) random: &'a mut Random,
    pub(crate) part: Part,
    pub(crate) tensors: bool,
    once: bool,
    pub(crate) covers: Vec<usize>,
    pub(crate) types: Types,
    pub(crate) asked: Vec<Asked>,
    pub(crate) statements: Vec<String>,
    known: Vec<(Factor, Operand)>,
    totals: usize,
    /// Makes the next coefficient wrong.
    wrong: bool,
}

impl<'a> Asker<'a> {
    pub(crate) fn new(definition: &'a Definition, part: Part, random: &'a mut Random) -> Self {
        let (tensors, once, covers) = match part {
            Part::Backward(index) => {
                let backward = &definition.backwards[index];
                (backward.tensors, backward.once, backward.covers.clone())
            }
            _ => (definition.jvp == Some(true), false, Vec::new()),
        };
        Self {
            definition,
            random,
            part,
            tensors,
            once,
            covers,
            types: forward::types(definition),
            asked: Vec::new(),
            statements: Vec::new(),
            known: Vec::new(),
            totals: 0,
            wrong: is_wrong(definition, part),
        }
    }

    /// Writes the gradient of an input and returns its expression.
    pub(crate) fn gradient(&mut self, input: usize) -> String {
        self.sum(&gradient(self.definition, input))
    }

    /// Writes the tangent of a differentiable output and returns its expression.
    pub(crate) fn tangent(&mut self, terms: &[Term], reduced: bool) -> String {
        let mut along = Vec::new();
        for input in self.definition.differentiable_inputs() {
            let derivative = formula::derivative(terms, input);
            along.extend(
                derivative
                    .into_iter()
                    .map(|term| term.times(Factor::Tangent(input))),
            );
        }
        let sum = self.sum(&along);
        match (reduced, self.tensors) {
            (false, _) => sum,
            (true, true) => format!("({sum}).sum()"),
            (true, false) => format!("pullback::ndarray::arr0(({sum}).sum())"),
        }
    }

    fn sum(&mut self, terms: &[Term]) -> String {
        let mut products = Vec::new();
        for term in terms {
            let mut coefficient = term.coefficient;
            if std::mem::take(&mut self.wrong) {
                coefficient *= WRONG;
            }
            let operands = term
                .factors
                .iter()
                .map(|factor| self.operand(*factor))
                .collect();
            products.push(Product {
                coefficient,
                operands,
            });
        }
        let anchor = if sum::is_plain(&products) {
            String::new()
        } else {
            self.anchor()
        };
        self.totals += 1;
        let total = format!("total_{}", self.totals);
        let (statements, sum) = sum::sum(&products, &anchor, &total, self.types);
        self.statements.extend(statements);
        sum
    }

    /// Returns a reference to something of the shape of all tensors: of what has been asked for, if it can be.
    fn anchor(&mut self) -> String {
        let outputs = self.definition.differentiable_outputs();
        let has_the_shape = |factor: Factor| match factor {
            Factor::Gradient(place) => !outputs[place].reduced,
            Factor::Value(_) | Factor::Saved(_) => false,
            _ => true,
        };
        let mut known = self.known.iter();
        let known =
            known.find(|(factor, operand)| operand.bound.is_none() && has_the_shape(*factor));
        if let Some((_, operand)) = known {
            return operand.text.clone();
        }
        let anchor = self.definition.anchor();
        self.operand(Factor::Input(anchor)).text
    }

    pub(crate) fn operand(&mut self, factor: Factor) -> Operand {
        if let Some((_, operand)) = self.known.iter().find(|(known, _)| *known == factor) {
            return operand.clone();
        }
        let operand = match factor {
            Factor::Input(input) => {
                let name = self.definition.inputs[input].name.clone();
                let optional = self.definition.inputs[input].optional;
                let optional = optional && !(self.covers == [input] && self.is_plain());
                self.ask_tensor(&name, optional, self.types, Wants::Input(input))
            }
            Factor::List(input) => {
                let name = self.definition.inputs[input].name.clone();
                self.list(&name, Wants::Input(input));
                let (first, one) = if self.tensors {
                    ("clone", "*one")
                } else {
                    ("to_owned", "one")
                };
                self.local(&format!(
                    "{name}.iter().skip(1).fold({name}[0].{first}(), |sum, one| sum + {one})"
                ))
            }
            Factor::Exp(input) => self.exp(input),
            Factor::Value(input) => self.value(input),
            Factor::Saved(save) => self.saved_number(save),
            Factor::Gradient(place) => self.gradient_of(place),
            Factor::Tangent(input) => self.tangent_of(input),
        };
        self.known.push((factor, operand.clone()));
        operand
    }

    /// Whether an optional input is taken plain in its own backward function.
    fn is_plain(&mut self) -> bool {
        self.definition.short || self.random.chance(50)
    }

    fn local(&mut self, value: &str) -> Operand {
        let name = format!("local_{}", self.statements.len());
        self.statements.push(format!("let {name} = {value};"));
        Operand {
            text: format!("&{name}"),
            bound: None,
            is_number: false,
        }
    }

    pub(crate) fn ask(&mut self, name: &str, ty: String, wants: Wants) {
        if !self.asked.iter().any(|asked| asked.name == name) {
            self.asked.push(Asked {
                name: name.to_owned(),
                ty,
                wants,
            });
        }
    }

    /// Asks for a tensor in one of the forms that it may have here.
    fn ask_tensor(&mut self, name: &str, optional: bool, types: Types, wants: Wants) -> Operand {
        let is_gradient = matches!(wants, Wants::Gradient(_));
        // Only then are tensors beside arrays.
        let may_differ = self.once && !self.definition.short && types.rank != Rank::Fixed(0);
        let differs = may_differ && self.random.chance(30);
        let form = match (self.tensors != differs, self.definition.short) {
            (true, false) if is_gradient && self.random.chance(25) => Form::Tensor,
            (true, _) => Form::TensorRef,
            (false, false) if self.random.chance(30) => Form::Owned,
            (false, _) => Form::View,
        };
        let mut ty = types.tensor(form, self.random);
        if optional {
            ty = format!("Option<{ty}>");
        }
        self.ask(name, ty, wants);
        let reference = if form == Form::TensorRef { "" } else { "&" };
        Operand {
            text: match (differs, self.tensors) {
                (true, true) => format!("&Tensor::from({name}.to_owned())"),
                (true, false) => format!("&{name}.view()"),
                (false, _) if optional => name.to_owned(),
                (false, _) => format!("{reference}{name}"),
            },
            bound: optional.then(|| (name.to_owned(), format!("{reference}{name}"))),
            is_number: false,
        }
    }

    /// Asks for a list and returns a reference to the first of it.
    pub(crate) fn list(&mut self, name: &str, wants: Wants) -> String {
        let form = if self.tensors {
            Form::TensorRef
        } else {
            Form::View
        };
        let ty = format!("&[{}]", self.types.tensor(form, self.random));
        self.ask(name, ty, wants);
        let reference = if self.tensors { "" } else { "&" };
        format!("{reference}{name}[0]")
    }

    fn exp(&mut self, input: usize) -> Operand {
        let in_jvp = self.part == Part::Jvp;
        let loses_nothing = !self.tensors || self.once;
        let may_ask = |origin: Origin| match origin {
            Origin::Output => true,
            Origin::Exempt => loses_nothing,
            Origin::Saved => !in_jvp && loses_nothing,
        };
        let mut names = self.definition.names_of_exp(input);
        names.retain(|(_, origin)| may_ask(*origin));
        if !names.is_empty() && self.random.chance(85) {
            let (name, origin) = self.random.pick(&names);
            let save = self
                .definition
                .saves
                .iter()
                .position(|save| save.name == name);
            let (Origin::Saved, Some(save)) = (origin, save) else {
                return self.ask_tensor(&name, false, self.types, Wants::Output);
            };
            return self.saved_exp(save);
        }
        let operand = self.operand(Factor::Input(input)).text;
        let name = operand.trim_start_matches('&');
        let exp = if self.tensors {
            format!("{name}.exp()")
        } else {
            format!("{name}.mapv({}::exp)", self.types.element())
        };
        self.local(&exp)
    }

    fn saved_exp(&mut self, save: usize) -> Operand {
        let Save { name, holds, .. } = self.definition.saves[save].clone();
        if holds != Holds::List {
            return self.ask_tensor(&name, holds != Holds::One, self.types, Wants::Saved(save));
        }
        Operand::tensor(self.list(&name, Wants::Saved(save)))
    }

    /// Uses what forward saves and no other function asks for.
    pub(crate) fn rest(&mut self, others: &[Written]) {
        for (save, one) in self.definition.saves.iter().enumerate() {
            let of_others = others.iter().flat_map(|function| &function.asked);
            let mut asked = self.asked.iter().chain(of_others);
            if asked.any(|asked| asked.wants == Wants::Saved(save)) {
                continue;
            }
            match one.what {
                Intermediate::Exp(_) => self.saved_exp(save),
                Intermediate::Number(_) => self.saved_number(save),
            };
            self.statements.push(format!("let _ = &{};", one.name));
        }
    }

    fn value(&mut self, input: usize) -> Operand {
        let name = self.definition.inputs[input].name.clone();
        let Kind::Value(value) = self.definition.inputs[input].kind else {
            unreachable!("a factor of a value");
        };
        let by_reference = self.definition.short || self.random.chance(30);
        let ty = if by_reference {
            values::reference(value, self.types)
        } else {
            values::ty(value, self.types)
        };
        self.ask(&name, ty, Wants::Value(input));
        let number = values::number(value, &name, by_reference, self.types);
        let local = self.local(&number);
        Operand {
            text: local.text.trim_start_matches('&').to_owned(),
            bound: None,
            is_number: true,
        }
    }

    fn saved_number(&mut self, save: usize) -> Operand {
        let Intermediate::Number(number) = self.definition.saves[save].what else {
            unreachable!("a factor of a number");
        };
        let name = self.definition.saves[save].name.clone();
        let element = self.types.element();
        // Beside tensors it would be a constant whose derivative is lost.
        let text = if self.part == Part::Jvp || self.tensors && !self.once {
            self.types.number(number)
        } else if self.definition.short || self.random.chance(30) {
            self.ask(&name, format!("&{element}"), Wants::Saved(save));
            format!("*{name}")
        } else {
            self.ask(&name, element.to_owned(), Wants::Saved(save));
            name
        };
        Operand {
            text,
            bound: None,
            is_number: true,
        }
    }

    fn gradient_of(&mut self, place: usize) -> Operand {
        let one = &self.definition.differentiable_outputs()[place];
        let is_maybe = matches!(one.holds, Holds::Maybe(_));
        let optional = is_maybe || !self.definition.short && self.random.chance(20);
        let types = if one.reduced {
            self.types.reduced()
        } else {
            self.types
        };
        let (operand, name) = if one.holds == Holds::List {
            let operand = self.gradient_of_list(one, types, place);
            let name = operand.text.trim_start_matches('&').to_owned();
            (operand, name)
        } else {
            let wants = Wants::Gradient(place);
            let operand = self.ask_tensor(&one.gradient, optional, types, wants);
            (operand, one.gradient.clone())
        };
        if !one.reduced {
            return operand;
        }
        if self.tensors {
            let anchor = self.anchor();
            let shape = anchor.trim_start_matches('&');
            let dimension = self.types.dimension();
            let text = format!("&{name}.broadcast_to::<{dimension}>({shape}.shape())");
            return Operand { text, ..operand };
        }
        Operand {
            text: format!("{name}[()]"),
            is_number: true,
            ..operand
        }
    }

    /// Asks for the gradients of a list, and returns that of the sum which it is made of.
    fn gradient_of_list(&mut self, one: &Differentiable, types: Types, place: usize) -> Operand {
        let (form, reference, part) = if self.tensors {
            (Form::TensorRef, "", "*part")
        } else {
            (Form::View, "&", "part")
        };
        let name = &one.gradient;
        let [whole, half] = forward::HALVES.map(|factor| types.number(factor));
        let element = types.tensor(form, self.random);
        let wants = Wants::Gradient(place);
        if self.definition.short || one.reduced || self.random.chance(50) {
            self.ask(name, format!("&[{element}]"), wants);
            let sum = format!("{reference}{name}[0] * {whole} + {reference}{name}[1] * {half}");
            return self.local(&sum);
        }
        self.ask(name, format!("&[Option<{element}>]"), wants);
        let zero = format!("{} * {}", self.anchor(), types.number(0.0));
        let add = format!("part.as_ref().map_or(sum.clone(), |part| &sum + {part} * factor)");
        self.local(&format!(
            "{name}.iter().zip([{whole}, {half}]).fold({zero}, |sum, (part, factor)| {add})"
        ))
    }

    fn tangent_of(&mut self, input: usize) -> Operand {
        let one = &self.definition.inputs[input];
        let name = format!("tangent_{}", super::model::unraw(&one.name));
        if one.kind != Kind::List {
            let optional = one.optional || self.random.chance(25);
            return self.ask_tensor(&name, optional, self.types, Wants::Tangent(input));
        }
        let (form, one) = if self.tensors {
            (Form::TensorRef, "*one")
        } else {
            (Form::View, "one")
        };
        let element = self.types.tensor(form, self.random);
        let anchor = self.anchor();
        let zero = format!("{anchor} * {}", self.types.number(0.0));
        let sum = if self.random.chance(50) {
            self.ask(
                &name,
                format!("&[Option<{element}>]"),
                Wants::Tangent(input),
            );
            format!("{name}.iter().flatten().fold({zero}, |sum, one| sum + {one})")
        } else {
            self.ask(&name, format!("&[{element}]"), Wants::Tangent(input));
            format!("{name}.iter().fold({zero}, |sum, one| sum + {one})")
        };
        self.local(&sum)
    }
}
