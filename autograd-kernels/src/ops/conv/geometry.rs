//! The lengths of a convolution, and the positions of images, outputs and weights.

use crate::checks::counted;

/// Options of a convolution over `N` axes.
///
/// ```
/// use pullback::kernels::ConvOptions;
///
/// let every_other = ConvOptions { stride: [2, 2], ..ConvOptions::default() };
/// assert_eq!(every_other.padding, [0, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvOptions<const N: usize> {
    /// The distance between the windows of neighboring outputs.
    pub stride: [usize; N],
    /// The number of zeros that are added on either side.
    pub padding: [usize; N],
    /// The distance between neighboring elements of one window.
    pub dilation: [usize; N],
    /// The number of groups of channels. Each group has its own outputs.
    pub groups: usize,
}

impl<const N: usize> Default for ConvOptions<N> {
    fn default() -> Self {
        Self {
            stride: [1; N],
            padding: [0; N],
            dilation: [1; N],
            groups: 1,
        }
    }
}

impl<const N: usize> ConvOptions<N> {
    /// Returns all options, for messages.
    #[doc(hidden)]
    pub fn describe(&self) -> String {
        let Self {
            stride,
            padding,
            dilation,
            groups,
        } = self;
        format!(
            "a stride of {stride:?}, a padding of {padding:?}, a dilation of {dilation:?} and {}",
            counted(*groups, "group", "groups")
        )
    }
}

impl ConvOptions<2> {
    /// Returns whether there is a convolution of images with weights of these shapes, of four axes.
    #[doc(hidden)]
    #[must_use]
    pub fn fit(&self, x: &[usize], weight: &[usize]) -> bool {
        Geometry::try_of_input(x, weight, self).is_some()
    }
}

/// The lengths of a convolution; channels and outputs are those of one group.
#[derive(Debug)]
pub(super) struct Geometry {
    pub(super) batch: usize,
    pub(super) groups: usize,
    pub(super) channels: usize,
    pub(super) outputs: usize,
    pub(super) input: [usize; 2],
    pub(super) kernel: [usize; 2],
    pub(super) output: [usize; 2],
    pub(super) options: ConvOptions<2>,
}

impl Geometry {
    #[track_caller]
    pub(super) fn of_input(x: &[usize], weight: &[usize], options: &ConvOptions<2>) -> Self {
        let Some(shape) = Self::try_of_input(x, weight, options) else {
            panic!(
                "conv2d of a tensor of shape {x:?} with weights of shape {weight:?}, {}: they do not fit",
                options.describe()
            )
        };
        shape
    }

    fn try_of_input(x: &[usize], weight: &[usize], options: &ConvOptions<2>) -> Option<Self> {
        Self::new(
            [x[0], x[1], weight[0], weight[1]],
            [x[2], x[3]],
            [weight[2], weight[3]],
            options,
        )
    }

    #[track_caller]
    pub(super) fn of_output(
        grad: &[usize],
        weight: &[usize],
        options: &ConvOptions<2>,
        size: [usize; 2],
    ) -> Self {
        let channels = weight[1].checked_mul(options.groups);
        let shape = channels.and_then(|channels| {
            let kernel = [weight[2], weight[3]];
            Self::new(
                [grad[0], channels, weight[0], weight[1]],
                size,
                kernel,
                options,
            )
        });
        match shape {
            Some(shape) if shape.output_shape() == *grad => shape,
            _ => panic!(
                "conv_transpose2d of a tensor of shape {grad:?} with weights of shape \
                 {weight:?}, {}, to images of size {size:?}: they do not fit",
                options.describe()
            ),
        }
    }

    #[track_caller]
    pub(super) fn of_weight(
        x: &[usize],
        grad: &[usize],
        options: &ConvOptions<2>,
        size: [usize; 2],
    ) -> Self {
        let channels = x[1].checked_div(options.groups).unwrap_or(0);
        let shape = Self::new([x[0], x[1], grad[1], channels], [x[2], x[3]], size, options);
        match shape {
            Some(shape) if shape.output_shape() == *grad => shape,
            _ => panic!(
                "the weights of size {size:?} of conv2d of a tensor of shape {x:?} to one \
                 of shape {grad:?}, with {}: they do not fit",
                options.describe()
            ),
        }
    }

    /// Returns the geometry of a batch, all channels, all outputs and the weights' channels; `None` if the lengths do
    /// not fit.
    pub(super) fn new(
        [batch, all_channels, all_outputs, channels]: [usize; 4],
        input: [usize; 2],
        kernel: [usize; 2],
        options: &ConvOptions<2>,
    ) -> Option<Self> {
        let groups = options.groups;
        let outputs = all_outputs.checked_div(groups)?;
        if channels.checked_mul(groups)? != all_channels || outputs * groups != all_outputs {
            return None;
        }
        let mut output = [0; 2];
        for axis in 0..2 {
            output[axis] = output_length(
                input[axis],
                kernel[axis],
                options.stride[axis],
                options.padding[axis],
                options.dilation[axis],
            )?;
        }
        // What is multiplied out later must not overflow.
        let of_one_group = [
            outputs, channels, kernel[0], kernel[1], output[0], output[1],
        ];
        let work = of_one_group.into_iter().chain([batch, groups]);
        work.filter(|&length| length > 0)
            .try_fold(1_usize, usize::checked_mul)?;
        Some(Self {
            batch,
            groups,
            channels,
            outputs,
            input,
            kernel,
            output,
            options: *options,
        })
    }

    pub(super) fn input_shape(&self) -> [usize; 4] {
        let [height, width] = self.input;
        [self.batch, self.groups * self.channels, height, width]
    }

    pub(super) fn output_shape(&self) -> [usize; 4] {
        let [height, width] = self.output;
        [self.batch, self.groups * self.outputs, height, width]
    }

    pub(super) fn weight_shape(&self) -> [usize; 4] {
        let [height, width] = self.kernel;
        [self.groups * self.outputs, self.channels, height, width]
    }

    pub(super) fn output_pixels(&self) -> usize {
        self.output[0] * self.output[1]
    }

    pub(super) fn kernel_pixels(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Returns how many products an output sums.
    pub(super) fn summands(&self) -> usize {
        self.channels * self.kernel_pixels()
    }
}

/// Returns the number of outputs along an axis; `None` if there are none.
pub(crate) fn output_length(
    input: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
) -> Option<usize> {
    if kernel == 0 || stride == 0 || dilation == 0 {
        return None;
    }
    let seen = (kernel - 1).checked_mul(dilation)?.checked_add(1)?;
    let padded = padding.checked_mul(2)?.checked_add(input)?;
    // Positions are computed with signs.
    isize::try_from(padded).ok()?;
    Some(padded.checked_sub(seen)? / stride + 1)
}
