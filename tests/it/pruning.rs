//! Only what can be asked for is kept, and no longer than it can be.

use pullback::ndarray::{Array2, Dimension};
use pullback::prelude::*;

use crate::functions::Linear;

/// Returns whether anything else, such as a node, holds the memory of `tensor`.
pub fn is_shared<D: Dimension>(tensor: Tensor<f64, D>) -> bool {
    let address = tensor.view().as_ptr();
    // Unshared memory moves; shared memory is copied.
    tensor.into_array().as_ptr() != address
}

#[test]
fn only_what_can_be_asked_for_is_saved() {
    let matrix = || Tensor::from(Array2::<f64>::ones((3, 3)));
    // A frozen weight: `input` is not saved for it, `weight` is for `input`.
    let (input, weight) = (matrix().set_requires_grad(true), matrix());
    let y = Linear::apply(&input, &weight, None);
    assert!(is_shared(weight) && !is_shared(input));
    drop(y);
    // A frozen input.
    let (input, weight) = (matrix(), matrix().set_requires_grad(true));
    let y = Linear::apply(&input, &weight, None);
    assert!(is_shared(input) && !is_shared(weight));
    drop(y);
    // Outside any graph nothing is saved and no node is made.
    let (input, weight) = (matrix(), matrix());
    let y = Linear::apply(&input, &weight, None);
    assert!(y.grad_fn().is_none() && !is_shared(input) && !is_shared(weight));
    let (input, weight) = (matrix().set_requires_grad(true), matrix());
    let y = no_grad(|| Linear::apply(&input, &weight, None));
    assert!(y.grad_fn().is_none() && !is_shared(input) && !is_shared(weight));
}

#[test]
fn what_was_saved_is_freed_with_the_pass_or_the_last_output() {
    let matrix = || Tensor::from(Array2::<f64>::ones((3, 3)));
    let (input, weight) = (matrix(), matrix().set_requires_grad(true));
    let y = Linear::apply(&input, &weight, None).sum();
    y.backward().unwrap();
    assert!(
        !is_shared(input),
        "freed by the pass, though the output is alive"
    );
    let (input, weight) = (matrix(), matrix().set_requires_grad(true));
    drop(Linear::apply(&input, &weight, None));
    assert!(!is_shared(input), "freed with the output");
    // A saved output is no cycle: its memory is its own again once the node is gone.
    let x = matrix().set_requires_grad(true);
    let y = x.exp();
    let value = y.detach();
    drop(y);
    assert!(!is_shared(value));
}
