//! Forward mode, and what becomes of it when it meets itself and backward passes.

use std::cell::RefCell;

use pullback::functional::Functional;
use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;
use pullback::{Error, ErrorKind, InputTensors, Node, OutputTensors};

use crate::functions::{HalfTangent, SinhCosh, Square, SquareOnce, leaf};

/// Forward mode alone, recorded.
#[track_caller]
fn jvp<I, O, F>(function: F, inputs: I, tangents: I) -> Result<(O, O), Error>
where
    I: InputTensors,
    O: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O,
{
    let options = Functional::new().forward_mode(true).create_graph(true);
    options.jvp(function, inputs, tangents)
}

/// y = x · w + b, and how many of its elements are positive; with a rule on arrays.
struct Affine;

#[custom_function(name = "affine")]
impl Affine {
    #[forward(outputs(y, rounded, positive), non_differentiable(rounded))]
    fn forward(
        x: ArrayView1<f64>,
        w: Array1<f64>,
        b: Option<ArrayView1<f64>>,
        #[non_differentiable] mask: ArrayView1<f64>,
        scale: Vec<f64>,
    ) -> Result<(Array1<f64>, Array1<f64>, usize), String> {
        if scale.is_empty() {
            return Err("no scale".to_owned());
        }
        let y =
            &x * &w * mask * scale[0] + b.map_or_else(|| Array1::zeros(x.len()), |b| b.to_owned());
        let rounded = y.round();
        let positive = y.iter().filter(|y| **y > 0.0).count();
        Ok((y, rounded, positive))
    }

    #[backward]
    fn backward(
        grad_y: ArrayView1<f64>,
        x: ArrayView1<f64>,
        w: ArrayView1<f64>,
        mask: ArrayView1<f64>,
        scale: &[f64],
    ) -> (Array1<f64>, Array1<f64>, Array1<f64>) {
        let grad = &grad_y * &mask * scale[0];
        (&grad * &w, &grad * &x, grad_y.to_owned())
    }

    #[jvp]
    fn jvp(
        tangent_x: ArrayView1<f64>,
        tangent_w: Option<Array1<f64>>,
        tangent_b: Option<ArrayView1<f64>>,
        x: Array1<f64>,
        w: ArrayView1<f64>,
        b: Option<ArrayView1<f64>>,
        mask: ArrayView1<f64>,
        scale: &[f64],
        y: ArrayView1<f64>,
        positive: usize,
    ) -> Array1<f64> {
        assert!(b.is_some() || tangent_b.is_none());
        assert_eq!(y.iter().filter(|y| **y > 0.0).count(), positive);
        let along_w = tangent_w.map_or_else(|| Array1::zeros(x.len()), |tangent| tangent * &x);
        let along_b =
            tangent_b.map_or_else(|| Array1::zeros(y.len()), |tangent| tangent.to_owned());
        (&tangent_x * &w + along_w) * mask * scale[0] + along_b
    }
}

fn affine(x: &Tensor1<f64>, w: &Tensor1<f64>, b: Option<&Tensor1<f64>>) -> Tensor1<f64> {
    let mask = Tensor::from(array![1.0, 0.0]);
    let (y, rounded, _) = Affine::apply(x, w.clone(), b, &mask, vec![3.0]).unwrap();
    assert!(!rounded.requires_grad());
    y
}

fn pair() -> (Tensor1<f64>, Tensor1<f64>) {
    (
        Tensor::from(array![1.0, 2.0]),
        Tensor::from(array![-3.0, 0.5]),
    )
}

