//! Convolutions against sums that are written down, and against each other.

use ndarray::{Array1, Axis};

use super::*;
use crate::testing::numbers;

fn by_definition(
    x: &Array4<f64>,
    weight: &Array4<f64>,
    bias: &Array1<f64>,
    options: &ConvOptions<2>,
) -> Array4<f64> {
    let shape = Geometry::of_input(x.shape(), weight.shape(), options);
    Array4::from_shape_fn(shape.output_shape(), |(n, o, y, x_out)| {
        let group = o / shape.outputs;
        let mut sum = bias[o];
        for (c, i, j) in ndarray::indices((shape.channels, shape.kernel[0], shape.kernel[1])) {
            let row = y * options.stride[0] + i * options.dilation[0];
            let column = x_out * options.stride[1] + j * options.dilation[1];
            let row = row.wrapping_sub(options.padding[0]);
            let column = column.wrapping_sub(options.padding[1]);
            let seen = x.get((n, group * shape.channels + c, row, column));
            sum += weight[[o, c, i, j]] * seen.copied().unwrap_or(0.0);
        }
        sum
    })
}

/// Shapes of images and weights, stride, padding, dilation, groups.
type Case = ([usize; 4], [usize; 4], [[usize; 2]; 3], usize);

const CASES: [Case; 12] = [
    ([2, 3, 5, 6], [4, 3, 3, 2], [[1, 1], [0, 0], [1, 1]], 1),
    ([2, 2, 6, 7], [3, 2, 3, 2], [[2, 1], [1, 2], [1, 2]], 1),
    ([1, 4, 5, 5], [6, 2, 3, 3], [[1, 2], [1, 1], [1, 1]], 2),
    ([2, 3, 4, 4], [3, 1, 2, 2], [[3, 3], [4, 5], [2, 1]], 3),
    ([2, 3, 4, 5], [5, 3, 1, 1], [[1, 1], [0, 0], [1, 1]], 1),
    ([1, 4, 4, 5], [2, 2, 1, 1], [[1, 1], [0, 0], [1, 1]], 2),
    ([1, 1, 1, 1], [1, 1, 2, 2], [[2, 2], [3, 3], [1, 1]], 1),
    ([0, 1, 3, 3], [2, 1, 2, 2], [[1, 1], [0, 0], [1, 1]], 1),
    // The outer columns of these kernels cover padding alone.
    ([1, 1, 2, 2], [1, 1, 7, 7], [[1, 1], [3, 3], [1, 1]], 1),
    ([2, 1, 1, 1], [2, 1, 3, 5], [[1, 1], [2, 6], [2, 3]], 1),
    ([1, 2, 1, 3], [1, 2, 2, 4], [[1, 2], [1, 6], [1, 4]], 1),
    ([1, 40, 12, 40], [2, 40, 3, 3], [[1, 1], [1, 1], [1, 1]], 1),
];

fn options([stride, padding, dilation]: [[usize; 2]; 3], groups: usize) -> ConvOptions<2> {
    ConvOptions {
        stride,
        padding,
        dilation,
        groups,
    }
}

#[test]
fn convolutions_are_sums_over_windows() {
    for (x, weight, lengths, groups) in CASES {
        let options = options(lengths, groups);
        let (x, weight) = (numbers(x, 0.0), numbers(weight, 0.3));
        let bias = Array1::from_shape_fn(weight.shape()[0], |o| o as f64);
        let expected = by_definition(&x, &weight, &bias, &options);
        let found = conv2d(&x.view(), &weight.view(), Some(&bias.view()), &options);
        assert!((found - &expected).iter().all(|off| off.abs() < 1e-12));
        let zeros = Array1::zeros(bias.len());
        let expected = by_definition(&x, &weight, &zeros, &options);
        // In another order of axes, and backwards.
        let mut reversed = x.clone();
        reversed.invert_axis(Axis(3));
        let mut reversed = reversed.as_standard_layout().into_owned();
        reversed.invert_axis(Axis(3));
        let found = conv2d(&reversed.view(), &weight.view(), None, &options);
        assert!((found - &expected).iter().all(|off| off.abs() < 1e-12));
    }
}

#[test]
fn the_three_convolutions_are_gradients_of_each_other() {
    for (x, weight, lengths, groups) in CASES {
        let options = options(lengths, groups);
        let (x, weight) = (numbers(x, 0.0), numbers(weight, 0.3));
        let y = conv2d(&x.view(), &weight.view(), None, &options);
        let grad = numbers(y.raw_dim(), 0.7);
        let size = [x.shape()[2], x.shape()[3]];
        let of_x = conv_transpose2d(&grad.view(), &weight.view(), None, &options, size);
        let kernel = [weight.shape()[2], weight.shape()[3]];
        let of_weight = conv2d_weight(&x.view(), &grad.view(), &options, kernel);
        let number = (&y * &grad).sum();
        assert_eq!((of_x.dim(), of_weight.dim()), (x.dim(), weight.dim()));
        for other in [(of_x * &x).sum(), (of_weight * &weight).sum()] {
            assert!((other - number).abs() < 1e-10, "{other} is not {number}");
        }
        let ones = Array1::ones(x.shape()[1]);
        let more = conv_transpose2d(
            &grad.view(),
            &weight.view(),
            Some(&ones.view()),
            &options,
            size,
        );
        let of_x = conv_transpose2d(&grad.view(), &weight.view(), None, &options, size);
        assert!((more - of_x).iter().all(|off| (off - 1.0).abs() < 1e-12));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (x, weight) = (numbers([1, 2, 3, 3], 0.0), numbers([2, 2, 2, 2], 0.0));
    let refused = [
        options([[0, 1], [0, 0], [1, 1]], 1),
        options([[1, 1], [0, 0], [1, 0]], 1),
        options([[1, 1], [0, 0], [1, 1]], 0),
        options([[1, 1], [0, 0], [1, 1]], 2),
        options([[1, 1], [0, 0], [9, 1]], 1),
        options([[1, 1], [0, 0], [usize::MAX, 1]], 1),
        options([[1, 1], [usize::MAX / 2, 0], [1, 1]], 1),
        options([[1, 1], [usize::MAX / 8, usize::MAX / 8], [1, 1]], 1),
    ];
    for options in refused {
        let result = std::panic::catch_unwind(|| conv2d(&x.view(), &weight.view(), None, &options));
        let panic = *result.unwrap_err().downcast::<String>().unwrap();
        assert!(panic.contains("they do not fit"), "{panic}");
    }
}
