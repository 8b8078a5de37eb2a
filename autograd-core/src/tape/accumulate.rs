//! Adding up the gradients that reach one place, recorded where gradients are differentiable.

use std::panic::Location;

use crate::error::Error;
use crate::tape::{AnyGradient, BackwardCall, Edge, OwnRule, own_node};
use autograd_kernels::Any;

/// Adds `new` to what is there. The first gradient is moved in, never added to zeros.
pub(crate) fn accumulate(sum: &mut Option<AnyGradient>, new: AnyGradient) {
    let Some(old) = sum.take() else {
        *sum = Some(new);
        return;
    };
    let edges = [old.edge().cloned(), new.edge().cloned()];
    let total: AnyGradient = match (old.split(), new.split()) {
        (Any::F32(old), Any::F32(new)) => old.plus(new).into(),
        (Any::F64(old), Any::F64(new)) => old.plus(new).into(),
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
    let edge = own_node(
        AccumulateGradients,
        edges,
        total.shape(),
        Location::caller(),
    );
    total.with_edge(edge)
}

struct AccumulateGradients;

impl OwnRule for AccumulateGradients {
    const NAME: &'static str = "AccumulateGradients";

    fn input_name(&self, edge: usize) -> String {
        ["first", "second"][edge].to_owned()
    }

    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        if let Some(grad) = &mut call.grads[0] {
            for (result, needed) in call.results.iter_mut().zip(call.needs) {
                *result = needed.then(|| grad.share());
            }
        }
        Ok(())
    }
}