#[test]
fn a_rule_on_arrays() {
    let (x, w) = pair();
    let directions = (
        &Tensor::from(array![1.0, 1.0]),
        &Tensor::from(array![10.0, 1.0]),
    );
    let (y, along) = jvp(|(x, w)| affine(x, w, Some(x)), (&x, &w), directions).unwrap();
    assert_eq!(y.to_array(), array![-8.0, 2.0]);
    assert_eq!(along.to_array(), array![3.0 * (-3.0 + 10.0) + 1.0, 1.0]);
    // What has no tangent: zeros, or `None` where it is asked for so.
    let (_, along) = jvp(|(w,)| affine(&x, w, None), (&w,), (directions.1,)).unwrap();
    assert_eq!(along.to_array(), array![30.0, 0.0]);
    Gradcheck::new()
        .forward_mode()
        .run(|(x, w, b)| affine(x, w, Some(b)), (&x, &w, &x))
        .unwrap();
    let failed = Affine::apply(&x, w.clone(), None, &w, vec![]);
    assert_eq!(failed.unwrap_err(), "no scale");
    let rules = [
        Affine::SIGNATURE,
        HalfTangent::SIGNATURE,
        SquareOnce::SIGNATURE,
    ];
    assert_eq!(
        rules.map(|signature| signature.forward_mode),
        [true, true, false]
    );
}

#[test]
fn a_fallible_forward_fails_in_forward_mode_too() {
    let (x, w) = pair();
    let empty = |(x,): (&Tensor1<f64>,)| {
        let failed = Affine::apply(x, w.clone(), None, &w, vec![]);
        assert_eq!(failed.unwrap_err(), "no scale");
        x.clone()
    };
    assert!(jvp(empty, (&x,), (&x,)).is_ok());
}

#[test]
fn a_rule_on_tensors_nests_and_mixes_with_backward() {
    let (x, one) = (Tensor::from(array![0.5]), Tensor::from(array![1.0]));
    Gradcheck::new()
        .second_order()
        .forward_mode()
        .run(|(x,)| SinhCosh::apply(x), (&x,))
        .unwrap();
    // The third derivative, by three runs, one in the other.
    let first = |x: &Tensor1<f64>| jvp(|(x,)| SinhCosh::apply(x).0, (x,), (&one,)).unwrap().1;
    let second = |x: &Tensor1<f64>| jvp(|(x,)| first(x), (x,), (&one,)).unwrap().1;
    let third = jvp(|(x,)| second(x), (&x,), (&one,)).unwrap().1;
    assert_eq!(third.to_array(), array![0.5_f64.cosh()]);
}

#[test]
fn perturbations_are_not_confused() {
    // d/dx [x · d/dy (x + y)] = 1, wherever the inner derivative is taken.
    let (x, one) = (Tensor::from(array![3.0]), Tensor::from(array![1.0]));
    let inner = |x: &Tensor1<f64>| jvp(|(y,)| x + y, (&one,), (&one,)).unwrap().1;
    let (_, outer) = jvp(|(x,)| x * inner(x), (&x,), (&one,)).unwrap();
    assert_eq!(outer.to_array(), array![1.0]);
    // d/dx [x · d/dy (x · y)] = 2x
    let inner = |x: &Tensor1<f64>| jvp(|(y,)| x * y, (&one,), (&one,)).unwrap().1;
    let (_, outer) = jvp(|(x,)| x * inner(x), (&x,), (&one,)).unwrap();
    assert_eq!(outer.to_array(), array![6.0]);
}

#[test]
fn a_tangent_can_be_differentiated_backward() {
    let (x, one) = (leaf([2.0]), Tensor::from(array![1.0]));
    let (y, along) = jvp(|(x,)| x * x * x, (&x,), (&one,)).unwrap();
    assert_eq!(
        (y.to_array(), along.to_array()),
        (array![8.0], array![12.0])
    );
    let (second,) = Grad::of(&along).retain_graph(true).run((&x,)).unwrap();
    assert_eq!(second.to_array(), array![12.0]);
    let (first,) = grad(&y, (&x,)).unwrap();
    assert_eq!(first.to_array(), array![12.0]);
}

