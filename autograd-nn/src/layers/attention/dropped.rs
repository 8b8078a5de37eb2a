//! Attention with dropout.

use autograd_core::ndarray::{Array4, Axis, Ix4, arr0};
use autograd_core::ops::AttentionOptions;
use autograd_core::{Element, Tensor, Tensor4};

use crate::forward::Forward;
use crate::layers::dropout::Dropout;

/// Computes softmax(q kᵀ · scale) v with dropout of the weights, by products of matrices. The built-in function
/// cannot do it, as it never has all weights in memory.
#[track_caller]
pub(super) fn attention<T: Element>(
    [q, k, v]: [&Tensor4<T>; 3],
    options: &AttentionOptions,
    dropout: &Dropout,
) -> Tensor4<T> {
    let scores = q.matmul(&k.swap_axes(2, 3)) * options.scale::<T>(q.shape()[3]);
    let weights = match allowed(scores.view().raw_dim(), options) {
        None => scores.softmax(Axis(3)),
        Some(allowed) => {
            // Far below all scores, but finite: with −∞, the weights of a query that attends to nothing would be NaN.
            // Its weights are set to 0 below.
            let far = Tensor::from(arr0(T::min_value() / T::from_f64(2.0)));
            let weights = scores.where_(&allowed, &far).softmax(Axis(3));
            weights.where_(&allowed, &Tensor::from(arr0(T::zero())))
        }
    };
    dropout.forward(&weights).matmul(v)
}

/// Returns which query attends to which key, or `None` if each attends to each.
#[track_caller]
fn allowed(shape: Ix4, options: &AttentionOptions) -> Option<Array4<bool>> {
    if options.mask.is_none() && !options.causal {
        return None;
    }
    let mut allowed = Array4::from_elem(shape, true);
    if let Some(mask) = &options.mask {
        let Some(mask) = mask.broadcast(shape) else {
            panic!(
                "MultiheadAttention with a mask of shape {:?}: it does not broadcast to {:?}",
                mask.shape(),
                allowed.shape()
            )
        };
        allowed.assign(&mask);
    }
    if options.causal {
        for ((_, _, query, key), allowed) in allowed.indexed_iter_mut() {
            *allowed &= key <= query;
        }
    }
    Some(allowed)
}
