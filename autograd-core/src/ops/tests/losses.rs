//! Losses.

use ndarray::{Array1, Array2, Axis, array};

use super::{SHAPES, assert_close, leaf, matrix, numbers};
use crate::ops::{CrossEntropyOptions, Reduction};
use crate::{Grad, Tensor, Tensor2, TensorD, grad};

/// Against predictions and targets of every shape, that are never equal.
#[track_caller]
fn loss(function: impl Fn(&TensorD<f64>, &TensorD<f64>) -> TensorD<f64>) {
    for shape in SHAPES {
        let target = Tensor::from(numbers(shape) * 0.4 + 0.3).set_requires_grad(true);
        gradchecks!(
            |(x, y)| function(x, y),
            (&leaf(shape), &target),
            "shape {shape:?}"
        );
    }
}

#[test]
fn losses_of_elements() {
    loss(|x, y| x.mse_loss_unreduced(y));
    loss(|x, y| x.l1_loss_unreduced(y));
    loss(|x, y| x.huber_loss_unreduced(y, 0.2));
    loss(|x, y| x.bce_with_logits_unreduced(y));
    loss(|x, y| x.kl_div_unreduced(y));
}

#[test]
fn their_means_and_sums() {
    let (x, y) = (leaf(&[2, 3]), Tensor::from(numbers(&[2, 3]) * 0.4));
    for reduction in [Reduction::Mean, Reduction::Sum] {
        let scale = match reduction {
            Reduction::Mean => 6.0,
            Reduction::Sum => 1.0,
        };
        for (found, each) in [
            (x.mse_loss(&y, reduction), x.mse_loss_unreduced(&y)),
            (x.l1_loss(&y, reduction), x.l1_loss_unreduced(&y)),
            (
                x.huber_loss(&y, 0.2, reduction),
                x.huber_loss_unreduced(&y, 0.2),
            ),
            (
                x.bce_with_logits(&y, reduction),
                x.bce_with_logits_unreduced(&y),
            ),
            (x.kl_div(&y, reduction), x.kl_div_unreduced(&y)),
        ] {
            assert!((found.item() - each.to_array().sum() / scale).abs() < 1e-12);
        }
    }
}

#[test]
fn kinks_and_extremes() {
    let gradient = |x: f64, y: f64, each: fn(&TensorD<f64>, &TensorD<f64>) -> TensorD<f64>| {
        let x = Tensor::from(array![x]).into_dyn().set_requires_grad(true);
        let y = Tensor::from(array![y]).into_dyn().set_requires_grad(true);
        let loss = each(&x, &y);
        let (x, y) = grad(&loss.sum(), (&x, &y)).unwrap();
        [loss.view()[[0]], x.view()[[0]], y.view()[[0]]]
    };
    let infinity = f64::INFINITY;
    let l1 = |x, y| gradient(x, y, |x, y| x.l1_loss_unreduced(y));
    assert_eq!(l1(1.0, 1.0), [0.0, 0.0, 0.0]);
    assert!(l1(f64::NAN, 1.0).iter().all(|x| x.is_nan()));
    let huber = gradient(2.0, 1.0, |x, y| x.huber_loss_unreduced(y, 1.0));
    assert_eq!(huber, [0.5, 1.0, -1.0]);
    let huber = gradient(-infinity, 1.0, |x, y| x.huber_loss_unreduced(y, 2.0));
    assert_eq!(huber, [infinity, -2.0, 2.0]);
    let [loss, slope, _] = gradient(-50.0, 0.0, |x, y| x.bce_with_logits_unreduced(y));
    assert!((loss / (-50.0_f64).exp() - 1.0).abs() < 1e-14 && (slope / loss - 1.0).abs() < 1e-14);
    let bce = gradient(800.0, 1.0, |x, y| x.bce_with_logits_unreduced(y));
    assert_eq!(bce, [0.0, 0.0, -800.0]);
    let kl_div = gradient(-1.0, 0.0, |x, y| x.kl_div_unreduced(y));
    assert_eq!(kl_div, [0.0, 0.0, -infinity]);
}