#[test]
fn what_is_lost_is_an_error_and_never_zero() {
    let (x, one) = (leaf([2.0]), Tensor::from(array![1.0]));
    // Nodes save no tangents: forward mode over a backward pass.
    let gradient = |(x,): (&Tensor1<f64>,)| grad(&(x * x), (x,)).unwrap().0;
    let line = line!() - 1;
    let error = jvp(gradient, (&x,), (&one,)).unwrap_err().to_string();
    let expected = format!("(at tests/it/forward_mode.rs:{line}:");
    assert!(
        error.starts_with("`grad` inside forward mode: ") && error.contains(&expected),
        "{error}"
    );
    // A leaf that is made inside of the run, and that the result might seem not to depend on.
    let inside = |(x,): (&Tensor1<f64>,)| {
        let x = x.clone().set_requires_grad(true);
        let output = &x * &x * leaf([1.0]);
        Grad::of(&output).allow_unused(true).run((&x,)).unwrap().0
    };
    let error = jvp(inside, (&Tensor::from(array![2.0]),), (&one,)).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::PassInForwardMode { pass: "grad", .. }
    ));
    let pass = |(x,): (&Tensor1<f64>,)| {
        let error = (x * x).sum().backward().unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::PassInForwardMode {
                pass: "backward",
                ..
            }
        ));
        x.clone()
    };
    assert!(jvp(pass, (&x,), (&one,)).is_ok());
    assert_eq!(x.grad(), None);

    // A rule on arrays gives a tangent without a history.
    let w = Tensor::from(array![5.0, 5.0]);
    let x = leaf([1.0, 2.0]);
    let (_, along) = jvp(|(x,)| affine(x, &w, None), (&x,), (&w,)).unwrap();
    let error = grad(&along.sum(), (&x,)).unwrap_err();
    assert!((error.kind(), error.function()) == (&ErrorKind::OnceDifferentiable, Some("affine")));
    let first = |(x,): (&Tensor1<f64>,)| jvp(|(x,)| affine(x, &w, None), (x,), (&w,)).unwrap().1;
    let error = jvp(first, (&x,), (&w,)).unwrap_err();
    assert!((error.kind(), error.function()) == (&ErrorKind::OnceDifferentiable, Some("affine")));
    // Where nothing is recorded, there is no history to be missed.
    let options = Functional::new().forward_mode(true);
    let (_, along) = options
        .jvp(|(x,)| affine(x, &w, None), (&x,), (&w,))
        .unwrap();
    assert!(!along.requires_grad());
}

#[test]
fn a_node_that_is_run_by_hand_loses_no_tangent_in_silence() {
    let (x, one) = (leaf([2.0]), Tensor::from(array![1.0]));
    let is_refused = |node: &Node, grad: &Tensor1<f64>| {
        let line = line!() + 1;
        let error = node.apply(&[Some(grad.clone().into_dyn())]).unwrap_err();
        let expected = ErrorKind::PassInForwardMode {
            pass: "Node::apply",
        };
        let called_at = error.applied_at().map(std::panic::Location::line);
        assert_eq!((error.kind(), called_at), (&expected, Some(line)));
    };
    // The gradient of x² depends on x, whose tangent the node does not have.
    let node = RefCell::new(None);
    let of_tangent = |x: &Tensor1<f64>| {
        let square = x * x;
        is_refused(&square.grad_fn().unwrap(), &one);
        *node.borrow_mut() = square.grad_fn();
        square
    };
    let (_, along) = jvp(of_tangent, &x, &one).unwrap();
    assert_eq!(along.to_array(), array![4.0]);
    // It has none when the run is over either: what its inputs were then is not known any more.
    is_refused(&node.take().unwrap(), &one);
    // A function without a rule.
    let through = |x: &Tensor1<f64>| {
        is_refused(&Square::apply(x).grad_fn().unwrap(), &one);
        x.clone()
    };
    jvp(through, &x, &one).unwrap();
    // A node from outside gets a gradient with a tangent.
    let outside = (&x * 3.0).grad_fn().unwrap();
    let with_tangent = |grad: &Tensor1<f64>| {
        is_refused(&outside, grad);
        let grads = outside.apply(&[Some(one.clone().into_dyn())]).unwrap();
        assert_eq!(
            grads[0].as_ref().unwrap().to_array(),
            array![3.0].into_dyn()
        );
        grad.clone()
    };
    jvp(with_tangent, &one, &one).unwrap();
}

