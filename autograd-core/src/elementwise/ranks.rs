//! The ranks of tensors of elementwise functions and scans, which inside of the runtime are known at run time: those with
//! rows have one axis more than those with numbers.

use autograd_kernels::Element;
use ndarray::{Array, Dimension, IxDyn};

use crate::tensor::Tensor;

/// Returns the tensor as one of any rank.
///
/// # Panics
/// Never: any rank is one of these.
#[inline]
pub fn dynamic<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> &Tensor<T, IxDyn> {
    // INVARIANT: any rank is one of these.
    tensor.as_dimensionality().expect("any rank")
}

/// Returns a result with its rank in the type.
///
/// # Panics
/// If it has another rank: that of tensors with more than six axes is not in their types.
#[track_caller]
pub fn ranked<T: Element, D: Dimension>(result: Tensor<T, IxDyn>) -> Tensor<T, D> {
    let rank = result.ndim();
    let Some(result) = result.into_dimensionality() else {
        panic!(
            "a result has rank {rank}, but its type has rank {:?}",
            D::NDIM
        )
    };
    result
}

/// Returns an array with its rank in the type, like [`ranked`].
///
/// # Panics
/// Like [`ranked`].
#[track_caller]
pub fn ranked_array<T: Element, D: Dimension>(result: Array<T, IxDyn>) -> Array<T, D> {
    ranked(Tensor::from(result)).into_array()
}
