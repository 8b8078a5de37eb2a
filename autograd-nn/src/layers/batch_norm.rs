//! Batch normalization, of each channel over the whole batch.

use autograd_core::ndarray::{Array0, Array1, Dimension, Ix0, Ix1, Ix4};
use autograd_core::ops::Statistics;
use autograd_core::{Element, Tensor, Tensor1, is_recomputing};

use crate::buffer::Buffer;
use crate::forward::Forward;
use crate::layers::{print, shapes};
use crate::mode::Mode;
use crate::module::Module;
use crate::parameter::Parameter;

/// Generates the two layers, which differ in the ranks of their inputs.
macro_rules! batch_norm {
    ($(#[$attribute:meta])* $Name:ident) => {
        $(#[$attribute])*
        #[derive(Debug, Module)]
        #[module(extra_repr = Self::options)]
        pub struct $Name<T: Element = f32> {
            /// The scale of each channel, of shape `[num_features]`.
            pub weight: Option<Parameter<T, Ix1>>,
            /// The shift of each channel, of shape `[num_features]`.
            pub bias: Option<Parameter<T, Ix1>>,
            /// The running mean of the batches' means, if it is tracked.
            pub running_mean: Option<Buffer<T, Ix1>>,
            /// The running mean of the batches' variances, with the divisor n − 1, if it is tracked.
            pub running_var: Option<Buffer<T, Ix1>>,
            /// The number of batches so far, if the running means are cumulative means: without a momentum.
            pub num_batches_tracked: Option<Buffer<f64, Ix0>>,
            /// In training, batches are normalized by their own mean and variance.
            pub mode: Mode,
            #[module(skip)]
            num_features: usize,
            #[module(skip)]
            eps: f64,
            #[module(skip)]
            momentum: Option<f64>,
        }

        impl<T: Element> $Name<T> {
            /// Creates a layer of `num_features` channels, with weights of 1, biases of 0, an `eps` of 1e-5 and a
            /// momentum of 0.1.
            pub fn new(num_features: usize) -> Self {
                let values = |value| Array1::from_elem(num_features, value);
                Self {
                    weight: Some(Parameter::new(values(T::one()))),
                    bias: Some(Parameter::new(values(T::zero()))),
                    running_mean: Some(Buffer::new(values(T::zero()))),
                    running_var: Some(Buffer::new(values(T::one()))),
                    num_batches_tracked: None,
                    mode: Mode::default(),
                    num_features,
                    eps: 1e-5,
                    momentum: Some(0.1),
                }
            }

            /// Sets the number that is added to variances before the square root.
            ///
            /// # Panics
            /// If `eps` is negative or not finite.
            #[must_use]
            #[track_caller]
            pub fn eps(self, eps: f64) -> Self {
                shapes::is_eps(stringify!($Name), eps);
                Self { eps, ..self }
            }

            /// Sets the momentum, the weight of a new batch in the running means; `None` for cumulative means.
            ///
            /// # Panics
            /// If the momentum is not between 0 and 1.
            #[must_use]
            #[track_caller]
            pub fn momentum(mut self, momentum: impl Into<Option<f64>>) -> Self {
                self.momentum = momentum.into();
                if let Some(momentum) = self.momentum {
                    assert!(
                        (0.0..=1.0).contains(&momentum),
                        "{} with the momentum {momentum}: it must be between 0 and 1",
                        stringify!($Name)
                    );
                }
                self.counted()
            }

            /// Sets whether the layer has a weight and a bias; `true` by default.
            #[must_use]
            pub fn affine(mut self, affine: bool) -> Self {
                if affine && self.weight.is_none() {
                    self.weight = Some(Parameter::new(Array1::ones(self.num_features)));
                    self.bias = Some(Parameter::new(Array1::zeros(self.num_features)));
                } else if !affine {
                    (self.weight, self.bias) = (None, None);
                }
                self
            }

            /// Sets whether running means are tracked, for evaluation; `true` by default. Otherwise batches are
            /// normalized by their own mean and variance in evaluation too.
            #[must_use]
            pub fn track_running_stats(mut self, track: bool) -> Self {
                if track && self.running_mean.is_none() {
                    self.running_mean = Some(Buffer::new(Array1::zeros(self.num_features)));
                    self.running_var = Some(Buffer::new(Array1::ones(self.num_features)));
                } else if !track {
                    (self.running_mean, self.running_var) = (None, None);
                }
                self.counted()
            }

            /// Adds or removes the counter of batches.
            fn counted(mut self) -> Self {
                let counts = self.momentum.is_none() && self.running_mean.is_some();
                let buffer = || Buffer::new(Array0::zeros(()));
                self.num_batches_tracked = counts.then(buffer);
                self
            }

            fn options(&self) -> String {
                let momentum = self.momentum.map_or("None".to_owned(), |m| format!("{m:?}"));
                let affine = print::truth(self.weight.is_some());
                let track = print::truth(self.running_mean.is_some());
                format!(
                    "{}, eps={:?}, momentum={momentum}, affine={affine}, track_running_stats={track}",
                    self.num_features, self.eps
                )
            }

            #[track_caller]
            fn normalize<D: Dimension>(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
                let shape = input.shape();
                let channels = shape[1] == self.num_features;
                shapes::fits(self, shape, channels, "its second length is not `num_features`");
                let (weight, bias) = (self.weight.as_deref(), self.bias.as_deref());
                let eps = T::from_f64(self.eps);
                let running = self.running_mean.as_ref().zip(self.running_var.as_ref());
                if !self.mode.is_training()
                    && let Some((mean, variance)) = running
                {
                    return input.batch_norm_with(&mean.get(), &variance.get(), weight, bias, eps);
                }
                let each = input.len().checked_div(self.num_features);
                let wrong = "a channel of fewer than two elements has no variance to train with";
                shapes::fits(self, shape, each.is_none_or(|each| each > 1), wrong);
                let (output, statistics) = input.batch_norm(weight, bias, eps);
                if self.mode.is_training()
                    && !is_recomputing()
                    && let Some((mean, variance)) = running
                {
                    let count = self.num_batches_tracked.as_ref();
                    track([mean, variance], count, self.momentum, statistics);
                }
                output
            }
        }
    };
}

batch_norm! {
    /// Batch normalization (Ioffe and Szegedy, 2015) of rows of shape `[batch, channels]` or signals of shape
    /// `[batch, channels, length]`: from each channel, the mean is subtracted, and the rest is divided by
    /// √(variance + `eps`), multiplied by a weight and added to a bias.
    ///
    /// In training, mean and variance are those of the batch, and running means of them are tracked: `(1 − momentum)
    /// · running + momentum · batch`. In evaluation, the running means are used and not changed. If several threads
    /// train one layer at once, batches can be missing in the running means. When
    /// [`checkpoint`](autograd_core::checkpoint()) recomputes a batch, it is not counted again.
    ///
    /// PyTorch saves the number of batches always, as an integer, and uses it without a momentum only; this layer
    /// saves it then only, as `f64`.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::BatchNorm1d;
    /// use pullback::prelude::*;
    ///
    /// let mut norm = BatchNorm1d::new(1).eps(0.0);
    /// let x = Tensor::from(array![[1.0], [3.0]]);
    /// assert_eq!(norm.forward(&x).to_array(), array![[-1.0], [1.0]]);
    /// assert_eq!(norm.running_mean.as_ref().unwrap().get().to_array(), array![0.1 * 2.0]);
    /// norm.eval();
    /// assert_ne!(norm.forward(&x).to_array(), array![[-1.0], [1.0]]);
    /// ```
    BatchNorm1d
}

batch_norm! {
    /// Batch normalization like [`BatchNorm1d`], of images of shape `[batch, channels, height, width]`.
    ///
    /// ```
    /// use pullback::ndarray::Array4;
    /// use pullback::nn::BatchNorm2d;
    /// use pullback::prelude::*;
    ///
    /// let norm = BatchNorm2d::<f32>::new(3).momentum(0.01);
    /// assert_eq!(norm.forward(&Tensor::from(Array4::zeros((8, 3, 5, 5)))).shape(), [8, 3, 5, 5]);
    /// let shown = "BatchNorm2d(3, eps=1e-5, momentum=0.01, affine=True, track_running_stats=True";
    /// assert!(norm.to_string().starts_with(shown));
    /// ```
    BatchNorm2d
}

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for BatchNorm1d<T> {
    type Output = Tensor<T, D>;

    /// # Panics
    /// If the input does not have `num_features` channels, or has neither two axes nor three; in training, if a
    /// channel has fewer than two elements.
    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        let fits = matches!(input.ndim(), 2 | 3);
        shapes::fits(
            self,
            input.shape(),
            fits,
            "it has neither two axes nor three",
        );
        self.normalize(input)
    }
}

impl<T: Element> Forward<&Tensor<T, Ix4>> for BatchNorm2d<T> {
    type Output = Tensor<T, Ix4>;

    /// # Panics
    /// If the input does not have `num_features` channels; in training, if a channel has fewer than two elements.
    #[track_caller]
    fn forward(&self, input: &Tensor<T, Ix4>) -> Tensor<T, Ix4> {
        self.normalize(input)
    }
}

/// Updates the running mean and variance by a batch.
fn track<T: Element>(
    running: [&Buffer<T, Ix1>; 2],
    count: Option<&Buffer<f64, Ix0>>,
    momentum: Option<f64>,
    batch: Statistics<T>,
) {
    let plain_mean = || {
        let count = count?;
        let batches = count.get().item() + 1.0;
        count.set(Array0::from_elem((), batches));
        Some(1.0 / batches)
    };
    let Some(share) = momentum.or_else(plain_mean) else {
        return;
    };
    let (former, share) = (T::from_f64(1.0 - share), T::from_f64(share));
    for (running, batch) in running.into_iter().zip([batch.mean, batch.variance]) {
        let mut mean = running.get().to_array();
        mean.zip_mut_with(&batch, |mean, &batch| {
            *mean = *mean * former + batch * share;
        });
        running.set(Tensor1::from(mean));
    }
}
