//! (x − mean) / √(variance + eps) of each channel.

use std::marker::PhantomData;

use ndarray::{Array, Array1, ArrayView, ArrayView1, Dimension};

use super::{ChannelRepeat, ChannelSum};
use crate::kernels::Channels;
use crate::ops::add_tangents;
use crate::tensor::{Tensor, Tensor1};
use crate::{Element, custom_function, kernels};

/// x̂ = (x − mean) · rstd and rstd = 1 / √(variance + eps) of each channel, and its mean and variance, with the
/// divisor n.
///
/// rstd is an output with a gradient: the gradient of x is then a polynomial in x̂ and rstd, which can be
/// differentiated again without x.
#[derive(Debug)]
pub struct Normalize<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3, 2], channels = Channels::along(&[2, 3, 2], 1), eps = 0.1))]
impl<T: Element, D: Dimension> Normalize<T, D> {
    /// Returns x̂ = (x − mean) · rstd and rstd = 1 / √(variance + eps), and the mean and the variance, of each channel.
    #[doc = crate::math!(r"\hat{x} = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}}, \qquad \mu = \frac{1}{n} \sum_{i=1}^n x_i, \quad \sigma^2 = \frac{1}{n} \sum_{i=1}^n \left(x_i - \mu\right)^2")]
    /// Here ε is `eps`.
    ///
    /// # Panics
    /// If `x` does not have as many elements as the channels.
    #[forward(outputs(normalized, rstd, moments))]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        channels: Channels,
        eps: T,
    ) -> (Array<T, D>, Array1<T>, Vec<[T; 2]>) {
        let (normalized, statistics) = kernels::normalize(&x, channels, eps);
        let rstd = statistics.iter().map(|&[_, _, rstd]| rstd).collect();
        let moments = statistics
            .iter()
            .map(|&[mean, variance, _]| [mean, variance]);
        (normalized, rstd, moments.collect())
    }

    #[backward(x)]
    fn backward(
        grad_normalized: Option<&Tensor<T, D>>,
        grad_rstd: Option<&Tensor1<T>>,
        normalized: &Tensor<T, D>,
        rstd: &Tensor1<T>,
        channels: Channels,
    ) -> Option<Tensor<T, D>> {
        let along_normalized =
            grad_normalized.map(|grad| NormalizeBackward::apply(grad, normalized, rstd, channels));
        // d rstd / dx = −rstd² · x̂ / n
        let along_rstd = grad_rstd.map(|grad| {
            let each = grad * rstd * rstd / -size::<T>(channels);
            each.to_channels::<D>(channels, normalized.shape()) * normalized
        });
        add_tangents(along_normalized, along_rstd)
    }

    // The Jacobian of x̂ is symmetric.
    #[jvp]
    fn jvp(
        tangent_x: &Tensor<T, D>,
        normalized: &Tensor<T, D>,
        rstd: &Tensor1<T>,
        channels: Channels,
    ) -> (Tensor<T, D>, Tensor1<T>) {
        let along_rstd = (tangent_x * normalized).of_channels(channels) * rstd * rstd;
        (
            NormalizeBackward::apply(tangent_x, normalized, rstd, channels),
            along_rstd / -size::<T>(channels),
        )
    }
}

/// rstd · (g − mean(g) − x̂ · mean(g · x̂)) of each channel: the gradient of [`Normalize`], where g is the gradient of
/// x̂.
#[derive(Debug)]
pub struct NormalizeBackward<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    g = [2, 3, 2], normalized = [2, 3, 2], rstd = [3], channels = Channels::along(&[2, 3, 2], 1)
))]
impl<T: Element, D: Dimension> NormalizeBackward<T, D> {
    /// Returns rstd · (g − mean(g) − x̂ · mean(g · x̂)) of each channel.
    #[doc = crate::math!(r"\frac{\partial L}{\partial x_i} = \frac{1}{\sqrt{\sigma^2 + \varepsilon}} \left(g_i - \frac{1}{n} \sum_j g_j - \hat{x}_i \, \frac{1}{n} \sum_j g_j \hat{x}_j\right)")]
    /// # Panics
    /// If the shapes differ, the tensors do not have as many elements as the channels, or a channel has no `rstd`.
    #[forward]
    #[track_caller]
    pub fn forward(
        g: ArrayView<T, D>,
        normalized: ArrayView<T, D>,
        rstd: ArrayView1<T>,
        channels: Channels,
    ) -> Array<T, D> {
        kernels::normalize_backward(&g, &normalized, &rstd.to_vec(), channels)
    }

