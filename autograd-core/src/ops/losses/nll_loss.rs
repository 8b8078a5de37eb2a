//! −x at the label.

use std::marker::PhantomData;

use ndarray::{Array1, ArrayView1, ArrayView2, Axis};

use super::{Reduction, labels};
use crate::kernels::Axes;
use crate::ops::reductions::{gather, scatter};
use crate::ops::zeros;
use crate::tensor::{Tensor0, Tensor1, Tensor2};
use crate::{Element, custom_function};

/// −x at the label of each row; 0 where it is ignored.
#[derive(Debug)]
pub struct NllLoss<T>(PhantomData<T>);

#[custom_function(gradcheck(x = [3, 4], labels = &[2, 9, 3], ignore_index = Some(9)))]
impl<T: Element> NllLoss<T> {
    /// Returns −x at the label of each row.
    #[doc = crate::math!(r"\ell_i = -x_{i, \text{label}_i}")]
    /// # Panics
    /// If there is not a label for each row, or a label is neither a class nor ignored.
    #[forward(outputs(losses))]
    #[track_caller]
    pub fn forward(x: ArrayView2<T>, labels: &[usize], ignore_index: Option<usize>) -> Array1<T> {
        labels::check("nll_loss", x.shape(), labels, ignore_index);
        let loss = |(row, &label): (ArrayView1<T>, &usize)| match ignore_index {
            Some(ignored) if ignored == label => T::zero(),
            _ => -row[label],
        };
        x.rows().into_iter().zip(labels).map(loss).collect()
    }

    #[backward(x)]
    fn backward(
        grad_losses: &Tensor1<T>,
        labels: &[usize],
        ignore_index: Option<usize>,
        shape_x: &[usize],
    ) -> Tensor2<T> {
        if shape_x[1] == 0 {
            // There are no classes: all labels are ignored.
            return zeros(shape_x);
        }
        let classes = classes(labels, ignore_index);
        let counted = labels::counted(grad_losses, labels, ignore_index);
        scatter(&-counted, &classes, axes(), shape_x)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor2<T>, labels: &[usize], ignore_index: Option<usize>) -> Tensor1<T> {
        if tangent_x.shape()[1] == 0 {
            return zeros(&[labels.len()]);
        }
        let picked: Tensor1<T> = gather(tangent_x, &classes(labels, ignore_index), axes());
        -labels::counted(&picked, labels, ignore_index)
    }
}

fn axes() -> Axes {
    Axes::one(Axis(1))
}

/// Returns the labels, with 0 for those that are ignored, which do not have to be classes.
fn classes(labels: &[usize], ignore_index: Option<usize>) -> Vec<usize> {
    let is_ignored = |label| ignore_index == Some(label);
    labels
        .iter()
        .map(|&label| if is_ignored(label) { 0 } else { label })
        .collect()
}

impl<T: Element> Tensor2<T> {
    /// Returns the mean, over the labels that are not ignored, or the sum of
    /// [`nll_loss_unreduced`](Self::nll_loss_unreduced). If all are ignored, the mean is NaN.
    ///
    /// # Panics
    /// If there is not a label for each row, or a label is neither a class nor `ignore_index`.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Reduction};
    ///
    /// let x = Tensor::from(array![[-1.0, -2.0], [-3.0, -4.0]]);
    /// assert_eq!(x.nll_loss(&[0, 1], None, Reduction::Mean).item(), 2.5);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn nll_loss(
        &self,
        labels: &[usize],
        ignore_index: Option<usize>,
        reduction: Reduction,
    ) -> Tensor0<T> {
        let sum = self.nll_loss_unreduced(labels, ignore_index).sum();
        match reduction {
            Reduction::Mean => sum / labels::count::<T>(labels, ignore_index),
            Reduction::Sum => sum,
        }
    }

    /// Returns −x at the label of each row, where x is the logarithm of the probability of each class; 0 where the
    /// label is `ignore_index`.
    ///
    /// [`NllLoss`](crate::ops::NllLoss) has the formula.
    ///
    /// # Panics
    /// If there is not a label for each row, or a label is neither a class nor `ignore_index`.
    #[must_use]
    #[track_caller]
    pub fn nll_loss_unreduced(&self, labels: &[usize], ignore_index: Option<usize>) -> Tensor1<T> {
        NllLoss::apply(self, labels, ignore_index)
    }
}
