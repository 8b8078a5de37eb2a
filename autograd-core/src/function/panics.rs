//! Panics of one function. See Note [Panics] in `error::panic`.

use std::panic::Location;

use crate::array::PackedShape;
use crate::error::panic::{Panic, Place};
use crate::function::Signature;
use crate::tape::{Node, SavedInfo};
use autograd_kernels::Shape;

/// Passes on a panic of a forward function, whose inputs have these shapes: each is a list for those that are tensors,
/// in the order of the signature.
#[cold]
#[track_caller]
pub fn forward_panicked(panic: Panic, signature: &Signature, shapes: &[Vec<Shape>]) -> ! {
    panic.pass_on(&forward_of(signature, shapes, Location::caller()))
}

/// Passes on a panic like [`forward_panicked`], of a function applied at this line, to the `catching_passes` around.
#[cold]
pub fn forward_panicked_at(
    applied_at: &'static Location<'static>,
    panic: Panic,
    signature: &Signature,
    shapes: &[Vec<Shape>],
) -> ! {
    panic.pass_on_later(&forward_of(signature, shapes, applied_at))
}

fn forward_of<'a>(
    signature: &Signature,
    shapes: &[Vec<Shape>],
    applied_at: &'static Location<'static>,
) -> Place<'a> {
    let mut inputs = Vec::new();
    let tensors = signature.inputs.iter().filter(|input| input.tensor);
    for (input, shapes) in tensors.zip(shapes) {
        for (index, shape) in shapes.iter().enumerate() {
            let name = if input.list {
                format!("{}[{index}]", input.name)
            } else {
                input.name.to_owned()
            };
            inputs.push((name, shape.clone()));
        }
    }
    Place {
        part: "forward",
        function: signature.name,
        applied_at,
        inputs,
        others: Vec::new(),
    }
}

/// Returns the shape of an input that forward has taken by value.
pub fn shapes_of(shape: impl IntoIterator<Item = PackedShape>) -> Vec<Shape> {
    shape.into_iter().map(|shape| shape.unpack()).collect()
}

/// Passes on a panic of the backward functions of a node.
#[cold]
pub(super) fn backward_panicked(panic: Panic, node: &Node, signature: &Signature) -> ! {
    let mut inputs = Vec::new();
    for (index, edge) in node.0.edges().iter().enumerate() {
        if let Some(edge) = edge {
            let shape = edge.node.0.outputs()[edge.output_nr as usize].unpack();
            inputs.push((node.0.input_name(index), shape));
        }
    }
    let is_input = |name: &str| signature.inputs.iter().any(|input| input.name == name);
    let mut others = Vec::new();
    node.0.saved(&mut |SavedInfo { shape, .. }, name, index| {
        let Some(shape) = shape else {
            return;
        };
        let full = index.map_or_else(|| name.to_owned(), |index| format!("{name}[{index}]"));
        let listed = if is_input(name) {
            &mut inputs
        } else {
            &mut others
        };
        if !listed.iter().any(|(other, _)| *other == full) {
            listed.push((full, shape));
        }
    });
    for (index, shape) in node.0.outputs().iter().enumerate() {
        if let Some(name) = node.0.gradient_name(index) {
            others.push((name, shape.unpack()));
        }
    }
    panic.pass_on_later(&Place {
        part: "backward",
        function: signature.name,
        applied_at: node.applied_at(),
        inputs,
        others,
    })
}
