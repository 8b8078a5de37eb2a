//! Writes the formulas of elementwise functions, and the derivatives that replace generated ones.

use std::fmt::Write as _;

use super::derivative;
use super::formula::{Factor, Term};
use super::forward;
use super::model::{Content, Definition, Kind};
use super::random::Random;
use super::text::Part;
use super::values;
use super::write::Written;

/// Returns the statements of the function, and its results.
pub(crate) fn body(definition: &Definition) -> (Vec<String>, Vec<String>) {
    let (mut statements, mut results) = (Vec::new(), Vec::new());
    for (place, output) in definition.outputs.iter().enumerate() {
        let Content::Sum { terms, .. } = &output.content else {
            unreachable!("each output is a number");
        };
        let sum = sum(definition, terms, |input| exp(definition, input));
        statements.push(format!("let result_{place} = {sum};"));
        results.push(format!("result_{place}"));
    }
    (statements, results)
}

/// Writes a derivative, for some inputs.
pub(crate) fn gradients(definition: &Definition, index: usize, random: &mut Random) -> Written {
    let part = Part::Backward(index);
    let mut wrong = derivative::is_wrong(definition, part);
    let covers = definition.backwards[index].covers.iter();
    let results = covers.map(|input| {
        let mut terms = derivative::gradient(definition, *input);
        if let Some(term) = terms.first_mut()
            && std::mem::take(&mut wrong)
        {
            term.coefficient *= derivative::WRONG;
        }
        sum(definition, &terms, |input| {
            let names = definition.names_of_exp(input);
            if names.is_empty() || random.chance(15) {
                exp(definition, input)
            } else {
                random.pick(&names).0
            }
        })
    });
    Written {
        part,
        asked: Vec::new(),
        results: results.collect(),
        statements: Vec::new(),
        types: Vec::new(),
    }
}

fn exp(definition: &Definition, input: usize) -> String {
    format!("{}.exp()", definition.inputs[input].name)
}

fn sum(definition: &Definition, terms: &[Term], mut exp: impl FnMut(usize) -> String) -> String {
    let mut sum = "T::from(0.0)".to_owned();
    for term in terms {
        sum.push_str(" + ");
        for factor in &term.factors {
            let factor = match *factor {
                Factor::Exp(input) => exp(input),
                factor => plain(definition, factor),
            };
            let _ = write!(sum, "{factor} * ");
        }
        let _ = write!(sum, "{:?}", term.coefficient);
    }
    sum
}

fn plain(definition: &Definition, factor: Factor) -> String {
    match factor {
        Factor::Value(input) => {
            let one = &definition.inputs[input];
            let Kind::Value(value) = one.kind else {
                unreachable!("a factor of a value");
            };
            let types = forward::types(definition);
            format!("({})", values::number(value, &one.name, false, types))
        }
        Factor::Gradient(place) => definition.differentiable_outputs()[place].gradient.clone(),
        Factor::Input(input) => definition.inputs[input].name.clone(),
        _ => unreachable!("neither lists nor intermediates"),
    }
}
