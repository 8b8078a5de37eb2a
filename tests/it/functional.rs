//! `functional`: derivatives of functions, held against closed forms, differences and each other.

use pullback::functional::{Functional, hessian, hvp, jacobian, jvp, vhp, vjp};
use pullback::ndarray::{Array1, Array2, ArrayView1, Axis, arr0, array};
use pullback::prelude::*;
use pullback::{Derivative, Error, ErrorKind};

use crate::functions::leaf;

/// A vector that requires no gradient.
pub fn constant<const N: usize>(elements: [f64; N]) -> Tensor1<f64> {
    leaf(elements).detach()
}

#[track_caller]
fn assert_close(found: impl IntoIterator<Item = f64>, expected: impl IntoIterator<Item = f64>) {
    let (found, expected) = (Vec::from_iter(found), Vec::from_iter(expected));
    let near =
        |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-7 * (1.0 + expected.abs());
    assert!(
        found.len() == expected.len() && found.iter().zip(&expected).all(near),
        "{found:?} is not {expected:?}"
    );
}

/// A function of two vectors with a Hessian that is nowhere zero.
fn entangled((x, w): (&Tensor1<f64>, &Tensor1<f64>)) -> Tensor1<f64> {
    (x * w).exp() * x.tanh() + w.powi(3) * x.sum()
}

/// The derivative of each output, in rows, by each of the numbers in `at`.
fn differences(function: impl Fn(Array1<f64>) -> Array1<f64>, at: &Array1<f64>) -> Array2<f64> {
    let step = 1e-6;
    let columns: Vec<Array1<f64>> = (0..at.len())
        .map(|entry| {
            let moved = |by: f64| {
                let mut moved = at.clone();
                moved[entry] += by;
                function(moved)
            };
            (moved(step) - moved(-step)) / (2.0 * step)
        })
        .collect();
    let columns: Vec<ArrayView1<f64>> = columns.iter().map(|column| column.view()).collect();
    pullback::ndarray::stack(Axis(1), &columns).unwrap()
}

#[test]
fn jacobians_and_products_agree_with_differences() {
    let (x, w) = (constant([0.5, -1.0, 0.25]), constant([0.3, 0.7, -0.4]));
    let by_x = differences(|x| entangled((&x.into(), &w)).to_array(), &x.to_array());
    let by_w = differences(|w| entangled((&x, &w.into())).to_array(), &w.to_array());
    let (u, v) = (constant([1.0, 2.0, -0.5]), constant([0.1, -3.0, 1.0]));
    for forward_mode in [false, true] {
        let options = Functional::new().forward_mode(forward_mode).strict(true);
        let (found_x, found_w) = options.jacobian(entangled, (&x, &w)).unwrap();
        assert_close(found_x.to_array(), by_x.iter().copied());
        assert_close(found_w.to_array(), by_w.iter().copied());
    }
    let (y, (dx, dw)) = vjp(entangled, (&x, &w), &v).unwrap();
    assert_eq!(y.to_array(), entangled((&x, &w)).to_array());
    assert_close(dx.to_array(), v.to_array().dot(&by_x));
    assert_close(dw.to_array(), v.to_array().dot(&by_w));
    let (y, along) = jvp(entangled, (&x, &w), (&u, &v)).unwrap();
    assert_eq!(y.to_array(), entangled((&x, &w)).to_array());
    assert_close(
        along.to_array(),
        by_x.dot(&u.to_array()) + by_w.dot(&v.to_array()),
    );
}

