//! `functional`: which mode computes what, and what comes of one inside the other.

use std::cell::Cell;

use pullback::ErrorKind;
use pullback::functional::{Functional, hessian, jacobian, jvp, vjp};
use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;

use crate::functional::constant;
use crate::functions::{Square, SquareOnce, leaf};

#[test]
fn jvp_goes_backward_where_there_is_no_rule() {
    let (x, v) = (constant([2.0, 3.0]), constant([1.0, 10.0]));
    let calls = Cell::new(0);
    let function = |x: &Tensor1<f64>| {
        calls.set(calls.get() + 1);
        (Square::apply(x) * x, x.exp())
    };
    let (outputs, along) = jvp(function, &x, &v).unwrap();
    assert_eq!(calls.get(), 2);
    assert_eq!(outputs.0.to_array(), array![8.0, 27.0]);
    assert_eq!(along.0.to_array(), array![12.0, 270.0]);
    assert_eq!(along.1.to_array(), x.exp().to_array() * v.to_array());
    // With a rule one call is enough.
    calls.set(0);
    let counted = |x: &Tensor1<f64>| {
        calls.set(calls.get() + 1);
        x * x
    };
    jvp(counted, &x, &v).unwrap();
    assert_eq!(calls.get(), 1);
    // The result of either can be differentiated.
    let x = leaf([2.0]);
    let options = Functional::new().create_graph(true);
    let (_, along) = options
        .jvp(|x| Square::apply(x) * x, &x, &constant([1.0]))
        .unwrap();
    assert_eq!(grad(&along, (&x,)).unwrap().0.to_array(), array![12.0]);
    // A run in another, neither with a rule.
    let first = |x: &Tensor1<f64>| {
        options
            .jvp(|x| Square::apply(x) * x, x, &constant([1.0]))
            .unwrap()
            .1
    };
    let (_, second) = jvp(first, &x, &constant([1.0])).unwrap();
    assert_eq!(second.to_array(), array![12.0]);
}

#[test]
fn where_neither_mode_knows_the_derivative_the_error_names_both_functions() {
    let x = constant([2.0]);
    let function = |x: &Tensor1<f64>| SquareOnce::apply(&Square::apply(x));
    let error = jvp(function, &x, &x).unwrap_err();
    let text = error.to_string();
    for part in [
        "forward mode on `Square`, which has no `#[jvp]` rule",
        "; backward passes cannot replace it: the gradient of `SquareOnce` cannot be differentiated again",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(matches!(error.kind(), ErrorKind::NeitherMode { .. }));
    // Forward mode for the whole Jacobian is asked for: nothing replaces it.
    let error = Functional::new()
        .forward_mode(true)
        .jacobian(Square::apply, &x)
        .unwrap_err();
    assert!((error.kind(), error.function()) == (&ErrorKind::NoForwardRule, Some("Square")));
}

/// x², with a rule on arrays.
struct RuleOnArrays;

#[custom_function]
impl RuleOnArrays {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * x * 2.0
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &tangent_x * &x * 2.0
    }
}

#[test]
fn a_tangent_computed_on_arrays_is_differentiated_by_no_mode() {
    let (x, one) = (constant([2.0]), constant([1.0]));
    let (recorded, loss) = (
        Functional::new().create_graph(true).forward_mode(true),
        |x: &Tensor1<f64>| RuleOnArrays::apply(x).sum(),
    );
    let slopes = |x: &Tensor1<f64>| recorded.jacobian(RuleOnArrays::apply, x).unwrap();
    let tangent = |x: &Tensor1<f64>| recorded.jvp(RuleOnArrays::apply, x, &one).unwrap().1;
    let errors = [
        recorded.hessian(loss, &x).unwrap_err(),
        recorded.hvp(loss, &x, &one).unwrap_err(),
        jacobian(slopes, &x).unwrap_err(),
        recorded.jacobian(slopes, &x).unwrap_err(),
        jvp(tangent, &x, &one).unwrap_err(),
        vjp(tangent, &x, &one).unwrap_err(),
    ];
    for error in errors {
        let expected = (error.kind(), error.function())
            == (&ErrorKind::OnceDifferentiable, Some("RuleOnArrays"));
        assert!(expected, "{error}");
    }
    assert_eq!(hessian(loss, &x).unwrap().to_array(), array![[2.0]]);
}

