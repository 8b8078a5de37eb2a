//! The node of a derivative that was computed on arrays.
//!
//! Such a derivative has no history: differentiating it would silently lose terms. It therefore gets a node that points
//! to all nodes that it may depend on, and that returns an error in a backward pass.

use std::panic::Location;

use crate::error::{Error, ErrorKind};
use crate::tape::{AnyGradient, BackwardCall, Edge, InternalRule, internal_node};

/// Returns `derivative`, which a rule of `function` computed on arrays from tensors at `edges`, with a node that
/// returns an error when it is differentiated.
pub(crate) fn once_differentiable(
    function: &'static str,
    applied_at: &'static Location<'static>,
    edges: Box<[Option<Edge>]>,
    derivative: AnyGradient,
) -> AnyGradient {
    let shape = derivative.shape().clone();
    let rule = OnceDifferentiable { function };
    derivative.with_edge(internal_node(rule, edges, &shape, applied_at))
}

struct OnceDifferentiable {
    function: &'static str,
}

impl InternalRule for OnceDifferentiable {
    const NAME: &'static str = "OnceDifferentiable";

    fn input_name(&self, _edge: usize) -> String {
        self.function.to_owned()
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        Err(ErrorKind::OnceDifferentiable.of(self.function, call.node.applied_at()))
    }
}
