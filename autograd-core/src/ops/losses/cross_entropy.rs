//! Cross-entropy of logits and labels.

use std::marker::PhantomData;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Ix2};

use super::{Reduction, labels};
use crate::kernels::Axes;
use crate::kernels::counted;
use crate::ops::{DotAxes, SoftmaxBackward, add_tangents};
use crate::tensor::{Tensor, Tensor0, Tensor1, Tensor2};
use crate::{Element, custom_function, kernels};

/// Options of a cross-entropy.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::{CrossEntropyOptions, Reduction}};
///
/// let logits = Tensor::from(array![[1000.0, 0.0]]);
/// let smooth = CrossEntropyOptions { label_smoothing: 0.5, ..Default::default() };
/// let loss = |options| logits.cross_entropy_opts(&[0], Reduction::Sum, options).item();
/// assert_eq!((loss(CrossEntropyOptions::default()), loss(smooth)), (0.0, 250.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossEntropyOptions {
    /// The part of each target, between 0 and 1, that is distributed evenly over all classes.
    pub label_smoothing: f64,
    /// The label of rows that do not count. It does not have to be a class.
    pub ignore_index: Option<usize>,
}

impl CrossEntropyOptions {
    #[track_caller]
    fn check(self, shape: &[usize], labels: &[usize]) {
        labels::check("cross_entropy", shape, labels, self.ignore_index);
        assert!(
            (0.0..=1.0).contains(&self.label_smoothing),
            "cross_entropy with the label smoothing {}: it must be between 0 and 1",
            self.label_smoothing
        );
    }

    fn ignores(self, label: usize) -> bool {
        self.ignore_index == Some(label)
    }

    /// Returns the additional target of the label's class, and the target of all classes.
    fn targets<T: Element>(self, classes: usize) -> (T, T) {
        let classes = classes as f64;
        let all = T::from_f64(self.label_smoothing / classes);
        (T::from_f64(1.0 - self.label_smoothing), all)
    }
}

/// −Σ target · ln softmax(logits) of each row, and the probabilities softmax(logits), which backward needs. Forward and
/// backward read the memory once each.
#[derive(Debug)]
pub struct CrossEntropy<T>(PhantomData<T>);

#[custom_function(gradcheck(
    logits = [3, 4],
    labels = &[2, 9, 3],
    options = CrossEntropyOptions { label_smoothing: 0.2, ignore_index: Some(9) },
))]
impl<T: Element> CrossEntropy<T> {
    /// Returns −Σ target · ln softmax(logits) of each row, and the probabilities softmax(logits).
    #[doc = crate::math!(r"\ell_i = -\sum_c t_{ic} \ln p_{ic}, \quad p_{ic} = \frac{e^{x_{ic}}}{\sum_k e^{x_{ik}}}")]
    #[doc = crate::math!(r"t_{ic} = (1 - \varepsilon) \left[c = \text{label}_i\right] + \frac{\varepsilon}{C}")]
    /// Here ε is the label smoothing, and C the number of classes.
    ///
    /// # Panics
    /// If there is not a label for each row, a label is neither a class nor ignored, or the label smoothing is not
    /// between 0 and 1.
    #[forward(outputs(losses, probabilities))]
    #[track_caller]
    pub fn forward(
        logits: ArrayView2<T>,
        labels: &[usize],
        options: CrossEntropyOptions,
    ) -> (Array1<T>, Array2<T>) {
        options.check(logits.shape(), labels);
        let (of_label, of_all) = options.targets::<T>(logits.ncols());
        let (probabilities, losses) = kernels::map_lanes(&logits, Axis(1), |index, row| {
            let label = labels[index];
            let logit = row.get(label).copied();
            // Without smoothing the sum is not used, as it may be infinite.
            let sum = (options.label_smoothing > 0.0).then(|| kernels::sum_slice(row));
            let count = row.len() as f64;
            let (largest, log_sum) = kernels::softmax_and_log_sum(row);
            let loss = logit.filter(|_| !options.ignores(label)).map(|logit| {
                let loss = of_label * ((largest - logit) + log_sum);
                let smooth = |sum| {
                    let count = T::from_f64(count);
                    of_all * ((largest * count - sum) + log_sum * count)
                };
                loss + sum.map_or(T::zero(), smooth)
            });
            loss.unwrap_or(T::zero())
        });
        (Array1::from_vec(losses), probabilities)
    }

