//! Whose derivative a mismatch is said to be.
//!
//! # Note [Blame]
//! What is checked is a closure. If it applies one function, that function's derivative is wrong, and its
//! inputs have names. If it applies several, any of them may be wrong, and the last, where the graph begins,
//! is as likely as the others. So none is named then. For the second order the graph that is compared
//! is made of what the backward functions apply, which are not what is checked: names are always those of the
//! closure itself.

use super::check::Check;
use crate::erased::AnyTensor;
use crate::error::{self, Derivative, Error, Mismatch};
use crate::recording::Recording;
use crate::tape::{Edge, Node};

/// The error of a check, with the names of the function and of the input if they are known.
pub(super) fn named(mut error: Error, check: &Check<'_>) -> Error {
    if let Some(mismatch) = error.mismatch_mut()
        && let Some(node) = only_node(&check.recorded, mismatch)
    {
        mismatch.function = Some(node.name());
        mismatch.input_name = input_name(node, check, mismatch);
    }
    error
}

/// Says, if it is dropped by a panic, what the check was doing and with which function.
pub(super) struct Doing<'a>(pub(super) &'a Check<'a>, pub(super) &'static str);

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self(check, what) = self;
            let mut outputs = check.recorded.outputs.iter();
            let edge = outputs.find_map(AnyTensor::edge);
            let node = edge.map(|edge| edge.node.name());
            eprintln!(
                "the gradient check of `{}` was {what}",
                node.unwrap_or("a function")
            );
        }
    }
}

/// The node of the only function that was applied to have what was compared.
fn only_node<'a>(recorded: &'a Recording, mismatch: &Mismatch) -> Option<&'a Node> {
    let is_of_one_output = mismatch.check == error::Check::Differences
        && matches!(mismatch.derivative, Derivative::First | Derivative::Tangent);
    let compared = if is_of_one_output {
        &recorded.outputs[mismatch.output..=mismatch.output]
    } else {
        &recorded.outputs[..]
    };
    let is_input = |node: &Node| {
        let mut inputs = recorded.inputs.iter().filter_map(AnyTensor::edge);
        node.header().is_leaf() || inputs.any(|input| input.node == *node)
    };
    let edges = compared.iter().filter_map(AnyTensor::edge);
    let mut nodes = edges.map(|edge| &edge.node).filter(|node| !is_input(node));
    let node = nodes.next()?;
    let mut before = node.0.edges().iter().flatten();
    let is_only = nodes.all(|other| *other == *node) && before.all(|edge| is_input(&edge.node));
    is_only.then_some(node)
}

/// What the function calls the input, or the gradient or tangent that follows the inputs.
fn input_name(node: &Node, check: &Check<'_>, mismatch: &Mismatch) -> Option<String> {
    let recorded = &check.recorded;
    let of_input = |position: usize| {
        let input = check.positions.iter().position(|&of| of == position)?;
        let edge = recorded.inputs[input].edge()?;
        let is_it =
            |other: &Option<Edge>| other.as_ref().is_some_and(|other| other.node == edge.node);
        Some(node.0.input_name(node.0.edges().iter().position(is_it)?))
    };
    let Some(place) = mismatch.input.checked_sub(check.count) else {
        return of_input(mismatch.input);
    };
    if mismatch.derivative == Derivative::SecondTangent {
        return of_input(place).map(|name| format!("tangent_{name}"));
    }
    let mut edges = recorded.outputs.iter().filter_map(AnyTensor::edge);
    let edge = edges.nth(place).filter(|edge| edge.node == *node)?;
    node.0.gradient_name(edge.output_nr as usize)
}
