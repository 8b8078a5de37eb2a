//! Custom functions under derivatives of functions: which gradients are needed, what is
//! missing, what was saved, what cannot be differentiated again.

use std::sync::Mutex;

use pullback::functional::{Functional, hessian, hvp, jacobian, jvp, vhp, vjp};
use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1, array};
use pullback::prelude::*;
use pullback::{Error, ErrorKind, Order};

use crate::functional::constant;
use crate::functions::{SquareOnce, leaf};

/// z · x · y, with what the rule asks for beside what backward asks for: the value comes first.
struct Scaled;

#[custom_function]
impl Scaled {
    #[forward]
    fn forward(z: f64, x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x * &y * z
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor1<f64>, z: f64, y: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * y * z
    }

    #[backward(y)]
    fn grad_y(grad_output: &Tensor1<f64>, z: f64, x: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * x * z
    }

    #[jvp]
    fn jvp(
        z: f64,
        x: &Tensor1<f64>,
        y: &Tensor1<f64>,
        tangent_x: Option<&Tensor1<f64>>,
        tangent_y: Option<&Tensor1<f64>>,
    ) -> Tensor1<f64> {
        let (tx, ty) = (tangent_x.map(|tx| y * tx), tangent_y.map(|ty| x * ty));
        match (tx, ty) {
            (Some(tx), Some(ty)) => (tx + ty) * z,
            (tx, ty) => tx.or(ty).expect("a tangent of either") * z,
        }
    }
}

#[test]
fn a_rule_has_values_before_tensors_and_asks_for_what_it_needs() {
    let (x, y) = (constant([2.0]), constant([3.0]));
    let (u, v) = (constant([5.0]), constant([7.0]));
    // z (y · u + x · v)
    let (_, along) = jvp(|(x, y)| Scaled::apply(4.0, x, y), (&x, &y), (&u, &v)).unwrap();
    assert_eq!(along.to_array(), array![4.0 * (15.0 + 14.0)]);
    let (_, along) = jvp(|x| Scaled::apply(4.0, x, &y), &x, &u).unwrap();
    assert_eq!(along.to_array(), array![60.0]);
    // Its own derivative: 2 z · u · v, in every order of modes.
    let recorded = Functional::new().create_graph(true);
    let tangent = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| {
        let function = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| Scaled::apply(4.0, x, y);
        recorded.jvp(function, (x, y), (&u, &v)).unwrap().1
    };
    let (_, second) = jvp(tangent, (&x, &y), (&u, &v)).unwrap();
    assert_eq!(second.to_array(), array![280.0]);
    let (_, (by_x, by_y)) = vjp(tangent, (&x, &y), &constant([1.0])).unwrap();
    assert_eq!(
        (by_x.to_array(), by_y.to_array()),
        (array![28.0], array![20.0])
    );
    Gradcheck::new()
        .second_order()
        .forward_mode()
        .run(|(x, y)| Scaled::apply(4.0, x, y), (&x, &y))
        .unwrap();
    // What only a rule asks for is not saved for backward.
    let saved: Vec<&str> = Scaled::SIGNATURE
        .saved
        .iter()
        .map(|saved| saved.name)
        .collect();
    assert_eq!(saved, ["z", "x", "y"]);
}

/// x · y, which notes what it is asked for.
struct Noted;

static NEEDS: Mutex<Vec<[bool; 2]>> = Mutex::new(Vec::new());

#[custom_function]
impl Noted {
    #[forward]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x * &y
    }

    #[backward]
    fn backward(
        grad_output: &Tensor1<f64>,
        x: &Tensor1<f64>,
        y: &Tensor1<f64>,
        needs_input_grad: NotedNeedsInputGrad,
    ) -> (Option<Tensor1<f64>>, Option<Tensor1<f64>>) {
        let NotedNeedsInputGrad {
            x: needs_x,
            y: needs_y,
        } = needs_input_grad;
        NEEDS.lock().unwrap().push([needs_x, needs_y]);
        (
            needs_x.then(|| grad_output * y),
            needs_y.then(|| grad_output * x),
        )
    }
}