    #[backward(logits)]
    fn backward(
        grad_losses: Option<&Tensor1<T>>,
        grad_probabilities: Option<&Tensor2<T>>,
        probabilities: &Tensor2<T>,
        labels: &[usize],
        options: CrossEntropyOptions,
    ) -> Option<Tensor2<T>> {
        let along_losses = grad_losses
            .map(|grad| CrossEntropyBackward::apply(grad, probabilities, labels, options));
        let along_probabilities =
            grad_probabilities.map(|grad| SoftmaxBackward::apply(grad, probabilities, Axis(1)));
        add_tangents(along_losses, along_probabilities)
    }

    #[jvp]
    fn jvp(
        tangent_logits: &Tensor2<T>,
        probabilities: &Tensor2<T>,
        labels: &[usize],
        options: CrossEntropyOptions,
    ) -> (Tensor1<T>, Tensor2<T>) {
        (
            along(tangent_logits, probabilities, labels, options),
            SoftmaxBackward::apply(tangent_logits, probabilities, Axis(1)),
        )
    }
}

/// g · (probabilities − targets), or 0 in rows that do not count: the gradient of [`CrossEntropy`], where g is the
/// gradient of the losses.
#[derive(Debug)]
pub struct CrossEntropyBackward<T>(PhantomData<T>);

#[custom_function(gradcheck(
    g = [3],
    probabilities = [3, 4],
    labels = &[2, 9, 3],
    options = CrossEntropyOptions { label_smoothing: 0.2, ignore_index: Some(9) },
))]
impl<T: Element> CrossEntropyBackward<T> {
    /// Returns g · (probabilities − targets).
    #[doc = crate::math!(r"\frac{\partial L}{\partial x_{ic}} = g_i \left(p_{ic} - t_{ic}\right)")]
    /// Here p are the probabilities, and t the targets: [`CrossEntropy`] has their formula.
    ///
    /// # Panics
    /// If there is not a g and a label for each row, a label is neither a class nor ignored, or the label smoothing is
    /// not between 0 and 1.
    #[forward]
    #[track_caller]
    pub fn forward(
        g: ArrayView1<T>,
        probabilities: ArrayView2<T>,
        labels: &[usize],
        options: CrossEntropyOptions,
    ) -> Array2<T> {
        options.check(probabilities.shape(), labels);
        assert!(
            g.len() == labels.len(),
            "the gradient of a cross_entropy of shape {:?} with {}",
            probabilities.shape(),
            counted(g.len(), "loss", "losses")
        );
        let (of_label, of_all) = options.targets::<T>(probabilities.ncols());
        let (slopes, _) = kernels::map_lanes(&probabilities, Axis(1), |index, row| {
            let (g, label) = (g[index], labels[index]);
            if options.ignores(label) {
                return row.fill(T::zero());
            }
            kernels::map_in_place(row, |p| (p - of_all) * g);
            row[label] -= of_label * g;
        });
        slopes
    }

    #[backward(g)]
    fn grad_g(
        grad_output: &Tensor2<T>,
        probabilities: &Tensor2<T>,
        labels: &[usize],
        options: CrossEntropyOptions,
    ) -> Tensor1<T> {
        along(grad_output, probabilities, labels, options)
    }

    #[backward(probabilities)]
    fn grad_probabilities(
        grad_output: &Tensor2<T>,
        g: &Tensor1<T>,
        labels: &[usize],
        options: CrossEntropyOptions,
    ) -> Tensor2<T> {
        by_row(g, grad_output, labels, options)
    }

