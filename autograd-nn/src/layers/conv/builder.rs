//! The options of all convolutions.

use std::marker::PhantomData;

use autograd_core::ops::ConvOptions;
use autograd_kernels::counted;

use crate::layers::shapes::PerAxis;

/// The options of a layer `L`, a [`Conv1d`](crate::nn::Conv1d), [`Conv2d`](crate::nn::Conv2d) or
/// [`ConvTranspose2d`](crate::nn::ConvTranspose2d), whose kernel has `N` axes.
///
/// ```
/// use pullback::nn::{Conv2d, Generator};
///
/// let builder = Conv2d::<f32>::builder(4, 8, 3).stride(2).padding([1, 0]).groups(2).bias(false);
/// let conv = builder.clone().build(&mut Generator::seed(7));
/// assert_eq!(conv.weight.shape(), [8, 2, 3, 3]);
/// ```
#[derive(Debug)]
#[must_use = "a builder creates nothing before `build`"]
pub struct ConvBuilder<L, const N: usize> {
    pub(super) channels: [usize; 2],
    pub(super) kernel: [usize; N],
    pub(super) options: ConvOptions<N>,
    pub(super) output_padding: [usize; N],
    pub(super) bias: bool,
    layer: PhantomData<fn() -> L>,
}

/// A derived impl would ask for `L: Clone`.
impl<L, const N: usize> Clone for ConvBuilder<L, N> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<L, const N: usize> ConvBuilder<L, N> {
    pub(super) fn new(channels: [usize; 2], kernel: impl Into<PerAxis<N>>) -> Self {
        Self {
            channels,
            kernel: kernel.into().0,
            options: ConvOptions::default(),
            output_padding: [0; N],
            bias: true,
            layer: PhantomData,
        }
    }

    /// Sets the distance between the elements that neighboring outputs read; 1 by default.
    pub fn stride(mut self, stride: impl Into<PerAxis<N>>) -> Self {
        self.options.stride = stride.into().0;
        self
    }

    /// Sets the number of zeros that are added on either side; 0 by default.
    pub fn padding(mut self, padding: impl Into<PerAxis<N>>) -> Self {
        self.options.padding = padding.into().0;
        self
    }

    /// Sets the distance between neighboring elements that one output reads; 1 by default.
    pub fn dilation(mut self, dilation: impl Into<PerAxis<N>>) -> Self {
        self.options.dilation = dilation.into().0;
        self
    }

    /// Sets the number of groups of input channels, each with its own output channels; 1 by default.
    pub fn groups(mut self, groups: usize) -> Self {
        self.options.groups = groups;
        self
    }

    /// Sets whether the layer has a bias; `true` by default.
    pub fn bias(self, bias: bool) -> Self {
        Self { bias, ..self }
    }

    /// Returns the input and output channels of one group.
    ///
    /// # Panics
    /// If the groups do not divide both.
    #[track_caller]
    pub(super) fn channels_of_a_group(&self, layer: &str) -> [usize; 2] {
        let ([inputs, outputs], groups) = (self.channels, self.options.groups);
        assert!(
            groups > 0 && inputs.is_multiple_of(groups) && outputs.is_multiple_of(groups),
            "{layer} of {} to {outputs} in {}: the groups must divide both",
            counted(inputs, "channel", "channels"),
            counted(groups, "group", "groups")
        );
        self.channels.map(|channels| channels / groups)
    }
}