/// Forward mode does not fall back on backward passes that would take a value for constant.
#[test]
fn what_is_not_recorded_is_an_error_in_forward_mode() {
    let (x, one) = (constant([2.0]), constant([1.0]));
    let is_refused = |function: &dyn Fn(&Tensor1<f64>) -> Tensor1<f64>, name: &str| {
        let error = jvp(|x| function(x), &x, &one).unwrap_err();
        let refused = match error.kind() {
            ErrorKind::NoForwardRule => error.function() == Some(name),
            ErrorKind::PassInForwardMode { pass } => *pass == name,
            _ => false,
        };
        assert!(refused, "{error}");
    };
    is_refused(&|x| vjp(|x| x * x, x, &one).unwrap().1, "grad");
    is_refused(
        &|x| x * Square::apply(x) * vjp(|x| x * x, x, &one).unwrap().1,
        "grad",
    );
    is_refused(
        &|x| vjp(|x| x * x, x, &one).unwrap().1 * Square::apply(x),
        "grad",
    );
    is_refused(&|x| vjp(|y| y * y, &one, x).unwrap().1, "grad");
    is_refused(&|x| jacobian(|x| x * x, x).unwrap().sum() * x, "grad");
    is_refused(&|x| no_grad(|| Square::apply(x)), "Square");
    is_refused(&|x| no_grad(|| Square::apply(x).exp()), "Square");
    let inner = Square::apply;
    is_refused(
        &|x| {
            let inner = inner(x);
            no_grad(|| inner.exp())
        },
        "Square",
    );
    // A gradient that is recorded itself, of something that is not.
    is_refused(
        &|x| {
            let x = x.clone().set_requires_grad(true);
            let y = &x * no_grad(|| Square::apply(&x));
            let (dx,) = Grad::of(&y).create_graph(true).run((&x,)).unwrap();
            dx
        },
        "Square",
    );
    // The inner function holds what the outer one is differentiated by.
    is_refused(&|x| vjp(|y| y * x, &one, &one).unwrap().1, "grad");
    // Recorded, the same have a derivative.
    let recorded = Functional::new().create_graph(true);
    let holding = |x: &Tensor1<f64>| recorded.vjp(|y| y * x * x, &one, &one).unwrap().1;
    assert_eq!(jvp(holding, &x, &one).unwrap().1.to_array(), array![4.0]);
    assert_eq!(vjp(holding, &x, &one).unwrap().1.to_array(), array![4.0]);
    // The outputs beside the gradients keep their tangents.
    let output = |x: &Tensor1<f64>| vjp(|y| y * y, x, &one).unwrap().0;
    assert_eq!(jvp(output, &x, &one).unwrap().1.to_array(), array![4.0]);
    let gradient = |x: &Tensor1<f64>| recorded.vjp(|x| x.powi(3), x, &one).unwrap().1;
    assert_eq!(jvp(gradient, &x, &one).unwrap().1.to_array(), array![12.0]);
    let gradient = |x: &Tensor1<f64>| {
        let x = x.clone().set_requires_grad(true);
        Grad::of(&x.powi(3))
            .create_graph(true)
            .run((&x,))
            .unwrap()
            .0
    };
    assert_eq!(jvp(gradient, &x, &one).unwrap().1.to_array(), array![12.0]);
}

#[test]
fn forward_mode_through_forward_mode_needs_no_graph() {
    let (x, one) = (constant([0.5, 2.0]), constant([1.0, 1.0]));
    let options = Functional::new().forward_mode(true);
    let (_, second) = jvp(|x| jvp(|x| x.powi(3), x, &one).unwrap().1, &x, &one).unwrap();
    assert_eq!(second.to_array(), array![3.0, 12.0]);
    let second = options
        .jacobian(|x| options.jacobian(|x| x.powi(3), x).unwrap(), &x)
        .unwrap();
    assert_eq!(second.shape(), [2, 2, 2]);
    assert_eq!(
        (second.to_array()[[0, 0, 0]], second.to_array()[[1, 1, 1]]),
        (3.0, 12.0)
    );
    assert_eq!(second.sum().item(), 15.0);
    // Perturbations of one run are not those of another.
    let inner = |x: &Tensor1<f64>| jvp(|y| x * y, &one, &one).unwrap().1;
    let (_, outer) = jvp(|x| x * inner(x), &x, &one).unwrap();
    assert_eq!(outer.to_array(), array![1.0, 4.0]);
}

#[test]
fn third_derivatives_by_every_way_that_there_is() {
    let x = constant([2.0]);
    let recorded = Functional::new().create_graph(true);
    for modes in 0..8 {
        let mode = |bit: u32| modes & (1 << bit) != 0;
        let first = |x: &Tensor1<f64>| {
            recorded
                .forward_mode(mode(0))
                .jacobian(|x| x.powi(4), x)
                .unwrap()
        };
        let second = |x: &Tensor1<f64>| recorded.forward_mode(mode(1)).jacobian(first, x);
        if mode(1) && !mode(0) {
            let error = second(&x).unwrap_err();
            assert!(matches!(
                error.kind(),
                ErrorKind::PassInForwardMode { pass: "grad", .. }
            ));
            continue;
        }
        let third = Functional::new()
            .forward_mode(mode(2))
            .jacobian(|x| second(x).unwrap(), &x);
        if mode(2) && !(mode(1) && mode(0)) {
            assert!(matches!(
                third.unwrap_err().kind(),
                ErrorKind::PassInForwardMode { pass: "grad", .. }
            ));
        } else {
            assert_eq!(third.unwrap().sum().item(), 48.0);
        }
    }
    for forward_mode in [false, true] {
        let options = recorded.forward_mode(forward_mode);
        let curve = |x: &Tensor1<f64>| options.hessian(|x| x.powi(4).sum(), x).unwrap();
        assert_eq!(jacobian(curve, &x).unwrap().sum().item(), 48.0);
        assert_eq!(hessian(|x| curve(x).sum(), &x).unwrap().sum().item(), 24.0);
    }
}
