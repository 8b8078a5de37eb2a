//! What stands in a graph of derivatives where the rule that computed one was written on arrays.
//!
//! Such a derivative is a number without a history: differentiating it would silently lose the terms
//! that go through it. It therefore gets a node that points to everything it may depend on, and that
//! answers with an error when a backward pass comes through.

use std::panic::Location;

use crate::array::PackedShape;
use crate::error::Error;
use crate::hooks::HookSlot;
use crate::tape::{AnyGradient, BackwardCall, Edge, Header, Node, TapeNode, release_edges};

/// `derivative`, which a rule of `function` computed on arrays from what `edges` lead to, as something
/// that can be used but not differentiated.
pub(crate) fn once_differentiable(
    function: &'static str,
    applied_at: &'static Location<'static>,
    edges: Box<[Option<Edge>]>,
    derivative: AnyGradient,
) -> AnyGradient {
    let header = Header::after(&edges, applied_at);
    let node = Node::new(
        header,
        OnceDifferentiable {
            function,
            edges,
            output: [derivative.shape().into()],
            hooks: HookSlot::default(),
        },
    );
    derivative.with_edge(Edge { node, output_nr: 0 })
}

struct OnceDifferentiable {
    function: &'static str,
    edges: Box<[Option<Edge>]>,
    output: [PackedShape; 1],
    /// Those of the derivative as a tensor: the node itself never runs.
    hooks: HookSlot,
}

impl TapeNode for OnceDifferentiable {
    fn name(&self) -> &'static str {
        "OnceDifferentiable"
    }

    fn input_name(&self, _edge: usize) -> String {
        self.function.to_owned()
    }

    fn edges(&self) -> &[Option<Edge>] {
        &self.edges
    }

    fn edges_mut(&mut self) -> &mut [Option<Edge>] {
        &mut self.edges
    }

    fn outputs(&self) -> &[PackedShape] {
        &self.output
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        Err(Error::OnceDifferentiable {
            function: self.function,
            applied_at: call.node.applied_at(),
        })
    }

    fn free(&self, _node: &Node) {}

    fn hook_slot(&self) -> Option<&HookSlot> {
        Some(&self.hooks)
    }
}

impl Drop for OnceDifferentiable {
    fn drop(&mut self) {
        release_edges(&mut self.edges);
    }
}
