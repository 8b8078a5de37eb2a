//! Ten functions that are written for `f64`, on tensors of `f32`, with a cast before and after each.

use pullback::ndarray::{Array, Dimension};
use pullback::{Tensor, Tensor2};

use crate::reference::Case;

/// Compares a function of tensors of `f32` with the same function of the same numbers in `f64`: the output, and the
/// gradient of half the sum of its squares.
fn agrees<D: Dimension, E: Dimension>(
    x: Array<f64, D>,
    function: impl Fn(&Tensor<f64, D>) -> Tensor<f64, E>,
) {
    let single = Tensor::from(x).cast::<f32>();
    let double = single.cast::<f64>().set_requires_grad(true);
    let single = single.set_requires_grad(true);
    let expected = function(&double);
    let found: Tensor<f32, E> = function(&single.cast()).cast();
    expected
        .backward_with(expected.to_array())
        .expect("a graph");
    found.backward_with(found.to_array()).expect("a graph");
    close(&found.to_array(), &expected.to_array());
    let [Some(found), Some(expected)] = [
        single.grad().map(|grad| grad.mapv(f64::from)),
        double.grad(),
    ] else {
        panic!("two gradients");
    };
    close(&found, &expected);
}

/// Compares the entries, relative to the largest.
fn close<T: Copy + Into<f64>, D: Dimension>(found: &Array<T, D>, expected: &Array<f64, D>) {
    assert_eq!(found.shape(), expected.shape());
    let largest = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    assert!(largest > 0.0, "something to compare");
    for (found, expected) in found.iter().zip(expected) {
        let found: f64 = (*found).into();
        assert!(
            (found - expected).abs() <= 1e-6 * largest,
            "{found} is not {expected}"
        );
    }
}

#[test]
fn attention() {
    let case = Case::of("attention");
    let [k, v] = ["k", "v"].map(|name| case.leaf(name));
    agrees(case.array("q"), |q| {
        crate::attention::Attention::apply(q, &k, &v, 2)
    });
}

#[test]
fn ctc() {
    agrees(Case::of("ctc").array("x"), |x: &Tensor2<f64>| {
        let log_probs = x.log_softmax(pullback::ndarray::Axis(1));
        crate::ctc::Ctc::apply(&log_probs, &[1, 2, 2, 3])
    });
}

#[test]
fn entmax() {
    agrees(Case::of("entmax").array("x"), |x| {
        crate::entmax::entmax(x, 1.5)
    });
}

#[test]
fn lsq() {
    let case = Case::of("lsq");
    let step = case.leaf("step");
    agrees(case.array("x"), |x| crate::lsq::lsq(x, &step, 3));
}

#[test]
fn segment_softmax() {
    agrees(Case::of("segments").array("x"), |x| {
        crate::segments::segment_softmax(x, &[0, 2, 0, 1, 2, 2])
    });
}

#[test]
fn sinkhorn() {
    agrees(Case::of("sinkhorn").array("c"), |c| {
        crate::sinkhorn::Sinkhorn::apply(c, 0.2)
    });
}

#[test]
fn soft_dtw() {
    agrees(Case::of("soft_dtw").array("d"), |d| {
        crate::soft_dtw::SoftDtw::apply(d, 0.5)
    });
}

#[test]
fn sparsemax() {
    agrees(Case::of("sparsemax").array("x"), |x| {
        crate::sparsemax::sparsemax(x)
    });
}

#[test]
fn spline() {
    let case = Case::of("spline");
    let (at, knots) = (
        case.leaf("at"),
        case.array::<pullback::ndarray::Ix1>("knots"),
    );
    agrees(case.array("y"), |y| {
        crate::spline::Spline::apply(y, &at, &knots.to_vec())
    });
}

#[test]
fn sqrtm() {
    agrees(Case::of("sqrtm").array("a"), |a| {
        crate::sqrtm::Sqrtm::apply(a).expect("a positive definite matrix")
    });
}