/// A function of two outputs, whose backward distinguishes a missing gradient from zeros.
struct Two;

static MISSING: Mutex<Vec<[bool; 2]>> = Mutex::new(Vec::new());

#[custom_function]
impl Two {
    #[forward(outputs(square, double))]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (&x * &x, &x * 2.0)
    }

    #[backward(x)]
    fn backward(
        grad_square: Option<&Tensor1<f64>>,
        grad_double: Option<&Tensor1<f64>>,
        x: &Tensor1<f64>,
    ) -> Option<Tensor1<f64>> {
        MISSING
            .lock()
            .unwrap()
            .push([grad_square.is_none(), grad_double.is_none()]);
        let square = grad_square.map(|grad| grad * x * 2.0);
        let double = grad_double.map(|grad| grad * 2.0);
        match (square, double) {
            (Some(square), Some(double)) => Some(square + double),
            (square, double) => square.or(double),
        }
    }
}

#[test]
fn needs_and_missing_gradients_are_told_under_every_transform() {
    let (x, y, one) = (constant([2.0]), leaf([3.0]), constant([1.0]));
    let needs = || std::mem::take(&mut *NEEDS.lock().unwrap());
    let function = |x: &Tensor1<f64>| Noted::apply(x, &y);
    // `y` requires grad, but it is the gradient of `x` that is asked for.
    assert_eq!(vjp(function, &x, &one).unwrap().1.to_array(), array![3.0]);
    assert_eq!(needs(), [[true, false]]);
    let second = |x: &Tensor1<f64>| function(x) * x;
    assert_eq!(
        hessian(|x| second(x).sum(), &x).unwrap().to_array(),
        array![[6.0]]
    );
    assert!(needs().iter().all(|needs| *needs == [true, false]));
    let gradient = |x: &Tensor1<f64>| {
        let recorded = Functional::new().create_graph(true);
        recorded.vjp(second, x, &one).unwrap().1
    };
    assert_eq!(vjp(gradient, &x, &one).unwrap().1.to_array(), array![6.0]);
    assert!(needs().iter().all(|needs| *needs == [true, false]));
    let other = |y: &Tensor1<f64>| Noted::apply(&x, y);
    assert_eq!(jacobian(other, &y).unwrap().to_array(), array![[2.0]]);
    assert_eq!(needs(), [[false, true]]);
    let both = vjp(|(x, y)| Noted::apply(x, y), (&x, &y), &one).unwrap().1;
    assert_eq!(
        (both.0.to_array(), both.1.to_array()),
        (array![3.0], array![2.0])
    );
    assert_eq!(needs(), [[true, true]]);

    let missing = || std::mem::take(&mut *MISSING.lock().unwrap());
    let (_, dx) = vjp(|x| Two::apply(x).0, &x, &one).unwrap();
    assert_eq!(
        (dx.to_array(), missing()),
        (array![4.0], vec![[false, true]])
    );
    let (square, double) = jacobian(Two::apply, &x).unwrap();
    assert_eq!((square.sum().item(), double.sum().item()), (4.0, 2.0));
    assert_eq!(missing(), [[false, true], [true, false]]);
    let curve = hessian(|x| Two::apply(x).0.sum(), &x).unwrap();
    assert_eq!(curve.to_array(), array![[2.0]]);
    assert!(missing().contains(&[false, true]));
    // A rule is missing too: the derivative along `x` comes by backward passes.
    let (_, along) = jvp(|x| Two::apply(x).1, &x, &one).unwrap();
    assert_eq!(
        (along.to_array(), missing()),
        (array![2.0], vec![[true, false]])
    );
}