fn logits() -> Tensor2<f64> {
    Tensor::from(matrix(3, 4) * 3.0).set_requires_grad(true)
}

fn options(label_smoothing: f64, ignore_index: Option<usize>) -> CrossEntropyOptions {
    CrossEntropyOptions {
        label_smoothing,
        ignore_index,
    }
}

#[test]
fn losses_of_labels() {
    let logits = logits();
    let (smooth, full) = (options(0.3, None), options(1.0, None));
    let (ignoring, both) = (options(0.0, Some(0)), options(0.3, Some(0)));
    for options in [CrossEntropyOptions::default(), smooth, full, ignoring, both] {
        gradchecks!(
            |(x,)| x.cross_entropy_unreduced(&[3, 0, 1], options),
            (&logits,)
        );
        let mean =
            |(x,): (&Tensor2<f64>,)| x.cross_entropy_opts(&[3, 0, 1], Reduction::Mean, options);
        gradchecks!(mean, (&logits,));
    }
    for ignored in [None, Some(0), Some(77)] {
        gradchecks!(|(x,)| x.nll_loss_unreduced(&[3, 0, 1], ignored), (&logits,));
    }
    gradchecks!(
        |(x,)| x.cross_entropy_unreduced(&[], options(0.0, None)),
        (&Tensor::from(Array2::<f64>::zeros((0, 4))),)
    );
}

#[test]
fn cross_entropy_is_the_log_likelihood_of_log_softmax() {
    let (logits, labels) = (logits(), [3, 9, 1]);
    let ignored = options(0.0, Some(9));
    for reduction in [Reduction::Mean, Reduction::Sum] {
        let fused = logits.cross_entropy_opts(&labels, reduction, ignored);
        let composed = logits
            .log_softmax(Axis(1))
            .nll_loss(&labels, Some(9), reduction);
        assert!((fused.item() - composed.item()).abs() < 1e-12);
        let gradients = [fused, composed].map(|loss| grad(&loss, (&logits,)).unwrap().0.to_array());
        assert_close(&gradients[0], &gradients[1]);
    }
    // Smoothed: a part of the mean over all classes.
    let losses = |options| {
        logits
            .cross_entropy_unreduced(&[3, 0, 1], options)
            .to_array()
    };
    let (found, plain) = (losses(options(0.2, None)), losses(options(0.0, None)));
    let spread = -logits.log_softmax(Axis(1)).mean_axis(Axis(1)).to_array();
    let expected = plain * 0.8 + spread * 0.2;
    assert_close(&found, &expected);
}

#[test]
fn impossible_and_certain_classes() {
    let infinity = f64::INFINITY;
    let x = array![
        [0.0, -infinity, 0.0],
        [1e4, 0.0, -1e4],
        [-infinity, 0.0, f64::NAN]
    ];
    let x = Tensor::from(x).set_requires_grad(true);
    let options = options(0.0, Some(9));
    let losses = x.cross_entropy_unreduced(&[0, 1, 9], options);
    assert_eq!(losses.to_array(), array![2.0_f64.ln(), 1e4, 0.0]);
    let (gradient,) = grad(&losses.sum(), (&x,)).unwrap();
    let expected = array![[-0.5, 0.0, 0.5], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]];
    assert_eq!(gradient.to_array(), expected);
    let losses = x.nll_loss_unreduced(&[1, 9, 9], Some(9));
    assert_eq!(losses.to_array(), array![infinity, 0.0, 0.0]);
    let (gradient,) = grad(&losses.sum(), (&x,)).unwrap();
    assert_eq!(gradient.to_array().row(0), array![0.0, -1.0, 0.0]);
    assert_eq!(gradient.to_array().row(2), array![0.0, 0.0, 0.0]);
    let none = x.cross_entropy_opts(&[9, 9, 9], Reduction::Mean, options);
    assert!(none.item().is_nan());
}

