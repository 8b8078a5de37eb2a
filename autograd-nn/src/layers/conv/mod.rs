//! Convolutions, and their transpose.

mod builder;
mod conv_transpose2d;
mod convolution;

pub use builder::ConvBuilder;
pub use conv_transpose2d::ConvTranspose2d;
pub use convolution::{Conv1d, Conv2d};

use autograd_core::ops::ConvOptions;

use crate::layers::print;

/// Formats the options of a convolution as PyTorch does.
fn options<const N: usize>(
    channels: [usize; 2],
    kernel: &[usize],
    options: &ConvOptions<N>,
    output_padding: [usize; N],
    bias: bool,
) -> String {
    let [inputs, outputs] = channels;
    let kernel = print::tuple(kernel);
    let stride = print::tuple(&options.stride);
    let mut text = format!("{inputs}, {outputs}, kernel_size={kernel}, stride={stride}");
    let tuple = |numbers: [usize; N]| print::tuple(&numbers);
    print::add_unless(&mut text, "padding", options.padding, [0; N], tuple);
    print::add_unless(&mut text, "dilation", options.dilation, [1; N], tuple);
    print::add_unless(&mut text, "output_padding", output_padding, [0; N], tuple);
    print::add_unless(&mut text, "groups", options.groups, 1, |groups| {
        groups.to_string()
    });
    print::add_unless(&mut text, "bias", bias, true, |bias| {
        print::truth(bias).to_owned()
    });
    text
}
