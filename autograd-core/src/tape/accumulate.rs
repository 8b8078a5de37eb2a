//! Adding up the gradients that reach one place, recorded where gradients are differentiable.

use std::panic::Location;

use crate::array::PackedShape;
use crate::error::Error;
use crate::hooks::{HookSlot, hooked};
use crate::tape::{AnyGradient, BackwardCall, Edge, Header, Node, TapeNode, release_edges};

/// Adds `new` to what is there. The first gradient is moved in, never added to zeros.
pub(crate) fn accumulate(sum: &mut Option<AnyGradient>, new: AnyGradient) {
    let Some(old) = sum.take() else {
        *sum = Some(new);
        return;
    };
    let edges = [old.edge().cloned(), new.edge().cloned()];
    let total: AnyGradient = match (old.split(), new.split()) {
        (Ok(old), Ok(new)) => old.plus(new).into(),
        (Err(old), Err(new)) => old.plus(new).into(),
        // INVARIANT: an edge leads to one output of one element type; the generated code gives
        // gradients of that type alone.
        _ => unreachable!("gradients of one output have one element type"),
    };
    *sum = Some(if edges.iter().any(Option::is_some) {
        record(edges, total)
    } else {
        total
    });
}

/// The sum of two gradients that are themselves differentiated.
fn record(edges: [Option<Edge>; 2], total: AnyGradient) -> AnyGradient {
    let header = Header::after(&edges, Location::caller());
    let node = Node::new(
        header,
        AccumulateGradients {
            edges,
            output: [total.shape().into()],
            hooks: HookSlot::default(),
        },
    );
    total.with_edge(Edge { node, output_nr: 0 })
}

struct AccumulateGradients {
    edges: [Option<Edge>; 2],
    output: [PackedShape; 1],
    hooks: HookSlot,
}

/// Both get what came.
#[expect(clippy::unnecessary_wraps, reason = "as the backward of any node")]
fn spread(call: BackwardCall<'_>) -> Result<(), Error> {
    if let Some(grad) = &mut call.grads[0] {
        for (result, needed) in call.results.iter_mut().zip(call.needs) {
            *result = needed.then(|| grad.share());
        }
    }
    Ok(())
}

impl TapeNode for AccumulateGradients {
    fn name(&self) -> &'static str {
        "AccumulateGradients"
    }

    fn input_name(&self, edge: usize) -> String {
        ["first", "second"][edge].to_owned()
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
        match self.hooks() {
            None => spread(call),
            Some(hooks) => hooked(&hooks, call, spread, || self.hooks()),
        }
    }

    fn free(&self, _node: &Node) {}

    fn hook_slot(&self) -> Option<&HookSlot> {
        Some(&self.hooks)
    }
}

impl Drop for AccumulateGradients {
    fn drop(&mut self) {
        release_edges(&mut self.edges);
    }
}
