//! Reductions over all axes, one and several; cumulative sums and softmax.

use ndarray::{Array1, ArrayD, Axis, IxDyn, array, s};

use super::{SHAPES, assert_close, leaf, numbers};
use crate::{Grad, Tensor, Tensor0, Tensor1, TensorD, grad};

/// Checks a function along each axis of at least `shortest` elements, of every shape.
#[track_caller]
fn along_each_axis(shortest: usize, function: impl Fn(&TensorD<f64>, usize) -> TensorD<f64>) {
    for shape in SHAPES {
        for axis in (0..shape.len()).filter(|&axis| shape[axis] >= shortest) {
            gradchecks!(
                |(x,)| function(x, axis),
                (&leaf(shape),),
                "shape {shape:?}, axis {axis}"
            );
        }
    }
}

/// Checks the forms of one reduction: over all axes, and over one and several, which are removed or kept.
#[track_caller]
fn reduction(
    shortest: usize,
    all: impl Fn(&TensorD<f64>) -> Tensor0<f64>,
    axis: impl Fn(&TensorD<f64>, Axis) -> TensorD<f64>,
    keepdim: impl Fn(&TensorD<f64>, Axis) -> TensorD<f64>,
    axes: impl Fn(&TensorD<f64>, &[usize]) -> TensorD<f64>,
    axes_keepdim: impl Fn(&TensorD<f64>, &[usize]) -> TensorD<f64>,
) {
    let size = |shape: &[usize]| -> usize { shape.iter().product() };
    for shape in SHAPES.into_iter().filter(|shape| size(shape) >= shortest) {
        gradchecks!(|(x,)| all(x), (&leaf(shape),), "shape {shape:?}");
    }
    along_each_axis(shortest, |x, i| axis(x, Axis(i)));
    let x = leaf(&[2, 3, 2]);
    for several in [&[0, 2][..], &[2, 1], &[1]] {
        gradchecks!(|(x,)| axes(x, several), (&x,), "axes {several:?}");
    }
    gradchecks!(|(x,)| axes_keepdim(x, &[0, 2]), (&x,));
    gradchecks!(|(x,)| keepdim(x, Axis(1)), (&x,));
    // All forms agree.
    let along = axis(&x, Axis(1)).to_array();
    assert_eq!(
        keepdim(&x, Axis(1)).to_array(),
        along.clone().insert_axis(Axis(1))
    );
    assert_close(&axes(&x, &[1]).to_array(), &along);
    let whole = all(&x).to_array().into_dyn();
    assert_close(&axes(&x, &[2, 0, 1]).to_array(), &whole);
    assert_eq!(axes_keepdim(&x, &[0, 2]).shape(), [1, 3, 1]);
    let kept = axes_keepdim(&x, &[0, 1, 2]).to_array();
    assert_close(&kept, &whole.to_shape(vec![1; 3]).unwrap().to_owned());
    // Of another layout.
    let transposed = Tensor::from(x.to_array().reversed_axes());
    assert_close(
        &axis(&transposed, Axis(1)).to_array(),
        &along.reversed_axes(),
    );
}

macro_rules! forms {
    ($shortest:literal, $all:ident $axis:ident $axes:ident $keepdim:ident $(, $value:expr)?) => {
        reduction(
            $shortest,
            |x| x.$all($($value)?),
            |x, axis| x.$axis(axis $(, $value)?),
            |x, axis| x.$keepdim(&[axis.index()] $(, $value)?),
            |x, axes| x.$axes(axes $(, $value)?),
            |x, axes| x.$keepdim(axes $(, $value)?),
        )
    };
}

#[test]
fn sums_and_means() {
    forms!(0, sum sum_axis sum_axes sum_keepdim);
    forms!(1, mean mean_axis mean_axes mean_keepdim);
}

#[test]
fn products() {
    forms!(0, prod prod_axis prod_axes prod_keepdim);
}

