//! Names the function and input of a mismatch.
//!
//! # Note [Blame]
//! A check is of a closure. If the closure applies one function, that function's derivative is wrong, and its inputs
//! have names. If the closure applies several functions, any of them may be wrong, and none is named. For the second
//! order, the graph has the functions that backward functions apply, which are not checked: names are always taken
//! from the graph of the closure itself.

use super::UNSOLVED;
use super::check::Check;
use crate::erased::AnyTensor;
use crate::error::{self, Derivative, Error, Mismatch};
use crate::recording::Recording;
use crate::tape::{Edge, Node};

/// Returns the error of a check, with the names of the function and of the input if they are known.
#[inline]
pub(super) fn named(mut error: Error, check: &Check<'_>) -> Error {
    if let Some(mismatch) = error.mismatch_mut() {
        mismatch.unsolved = UNSOLVED.get();
    }
    if let Some(mismatch) = error.mismatch_mut()
        && let Some(node) = only_node(&check.recorded, mismatch)
    {
        mismatch.function = Some(node.name());
        mismatch.input_name = input_name(node, check, mismatch);
    }
    error
}

/// Returns the name of a recorded input: that of the function it is given to.
#[inline]
pub(super) fn input(recorded: &Recording, input: usize) -> String {
    let node = recorded.outputs.iter().find_map(AnyTensor::edge);
    let edge = recorded.inputs[input].edge();
    let name = node.zip(edge).and_then(|(of, edge)| {
        let mut edges = of.node.0.edges().iter();
        let place = edges.position(|one| one.as_ref().is_some_and(|one| one.node == edge.node))?;
        Some(of.node.0.input_name(place))
    });
    name.map_or_else(|| format!("input {input}"), |name| format!("`{name}`"))
}

/// Returns the name of a recorded output, as the function that returned it has it.
#[inline]
pub(super) fn output(recorded: &Recording, output: usize) -> String {
    let edge = recorded.outputs[output].edge();
    let gradient = edge.and_then(|edge| edge.node.0.gradient_name(edge.output_nr as usize));
    let name = gradient
        .as_deref()
        .and_then(|name| name.strip_prefix("grad_"));
    name.map_or_else(|| format!("output {output}"), |name| format!("`{name}`"))
}

/// A guard that prints, if a panic drops it, what the check was doing and with which function.
pub(super) struct Doing<'a>(pub(super) &'a Check<'a>, pub(super) &'static str);

impl Drop for Doing<'_> {
    #[inline]
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

/// Returns the node of the function whose outputs were compared, if the closure applies only one.
#[inline]
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
    let mut nodes = edges
        .map(|edge| before_reshapes(&edge.node))
        .filter(|node| !is_input(node));
    let node = nodes.next()?;
    let mut before = node.0.edges().iter().flatten();
    let is_only = nodes.all(|other| *other == *node)
        && before.all(|edge| is_input(before_reshapes(&edge.node)));
    is_only.then_some(node)
}

/// Returns the node whose elements a tensor has in another shape: a function of pairs reshapes its tensors.
#[inline]
fn before_reshapes(mut node: &Node) -> &Node {
    while node.name() == "Reshape"
        && let [Some(edge)] = node.0.edges()
    {
        node = &edge.node;
    }
    node
}

/// Returns the name of an input in the function's signature, or of the gradient or tangent after the inputs.
#[inline]
fn input_name(node: &Node, check: &Check<'_>, mismatch: &Mismatch) -> Option<String> {
    let recorded = &check.recorded;
    let of_input = |position: usize| {
        let input = check.positions.iter().position(|&of| of == position)?;
        let edge = recorded.inputs[input].edge()?;
        let is_it = |other: &Option<Edge>| {
            other
                .as_ref()
                .is_some_and(|other| *before_reshapes(&other.node) == edge.node)
        };
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
