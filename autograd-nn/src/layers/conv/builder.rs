//! The options of all convolutions.

use std::marker::PhantomData;

use autograd_core::ops::ConvOptions;
use autograd_kernels::counted;

use crate::layers::shapes::PerAxis;

/// The options of a convolution of `N` axes, which becomes an `L`: a [`Conv1d`](crate::nn::Conv1d), a
/// [`Conv2d`](crate::nn::Conv2d) or a [`ConvTranspose2d`](crate::nn::ConvTranspose2d).
///
/// ```
/// use pullback::nn::{Conv2d, Generator};
///
/// let builder = Conv2d::<f32>::builder(4, 8, 3).stride(2).padding([1, 0]).groups(2).bias(false);
/// let conv = builder.clone().build(&mut Generator::seed(7));
/// assert_eq!(conv.weight.shape(), [8, 2, 3, 3]);
/// ```
#[derive(Debug)]
#[must_use = "a builder makes nothing until it is asked to `build`"]
pub struct ConvBuilder<L, const N: usize> {
    pub(super) channels: [usize; 2],
    pub(super) kernel: [usize; N],
    pub(super) options: ConvOptions<N>,
    pub(super) output_padding: [usize; N],
    pub(super) bias: bool,
    layer: PhantomData<fn() -> L>,
}

/// Whether the layer can be cloned does not matter.
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

    /// Sets the distance between the places of neighboring outputs; 1 by default.
    pub fn stride(mut self, stride: impl Into<PerAxis<N>>) -> Self {
        self.options.stride = stride.into().0;
        self
    }

    /// Sets the number of zeros that are added on either side; none by default.
    pub fn padding(mut self, padding: impl Into<PerAxis<N>>) -> Self {
        self.options.padding = padding.into().0;
        self
    }

    /// Sets the distance between the elements that one output reads; 1 by default.
    pub fn dilation(mut self, dilation: impl Into<PerAxis<N>>) -> Self {
        self.options.dilation = dilation.into().0;
        self
    }

    /// Sets the number of groups of the channels, each with its own outputs; one by
    /// default.
    pub fn groups(mut self, groups: usize) -> Self {
        self.options.groups = groups;
        self
    }

    /// Sets whether there is a bias; there is by default.
    pub fn bias(self, bias: bool) -> Self {
        Self { bias, ..self }
    }

    /// The channels of one group: of what comes in and what comes out.
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
