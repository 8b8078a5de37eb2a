//! Each channel over the whole batch.

use autograd_core::ndarray::{Array0, Array1, Dimension, Ix0, Ix1, Ix4};
use autograd_core::ops::Statistics;
use autograd_core::{Element, Tensor, Tensor1, is_recomputing};

use crate::buffer::Buffer;
use crate::forward::Forward;
use crate::layers::{print, shapes};
use crate::mode::Mode;
use crate::module::Module;
use crate::parameter::Parameter;

/// What both layers do; they differ in the ranks that they take.
macro_rules! batch_norm {
    ($(#[$attribute:meta])* $Name:ident) => {
        $(#[$attribute])*
        #[derive(Debug, Module)]
        #[module(extra_repr = Self::options)]
        pub struct $Name<T: Element = f32> {
            /// Of shape `[num_features]`: what a normalized channel is multiplied by, if anything.
            pub weight: Option<Parameter<T, Ix1>>,
            /// Of shape `[num_features]`: what is added, if anything.
            pub bias: Option<Parameter<T, Ix1>>,
            /// The running mean of the batches' means, if it is tracked.
            pub running_mean: Option<Buffer<T, Ix1>>,
            /// The running mean of the batches' variances, which have the divisor n − 1, if it is tracked.
            pub running_var: Option<Buffer<T, Ix1>>,
            /// The number of batches, if the running means are plain means: without a momentum.
            pub num_batches_tracked: Option<Buffer<f64, Ix0>>,
            /// Whether batches are normalized by their own mean and variance.
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
            /// If it is negative or not finite.
            #[must_use]
            #[track_caller]
            pub fn eps(self, eps: f64) -> Self {
                shapes::is_eps(stringify!($Name), eps);
                Self { eps, ..self }
            }

            /// Sets the weight of a batch in the running means: `None` for plain means of all batches.
            ///
            /// # Panics
            /// If it is not between 0 and 1.
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

            /// Sets whether normalized channels are multiplied by a weight, and a bias is added.
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

            /// Sets whether running means are tracked, for evaluation. Without them a batch is normalized by its own
            /// mean and variance then, too.
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

            /// Counts batches where that is asked for.
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
    /// Each channel of a batch less its mean and over its deviation √(variance + `eps`), then times a weight, plus
    /// a bias (Ioffe and Szegedy, 2015). Of rows of shape `[batch, channels]` or signals of shape `[batch,
    /// channels, length]`.
    ///
    /// In training mean and variance are the batch's, and running means of them are tracked: `(1 − momentum) ·
    /// running + momentum · batch`. In evaluation they are the running ones, and nothing changes. Threads that
    /// train one layer at once may each lose the other's batch. A batch that
    /// [`checkpoint`](autograd_core::checkpoint()) computes again is counted once.
    ///
    /// PyTorch also saves how many batches there were, as an integer that it uses without a momentum only; here
    /// it is saved then alone, as `f64`.
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
    /// As [`BatchNorm1d`], of images of shape `[batch, channels, height, width]`.
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
    /// If there are other channels, or neither two axes nor three; in training, if a channel has fewer than two
    /// elements.
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
    /// If there are other channels; in training, if a channel has fewer than two elements.
    #[track_caller]
    fn forward(&self, input: &Tensor<T, Ix4>) -> Tensor<T, Ix4> {
        self.normalize(input)
    }
}

/// Lets a batch count in the running mean and variance.
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
