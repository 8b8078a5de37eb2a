//! Convolutions against plain loops.

use pullback::ndarray::{Array1, Array4, Axis};
use pullback::nn::{Conv1d, Conv2d, ConvTranspose2d};
use pullback::ops::ConvOptions;
use pullback::prelude::*;

use super::{assert_close, generator, tensor};

/// Calls `each` with the indices of output, input and kernel, for each axis, that a convolution of images of `size`
/// with kernels of `kernel` multiplies.
fn places(
    size: [usize; 2],
    kernel: [usize; 2],
    output: [usize; 2],
    options: &ConvOptions<2>,
    mut each: impl FnMut([usize; 2], [usize; 2], [usize; 2]),
) {
    let along = |axis: usize| {
        let mut found = Vec::new();
        for out in 0..output[axis] {
            for k in 0..kernel[axis] {
                let place = out * options.stride[axis] + k * options.dilation[axis];
                if let Some(place) = place
                    .checked_sub(options.padding[axis])
                    .filter(|&p| p < size[axis])
                {
                    found.push([out, place, k]);
                }
            }
        }
        found
    };
    for [out_row, in_row, k_row] in along(0) {
        for [out_column, in_column, k_column] in along(1) {
            each(
                [out_row, out_column],
                [in_row, in_column],
                [k_row, k_column],
            );
        }
    }
}

fn naive(
    x: &Array4<f64>,
    weight: &Array4<f64>,
    bias: &Array1<f64>,
    options: &ConvOptions<2>,
) -> Array4<f64> {
    let (images, filters) = (x.dim(), weight.dim());
    let length = |axis: usize| {
        let seen = options.dilation[axis] * (weight.shape()[axis + 2] - 1) + 1;
        (x.shape()[axis + 2] + 2 * options.padding[axis] - seen) / options.stride[axis] + 1
    };
    let output = [length(0), length(1)];
    let mut y = Array4::zeros((images.0, filters.0, output[0], output[1]));
    for ((_, channel, _, _), y) in y.indexed_iter_mut() {
        *y = bias[channel];
    }
    let per_group = filters.0 / options.groups;
    for (image, out, channel) in (0..images.0)
        .flat_map(|i| (0..filters.0).flat_map(move |o| (0..filters.1).map(move |c| (i, o, c))))
    {
        let from = out / per_group * filters.1 + channel;
        places(
            [images.2, images.3],
            [filters.2, filters.3],
            output,
            options,
            |o, i, k| {
                y[[image, out, o[0], o[1]]] +=
                    x[[image, from, i[0], i[1]]] * weight[[out, channel, k[0], k[1]]];
            },
        );
    }
    y
}

#[test]
fn of_images() {
    let conv = Conv2d::<f64>::builder(4, 6, [3, 2])
        .stride([2, 1])
        .padding([1, 2])
        .dilation([1, 2])
        .groups(2);
    let conv = conv.build(&mut generator());
    assert_eq!(conv.weight.shape(), [6, 2, 3, 2]);
    let x = tensor((2, 4, 7, 5), 1);
    let bias = conv.bias.as_ref().unwrap().to_array();
    let expected = naive(&x.to_array(), &conv.weight.to_array(), &bias, &conv.options);
    assert_close(&conv.forward(&x).to_array(), &expected);
}

#[test]
fn of_signals() {
    let conv = Conv1d::<f64>::builder(2, 4, 3)
        .stride(2)
        .padding(1)
        .dilation(2)
        .build(&mut generator());
    let x = tensor((3, 2, 9), 1);
    let options = ConvOptions {
        stride: [1, 2],
        padding: [0, 1],
        dilation: [1, 2],
        groups: 1,
    };
    let (image, filters) = (
        x.to_array().insert_axis(Axis(2)),
        conv.weight.to_array().insert_axis(Axis(2)),
    );
    let expected = naive(
        &image,
        &filters,
        &conv.bias.as_ref().unwrap().to_array(),
        &options,
    );
    assert_close(&conv.forward(&x).to_array(), &expected.remove_axis(Axis(2)));
}

#[test]
fn the_reverse_adds_where_the_convolution_looks() {
    let builder = ConvTranspose2d::<f64>::builder(4, 6, [3, 2])
        .stride([2, 3])
        .padding([1, 0]);
    let conv = builder
        .output_padding([1, 2])
        .groups(2)
        .build(&mut generator());
    let x = tensor((2, 4, 3, 2), 1);
    let (weight, bias) = (
        conv.weight.to_array(),
        conv.bias.as_ref().unwrap().to_array(),
    );
    // (n − 1) · stride − 2 · padding + kernel + output padding
    let size = [2 * 2 - 2 + 3 + 1, 3 + 2 + 2];
    let mut expected = Array4::zeros((2, 6, size[0], size[1]));
    for ((_, channel, _, _), y) in expected.indexed_iter_mut() {
        *y = bias[channel];
    }
    for (image, channel, out) in
        (0..2).flat_map(|i| (0..4).flat_map(move |c| (0..3).map(move |o| (i, c, o))))
    {
        let to = channel / 2 * 3 + out;
        places(size, [3, 2], [3, 2], &conv.options, |o, i, k| {
            expected[[image, to, i[0], i[1]]] +=
                x.view()[[image, channel, o[0], o[1]]] * weight[[channel, out, k[0], k[1]]];
        });
    }
    assert_close(&conv.forward(&x).to_array(), &expected);
}

#[test]
fn first_values_are_pytorchs() {
    let largest = |weight: &Tensor4<f64>| {
        weight
            .view()
            .fold(0.0_f64, |largest, x| largest.max(x.abs()))
    };
    let conv = Conv2d::<f64>::builder(8, 16, 5)
        .groups(2)
        .build(&mut generator());
    let bound = 1.0 / 100.0_f64.sqrt();
    assert!(largest(&conv.weight) <= bound && largest(&conv.weight) > 0.98 * bound);
    assert!(
        conv.bias
            .as_ref()
            .unwrap()
            .view()
            .iter()
            .all(|x| x.abs() <= bound)
    );
    // PyTorch uses the second axis of the weights.
    let reverse = ConvTranspose2d::<f64>::builder(8, 16, 5)
        .groups(2)
        .build(&mut generator());
    let bound = 1.0 / 200.0_f64.sqrt();
    assert!(largest(&reverse.weight) <= bound && largest(&reverse.weight) > 0.98 * bound);
}
