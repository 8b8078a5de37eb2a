//! `functional` where something is odd: functions that panic or do nothing, wrong shapes, runs in runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::functional::{Functional, hessian, hvp, jacobian, jvp, vhp, vjp};
use pullback::ndarray::{Array2, Ix4, arr0, array};
use pullback::prelude::*;
use pullback::{Grad, is_grad_enabled};

use crate::functional::constant;
use crate::functions::leaf;

#[test]
fn a_function_that_panics_leaves_nothing_behind() {
    let x = leaf([1.0, 2.0]);
    let history = x.exp();
    let panics = |y: &Tensor1<f64>| -> Tensor1<f64> {
        let product = y * &history;
        assert!(product.is_empty(), "in the function");
        product
    };
    for (forward_mode, recording) in [(false, true), (true, true), (false, false)] {
        let options = Functional::new()
            .forward_mode(forward_mode)
            .create_graph(true);
        let run = || {
            let caught = [
                catch_unwind(AssertUnwindSafe(|| options.jacobian(panics, &x).is_ok())),
                catch_unwind(AssertUnwindSafe(|| options.jvp(panics, &x, &x).is_ok())),
                catch_unwind(AssertUnwindSafe(|| options.vjp(panics, &x, &x).is_ok())),
                catch_unwind(AssertUnwindSafe(|| {
                    options.hvp(|x| panics(x).sum(), &x, &x).is_ok()
                })),
            ];
            assert!(caught.iter().all(Result::is_err));
            assert_eq!(is_grad_enabled(), recording);
        };
        if recording { run() } else { no_grad(run) }
    }
    history.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(history.to_array()));
    assert_eq!(
        jacobian(|x| x * x, &x).unwrap().to_array(),
        array![[2.0, 0.0], [0.0, 4.0]]
    );
}

#[test]
fn a_function_that_returns_its_input_has_a_derivative_with_a_history() {
    let x = leaf([2.0, 3.0]);
    let seed = constant([5.0, 7.0]);
    let options = Functional::new().create_graph(true);
    let (y, of_input) = options.vjp(Clone::clone, &x, &seed).unwrap();
    assert_eq!(of_input.to_array(), array![5.0, 7.0]);
    let (of_leaf,) = Grad::of(&y.sum()).run((&x,)).unwrap();
    assert_eq!(of_leaf.to_array(), array![1.0, 1.0]);
    let identity = array![[1.0, 0.0], [0.0, 1.0]];
    assert_eq!(
        options.jacobian(Clone::clone, &x).unwrap().to_array(),
        identity
    );
}

#[test]
fn inside_no_grad_derivatives_are_the_same() {
    let (x, w) = (leaf([2.0]), leaf([3.0]));
    let function = |x: &Tensor1<f64>| x * x * &w;
    no_grad(|| {
        assert_eq!(vjp(function, &x, &x).unwrap().1.to_array(), array![24.0]);
        assert_eq!(jvp(function, &x, &x).unwrap().1.to_array(), array![24.0]);
        assert_eq!(
            hessian(|x| function(x).sum(), &x).unwrap().to_array(),
            array![[6.0]]
        );
        let options = Functional::new().create_graph(true);
        for forward_mode in [false, true] {
            let slope = options
                .forward_mode(forward_mode)
                .jacobian(function, &x)
                .unwrap();
            let (dx, dw) = grad(&enable_grad(|| slope.sum()), (&x, &w)).unwrap();
            assert_eq!((dx.to_array(), dw.to_array()), (array![6.0], array![4.0]));
        }
    });
}