#[test]
fn hessians_and_products_agree_with_differences() {
    let (x, w) = (constant([0.5, -1.0]), constant([0.3, 0.7]));
    let loss = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| entangled((x, w)).sum();
    let one = Tensor::from(arr0(1.0));
    let gradient_of_x = |x: Array1<f64>, w: &Tensor1<f64>| {
        let (_, (dx, _)) = vjp(loss, (&Tensor::from(x), w), &one).unwrap();
        dx.to_array()
    };
    let xx = differences(|x| gradient_of_x(x, &w), &x.to_array());
    let xw = differences(|at| gradient_of_x(x.to_array(), &at.into()), &w.to_array());
    let (u, v) = (constant([1.0, 2.0]), constant([0.1, -3.0]));
    for forward_mode in [false, true] {
        let options = Functional::new().forward_mode(forward_mode).strict(true);
        let ((found_xx, found_xw), (found_wx, ww)) = options.hessian(loss, (&x, &w)).unwrap();
        assert_close(found_xx.to_array(), xx.iter().copied());
        assert_close(found_xw.to_array(), xw.iter().copied());
        assert_close(found_wx.t().to_array(), xw.iter().copied());
        let (ww, u, v) = (ww.to_array(), u.to_array(), v.to_array());
        let expected = (xx.dot(&u) + xw.dot(&v), u.dot(&xw) + ww.dot(&v));
        let products = [
            options.hvp(loss, (&x, &w), (&u.clone().into(), &v.clone().into())),
            options.vhp(loss, (&x, &w), (&u.into(), &v.into())),
        ];
        for product in products {
            let (value, (along_x, along_w)) = product.unwrap();
            assert_eq!(value.item(), loss((&x, &w)).item());
            assert_close(along_x.to_array(), expected.0.iter().copied());
            assert_close(along_w.to_array(), expected.1.iter().copied());
        }
    }
}

/// x³, twice differentiable, as elementwise functions are unless they are given another order.
#[custom_function(elementwise)]
fn cube<T: Real>(x: T) -> T {
    x * x * x
}

/// The state x₀ x₁ … of numbers along the axis of steps.
#[custom_function(scan)]
fn product<T: Real>(#[state] y: T, #[step] x: T) -> T {
    y * x
}

/// out[i] = Σⱼ xᵢ² yⱼ
#[custom_function(pairs)]
fn weighted_square<T: Real>(#[row] x: T, #[column] y: T) -> T {
    x * x * y
}

/// The product of a Hessian with a vector needs no third derivative.
#[test]
fn hvp_of_functions_that_are_differentiable_twice() {
    let (x, v) = (constant([2.0, 3.0]), constant([1.0, 10.0]));
    let one = Tensor::from(1.0);
    for forward_mode in [false, true] {
        let options = Functional::new().forward_mode(forward_mode);
        let along = |loss: &dyn Fn(&Tensor1<f64>) -> Tensor0<f64>| {
            let (value, along) = options.hvp(loss, &x, &v).unwrap();
            (value.item(), along.to_array())
        };
        let cubes = along(&|x| cube(x).sum());
        assert_eq!(cubes, (35.0, array![12.0, 180.0]));
        let products = along(&|x| product(&one, x));
        assert_eq!(products, (6.0, array![10.0, 1.0]));
        let squares = along(&|x| weighted_square(x, &constant([1.0, 4.0])).sum());
        assert_eq!(squares, (65.0, array![10.0, 100.0]));
    }
}

/// x as `f64`, which no built-in function does; with a rule.
struct Widen;

#[custom_function]
impl Widen {
    #[forward]
    fn forward(x: ArrayView1<f32>) -> Array1<f64> {
        x.mapv(f64::from)
    }

    #[backward(x)]
    #[expect(clippy::cast_possible_truncation, reason = "what it is the reverse of")]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f32> {
        grad_output.mapv(|grad| grad as f32)
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f32>) -> Array1<f64> {
        tangent_x.mapv(f64::from)
    }
}