#[test]
fn extremes() {
    forms!(1, max max_axis max_axes max_keepdim);
    forms!(1, min min_axis min_axes min_keepdim);
}

#[test]
fn spreads() {
    forms!(1, var var_axis var_axes var_keepdim, 0);
    forms!(2, var var_axis var_axes var_keepdim, 1);
    forms!(2, std std_axis std_axes std_keepdim, 1);
    forms!(0, norm norm_axis norm_axes norm_keepdim);
}

#[test]
fn exponentials() {
    forms!(1, logsumexp logsumexp_axis logsumexp_axes logsumexp_keepdim);
    along_each_axis(0, |x, axis| x.softmax(Axis(axis)));
    along_each_axis(0, |x, axis| x.log_softmax(Axis(axis)));
}

#[test]
fn running_sums() {
    along_each_axis(0, |x, axis| x.cumsum(Axis(axis)));
    let tenths = Tensor::from(Array1::from_elem(1_000_000, 0.1_f32)).cumsum(Axis(0));
    assert!((tenths.view()[999_999] - 100_000.0).abs() < 0.01);
}

fn gradient(x: &Tensor1<f64>, function: impl Fn(&Tensor1<f64>) -> Tensor0<f64>) -> Vec<f64> {
    let x = x.clone().set_requires_grad(true);
    grad(&function(&x), (&x,)).unwrap().0.to_array().to_vec()
}

#[test]
fn products_with_zeros_have_all_their_derivatives() {
    for zeros in [&[1][..], &[0, 2], &[0, 1, 2, 3]] {
        for length in [1, 2, 3, 4, 5, 8, 11] {
            let mut x = numbers(&[length]);
            zeros
                .iter()
                .filter(|&&zero| zero < length)
                .for_each(|&zero| x[zero] = 0.0);
            let x = Tensor::from(x).set_requires_grad(true);
            gradchecks!(|(x,)| x.prod(), (&x,), "{length} elements");
        }
    }
    let mut x = numbers(&[2, 3, 2]);
    x[[0, 1, 1]] = 0.0;
    x[[1, 1, 1]] = 0.0;
    let x = Tensor::from(x).set_requires_grad(true);
    gradchecks!(|(x,)| x.prod_axes(&[2, 1]), (&x,));
}

#[test]
fn products_out_of_range_have_their_derivatives() {
    let tiny = Tensor::from(array![1e-200, 1e-200, 2.0]);
    assert_eq!(gradient(&tiny, Tensor::prod), [2e-200, 2e-200, 0.0]);
    let huge = Tensor::from(array![1e200, 1e200, 1e-200]);
    let expected = [1.0, 1.0, f64::INFINITY];
    for (found, expected) in gradient(&huge, Tensor::prod).into_iter().zip(expected) {
        assert!(
            found == expected || (found - expected).abs() < 1e-12,
            "{found}"
        );
    }
    let infinite = Tensor::from(array![f64::INFINITY, 3.0, 2.0]);
    let expected = [6.0, f64::INFINITY, f64::INFINITY];
    assert_eq!(gradient(&infinite, Tensor::prod), expected);
}

#[test]
fn ties_share_the_gradient_but_the_first_has_it_along_an_axis() {
    let x = Tensor::from(array![2.0, 5.0, 5.0, 2.0]);
    assert_eq!(gradient(&x, Tensor::max), [0.0, 0.5, 0.5, 0.0]);
    assert_eq!(gradient(&x, Tensor::min), [0.5, 0.0, 0.0, 0.5]);
    let several = gradient(&x, |x| x.max_axes(&[0]).sum());
    assert_eq!(several, [0.0, 0.5, 0.5, 0.0]);
    assert_eq!(gradient(&x, |x| x.max_axis(Axis(0))), [0.0, 1.0, 0.0, 0.0]);
    let kept = gradient(&x, |x| x.min_keepdim(&[0]).sum());
    assert_eq!(kept, [0.5, 0.0, 0.0, 0.5]);
    assert_eq!((x.argmax(), x.argmin()), (1, 0));
    assert_eq!(x.argmax_axis(Axis(0)).into_scalar(), 1);
}

