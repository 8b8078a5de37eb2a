//! What a graph of derivatives has where the rule that computed one was written on arrays.
//!
//! Such a derivative is a number without a history: differentiating it would silently lose the terms
//! that go through it. It therefore gets a node that points to everything it may depend on, and that
//! returns an error when a backward pass comes through.

use std::panic::Location;

use crate::error::{Error, ErrorKind};
use crate::tape::{AnyGradient, BackwardCall, Edge, InternalRule, internal_node};

/// `derivative`, which a rule of `function` computed on arrays from what `edges` lead to, as something
/// that can be used but not differentiated.
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