#[test]
fn blocks_have_the_shapes_of_output_and_input_whatever_the_strategy() {
    let x: Tensor2<f64> = Tensor::from(array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let w = Tensor::from(array![2.0_f32, 3.0]);
    let s = Tensor::from(arr0(0.5));
    let function = |(x, w, s): (&Tensor2<f64>, &Tensor1<f32>, &Tensor0<f64>)| {
        let wide = Widen::apply(w) * s;
        (x * s, x.sum() * s, w * w, wide)
    };
    let reverse = jacobian(function, (&x, &w, &s)).unwrap();
    let options = Functional::new().forward_mode(true);
    let forward = options.jacobian(function, (&x, &w, &s)).unwrap();
    assert_eq!(format!("{reverse:?}"), format!("{forward:?}"));
    let ((xx, xw, xs), (_, _, sum_s), (wx, ww, ws), (_, wide_w, wide_s)) = reverse;
    assert_eq!(
        (xx.shape(), xw.shape(), xs.shape()),
        (&[2, 3, 2, 3][..], &[2, 3, 2][..], &[2, 3][..])
    );
    assert_eq!(
        (wx.shape(), ww.shape(), ws.shape()),
        (&[2, 2, 3][..], &[2, 2][..], &[2][..])
    );
    // Blocks have the element types of the inputs.
    let ww: Array2<f32> = ww.to_array();
    let wide_w: Array2<f32> = wide_w.to_array();
    assert_eq!(
        (ww, wide_w),
        (
            array![[4.0, 0.0], [0.0, 6.0]],
            array![[0.5, 0.0], [0.0, 0.5]]
        )
    );
    assert_eq!((xs.to_array(), sum_s.item()), (x.to_array(), 21.0));
    assert_eq!(wide_s.to_array(), array![2.0, 3.0]);
    assert_eq!((xw.sum().item(), ws.sum().item()), (0.0, 0.0));

    let by_parts = jacobian(|x| (x.sum(), x * x), &x).unwrap();
    let (sum, square): (Tensor2<f64>, Tensor4<f64>) = by_parts;
    assert_eq!(
        (sum.to_array(), square.to_array()[[1, 2, 1, 2]]),
        (Array2::ones((2, 3)), 12.0)
    );
    let (single,): (Tensor4<f64>,) = jacobian(|(x,)| x * x, (&x,)).unwrap();
    assert_eq!(single.to_array(), square.to_array());
    let ((single,),) = jacobian(|(x,)| (x * x,), (&x,)).unwrap();
    assert_eq!(single.to_array(), square.to_array());
    // Ranks that only the run knows, and those above six.
    let dynamic: TensorD<f64> = jacobian(|x| x.clone().into_dyn(), &x).unwrap();
    assert_eq!(dynamic.shape(), [2, 3, 2, 3]);
    let deep: Tensor4<f64> = Tensor::from(pullback::ndarray::Array4::ones((1, 1, 1, 2)));
    let deep: TensorD<f64> = jacobian(|deep| deep * deep, &deep).unwrap();
    assert_eq!(deep.shape(), [1, 1, 1, 2, 1, 1, 1, 2]);
}

#[test]
fn mixed_element_types_have_derivatives_of_derivatives() {
    let (x, w) = (Tensor::from(array![2.0]), Tensor::from(array![3.0_f32]));
    let function = |(x, w): (&Tensor1<f64>, &Tensor1<f32>)| (x * x, w * w * w);
    let options = Functional::new().create_graph(true);
    for (forward_mode, inner_mode) in [(false, false), (true, true), (false, true)] {
        let second = |(x, w): (&Tensor1<f64>, &Tensor1<f32>)| {
            let inner = options.forward_mode(inner_mode);
            let ((xx, _), (_, ww)) = inner.jacobian(function, (x, w)).unwrap();
            (xx.sum(), ww.sum())
        };
        let outer = Functional::new().forward_mode(forward_mode);
        let ((xx, xw), (wx, ww)) = outer.jacobian(second, (&x, &w)).unwrap();
        assert_eq!(
            (xx.to_array(), ww.to_array()),
            (array![2.0], array![18.0_f32])
        );
        assert_eq!(
            (xw.to_array(), wx.to_array()),
            (array![0.0_f32], array![0.0])
        );
    }
}

#[test]
fn without_create_graph_nothing_reaches_the_callers_tensors() {
    let (x, w) = (leaf([1.0, 2.0]), leaf([3.0, 4.0]));
    let history = w.exp();
    let function = |x: &Tensor1<f64>| x * x * &w * &history;
    let loss = |x: &Tensor1<f64>| function(x).sum();
    let results = [
        vjp(function, &x, &x).unwrap(),
        jvp(function, &x, &x).unwrap(),
    ];
    for (outputs, derivative) in results {
        assert!(!outputs.requires_grad() && !derivative.requires_grad());
    }
    for forward_mode in [false, true] {
        let options = Functional::new().forward_mode(forward_mode);
        assert!(!options.jacobian(function, &x).unwrap().requires_grad());
        assert!(!options.hessian(loss, &x).unwrap().requires_grad());
        let (value, product) = options.hvp(loss, &x, &x).unwrap();
        assert!(!value.requires_grad() && !product.requires_grad());
    }
    assert!(!vhp(loss, &x, &x).unwrap().1.requires_grad());
    // An input and a seed that come back as they are.
    let (same, seed) = vjp(Clone::clone, &x, &w).unwrap();
    assert!(!same.requires_grad() && !seed.requires_grad());
    let (same, tangent) = jvp(Clone::clone, &x, &w).unwrap();
    assert!(!same.requires_grad() && !tangent.requires_grad());
    assert_eq!((x.grad(), w.grad()), (None, None));
    // Nor does a pass that the function runs itself.
    let with_a_pass = |x: &Tensor1<f64>| {
        (x * x).sum().backward().unwrap();
        x * x
    };
    assert_eq!(
        vjp(with_a_pass, &x, &x).unwrap().1.to_array(),
        array![2.0, 8.0]
    );
    assert_eq!(x.grad(), None);
    // What was recorded before is still whole.
    history.sum().backward().unwrap();
    assert_eq!(w.grad(), Some(history.to_array()));
}

#[test]
fn with_create_graph_gradients_flow_to_the_callers_tensors() {
    let (x, w) = (leaf([2.0]), leaf([5.0]));
    let base = &x * 3.0;
    let function = |x: &Tensor1<f64>| x * x * x * &w;
    let loss = |x: &Tensor1<f64>| function(x).sum();
    let one = constant([1.0]);
    let options = Functional::new().create_graph(true);
    let retained = |loss: &Tensor0<f64>, inputs: (&Tensor1<f64>, &Tensor1<f64>)| {
        Grad::of(loss).retain_graph(true).run(inputs).unwrap()
    };
    // d/dx and d/dw of 3 b² w for b = 3 x: 54 x w and 27 x²
    let check = |first: Tensor0<f64>| {
        assert_eq!(first.item(), 540.0);
        let (dx, dw) = retained(&first, (&x, &w));
        assert_eq!(
            (dx.to_array(), dw.to_array()),
            (array![540.0], array![108.0])
        );
    };
    check(options.vjp(function, &base, &one).unwrap().1.sum());
    for forward_mode in [false, true] {
        let options = options.forward_mode(forward_mode);
        check(options.jvp(function, &base, &one).unwrap().1.sum());
        check(options.jacobian(function, &base).unwrap().sum());
        // d/dx and d/dw of 6 b w: 18 w and 6 b
        let seconds = [
            options.hessian(loss, &base).unwrap().sum(),
            options.hvp(loss, &base, &one).unwrap().1.sum(),
            options.vhp(loss, &base, &one).unwrap().1.sum(),
        ];
        for second in seconds {
            assert_eq!(second.item(), 180.0);
            let (dx, dw) = retained(&second, (&x, &w));
            assert_eq!((dx.to_array(), dw.to_array()), (array![90.0], array![36.0]));
        }
    }
    // The outputs, and the vectors, have a history too.
    let (value, product) = options.vjp(function, &base, &w).unwrap();
    let (dw,) = grad(&product.sum(), (&w,)).unwrap();
    assert_eq!(dw.to_array(), array![3.0 * 36.0 * 10.0]);
    let (dw,) = grad(&value, (&w,)).unwrap();
    assert_eq!(
        (dw.to_array(), x.grad(), w.grad()),
        (array![216.0], None, None)
    );
    // Inputs that do not require grad have derivatives all the same.
    let plain = constant([2.0]);
    assert_eq!(
        options.jacobian(|x| x * x, &plain).unwrap().to_array(),
        array![[4.0]]
    );
}

#[test]
fn each_input_is_told_from_other_uses_of_the_same_tensor() {
    let x = leaf([3.0]);
    let function = |(a, b): (&Tensor1<f64>, &Tensor1<f64>)| a * a * b * &x;
    for create_graph in [false, true] {
        for forward_mode in [false, true] {
            let options = Functional::new()
                .create_graph(create_graph)
                .forward_mode(forward_mode);
            let (by_a, by_b) = options.jacobian(function, (&x, &x)).unwrap();
            assert_eq!(
                (by_a.to_array(), by_b.to_array()),
                (array![[54.0]], array![[27.0]])
            );
        }
    }
}

#[test]
fn what_does_not_depend_is_zero_or_in_strict_mode_an_error() {
    let (x, w) = (constant([1.0, 2.0]), constant([3.0]));
    let one_of_two = |(x, _): (&Tensor1<f64>, &Tensor1<f64>)| (x * x).sum();
    let seed = Tensor::from(arr0(1.0));
    let (_, (_, dw)) = vjp(one_of_two, (&x, &w), &seed).unwrap();
    assert_eq!(dw.to_array(), array![0.0]);
    let (_, along) = jvp(|_| w.clone(), &x, &x).unwrap();
    assert_eq!(along.to_array(), array![0.0]);
    assert_eq!(
        jacobian(|_| w.clone(), &x).unwrap().to_array(),
        array![[0.0, 0.0]]
    );
    assert_eq!(
        hessian(|x| x.sum(), &x).unwrap().to_array(),
        Array2::<f64>::zeros((2, 2))
    );
    assert_eq!(
        hvp(|_| seed.clone(), &x, &x).unwrap().1.to_array(),
        array![0.0, 0.0]
    );

    for forward_mode in [false, true] {
        let strict = Functional::new().strict(true).forward_mode(forward_mode);
        let independent =
            |result: Result<String, Error>,
             expected: (Derivative, Option<usize>, Option<usize>)| {
                let (derivative, output, input) = expected;
                let expected = ErrorKind::Independent {
                    derivative,
                    output,
                    input,
                };
                assert_eq!(result.unwrap_err().kind(), &expected);
            };
        let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
        let (first, second) = (Derivative::First, Derivative::Second);
        let vjp = strict.vjp(one_of_two, (&x, &w), &seed);
        independent(vjp.map(|value| shown(&value)), (first, None, Some(1)));
        let jvp = strict.jvp(|x| (x * x, w.clone()), &x, &x);
        independent(jvp.map(|value| shown(&value)), (first, Some(1), None));
        // Each output and each input has a counterpart, but not each pair.
        let crossed = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| (x * x, w * w);
        assert!(strict.jvp(crossed, (&x, &w), (&x, &w)).is_ok());
        let pairs = strict.jacobian(crossed, (&x, &w));
        independent(pairs.map(|value| shown(&value)), (first, Some(0), Some(1)));
        // A gradient that is constant.
        let linear = strict.hessian(|x| (x * 2.0).sum(), &x);
        independent(
            linear.map(|value| shown(&value)),
            (second, Some(0), Some(0)),
        );
        let sum = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| (x * x).sum() + (w * w).sum();
        let apart = strict.hessian(sum, (&x, &w));
        independent(apart.map(|value| shown(&value)), (second, Some(0), Some(1)));
        assert!(strict.hvp(sum, (&x, &w), (&x, &w)).is_ok());
        for product in [
            strict.hvp(|x| x.sum(), &x, &x),
            strict.vhp(|x| x.sum(), &x, &x),
        ] {
            independent(product.map(|value| shown(&value)), (second, Some(0), None));
        }
        let partly = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| (x * x).sum() + w.sum();
        let partly = strict.hvp(partly, (&x, &w), (&x, &w)).unwrap_err();
        let text = "the gradient of input 1 depends on no input, which `strict` does not allow";
        assert_eq!(partly.message(), text);
    }
}