    #[jvp]
    fn jvp(
        tangent_g: Option<&Tensor1<T>>,
        tangent_probabilities: Option<&Tensor2<T>>,
        g: &Tensor1<T>,
        probabilities: &Tensor2<T>,
        labels: &[usize],
        options: CrossEntropyOptions,
    ) -> Option<Tensor2<T>> {
        let along_g = tangent_g.map(|tangent| Self::apply(tangent, probabilities, labels, options));
        let along_probabilities =
            tangent_probabilities.map(|tangent| by_row(g, tangent, labels, options));
        add_tangents(along_g, along_probabilities)
    }
}

/// Returns Σ x · (probabilities − targets) of each row, or 0 if it does not count.
#[track_caller]
fn along<T: Element>(
    x: &Tensor2<T>,
    probabilities: &Tensor2<T>,
    labels: &[usize],
    options: CrossEntropyOptions,
) -> Tensor1<T> {
    let ones = Tensor::from(Array1::ones(labels.len()));
    let slopes = CrossEntropyBackward::apply(&ones, probabilities, labels, options);
    DotAxes::apply(x, &slopes, Axes::one(Axis(1)))
}

/// Returns each row of x times its g, or 0 if it does not count.
#[track_caller]
fn by_row<T: Element>(
    g: &Tensor1<T>,
    x: &Tensor2<T>,
    labels: &[usize],
    options: CrossEntropyOptions,
) -> Tensor2<T> {
    let g = labels::counted(g, labels, options.ignore_index);
    g.expand::<Ix2>(Axes::one(Axis(1)), x.shape()) * x
}

impl<T: Element> Tensor2<T> {
    /// Returns the mean or the sum of −ln softmax(logits) at the label of each row.
    ///
    /// # Panics
    /// If there is not a label for each row, or a label is not a class.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Reduction};
    ///
    /// let logits = Tensor::from(array![[0.0, 0.0], [1000.0, 0.0]]).set_requires_grad(true);
    /// let loss = logits.cross_entropy(&[1, 0], Reduction::Sum);
    /// assert_eq!(loss.item(), 2.0_f64.ln());
    /// loss.backward()?;
    /// assert_eq!(logits.grad(), Some(array![[0.5, -0.5], [0.0, 0.0]]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn cross_entropy(&self, labels: &[usize], reduction: Reduction) -> Tensor0<T> {
        self.cross_entropy_opts(labels, reduction, CrossEntropyOptions::default())
    }

    /// Returns the mean or the sum as [`cross_entropy`](Self::cross_entropy) does, with options. The mean is over the
    /// rows that count; if there are none, it is NaN.
    ///
    /// # Panics
    /// If there is not a label for each row, a label is neither a class nor ignored, or the label smoothing is not
    /// between 0 and 1.
    #[must_use]
    #[track_caller]
    pub fn cross_entropy_opts(
        &self,
        labels: &[usize],
        reduction: Reduction,
        options: CrossEntropyOptions,
    ) -> Tensor0<T> {
        let sum = self.cross_entropy_unreduced(labels, options).sum();
        match reduction {
            Reduction::Mean => sum / labels::count::<T>(labels, options.ignore_index),
            Reduction::Sum => sum,
        }
    }

    /// Returns the cross-entropy of each row, or 0 if it does not count.
    ///
    /// [`CrossEntropy`](crate::ops::CrossEntropy) has the formula.
    ///
    /// # Panics
    /// If there is not a label for each row, a label is neither a class nor ignored, or the label smoothing is not
    /// between 0 and 1.
    #[must_use]
    #[track_caller]
    pub fn cross_entropy_unreduced(
        &self,
        labels: &[usize],
        options: CrossEntropyOptions,
    ) -> Tensor1<T> {
        CrossEntropy::apply(self, labels, options).0
    }
}