#[test]
fn inputs_returned_as_they_are() {
    let (x, w) = (constant([1.0, 2.0]), constant([3.0]));
    let function = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| (w.clone(), x.clone(), x.clone());
    let expected = (
        array![[0.0, 0.0]],
        array![[1.0]],
        array![[1.0, 0.0], [0.0, 1.0]],
    );
    for forward_mode in [false, true] {
        for create_graph in [false, true] {
            let options = Functional::new()
                .forward_mode(forward_mode)
                .create_graph(create_graph);
            let ((wx, ww), (xx, xw), again) = options.jacobian(function, (&x, &w)).unwrap();
            assert_eq!(
                (wx.to_array(), ww.to_array(), xx.to_array()),
                expected.clone()
            );
            assert_eq!(
                (xw.shape(), again.0.to_array()),
                (&[2, 1][..], expected.2.clone())
            );
        }
    }
    let (_, (dx, dw)) = vjp(function, (&x, &w), (&w, &x, &x)).unwrap();
    assert_eq!(
        (dx.to_array(), dw.to_array()),
        (array![2.0, 4.0], array![3.0])
    );
    let (outputs, along) = jvp(function, (&x, &w), (&x, &w)).unwrap();
    assert_eq!(outputs.0.to_array(), w.to_array());
    assert_eq!(
        (along.0.to_array(), along.2.to_array()),
        (w.to_array(), x.to_array())
    );
}

/// w · x for each of the weights, and the product of all.
fn scaled((x, weights): (&Tensor1<f64>, &[Tensor1<f64>])) -> (Vec<Tensor1<f64>>, Tensor0<f64>) {
    let scaled: Vec<_> = weights.iter().map(|weight| weight * x).collect();
    let product = weights
        .iter()
        .fold(x.clone(), |product, weight| product * weight);
    (scaled, product.sum())
}

#[test]
fn lists_of_inputs_and_outputs() {
    let (x, weights) = (constant([2.0]), [constant([3.0]), constant([5.0])]);
    let inputs = (&x, &weights);
    let one = constant([1.0]);
    let number = Tensor::from(arr0(1.0));
    let numbers = |list: &[Tensor1<f64>]| list.iter().map(Tensor::item).collect::<Vec<_>>();
    let ((outputs, product), (dx, dw)) = vjp(scaled, inputs, (&weights, &number)).unwrap();
    assert_eq!((numbers(&outputs), product.item()), (vec![6.0, 10.0], 30.0));
    assert_eq!(
        (dx.item(), numbers(&dw)),
        (9.0 + 25.0 + 15.0, vec![6.0 + 10.0, 10.0 + 6.0])
    );
    let direction = (&one, &[one.clone(), one.clone()]);
    let (_, (along, of_product)) = jvp(scaled, inputs, direction).unwrap();
    assert_eq!(
        (numbers(&along), of_product.item()),
        (vec![5.0, 7.0], 15.0 + 10.0 + 6.0)
    );
    let (_, (dx, dw)) = hvp(|inputs| scaled(inputs).1, inputs, direction).unwrap();
    assert_eq!((dx.item(), numbers(&dw)), (8.0, vec![7.0, 5.0]));
    Gradcheck::new()
        .thorough()
        .second_order()
        .forward_mode()
        .run(scaled, inputs)
        .unwrap();
    let (x, weights) = (leaf([2.0]), vec![leaf([3.0]), leaf([5.0])]);
    let (list, product) = checkpoint(scaled, (&x, &weights));
    (product * list[1].sum()).backward().unwrap();
    assert_eq!(
        (x.grad(), weights[1].grad()),
        (Some(array![300.0]), Some(array![120.0]))
    );
}

