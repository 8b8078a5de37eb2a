//! Reductions, norms, losses, and what looks up rows of a table.

use pullback::prelude::*;

use super::{Attributes, Function};

pub const MISSING: &[&str] = &[
    "batch_norm_train",
    "bce_with_logits",
    "cross_entropy",
    "cumsum",
    "embedding",
    "layer_norm",
    "log_softmax_axis",
    "logsumexp_axis",
    "max_axis",
    "mean_axis",
    "mse_loss",
    "softmax_axis",
    "sum_axis",
    "var_axis",
];

pub fn function<T: Element>(_: &str, _: &Attributes) -> Option<Function<T>> {
    None
}
