//! Losses: how far predictions are from targets.
//!
//! Each is a function that returns the losses of all elements or examples, `…_unreduced`, and a method that reduces
//! them to a number, by a [`Reduction`].

mod bce_with_logits;
mod cross_entropy;
mod huber_loss;
mod kl_div;
mod l1_loss;
mod labels;
mod mse_loss;
mod nll_loss;

pub use bce_with_logits::BceWithLogits;
pub use cross_entropy::{CrossEntropy, CrossEntropyBackward, CrossEntropyOptions};
pub use huber_loss::HuberLoss;
pub use kl_div::KlDiv;
pub use l1_loss::L1Loss;
pub use mse_loss::MseLoss;
pub use nll_loss::NllLoss;

use ndarray::{ArrayView, Dimension};

use crate::Element;
use crate::kernels;
use crate::tensor::{Tensor, Tensor0};

/// The reduction of the losses of all elements or examples to a number.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::Reduction};
///
/// let (x, target) = (Tensor::from(array![1.0, 4.0]), Tensor::from(array![0.0, 0.0]));
/// assert_eq!(x.mse_loss(&target, Reduction::Mean).item(), 8.5);
/// assert_eq!(x.mse_loss(&target, Reduction::Sum).item(), 17.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Their mean; NaN if there are none.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

impl Reduction {
    #[track_caller]
    fn of<T: Element, D: Dimension>(self, losses: &Tensor<T, D>) -> Tensor0<T> {
        match self {
            Self::Mean => losses.mean(),
            Self::Sum => losses.sum(),
        }
    }
}

/// Returns the gradient of a loss of two numbers: `fused` of both times that of the losses or, if it is recorded, their
/// product with `slope`.
#[track_caller]
fn times_slope<T: Element, D: Dimension>(
    gradients: &Tensor<T, D>,
    (x, y): (&Tensor<T, D>, &Tensor<T, D>),
    fused: impl Fn(T, T) -> T + Copy + Sync,
    slope: impl FnOnce(&Tensor<T, D>, &Tensor<T, D>) -> Tensor<T, D>,
) -> Tensor<T, D> {
    if [gradients, x, y].iter().all(|tensor| tensor.raw.is_plain()) {
        return kernels::zip_times(&x.view(), &y.view(), &gradients.view(), fused).into();
    }
    slope(x, y) * gradients
}

/// Checks that a prediction and its target have one shape: broadcasting in a loss is a mistake.
#[track_caller]
fn check_shapes<T, D: Dimension>(name: &str, x: &ArrayView<T, D>, target: &ArrayView<T, D>) {
    assert!(
        x.shape() == target.shape(),
        "{name} of shape {:?} with a target of shape {:?}: they differ",
        x.shape(),
        target.shape()
    );
}