#[test]
fn lists_of_another_length_are_refused() {
    let (x, weights) = (constant([2.0]), [constant([3.0]), constant([5.0])]);
    let refused = |call: &dyn Fn(), expected: &str| {
        let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains(expected), "{text}");
    };
    let inputs = (&x, &weights[..]);
    refused(
        &|| drop(jvp(scaled, inputs, (&x, &weights[..1]))),
        "`jvp` needs a tangent for each input (inputs: 3, tangents: 2)",
    );
    let number = Tensor::from(arr0(1.0));
    refused(
        &|| drop(vjp(scaled, inputs, (&weights[..1], &number))),
        "`vjp` needs a seed for each output (outputs: 3, seeds: 2)",
    );
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let (x, short) = (constant([1.0, 2.0]), constant([1.0]));
    let error = vjp(|x| x * x, &x, &short).unwrap_err();
    let text = "backward from a tensor of shape [2] was started with a gradient of shape [1]";
    assert_eq!(error.message(), text);
    let line = line!() + 2;
    let errors = [
        jvp(|(x, w)| x * w, (&x, &x), (&x, &short)).unwrap_err(),
        hvp(|(x, w)| (x * w).sum(), (&x, &x), (&x, &short)).unwrap_err(),
        vhp(|(x, w)| (x * w).sum(), (&x, &x), (&x, &short)).unwrap_err(),
    ];
    for ((error, name), line) in errors.iter().zip(["jvp", "hvp", "vhp"]).zip(line..) {
        let expected = format!(
            "`{name}` has a tangent of shape [1] for `input 1` of shape [2] (applied at tests/it/functional_edges.rs:{line}:"
        );
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn zero_elements_and_no_axes() {
    let none = Tensor::from(Array2::<f64>::zeros((0, 3)));
    let x = constant([1.0, 2.0]);
    for forward_mode in [false, true] {
        for create_graph in [false, true] {
            let options = Functional::new()
                .forward_mode(forward_mode)
                .create_graph(create_graph)
                .strict(true);
            let square: Tensor4<f64> = options.jacobian(|none| none * none, &none).unwrap();
            assert_eq!(square.shape(), [0, 3, 0, 3]);
            let sum: Tensor2<f64> = options.jacobian(|none| none.sum(), &none).unwrap();
            assert_eq!(sum.shape(), [0, 3]);
            let both = |(none, x): (&Tensor2<f64>, &Tensor1<f64>)| (none * x.sum(), x * none.sum());
            let ((_, none_x), (x_none, xx)) = options.jacobian(both, (&none, &x)).unwrap();
            assert_eq!(
                (none_x.shape(), x_none.shape()),
                (&[0, 3, 2][..], &[2, 0, 3][..])
            );
            assert_eq!(xx.to_array(), Array2::<f64>::zeros((2, 2)));
            let hessian: Tensor<f64, Ix4> =
                options.hessian(|none| (none * none).sum(), &none).unwrap();
            assert_eq!(hessian.shape(), [0, 3, 0, 3]);
            let number = Tensor::from(arr0(3.0));
            let slope: Tensor0<f64> = options.jacobian(|x| x * x, &number).unwrap();
            let curve: Tensor0<f64> = options.hessian(|x| x.powi(3), &number).unwrap();
            assert_eq!((slope.item(), curve.item()), (6.0, 18.0));
        }
    }
    let (y, dx) = vjp(|none| none * none, &none, &none).unwrap();
    assert_eq!((y.shape(), dx.shape()), (&[0, 3][..], &[0, 3][..]));
    let (_, along) = jvp(|none| none * none, &none, &none).unwrap();
    assert_eq!(along.shape(), [0, 3]);
    let (_, product) = hvp(|none| (none * none).sum(), &none, &none).unwrap();
    assert_eq!(product.shape(), [0, 3]);
}

#[test]
fn long_chains_need_no_stack() {
    let x = constant([1.0]);
    let chain = |x: &Tensor1<f64>| {
        let sum = (0..30_000).fold(x.clone(), |sum, _| &sum + x);
        (&sum * &sum).sum()
    };
    let strict = Functional::new().strict(true);
    let (_, dx) = strict.vjp(chain, &x, &Tensor::from(arr0(1.0))).unwrap();
    assert_eq!(dx.to_array(), array![2.0 * 30_001.0 * 30_001.0]);
    for forward_mode in [false, true] {
        let options = strict.forward_mode(forward_mode);
        let (_, product) = options.hvp(chain, &x, &x).unwrap();
        assert_eq!(product.to_array(), dx.to_array());
    }
    assert_eq!(
        strict.vhp(chain, &x, &x).unwrap().1.to_array(),
        dx.to_array()
    );
}
