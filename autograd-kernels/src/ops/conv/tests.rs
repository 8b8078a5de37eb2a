//! Convolutions against sums that are written down, and against each other.

use std::thread::available_parallelism;

use ndarray::{Array1, Axis};

use super::*;
use crate::parallel::set_threads;
use crate::registers::tests::with_each_size;
use crate::testing::{Lengths, numbers};

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

const CASES: [Case; 18] = [
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
    // More padding than there is memory.
    (
        [1, 1, 1, 1],
        [1, 1, 1, 3],
        [[1, 1], [0, 1 << 40], [1, 1 << 40]],
        1,
    ),
    (
        [1, 1, 2, 1],
        [1, 1, 3, 1],
        [[2, 1], [1 << 40, 0], [1 << 40, 1]],
        1,
    ),
    // Strides after which there is no image.
    (
        [2, 2, 3, 4],
        [3, 2, 2, 2],
        [[usize::MAX, usize::MAX - 1], [0, 1], [1, 1]],
        1,
    ),
    (
        [1, 1, 3, 3],
        [1, 1, 2, 2],
        [[1 << 62, 1], [1 << 61, 0], [1, 1]],
        1,
    ),
    // Too many lines, channels and outputs for one task.
    ([1, 40, 12, 40], [2, 40, 3, 3], [[1, 1], [1, 1], [1, 1]], 1),
    ([1, 60, 3, 3], [130, 60, 3, 3], [[1, 1], [1, 1], [1, 1]], 1),
    ([1, 3, 5, 3000], [2, 3, 3, 3], [[1, 1], [1, 1], [1, 1]], 1),
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

/// Returns what registers of all sizes, and any number of threads, have computed: the same bits.
fn computed<T: Element>(compute: impl Fn() -> Array4<T>) -> Array4<T> {
    let bits = |x: &Array4<T>| x.mapv(|x| x.as_f64().to_bits());
    let [first, others @ ..] = with_each_size(compute);
    for other in others {
        assert_eq!(bits(&other), bits(&first));
    }
    first
}

/// Large enough for several threads, with one image and with more than one.
#[test]
fn any_number_of_threads_computes_the_same_bits() {
    let options = options([[1, 1], [1, 1], [1, 1]], 1);
    for (batch, size) in [(1, 28), (3, 17)] {
        let x = numbers([batch, 20, size, size], 0.0).mapv(f32::from_f64);
        let weight = numbers([70, 20, 3, 3], 0.3).mapv(f32::from_f64);
        let (x, weight) = (x.view(), weight.view());
        let grad = conv2d(&x, &weight, None, &options);
        let grad = grad.view();
        let all = || {
            [
                conv2d(&x, &weight, None, &options),
                conv_transpose2d(&grad, &weight, None, &options, [size, size]),
                conv2d_weight(&x, &grad, &options, [3, 3]),
            ]
        };
        let [first, others @ ..] = [1, 2, 5].map(|threads| {
            set_threads(threads);
            all()
        });
        set_threads(available_parallelism().map_or(1, usize::from));
        assert!(others.iter().all(|others| *others == first));
    }
}

/// Geometries of all kinds: lengths of 0 and 1, rows of all widths, many channels and few.
#[test]
fn random_convolutions_are_sums_over_windows() {
    let mut lengths = Lengths::new(7);
    let mut count = 0;
    for _ in 0..400 {
        let groups = lengths.pick(&[1, 1, 1, 2, 3]);
        let channels = lengths.pick(&[0, 1, 1, 2, 3, 4, 7, 9]);
        let outputs = lengths.pick(&[0, 1, 1, 2, 3, 5, 8, 9, 17, 33]);
        let kernel = [
            lengths.pick(&[1, 1, 2, 3, 3, 5]),
            lengths.pick(&[1, 1, 2, 3, 3, 5]),
        ];
        let size = [
            lengths.pick(&[0, 1, 2, 5, 9]),
            lengths.pick(&[0, 1, 2, 3, 7, 8, 16, 17, 30]),
        ];
        let stride = [lengths.pick(&[1, 1, 2, 3]), lengths.pick(&[1, 1, 2, 3, 5])];
        let padding = [lengths.choose(4), lengths.choose(4)];
        let dilation = [lengths.pick(&[1, 1, 2, 3]), lengths.pick(&[1, 1, 2, 3, 9])];
        let options = options([stride, padding, dilation], groups);
        let x = [
            lengths.pick(&[0, 1, 1, 2, 3]),
            channels * groups,
            size[0],
            size[1],
        ];
        let weight = [outputs * groups, channels, kernel[0], kernel[1]];
        if Geometry::new([x[0], x[1], weight[0], weight[1]], size, kernel, &options).is_none() {
            continue;
        }
        count += 1;
        check(x, weight, &options);
    }
    assert!(count > 200, "{count}");
}

/// Zeros around the gradients are not multiplied with weights.
#[test]
fn infinite_weights_meet_gradients_alone() {
    let options = options([[2, 1], [1, 1], [1, 2]], 2);
    let mut weight = numbers([4, 2, 3, 3], 0.3);
    weight[[1, 0, 0, 0]] = f64::INFINITY;
    weight[[2, 1, 2, 1]] = f64::NAN;
    let x = numbers([2, 4, 5, 6], 0.0);
    let grad = conv2d(&x.view(), &weight.mapv(|_| 1.0).view(), None, &options);
    let channels = Array1::from_shape_fn(4, |c| c as f64);
    let found = conv_transpose2d(
        &grad.view(),
        &weight.view(),
        Some(&channels.view()),
        &options,
        [5, 6],
    );
    let (expected, _) = gradients_by_definition(&x, &weight, &grad, &channels, &options);
    for (found, expected) in found.iter().zip(&expected) {
        let is_same = found == expected || (found - expected).abs() < 1e-12;
        assert!(
            is_same || (found.is_nan() && expected.is_nan()),
            "{found} is not {expected}"
        );
    }
    assert!(found.iter().any(|x| x.is_finite()) && found.iter().any(|x| x.is_infinite()));
}

/// Returns the gradients for images, plus a number for each channel, and for weights.
fn gradients_by_definition(
    x: &Array4<f64>,
    weight: &Array4<f64>,
    grad: &Array4<f64>,
    channels: &Array1<f64>,
    options: &ConvOptions<2>,
) -> (Array4<f64>, Array4<f64>) {
    let shape = Geometry::of_input(x.shape(), weight.shape(), options);
    let mut of_x = Array4::from_shape_fn(x.raw_dim(), |(_, c, ..)| channels[c]);
    let mut of_weight = Array4::zeros(weight.raw_dim());
    for ((n, o, y, v), &grad) in grad.indexed_iter() {
        let group = o / shape.outputs;
        for (c, i, j) in ndarray::indices((shape.channels, shape.kernel[0], shape.kernel[1])) {
            let row = y * options.stride[0] + i * options.dilation[0];
            let column = v * options.stride[1] + j * options.dilation[1];
            let row = row.wrapping_sub(options.padding[0]);
            let column = column.wrapping_sub(options.padding[1]);
            let seen = (n, group * shape.channels + c, row, column);
            if let Some(of_x) = of_x.get_mut(seen) {
                *of_x += weight[[o, c, i, j]] * grad;
                of_weight[[o, c, i, j]] += x[seen] * grad;
            }
        }
    }
    (of_x, of_weight)
}

/// Checks a convolution, its gradients, and the sums in `f32`.
fn check(x: [usize; 4], weight: [usize; 4], options: &ConvOptions<2>) {
    let message = format!("{x:?} {weight:?} {options:?}");
    let kernel = [weight[2], weight[3]];
    let (x, weight) = (numbers(x, 0.0), numbers(weight, 0.3));
    let bias = Array1::from_shape_fn(weight.shape()[0], |o| o as f64);
    let expected = by_definition(&x, &weight, &bias, options);
    let found = computed(|| conv2d(&x.view(), &weight.view(), Some(&bias.view()), options));
    let close = |found: &Array4<f64>, expected: &Array4<f64>, off: f64| {
        assert_eq!(found.dim(), expected.dim(), "{message}");
        let differences = found - expected;
        assert!(
            differences.iter().all(|found| found.abs() < off),
            "{message}"
        );
    };
    close(&found, &expected, 1e-11);

    let grad = numbers(found.raw_dim(), 0.7);
    let channels = Array1::from_shape_fn(x.shape()[1], |c| c as f64);
    let (of_x, of_weight) = gradients_by_definition(&x, &weight, &grad, &channels, options);
    let size = [x.shape()[2], x.shape()[3]];
    let (grad, weight) = (grad.view(), weight.view());
    let found =
        computed(|| conv_transpose2d(&grad, &weight, Some(&channels.view()), options, size));
    close(&found, &of_x, 1e-11);
    let found = computed(|| conv2d_weight(&x.view(), &grad, options, kernel));
    close(&found, &of_weight, 1e-11);

    let single = |x: &ArrayView4<f64>| x.mapv(f32::from_f64);
    let (x, grad, weight) = (single(&x.view()), single(&grad), single(&weight));
    let (x, grad, weight) = (x.view(), grad.view(), weight.view());
    let bias = bias.mapv(f32::from_f64);
    let found = computed(|| conv2d(&x, &weight, Some(&bias.view()), options));
    close(&found.mapv(f64::from), &expected, 1e-3);
    let channels = channels.mapv(f32::from_f64);
    let found =
        computed(|| conv_transpose2d(&grad, &weight, Some(&channels.view()), options, size));
    close(&found.mapv(f64::from), &of_x, 1e-3);
    let found = computed(|| conv2d_weight(&x, &grad, options, kernel));
    close(&found.mapv(f64::from), &of_weight, 1e-3);
}
