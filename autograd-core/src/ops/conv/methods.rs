//! The methods.

use ndarray::{Ix3, Ix4};

use super::{Conv, ConvTranspose};
use crate::ops::ConvOptions;
use crate::{Element, Tensor1, Tensor3, Tensor4};

impl<T: Element> Tensor3<T> {
    /// The convolution of signals of shape `[batch, channels, length]` with weights of shape `[outputs,
    /// channels / groups, length]`, plus a number for each output.
    ///
    /// # Panics
    /// If shapes and options do not fit: if `groups` do not divide channels and outputs, the weights have
    /// other channels or are longer than the padded signals, or a stride or dilation is 0.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ops::ConvOptions;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![[[1.0, 2.0, 4.0, 8.0]]]);
    /// let differences = Tensor::from(array![[[-1.0, 1.0]]]);
    /// let y = x.conv1d(&differences, None, ConvOptions::default());
    /// assert_eq!(y.to_array(), array![[[1.0, 2.0, 4.0]]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn conv1d(
        &self,
        weight: &Self,
        bias: Option<&Tensor1<T>>,
        options: ConvOptions<1>,
    ) -> Self {
        let [stride] = options.stride;
        let [padding] = options.padding;
        let [dilation] = options.dilation;
        let image = ConvOptions {
            stride: [1, stride],
            padding: [0, padding],
            dilation: [1, dilation],
            groups: options.groups,
        };
        Conv::<T, Ix3>::apply(self, weight, bias, image)
    }
}

impl<T: Element> Tensor4<T> {
    /// The convolution of images of shape `[batch, channels, height, width]` with weights of shape
    /// `[outputs, channels / groups, height, width]`, plus a number for each output.
    ///
    /// # Panics
    /// If shapes and options do not fit: if `groups` do not divide channels and outputs, the weights have
    /// other channels or are larger than the padded images, or a stride or dilation is 0.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ops::ConvOptions;
    /// use autograd_core::ndarray::Array4;
    ///
    /// let x = Tensor::from(Array4::<f32>::ones((1, 3, 8, 8)));
    /// let weight = Tensor::from(Array4::ones((5, 3, 3, 3)));
    /// let options = ConvOptions { padding: [1, 1], ..ConvOptions::default() };
    /// let y = x.conv2d(&weight, None, options);
    /// assert_eq!(y.shape(), [1, 5, 8, 8]);
    /// assert_eq!(y.view()[[0, 0, 4, 4]], 27.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn conv2d(
        &self,
        weight: &Self,
        bias: Option<&Tensor1<T>>,
        options: ConvOptions<2>,
    ) -> Self {
        Conv::<T, Ix4>::apply(self, weight, bias, options)
    }

    /// The reverse of a convolution, of images of shape `[batch, channels, height, width]` with weights of
    /// shape `[channels, outputs / groups, height, width]`, plus a number for each output: where
    /// [`conv2d`](Self::conv2d) would sum what a pixel looks at, each pixel adds itself there.
    ///
    /// With a stride, several sizes of images are convolved to one: `output_padding` adds so many rows and
    /// columns to the smallest of them.
    ///
    /// # Panics
    /// If shapes and options do not fit, as those of `conv2d`, or `output_padding` is neither 0 nor smaller
    /// than the stride.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ops::ConvOptions;
    /// use autograd_core::ndarray::{Array4, array};
    ///
    /// let x = Tensor::from(array![[[[1.0, 2.0]]]]);
    /// let weight = Tensor::from(Array4::ones((1, 1, 1, 2)));
    /// let options = ConvOptions { stride: [1, 2], ..ConvOptions::default() };
    /// let y = x.conv_transpose2d(&weight, None, options, [0, 0]);
    /// assert_eq!(y.to_array(), array![[[[1.0, 1.0, 2.0, 2.0]]]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn conv_transpose2d(
        &self,
        weight: &Self,
        bias: Option<&Tensor1<T>>,
        options: ConvOptions<2>,
        output_padding: [usize; 2],
    ) -> Self {
        let mut size = [0; 2];
        for (axis, size) in size.iter_mut().enumerate() {
            let lengths = [self.shape()[axis + 2], weight.shape()[axis + 2]];
            let Some(length) = transposed_length(lengths, &options, output_padding, axis) else {
                panic!(
                    "conv_transpose2d of a tensor of shape {:?} with weights of shape {:?}, {}, \
                     an output padding of {output_padding:?}: they do not fit",
                    self.shape(),
                    weight.shape(),
                    options.describe()
                )
            };
            *size = length;
        }
        ConvTranspose::<T, Ix4>::apply(self, weight, bias, options, size)
    }
}

/// The length of images whose convolution has length `output`; `None` if there are none.
fn transposed_length(
    [output, kernel]: [usize; 2],
    options: &ConvOptions<2>,
    output_padding: [usize; 2],
    axis: usize,
) -> Option<usize> {
    let (stride, dilation) = (options.stride[axis], options.dilation[axis]);
    let added = output_padding[axis];
    if added > 0 && added >= stride {
        return None;
    }
    let first = output.checked_sub(1)?.checked_mul(stride)?;
    let seen = kernel.checked_sub(1)?.checked_mul(dilation)?;
    let padded = first
        .checked_add(seen)?
        .checked_add(1)?
        .checked_add(added)?;
    padded.checked_sub(options.padding[axis].checked_mul(2)?)
}