/// Functions that give their input back as it is, and whose derivative is by definition the product of
/// what they have saved.
macro_rules! given_back {
    (by value: $($Name:ident, $product:ident, $Given:ty => $Made:ty, ($($saved:ident)?);)+) => {$(
        struct $Name;

        #[custom_function]
        impl $Name {
            #[forward]
            fn forward(x: Array1<f64>) -> Array1<f64> {
                x
            }

            #[backward(x)]
            fn backward(grad_output: $Given $(, $saved: $Given)?) -> $Made {
                $product(grad_output, &[$($saved)?])
            }

            #[jvp]
            fn jvp(tangent_x: $Given $(, $saved: $Given)?) -> $Made {
                $product(tangent_x, &[$($saved)?])
            }
        }
    )+};
    (in place: $($Name:ident, $product:ident, $Given:ty => $Made:ty, ($($saved:ident)?);)+) => {$(
        struct $Name;

        #[custom_function]
        impl $Name {
            #[forward]
            fn forward(x: ArrayViewMut1<f64>) {
                assert!(!x.is_empty(), "something to give back");
            }

            #[backward(x)]
            fn backward(grad_output: $Given $(, $saved: $Given)?) -> $Made {
                $product(grad_output, &[$($saved)?])
            }

            #[jvp]
            fn jvp(tangent_x: $Given $(, $saved: $Given)?) -> $Made {
                $product(tangent_x, &[$($saved)?])
            }
        }

        impl $Name {
            fn given_back(x: Tensor1<f64>) -> Tensor1<f64> {
                let mut x = x;
                Self::apply(&mut x);
                x
            }
        }
    )+};
}

fn arrays(derivative: ArrayView1<f64>, saved: &[ArrayView1<f64>]) -> Array1<f64> {
    let derivative = derivative.to_owned();
    saved
        .iter()
        .fold(derivative, |product, saved| product * saved)
}

fn tensors(derivative: &Tensor1<f64>, saved: &[&Tensor1<f64>]) -> Tensor1<f64> {
    let derivative = derivative.clone();
    saved
        .iter()
        .fold(derivative, |product, saved| product * *saved)
}

given_back! { by value:
    Nothing, arrays, ArrayView1<f64> => Array1<f64>, ();
    Input, arrays, ArrayView1<f64> => Array1<f64>, (x);
    Output, arrays, ArrayView1<f64> => Array1<f64>, (output);
    NothingAgain, tensors, &Tensor1<f64> => Tensor1<f64>, ();
    InputAgain, tensors, &Tensor1<f64> => Tensor1<f64>, (x);
    OutputAgain, tensors, &Tensor1<f64> => Tensor1<f64>, (output);
}

given_back! { in place:
    NothingInPlace, arrays, ArrayView1<f64> => Array1<f64>, ();
    InputInPlace, arrays, ArrayView1<f64> => Array1<f64>, (x);
    OutputInPlace, arrays, ArrayView1<f64> => Array1<f64>, (output);
    NothingInPlaceAgain, tensors, &Tensor1<f64> => Tensor1<f64>, ();
    InputInPlaceAgain, tensors, &Tensor1<f64> => Tensor1<f64>, (x);
    OutputInPlaceAgain, tensors, &Tensor1<f64> => Tensor1<f64>, (output);
}

