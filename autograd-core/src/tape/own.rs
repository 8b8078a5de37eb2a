//! Nodes of the tape itself, which no function has: they save nothing and have one output.

use std::panic::Location;

use crate::array::PackedShape;
use crate::error::Error;
use crate::tape::{BackwardCall, Edge, Header, Node, TapeNode, release_edges};
use crate::tape::{HookSlot, hooked};
use autograd_kernels::Shape;

/// What such a node does.
pub(crate) trait OwnRule: Send + Sync + 'static {
    const NAME: &'static str;

    /// What errors call the tensor that an edge leads to.
    fn input_name(&self, edge: usize) -> String;

    /// As [`TapeNode::backward`].
    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error>;
}

/// Makes such a node, of the shape of `output`; `edges` are an array or a boxed slice.
pub(crate) fn own_node<R, E>(
    rule: R,
    edges: E,
    output: &Shape,
    applied_at: &'static Location<'static>,
) -> Edge
where
    R: OwnRule,
    E: AsRef<[Option<Edge>]> + AsMut<[Option<Edge>]> + Send + Sync + 'static,
{
    let header = Header::after(edges.as_ref(), applied_at);
    let output = [output.into()];
    let hooks = HookSlot::default();
    let node = OwnNode {
        rule,
        edges,
        output,
        hooks,
    };
    Edge {
        node: Node::new(header, node),
        output_nr: 0,
    }
}

struct OwnNode<R, E: AsMut<[Option<Edge>]>> {
    rule: R,
    edges: E,
    output: [PackedShape; 1],
    hooks: HookSlot,
}

impl<R, E> TapeNode for OwnNode<R, E>
where
    R: OwnRule,
    E: AsRef<[Option<Edge>]> + AsMut<[Option<Edge>]> + Send + Sync,
{
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn input_name(&self, edge: usize) -> String {
        self.rule.input_name(edge)
    }

    fn edges(&self) -> &[Option<Edge>] {
        self.edges.as_ref()
    }

    fn edges_mut(&mut self) -> &mut [Option<Edge>] {
        self.edges.as_mut()
    }

    fn outputs(&self) -> &[PackedShape] {
        &self.output
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        match self.hooks() {
            None => self.rule.backward(call),
            Some(hooks) => hooked(
                &hooks,
                call,
                |call| self.rule.backward(call),
                || self.hooks(),
            ),
        }
    }

    fn free(&self) {}

    fn hook_slot(&self) -> Option<&HookSlot> {
        Some(&self.hooks)
    }
}

impl<R, E: AsMut<[Option<Edge>]>> Drop for OwnNode<R, E> {
    fn drop(&mut self) {
        release_edges(self.edges.as_mut());
    }
}
