//! Sums of gradients at one output, recorded if the gradients are differentiable.

use std::panic::Location;

use crate::error::Error;
use crate::tape::{
    AnyGradient, BackwardCall, Gradient, InternalRule, RawTensor, Tangent, internal_node,
};
use autograd_kernels::{Any, Element};

/// Adds `new` to the sum. The first gradient is moved in, never added to zeros.
pub(crate) fn accumulate(sum: &mut Option<AnyGradient>, new: AnyGradient) {
    let Some(old) = sum.take() else {
        *sum = Some(new);
        return;
    };
    *sum = Some(match (old.split(), new.split()) {
        (Any::F32(old), Any::F32(new)) => plus(old, new).into(),
        (Any::F64(old), Any::F64(new)) => plus(old, new).into(),
        // INVARIANT: an edge leads to one output of one element type, and generated code returns gradients of that
        // type.
        _ => unreachable!("gradients of one output have one element type"),
    });
}

fn plus<T: Element>(old: Gradient<T>, new: Gradient<T>) -> Gradient<T> {
    match (old, new) {
        (old @ Gradient::Tensor(_), new) | (old, new @ Gradient::Tensor(_)) => {
            Gradient::from_tensor(sum(old.into_tensor(), new.into_tensor()))
        }
        (old, new) => old.plus(new),
    }
}

/// Returns the sum of two gradients that can be differentiated, with the sum of their tangents.
fn sum<T: Element>(old: RawTensor<T>, new: RawTensor<T>) -> RawTensor<T> {
    let depth = old.depth().max(new.depth());
    if depth == 0 {
        return record(old, new);
    }
    let ((old, old_tangent), (new, new_tangent)) = (old.split(depth), new.split(depth));
    let tangent = match (old_tangent, new_tangent) {
        (Some(Tangent::Known(old)), Some(Tangent::Known(new))) => Tangent::Known(sum(old, new)),
        (Some(Tangent::Failed(old)), Some(Tangent::Failed(new))) => {
            Tangent::Failed(old.and(Some(new)))
        }
        (Some(failed @ Tangent::Failed(_)), _) | (_, Some(failed @ Tangent::Failed(_))) => failed,
        (Some(known), None) | (None, Some(known)) => known,
        // INVARIANT: one of them has the depth.
        (None, None) => unreachable!("one of two tensors has the larger of their depths"),
    };
    sum(old, new).with_tangent(depth, tangent)
}

fn record<T: Element>(old: RawTensor<T>, new: RawTensor<T>) -> RawTensor<T> {
    let edges = [old.edge.clone(), new.edge.clone()];
    let gradient = |tensor: RawTensor<T>| Gradient::Constant(tensor.buffer);
    let total = gradient(old).plus(gradient(new)).into_tensor();
    if edges.iter().all(Option::is_none) {
        return total;
    }
    let edge = internal_node(
        AccumulateGradients,
        edges,
        total.buffer.shape(),
        Location::caller(),
    );
    total.with_edge(Some(edge))
}

struct AccumulateGradients;

impl InternalRule for AccumulateGradients {
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