#[test]
fn nan_is_the_extreme() {
    let x = Tensor::from(array![1.0, f64::NAN, 3.0, f64::NAN]);
    assert!(x.max().item().is_nan() && x.min().item().is_nan());
    assert!(x.max_axis(Axis(0)).item().is_nan());
    assert_eq!(gradient(&x, Tensor::max), [0.0, 0.5, 0.0, 0.5]);
    assert_eq!(gradient(&x, |x| x.min_axis(Axis(0))), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!((x.argmax(), x.argmin()), (1, 1));
    let infinite = Tensor::from(Array1::from_elem(2, f64::NEG_INFINITY));
    assert_eq!(infinite.max().item(), f64::NEG_INFINITY);
    assert_eq!(infinite.argmax(), 0);
}

#[test]
fn indices_are_in_row_major_order() {
    let x = numbers(&[3, 4, 2]);
    let views = [
        x.clone(),
        x.clone().reversed_axes(),
        x.slice(s![..;-1, 1.., ..]).to_owned().into_dyn(),
    ];
    for array in views {
        let largest = array.iter().copied().fold(f64::MIN, f64::max);
        let x = Tensor::from(array.clone());
        assert_eq!(array.iter().nth(x.argmax()), Some(&largest));
        for axis in 0..3 {
            let indices = x.argmin_axis(Axis(axis));
            let values = x.min_axis(Axis(axis)).to_array();
            let lanes = array.lanes(Axis(axis)).into_iter();
            for ((lane, &index), &value) in lanes.zip(&indices).zip(&values) {
                assert_eq!(lane[index], value);
                assert!(lane.iter().all(|&other| other >= value));
            }
        }
    }
}

#[test]
fn no_elements_have_a_sum_and_a_product_but_no_extreme() {
    let nothing: TensorD<f64> = Tensor::from(ArrayD::zeros(IxDyn(&[0, 2])));
    let pair = |x: f64| ArrayD::from_elem(vec![2], x);
    assert_eq!(nothing.sum_axis(Axis(0)).to_array(), pair(0.0));
    assert_eq!(nothing.prod_axis(Axis(0)).to_array(), pair(1.0));
    assert_eq!((nothing.prod().item(), nothing.norm().item()), (1.0, 0.0));
    assert_eq!(nothing.sum_axis(Axis(1)).shape(), [0]);
    assert_eq!(nothing.max_axis(Axis(1)).shape(), [0]);
    assert_eq!(nothing.logsumexp().item(), f64::NEG_INFINITY);
    assert!(nothing.mean_axis(Axis(0)).view()[[0]].is_nan());
    assert!(nothing.var(0).item().is_nan() && nothing.std_axis(Axis(0), 1).view()[[1]].is_nan());
    assert_eq!(nothing.softmax(Axis(0)).shape(), [0, 2]);
    assert_eq!(nothing.cumsum(Axis(1)).shape(), [0, 2]);
    let one = Tensor::from(array![3.0_f64]);
    assert!(one.var(1).item().is_nan() && one.std(1).item().is_nan());
    assert!(one.var(2).item().is_nan());
}

#[test]
fn roots_of_zero_have_the_gradient_zero() {
    let equal = Tensor::from(array![3.0, 3.0, 3.0]);
    assert_eq!(gradient(&equal, |x| x.std(1)), [0.0; 3]);
    let zero = Tensor::from(array![0.0, 0.0]);
    assert_eq!(gradient(&zero, Tensor::norm), [0.0; 2]);
    let direction = Tensor::from(array![1.0, 2.0]);
    let along = crate::jvp(|(x,)| x.norm(), (&zero,), (&direction,));
    assert_eq!(along.unwrap().1.item(), 0.0);
}

#[test]
fn softmax_of_infinities() {
    let infinity = f64::INFINITY;
    let masked = Tensor::from(array![0.0, -infinity, 0.0]);
    assert_eq!(masked.softmax(Axis(0)).to_array(), array![0.5, 0.0, 0.5]);
    assert_eq!(gradient(&masked, |x| x.logsumexp()), [0.5, 0.0, 0.5]);
    let first = |x: &Tensor1<f64>| (x.softmax(Axis(0)) * Tensor::from(array![1.0, 0.0, 0.0])).sum();
    assert_eq!(gradient(&masked, first), [0.25, 0.0, -0.25]);
    let log_softmax = masked.log_softmax(Axis(0)).to_array();
    assert_eq!(log_softmax, array![-2.0_f64.ln(), -infinity, -2.0_f64.ln()]);
    let first = |x: &Tensor1<f64>| x.log_softmax(Axis(0)).max_axis(Axis(0));
    assert_eq!(gradient(&masked, first), [0.5, 0.0, -0.5]);
    let nothing_left = Tensor::from(array![-infinity, -infinity]);
    assert_eq!(nothing_left.logsumexp().item(), -infinity);
    assert!(nothing_left.softmax(Axis(0)).view()[0].is_nan());
    let one = Tensor::from(array![0.0, infinity]);
    assert_eq!(one.logsumexp().item(), infinity);
}

#[test]
fn a_missing_axis_is_reported_at_the_callers_line() {
    let x: TensorD<f64> = Tensor::from(numbers(&[2, 0]));
    let missing = Axis(2);
    panics_here!(x.sum_axis(missing));
    panics_here!(x.mean_axes(&[0, 2]));
    panics_here!(x.prod_axes(&[0, 0]));
    panics_here!(x.var_keepdim(&[2], 1));
    panics_here!(x.logsumexp_axis(missing));
    panics_here!(x.max_axis(Axis(1)));
    panics_here!(x.min_axes(&[1]));
    panics_here!(x.max());
    panics_here!(x.argmax_axis(Axis(1)));
    panics_here!(x.softmax(missing));
    panics_here!(x.log_softmax(missing));
    panics_here!(x.cumsum(missing));
}

#[test]
#[should_panic(expected = "max of shape [2, 0]: an empty tensor has no maximum")]
fn the_extreme_of_nothing_is_refused() {
    let _ = Tensor::from(numbers(&[2, 0])).max_axis(Axis(1));
}

#[test]
#[should_panic(expected = "var of shape [2, 3] over axis 2: the axis is out of range")]
fn a_missing_axis_is_named() {
    let _ = Tensor::from(numbers(&[2, 3])).var_axis(Axis(2), 0);
}

#[test]
fn lengths_whose_squares_are_out_of_range_have_gradients() {
    let gradient = |x: [f32; 2], factor: f32| {
        let x = Tensor::from(array![x[0], x[1]]).set_requires_grad(true);
        (x.norm() * factor).backward().unwrap();
        let grad = x.grad().unwrap();
        [grad[0] / factor, grad[1] / factor]
    };
    for (x, factor) in [([3e-33, 4e-33], 1e8), ([3e35, 4e35], 1e-6)] {
        let [first, second] = gradient(x, factor);
        assert!((first - 0.6).abs() < 1e-5 && (second - 0.8).abs() < 1e-5);
    }
    let [first, second] = gradient([1e-39, 0.0], 1.0);
    assert!((first - 1.0).abs() < 1e-3 && second == 0.0);
    for scale in [1e-30_f32, 1e30] {
        let x = Tensor::from(array![1.0, 2.0, 3.0] * scale).set_requires_grad(true);
        let std = x.std(1);
        std.backward().unwrap();
        assert!((std.item() / scale - 1.0).abs() < 1e-5);
        let off = x.grad().unwrap() - array![-0.5, 0.0, 0.5];
        assert!(off.iter().all(|off| off.abs() < 1e-5));
    }
}

#[test]
fn deviations_whose_sum_is_out_of_range_have_gradients() {
    let check = |x: [f32; 4], std: f32, unit: [f32; 4]| {
        let x = Tensor::from(Array1::from(x.to_vec())).set_requires_grad(true);
        let found = x.std(1);
        found.backward().unwrap();
        assert!((found.item() / std - 1.0).abs() < 1e-6, "{found:?}");
        let off = x.grad().unwrap() - Array1::from(unit.to_vec());
        assert!(off.iter().all(|off| off.abs() < 1e-6), "{off}");
        // The largest unit is the same.
        let (small, along) = (
            x.detach() * 1e-30,
            Tensor::from(array![1.0, -2.0, 0.5, 3.0]),
        );
        let of = |x: &Tensor1<f32>| crate::jvp(|x| x.std(1), x, &along).unwrap().1.item();
        assert!((of(&x) - of(&small)).abs() < 1e-5);
    };
    let root = 3.0_f32.sqrt();
    check(
        [-3e38, -1e30, -3e38, 0.0],
        root * 1e38,
        [-0.5 / root, 0.5 / root, -0.5 / root, 0.5 / root],
    );
    // Even a difference to the mean is out of range.
    check(
        [3e38, 3e38, 3e38, -3e38],
        3e38,
        [1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, -0.5],
    );
    let large = Tensor::from(array![3e38_f32, 3e38, 2e38]);
    assert!((large.mean().item() / 2.666_666_7e38 - 1.0).abs() < 1e-6);
    assert_eq!(gradient32(&large, |x| x.mean()), [1.0 / 3.0; 3]);
    assert_eq!(
        Tensor::from(array![3e38_f32, 3e38, 3e38]).var(1).item(),
        0.0
    );
    assert_eq!(
        Tensor::from(array![f32::INFINITY, 1.0]).mean().item(),
        f32::INFINITY
    );
    let nothing: Tensor1<f64> = Tensor::from(array![]);
    assert!(nothing.mean().item().is_nan());
}

fn gradient32(x: &Tensor1<f32>, f: impl Fn(&Tensor1<f32>) -> Tensor0<f32>) -> Vec<f32> {
    let x = x.clone().set_requires_grad(true);
    grad(&f(&x), &x).unwrap().to_array().to_vec()
}

#[test]
fn second_derivatives_of_lengths() {
    let second = |x: [f32; 3], f: fn(&Tensor1<f32>) -> Tensor0<f32>| {
        let x = Tensor::from(Array1::from(x.to_vec())).set_requires_grad(true);
        let (first,) = Grad::of(&f(&x)).create_graph(true).run((&x,)).unwrap();
        let row = (first * Tensor::from(array![1.0, 0.0, 0.0])).sum();
        grad(&row, (&x,)).unwrap().0.to_array()
    };
    // (δ − x xᵀ / ‖x‖²) / ‖x‖
    let found = second([3e-21, 4e-21, 0.0], |x| x.norm()) / 1e20;
    assert!(
        (found - array![1.28, -0.96, 0.0])
            .iter()
            .all(|off| off.abs() < 1e-3)
    );
    // The derivative of the subgradient 0, whatever the unit of x.
    assert_eq!(second([0.0; 3], |x| x.norm()), Array1::zeros(3));
    assert_eq!(second([5.0; 3], |x| x.std(0)), Array1::zeros(3));
}

#[test]
fn a_result_that_does_not_fit_into_memory_is_reported_at_the_callers_line() {
    let nothing = Tensor::from(ndarray::Array2::<f64>::zeros((1 << 50, 0)));
    let one = Axis(1);
    panics_here!(nothing.sum_axis(one));
    panics_here!(nothing.mean_axes(&[1]));
    panics_here!(nothing.var_axis(one, 0));
    panics_here!(nothing.prod_axis(one));
    panics_here!(nothing.logsumexp_axis(one));
    panics_here!(nothing.norm_axis(one));
}