    // Its matrix is symmetric.
    #[backward(g)]
    fn grad_g(
        grad_output: &Tensor<T, D>,
        normalized: &Tensor<T, D>,
        rstd: &Tensor1<T>,
        channels: Channels,
    ) -> Tensor<T, D> {
        Self::apply(grad_output, normalized, rstd, channels)
    }

    #[backward(normalized)]
    fn grad_normalized(
        grad_output: &Tensor<T, D>,
        g: &Tensor<T, D>,
        normalized: &Tensor<T, D>,
        rstd: &Tensor1<T>,
        channels: Channels,
    ) -> Tensor<T, D> {
        let scales = rstd / -size::<T>(channels);
        let repeat = |each: Tensor1<T>| each.to_channels::<D>(channels, g.shape());
        let along_g = (g * normalized).of_channels(channels) * &scales;
        let along_grad = (grad_output * normalized).of_channels(channels) * &scales;
        grad_output * repeat(along_g) + g * repeat(along_grad)
    }

    #[backward(rstd)]
    fn grad_rstd(
        grad_output: &Tensor<T, D>,
        g: &Tensor<T, D>,
        normalized: &Tensor<T, D>,
        channels: Channels,
    ) -> Tensor1<T> {
        (grad_output * unscaled(g, normalized, channels)).of_channels(channels)
    }

    #[jvp]
    fn jvp(
        tangent_g: Option<&Tensor<T, D>>,
        tangent_normalized: Option<&Tensor<T, D>>,
        tangent_rstd: Option<&Tensor1<T>>,
        g: &Tensor<T, D>,
        normalized: &Tensor<T, D>,
        rstd: &Tensor1<T>,
        channels: Channels,
    ) -> Option<Tensor<T, D>> {
        let repeat = |each: Tensor1<T>| each.to_channels::<D>(channels, g.shape());
        let along_g = tangent_g.map(|tangent| Self::apply(tangent, normalized, rstd, channels));
        let along_normalized = tangent_normalized.map(|tangent| {
            let scales = rstd / -size::<T>(channels);
            let first = (g * normalized).of_channels(channels) * &scales;
            let second = (g * tangent).of_channels(channels) * &scales;
            tangent * repeat(first) + normalized * repeat(second)
        });
        let along_rstd =
            tangent_rstd.map(|tangent| unscaled(g, normalized, channels) * repeat(tangent.clone()));
        add_tangents(add_tangents(along_g, along_normalized), along_rstd)
    }
}

/// Returns the gradient for rstd = 1.
#[track_caller]
fn unscaled<T: Element, D: Dimension>(
    g: &Tensor<T, D>,
    normalized: &Tensor<T, D>,
    channels: Channels,
) -> Tensor<T, D> {
    let ones = Tensor::from(Array1::ones(channels.count));
    NormalizeBackward::apply(g, normalized, &ones, channels)
}

/// Returns the number of elements of a channel.
fn size<T: Element>(channels: Channels) -> T {
    T::from_f64(channels.size() as f64)
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the sum of each channel.
    #[track_caller]
    fn of_channels(&self, channels: Channels) -> Tensor1<T> {
        ChannelSum::apply(self, channels, &[channels.count])
    }
}

impl<T: Element> Tensor1<T> {
    /// Returns a number for each channel, repeated to `shape`.
    #[track_caller]
    fn to_channels<D: Dimension>(&self, channels: Channels, shape: &[usize]) -> Tensor<T, D> {
        ChannelRepeat::apply(self, channels, shape)
    }
}