#[test]
fn a_function_without_a_rule_is_an_error() {
    let x = Tensor::from(array![2.0]);
    let through = |(x,): (&Tensor1<f64>,)| Square::apply(x).exp() * x;
    let line = line!() - 1;
    let error = jvp(through, (&x,), (&x,)).unwrap_err().to_string();
    let place = format!("(applied at tests/it/forward_mode.rs:{line}:");
    let told = error.starts_with("forward mode on `Square`, which has no `#[jvp]` rule: ");
    assert!(told && error.contains(&place), "{error}");
    // What does not depend on the primals needs none.
    let beside = |(x,): (&Tensor1<f64>,)| x + Square::apply(&Tensor::from(array![3.0]));
    assert_eq!(jvp(beside, (&x,), (&x,)).unwrap().1.to_array(), array![2.0]);
}

/// A rule whose tangent has one element too few.
struct Short;

#[custom_function]
impl Short {
    #[forward(outputs(y))]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_y: Array1<f64>) -> Array1<f64> {
        grad_y
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>) -> Array1<f64> {
        tangent_x.iter().skip(1).copied().collect()
    }
}

#[test]
fn a_tangent_of_the_wrong_shape_is_an_error() {
    let x = Tensor::from(array![1.0, 2.0]);
    let line = line!() + 1;
    let error = jvp(|(x,)| Short::apply(x), (&x,), (&x,))
        .unwrap_err()
        .to_string();
    let expected = format!(
        "`Short` has a tangent of shape [1] for `y` of shape [2] (applied at \
         tests/it/forward_mode.rs:{line}:"
    );
    assert!(error.starts_with(&expected), "{error}");
    let error = jvp(|(x,)| x.exp(), (&x,), (&Tensor::from(array![1.0]),)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a tangent of shape [1] for `input 0` of shape [2]")
    );
}

#[test]
fn gradcheck_finds_a_wrong_rule() {
    let x = Tensor::from(array![1.0, 2.0]);
    let check = Gradcheck::new();
    check.run(|(x,)| HalfTangent::apply(x), (&x,)).unwrap();
    let error = check
        .forward_mode()
        .run(|(x,)| HalfTangent::apply(x), (&x,));
    let error = error.unwrap_err().to_string();
    let expected = "wrong tangent of `HalfTangent` with respect to `x` (input 0): for entry [0] of the input, \
                    which is 1, and entry [0] of output 0 forward mode computes 1, central differences 2";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn tangents_of_gradients_that_are_added_are_added() {
    let along = |loss: fn(&Tensor1<f64>) -> Tensor1<f64>| {
        let x = Tensor::from(array![1.0, 2.0]);
        let gradient = |x: &Tensor1<f64>| {
            let leaf = x.detach().set_requires_grad(true);
            let y = loss(&leaf);
            let factor = x.clone();
            y.register_hook(move |grad| Some(grad * &factor));
            grad(&y.sum(), (&leaf,)).unwrap().0
        };
        pullback::jvp(gradient, &x, &Tensor::from(array![1.0, 0.0]))
            .map(|(value, tangent)| (value.to_array(), tangent.to_array()))
    };
    // 3x, and 2 · leaf · x, where the leaf is a constant: known, or an error.
    for (loss, value, tangent) in [
        (
            (|leaf| leaf * 3.0) as fn(&_) -> _,
            array![3.0, 6.0],
            array![3.0, 0.0],
        ),
        (|leaf| leaf * leaf, array![2.0, 8.0], array![2.0, 0.0]),
        (
            |leaf| leaf * leaf * leaf,
            array![3.0, 24.0],
            array![3.0, 0.0],
        ),
    ] {
        if let Ok(found) = along(loss) {
            assert_eq!(found, (value, tangent));
        }
    }
}