/// With version counters and views, saving what is given back without saying that it was written to has to
/// be an error; here there is nothing to go wrong.
#[test]
fn an_input_given_back_as_it_is_may_be_saved_as_input_or_output() {
    type GivenBack = fn(Tensor1<f64>) -> Tensor1<f64>;
    let nothing: [GivenBack; 4] = [
        Nothing::apply,
        NothingAgain::apply,
        NothingInPlace::given_back,
        NothingInPlaceAgain::given_back,
    ];
    let input: [GivenBack; 4] = [
        Input::apply,
        InputAgain::apply,
        InputInPlace::given_back,
        InputInPlaceAgain::given_back,
    ];
    let output: [GivenBack; 4] = [
        Output::apply,
        OutputAgain::apply,
        OutputInPlace::given_back,
        OutputInPlaceAgain::given_back,
    ];
    let (x, seed) = (constant([2.0, 3.0]), constant([10.0, 100.0]));
    // The first derivatives, and those of the gradient: of g, of g · x, and of g · y, for whose derivative the
    // function's own counts.
    let rows = [
        (nothing, array![10.0, 100.0], array![0.0, 0.0]),
        (input, array![20.0, 300.0], array![10.0, 100.0]),
        (output, array![20.0, 300.0], array![20.0, 300.0]),
    ];
    let recorded = Functional::new().create_graph(true);
    let ones = constant([1.0, 1.0]);
    for (functions, first, second) in rows {
        for (place, function) in functions.into_iter().enumerate() {
            let function = |x: &Tensor1<f64>| function(x.clone());
            let (same, gradient) = vjp(function, &x, &seed).unwrap();
            assert_eq!(
                (same.to_array(), gradient.to_array()),
                (x.to_array(), first.clone())
            );
            let (same, along) = jvp(function, &x, &seed).unwrap();
            assert_eq!(
                (same.to_array(), along.to_array()),
                (x.to_array(), first.clone())
            );
            let gradient = |x: &Tensor1<f64>| recorded.vjp(function, x, &seed).unwrap().1;
            let tangent = |x: &Tensor1<f64>| recorded.jvp(function, x, &seed).unwrap().1;
            let seconds = [vjp(gradient, &x, &ones), vjp(tangent, &x, &ones)];
            for derivative in seconds {
                // Those on tensors can be differentiated again.
                if place % 2 == 1 {
                    assert_eq!(derivative.unwrap().1.to_array(), second);
                } else {
                    assert!(derivative.unwrap_err().kind() == &ErrorKind::OnceDifferentiable);
                }
            }
        }
    }
    assert_eq!(x.to_array(), array![2.0, 3.0]);
}

#[test]
fn what_is_differentiable_once_is_an_error_in_every_transform_of_a_transform() {
    let (x, one) = (constant([2.0]), constant([1.0]));
    assert_eq!(SquareOnce::SIGNATURE.order, Order::Once);
    let refused = |result: Result<String, Error>| {
        let error = result.unwrap_err();
        let once = (error.kind(), error.function())
            == (&ErrorKind::OnceDifferentiable, Some("SquareOnce"));
        assert!(
            once || matches!(error.kind(), ErrorKind::NeitherMode { .. }),
            "{error}"
        );
    };
    let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let recorded = Functional::new().create_graph(true);
    let loss = |x: &Tensor1<f64>| SquareOnce::apply(x).sum();
    refused(hessian(loss, &x).map(|value| shown(&value)));
    refused(hvp(loss, &x, &one).map(|value| shown(&value)));
    refused(vhp(loss, &x, &one).map(|value| shown(&value)));
    refused(jvp(SquareOnce::apply, &x, &one).map(|value| shown(&value)));
    let gradient = |x: &Tensor1<f64>| recorded.vjp(SquareOnce::apply, x, &one).unwrap().1;
    refused(vjp(gradient, &x, &one).map(|value| shown(&value)));
    refused(jvp(gradient, &x, &one).map(|value| shown(&value)));
    refused(jacobian(gradient, &x).map(|value| shown(&value)));
    let slopes = |x: &Tensor1<f64>| recorded.jacobian(SquareOnce::apply, x).unwrap();
    refused(jacobian(slopes, &x).map(|value| shown(&value)));
    refused(jvp(slopes, &x, &one).map(|value| shown(&value)));
    // A gradient of a gradient that another function has a part in.
    let mixed = |x: &Tensor1<f64>| (SquareOnce::apply(&(x * x)) * x).sum();
    refused(hessian(mixed, &x).map(|value| shown(&value)));
    // Once is right.
    assert_eq!(
        jacobian(SquareOnce::apply, &x).unwrap().to_array(),
        array![[4.0]]
    );
}
