//! Nodes that belong to no function: sums of gradients, inputs of recordings, calls of `vmap`.

use std::panic::Location;

use crate::array::PackedShape;
use crate::error::Error;
use crate::tape::{BackwardCall, Edge, Header, Node, NoteSaved, TapeNode, drop_edges};
use crate::tape::{HookSlot, run_with_hooks};
use autograd_kernels::Shape;

/// The behavior of an internal node, such as the sum of gradients.
pub(crate) trait InternalRule: Send + Sync + 'static {
    const NAME: &'static str;

    /// See [`TapeNode::name`].
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// See [`TapeNode::input_name`].
    fn input_name(&self, edge: usize) -> String;

    /// See [`TapeNode::backward`].
    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error>;

    /// See [`TapeNode::check_end`].
    fn check_end(&self, _node: &Node) -> Result<(), Error> {
        Ok(())
    }

    /// See [`TapeNode::free`].
    fn free(&self) {}

    /// See [`TapeNode::saved`].
    fn saved(&self, _note: &mut NoteSaved<'_>) -> bool {
        true
    }
}

/// Makes an internal node with one output, of the shape `output`; `edges` are an array or a boxed slice.
pub(crate) fn internal_node<R, E>(
    rule: R,
    edges: E,
    output: &Shape,
    applied_at: &'static Location<'static>,
) -> Edge
where
    R: InternalRule,
    E: AsRef<[Option<Edge>]> + AsMut<[Option<Edge>]> + Send + Sync + 'static,
{
    Edge {
        node: internal_node_with_outputs(rule, edges, [PackedShape::from(output)], applied_at),
        output_nr: 0,
    }
}

/// Makes an internal node with any number of outputs, whose shapes are an array or a boxed slice.
pub(crate) fn internal_node_with_outputs<R, E, O>(
    rule: R,
    edges: E,
    outputs: O,
    applied_at: &'static Location<'static>,
) -> Node
where
    R: InternalRule,
    E: AsRef<[Option<Edge>]> + AsMut<[Option<Edge>]> + Send + Sync + 'static,
    O: AsRef<[PackedShape]> + Send + Sync + 'static,
{
    let header = Header::after(edges.as_ref(), applied_at);
    let hooks = HookSlot::default();
    let node = InternalNode {
        rule,
        edges,
        outputs,
        hooks,
    };
    Node::new(header, node)
}

struct InternalNode<R, E: AsMut<[Option<Edge>]>, O> {
    rule: R,
    edges: E,
    outputs: O,
    hooks: HookSlot,
}

impl<R, E, O> TapeNode for InternalNode<R, E, O>
where
    R: InternalRule,
    E: AsRef<[Option<Edge>]> + AsMut<[Option<Edge>]> + Send + Sync,
    O: AsRef<[PackedShape]> + Send + Sync,
{
    fn name(&self) -> &'static str {
        self.rule.name()
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
        self.outputs.as_ref()
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        match self.hooks() {
            None => self.rule.backward(call),
            Some(hooks) => {
                run_with_hooks(&hooks, call, &mut |call| self.rule.backward(call), &|| {
                    self.hooks()
                })
            }
        }
    }

    fn check_end(&self, node: &Node) -> Result<(), Error> {
        self.rule.check_end(node)
    }

    fn free(&self) {
        self.rule.free();
    }

    fn saved(&self, note: &mut NoteSaved<'_>) -> bool {
        self.rule.saved(note)
    }

    fn hook_slot(&self) -> Option<&HookSlot> {
        Some(&self.hooks)
    }
}

impl<R, E: AsMut<[Option<Edge>]>, O> Drop for InternalNode<R, E, O> {
    fn drop(&mut self) {
        drop_edges(self.edges.as_mut());
    }
}
