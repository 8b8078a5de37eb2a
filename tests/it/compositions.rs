//! Derivatives of derivatives of custom functions, in every order of modes that there is, held against
//! what they must be.

use pullback::ErrorKind;
use pullback::functional::{Functional, jvp, vjp};
use pullback::ndarray::{Array, Array1, Array2, Array3, Dimension, array};
use pullback::prelude::*;

use crate::composed::{
    ArrayCube, ArrayMul, Defaults, ExpInPlace, ScaleGrad, Sort, Take, ZeroGradients,
};
use crate::functional::constant;

#[track_caller]
fn assert_near<D: Dimension>(found: &Tensor<f64, D>, expected: &Array<f64, D>) {
    let difference = &found.view() - expected;
    assert!(
        difference.iter().all(|entry| entry.abs() < 1e-12),
        "{found} is not {expected}"
    );
}

/// Holds every composition of two derivatives of `function` at `x` against its first and second ones.
#[track_caller]
fn check(
    function: impl Fn(&Tensor1<f64>) -> Tensor1<f64>,
    x: &Tensor1<f64>,
    first: &Array2<f64>,
    second: &Array3<f64>,
) {
    let function = |x: &Tensor1<f64>| function(x);
    let (u, v) = (
        x.view().mapv(|x| 1.0 + x * x),
        function(x).view().mapv(|y| 0.5 - y),
    );
    let (u_tensor, v_tensor) = (Tensor::from(u.clone()), Tensor::from(v.clone()));
    let recorded = Functional::new().create_graph(true);

    assert_near(&vjp(function, x, &v_tensor).unwrap().1, &v.dot(first));
    assert_near(&jvp(function, x, &u_tensor).unwrap().1, &first.dot(&u));
    for forward_mode in [false, true] {
        let inner = recorded.forward_mode(forward_mode);
        let jacobian = |x: &Tensor1<f64>| inner.jacobian(function, x).unwrap();
        assert_near(&jacobian(x), first);
        for outer in [false, true] {
            let found = Functional::new().forward_mode(outer).jacobian(jacobian, x);
            match found {
                Ok(found) => assert_near(&found, second),
                // Forward mode over a backward pass.
                Err(error) => {
                    let expected = ErrorKind::PassInForwardMode { pass: "grad" };
                    assert_eq!(error.kind(), &expected);
                    assert!(outer && !forward_mode);
                }
            }
        }
    }
    // Σ vᵢ ∂²yᵢ/∂x² · u, by each way to a product.
    let mut along = Array1::zeros(x.len());
    for (v, second) in v.iter().zip(second.outer_iter()) {
        along = along + second.dot(&u) * *v;
    }
    let gradient = |x: &Tensor1<f64>| recorded.vjp(function, x, &v_tensor).unwrap().1;
    assert_near(&vjp(gradient, x, &u_tensor).unwrap().1, &along);
    assert_near(&jvp(gradient, x, &u_tensor).unwrap().1, &along);
    let tangent = |x: &Tensor1<f64>| recorded.jvp(function, x, &u_tensor).unwrap().1;
    assert_near(&vjp(tangent, x, &v_tensor).unwrap().1, &along);
    let twice: Array1<f64> = second
        .outer_iter()
        .map(|second| u.dot(&second).dot(&u))
        .collect();
    assert_near(&jvp(tangent, x, &u_tensor).unwrap().1, &twice);
    let leaf = x.clone().set_requires_grad(true);
    let loss = (function(&leaf) * &v_tensor).sum();
    let options = Grad::of(&loss).create_graph(true).allow_unused(true);
    let (dx,) = options.run((&leaf,)).unwrap();
    assert_near(&dx, &v.dot(first));
    if dx.requires_grad() {
        let run = Grad::of(&dx).seed(u.clone()).allow_unused(true);
        assert_near(&run.run((&leaf,)).unwrap().0, &along);
    }
}

/// The second derivative of a function of each element.
fn diagonal(entries: &Array1<f64>) -> Array3<f64> {
    let mut second = Array3::zeros([entries.len(); 3]);
    for (place, &entry) in entries.iter().enumerate() {
        second[[place; 3]] = entry;
    }
    second
}

#[test]
fn derivatives_of_custom_functions_compose() {
    let x = constant([0.5, -1.5, 0.25]);
    let at = x.to_array();
    let none = Array3::zeros((3, 3, 3));
    let only = |x: &Tensor1<f64>| ArrayCube::apply(x).0;
    let slopes = Array2::from_diag(&at.mapv(|x| 3.0 * x * x));
    check(only, &x, &slopes, &diagonal(&at.mapv(|x| 6.0 * x)));
    let slope = |x: &Tensor1<f64>| ArrayCube::apply(x).1;
    check(
        slope,
        &x,
        &Array2::from_diag(&(&at * 6.0)),
        &diagonal(&at.mapv(|_| 6.0)),
    );
    let square = |x: &Tensor1<f64>| ArrayMul::apply(x, x);
    check(
        square,
        &x,
        &Array2::from_diag(&(&at * 2.0)),
        &diagonal(&at.mapv(|_| 2.0)),
    );
    let w = constant([3.0, 4.0, 5.0]);
    let product = |x: &Tensor1<f64>| ArrayMul::apply(&w, x);
    check(product, &x, &Array2::from_diag(&w.to_array()), &none);
    let exp = |x: &Tensor1<f64>| {
        let mut y = x * 1.0;
        ExpInPlace::apply(&mut y);
        y
    };
    let powers = at.mapv(f64::exp);
    check(exp, &x, &Array2::from_diag(&powers), &diagonal(&powers));
    let sort = |x: &Tensor1<f64>| Sort::apply(x).0;
    let order = array![[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
    check(sort, &x, &order, &none);
    let take = |x: &Tensor1<f64>| Take::apply(x, array![2, 0, 2]);
    let places = array![[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    check(take, &x, &places, &none);
    let select = |x: &Tensor1<f64>| Take::apply(x, array![1]);
    check(
        select,
        &x,
        &array![[0.0, 1.0, 0.0]],
        &Array3::zeros((1, 3, 3)),
    );
    let scaled = |x: &Tensor1<f64>| ScaleGrad::apply(x, 0.5);
    check(scaled, &x, &(Array2::eye(3) * 0.5), &none);
    // Each derivative is scaled, the derivative of the gradient too.
    let scaled = |x: &Tensor1<f64>| ScaleGrad::apply(x, 0.5).powi(2);
    check(
        scaled,
        &x,
        &Array2::from_diag(&at),
        &diagonal(&at.mapv(|_| 0.5)),
    );
    check(ZeroGradients::apply, &x, &Array2::zeros((3, 3)), &none);
    let beside = |x: &Tensor1<f64>| ZeroGradients::apply(x) * x;
    check(beside, &x, &Array2::from_diag(&at), &none);
    check(
        |x| Defaults::apply(x, None, None),
        &x,
        &(Array2::eye(3) * 2.0),
        &none,
    );
    let given = |x: &Tensor1<f64>| Defaults::apply(x, Some(&(x * x)), Some(3.0));
    let slopes = Array2::from_diag(&at.mapv(|x| 3.0 + 2.0 * x));
    check(given, &x, &slopes, &diagonal(&at.mapv(|_| 2.0)));
    // One in the other.
    let nested = |x: &Tensor1<f64>| Take::apply(&ArrayCube::apply(&Sort::apply(x).0).0, array![2]);
    let mut second = Array3::zeros((1, 3, 3));
    second[[0, 0, 0]] = 3.0;
    check(nested, &x, &array![[0.75, 0.0, 0.0]], &second);
}