#[test]
fn rows_that_do_not_count_have_no_gradient_where_the_mean_is_nan() {
    let logits = logits();
    let (labels, ignored) = ([9; 3], Some(9));
    let nll_loss = logits.nll_loss(&labels, ignored, Reduction::Mean);
    let smooth = options(0.3, ignored);
    let cross_entropy = logits.cross_entropy_opts(&labels, Reduction::Mean, smooth);
    let zeros = Array2::zeros((3, 4));
    let (gradient,) = grad(&nll_loss, (&logits,)).unwrap();
    assert_eq!(gradient.to_array(), zeros);
    let pass = Grad::of(&cross_entropy).create_graph(true);
    let (gradient,) = pass.run((&logits,)).unwrap();
    assert_eq!(gradient.to_array(), zeros);
    let (second,) = grad(&gradient.sum(), (&logits,)).unwrap();
    assert_eq!(second.to_array(), zeros);
}

#[test]
fn a_certain_and_correct_prediction_has_a_small_loss() {
    for x in [1.0_f64, 12.0, 20.0, 50.0] {
        let loss = |x, target| Tensor::from(array![x]).bce_with_logits_unreduced(&target);
        let expected = (-x).exp().ln_1p();
        for loss in [
            loss(x, Tensor::from(array![1.0])),
            loss(-x, Tensor::from(array![0.0])),
        ] {
            assert!((loss.item() / expected - 1.0).abs() < 1e-14, "{x}");
        }
    }
    // The target is not certain: x · (1 − target) is most of the loss.
    let (x, target) = (30.0_f64, 1.0 - 1e-12);
    let loss =
        Tensor::from(array![x]).bce_with_logits(&Tensor::from(array![target]), Reduction::Sum);
    let expected = x * (1.0 - target) + (-x).exp().ln_1p();
    assert!((loss.item() / expected - 1.0).abs() < 1e-14);
    let wrong =
        Tensor::from(array![f64::INFINITY]).bce_with_logits_unreduced(&Tensor::from(array![0.0]));
    assert_eq!(wrong.item(), f64::INFINITY);
}

#[test]
fn mistakes_are_reported_at_the_callers_line() {
    let (x, y) = (logits(), Tensor::from(Array2::<f64>::zeros((3, 1))));
    let negative = options(-0.1, None);
    panics_here!(x.mse_loss(&y, Reduction::Mean));
    panics_here!(x.l1_loss(&y, Reduction::Mean));
    panics_here!(x.huber_loss(&x, 0.0, Reduction::Sum));
    panics_here!(x.bce_with_logits_unreduced(&y));
    panics_here!(x.kl_div_unreduced(&y));
    panics_here!(x.cross_entropy(&[0, 1], Reduction::Mean));
    panics_here!(x.cross_entropy(&[0, 1, 4], Reduction::Mean));
    panics_here!(x.cross_entropy_unreduced(&[0, 1, 2], negative));
    panics_here!(x.nll_loss_unreduced(&[0, 1, 4], None));
}

#[test]
#[should_panic(expected = "cross_entropy of shape [3, 4]: the label 7 of row 1 is not a class")]
fn a_label_that_is_not_a_class_is_named() {
    let _ = logits().cross_entropy(&[0, 7, 1], Reduction::Mean);
}

#[test]
#[should_panic(expected = "mse_loss of shape [2] with a target of shape [1]: they differ")]
fn targets_are_not_broadcast() {
    let x = Tensor::from(Array1::<f64>::zeros(2));
    let _ = x.mse_loss(&Tensor::from(Array1::zeros(1)), Reduction::Mean);
}

#[test]
fn rows_of_no_class_that_are_all_ignored_have_gradients() {
    let x = Tensor::from(Array2::<f64>::zeros((2, 0))).set_requires_grad(true);
    let options = options(0.0, Some(9));
    for losses in [
        x.nll_loss_unreduced(&[9, 9], Some(9)),
        x.cross_entropy_unreduced(&[9, 9], options),
    ] {
        assert_eq!(losses.to_array(), array![0.0, 0.0]);
        let (gradient,) = grad(&losses.sum(), (&x,)).unwrap();
        assert_eq!(gradient.shape(), [2, 0]);
    }
    let x = x.detach();
    let (_, along) = crate::jvp(|x| x.nll_loss_unreduced(&[9, 9], Some(9)), &x, &x).unwrap();
    assert_eq!(along.to_array(), array![0.0, 0.0]);
}
