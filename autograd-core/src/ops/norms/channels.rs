//! Sums of channels, numbers repeated to channels, and a scale and a shift for each channel.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use crate::kernels::Channels;
use crate::kernels::counted;
use crate::ops::add_tangents;
use crate::{Element, Shape, custom_function, kernels, tensor::Tensor};

/// The sum of each channel, in the shape `shape`.
#[derive(Debug)]
pub struct ChannelSum<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [2, 3, 2], channels = Channels::along(&[2, 3, 2], 1), shape = &[3], E = ndarray::Ix1
))]
impl<T: Element, D: Dimension, E: Dimension> ChannelSum<T, D, E> {
    /// Returns the sum of each channel.
    ///
    /// # Panics
    /// If `x` does not have as many elements as the channels, `shape` does not have an element for each channel, or its
    /// rank is not that of `E`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, channels: Channels, shape: &[usize]) -> Array<T, E> {
        let sums = kernels::channel_sums(&x, channels).into_shape_with_order(shape);
        let Some(sums) = sums.ok().and_then(|sums| sums.into_dimensionality().ok()) else {
            panic!(
                "sums of {} as shape {shape:?}: it does not fit",
                counted(channels.count, "channel", "channels")
            );
        };
        sums
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, E>, channels: Channels, shape_x: &[usize]) -> Tensor<T, D> {
        ChannelRepeat::apply(grad_output, channels, shape_x)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, channels: Channels, shape: &[usize]) -> Tensor<T, E> {
        Self::apply(tangent_x, channels, shape)
    }
}

/// One number per channel, broadcast to `shape`.
#[derive(Debug)]
pub struct ChannelRepeat<T, E, D>(PhantomData<(T, E, D)>);

#[custom_function(gradcheck(
    x = [3], channels = Channels::along(&[2, 3, 2], 1), shape = &[2, 3, 2], D = ndarray::Ix3
))]
impl<T: Element, E: Dimension, D: Dimension> ChannelRepeat<T, E, D> {
    /// Returns a number for each channel, repeated.
    ///
    /// # Panics
    /// If there is not a number for each channel, `shape` does not have as many elements as the channels, or its rank
    /// is not that of `D`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView<T, E>, channels: Channels, shape: &[usize]) -> Array<T, D> {
        // Zeros that take no memory.
        let zero = ndarray::arr0(T::zero());
        let zeros = zero
            .broadcast(shape)
            .and_then(|zeros| zeros.into_dimensionality().ok());
        let Some(zeros) = zeros else {
            panic!("channels as shape {shape:?}, which does not have the rank of its type");
        };
        let each: Vec<[T; 1]> = x.iter().map(|&x| [x]).collect();
        kernels::map_channels(&zeros, channels, &each, |_, [x]| x)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, channels: Channels, shape_x: &[usize]) -> Tensor<T, E> {
        ChannelSum::apply(grad_output, channels, shape_x)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, E>, channels: Channels, shape: &[usize]) -> Tensor<T, D> {
        Self::apply(tangent_x, channels, shape)
    }
}

/// x · scale + shift, with a scale and a shift for each channel.
#[derive(Debug)]
pub struct ScaleShift<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [2, 3, 2], scale = [3], shift = [3], channels = Channels::along(&[2, 3, 2], 1)
))]
impl<T: Element, D: Dimension, E: Dimension> ScaleShift<T, D, E> {
    /// Returns x · scale + shift.
    ///
    /// # Panics
    /// If there is not a scale and a shift for each channel, of one shape, or `x` does not have as many elements as the
    /// channels.
    #[forward(outputs(output), saves(shape))]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        scale: Option<ArrayView<T, E>>,
        shift: Option<ArrayView<T, E>>,
        channels: Channels,
    ) -> (Array<T, D>, Shape) {
        let shape = scale
            .as_ref()
            .or(shift.as_ref())
            .map(|given| Shape::from(given.shape()));
        let numbers = |given: Option<ArrayView<T, E>>, otherwise: T| -> Vec<T> {
            let Some(given) = given else {
                return vec![otherwise; channels.count];
            };
            assert!(
                given.len() == channels.count && shape.as_deref() == Some(given.shape()),
                "a scale and a shift of {}: found shape {:?}",
                counted(channels.count, "channel", "channels"),
                given.shape()
            );
            given.iter().copied().collect()
        };
        let (scales, shifts) = (numbers(scale, T::one()), numbers(shift, T::zero()));
        let each: Vec<[T; 2]> = scales.into_iter().zip(shifts).map(<[T; 2]>::from).collect();
        let output =
            kernels::map_channels(&x, channels, &each, |x, [scale, shift]| x * scale + shift);
        (output, shape.unwrap_or_else(|| Shape::from(&[][..])))
    }

    #[backward(x)]
    fn grad_x(
        grad_output: Tensor<T, D>,
        scale: Option<&Tensor<T, E>>,
        channels: Channels,
    ) -> Tensor<T, D> {
        match scale {
            Some(scale) => Self::apply(&grad_output, Some(scale), None, channels),
            None => grad_output,
        }
    }

    #[backward(scale)]
    fn grad_scale(
        grad_output: &Tensor<T, D>,
        x: &Tensor<T, D>,
        channels: Channels,
        shape: &Shape,
    ) -> Tensor<T, E> {
        ChannelSum::apply(&(grad_output * x), channels, shape)
    }

    #[backward(shift)]
    fn grad_shift(grad_output: &Tensor<T, D>, channels: Channels, shape: &Shape) -> Tensor<T, E> {
        ChannelSum::apply(grad_output, channels, shape)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_scale: Option<&Tensor<T, E>>,
        tangent_shift: Option<&Tensor<T, E>>,
        x: &Tensor<T, D>,
        scale: Option<&Tensor<T, E>>,
        channels: Channels,
    ) -> Option<Tensor<T, D>> {
        let along_x = tangent_x.map(|tangent| Self::apply(tangent, scale, None, channels));
        let along_scale =
            tangent_scale.map(|tangent| Self::apply(x, Some(tangent), None, channels));
        let along_shift =
            tangent_shift.map(|tangent| ChannelRepeat::apply(tangent, channels, x.shape()));
        add_tangents(add_tangents(along_x, along_scale), along_shift)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns x · scale + shift of each channel; the tensor itself if there is neither.
    #[track_caller]
    pub(super) fn scale_shift<E: Dimension>(
        self,
        scale: Option<&Tensor<T, E>>,
        shift: Option<&Tensor<T, E>>,
        channels: Channels,
    ) -> Self {
        if scale.is_none() && shift.is_none() {
            return self;
        }
        ScaleShift::apply(&self, scale, shift, channels)
    }
}
