//! Nodes in libtorch's graph: gradients of gradients, the gradients that are computed, and when memory is freed.

use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;
use pullback_fixtures::linear;
use pullback_tch::apply;
use tch::{Kind, Tensor};

use crate::*;

#[test]
fn gradients_of_gradients_are_libtorchs() {
    let x = random(11, &[5, 3], Kind::Double).set_requires_grad(true);
    let limit = (random(12, &[5, 1], Kind::Double).abs() + 0.5).set_requires_grad(true);
    let seed = random(13, &[5, 3], Kind::Double).set_requires_grad(true);
    let inputs = [&x, &limit, &seed];
    let orders = |y: Tensor| {
        let first = gradients(&(y * &seed), &inputs);
        let mixed =
            |of: &[Tensor]| of[0].square().sum(Kind::Double) + of[1].sin().sum(Kind::Double);
        let second = gradients(&mixed(&first), &inputs);
        let third = gradients(&mixed(&second), &inputs);
        [first, second, third]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    // Tensors of pullback, whose operations can be differentiated any number of times.
    let squash = |(x, limit): (&Tensor2<f64>, &Tensor2<f64>)| {
        let ratio = x / limit;
        x / (&ratio * &ratio + 1.0).sqrt()
    };
    let found = orders(apply(squash, (&x, &limit)).unwrap());
    let expected = orders(squash_of_libtorch(&x, &limit));
    assert_eq!(found.len(), 9);
    for (found, expected) in found.iter().zip(&expected) {
        let largest = numbers(&expected.abs()).into_iter().fold(1.0, f64::max);
        assert_close(found, expected, 1e-12 * largest);
    }
}

#[test]
fn generated_derivatives_are_libtorchs_to_their_order() {
    let x = random(16, &[4, 2], Kind::Double).set_requires_grad(true);
    let limit = (random(17, &[1, 2], Kind::Double).abs() + 0.5).set_requires_grad(true);
    let second = |y: Tensor| {
        let first = gradients(&y.square(), &[&x, &limit]);
        gradients(
            &(first[0].square().sum(Kind::Double) * first[1].sum(Kind::Double)),
            &[&x, &limit],
        )
    };
    let found = second(squash_2(&x, &limit));
    for (found, expected) in found.iter().zip(&second(squash_of_libtorch(&x, &limit))) {
        assert_close(found, expected, 1e-11);
    }
    let error = found[0]
        .sum(Kind::Double)
        .f_backward()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`squash` can be differentiated only twice"),
        "{error}"
    );
}

#[test]
fn a_graph_of_gradients_outlives_the_graph_of_values() {
    let x = leaf(&[1.0, 2.0]);
    let limit = leaf(&[1.5]);
    let of = |y: Tensor, keep_graph: bool| {
        let first = Tensor::run_backward(&[y.sum(Kind::Double)], &[&x], keep_graph, true);
        drop(y);
        first[0].sum(Kind::Double).backward();
        (x.grad().copy(), limit.grad().copy())
    };
    // The first node is freed with the pass that makes the second.
    let found = of(squash_1(&x, &limit), false);
    let zero = |mut leaf: Tensor| leaf.zero_grad();
    zero(x.shallow_clone());
    zero(limit.shallow_clone());
    let expected = of(squash_of_libtorch(&x, &limit), true);
    assert_close(&found.0, &expected.0, 1e-14);
    assert_close(&found.1, &expected.1, 1e-14);
}

#[test]
fn a_gradient_that_does_not_depend_on_an_input_gives_it_none() {
    let (x, seed) = (leaf(&[1.0, 2.0]), leaf(&[3.0, 4.0]));
    let y = apply(|x: &Tensor1<f64>| x * 2.0, &x).unwrap();
    let grad = &gradients(&(y * &seed), &[&x])[0];
    grad.square().sum(Kind::Double).backward();
    assert!(!x.grad().defined());
    assert_eq!(numbers(&seed.grad()), [24.0, 32.0]); // of Σ (2·seed)²: 8·seed
}

#[test]
fn a_function_that_is_differentiable_once_says_so() {
    let x = random(14, &[5, 3], Kind::Float).set_requires_grad(true);
    let weight = random(15, &[4, 3], Kind::Float).set_requires_grad(true);
    let linear = |(x, weight): (&Tensor2<f32>, &Tensor2<f32>)| linear(x, weight, None);
    let y = apply(linear, (&x, &weight)).unwrap();
    let grad = &gradients(&y.square(), &[&x])[0];
    let error = grad.sum(Kind::Float).f_backward().unwrap_err().to_string();
    assert!(
        error.contains("differentia") && error.contains("linear"),
        "{error}"
    );
    assert!(!x.grad().defined());
}

#[test]
fn without_a_gradient_there_is_no_node() {
    let limit = Tensor::from_slice(&[1.5]);
    let x = leaf(&[1.0]);
    assert!(squash_1(&x, &limit).requires_grad());
    assert!(!tch::no_grad(|| squash_1(&x, &limit)).requires_grad());
    assert!(!squash_1(&x.detach(), &limit).requires_grad());
    let (y, detached) = apply(|x: &Tensor1<f64>| (x * 2.0, x.detach()), &x).unwrap();
    assert!(y.requires_grad() && !detached.requires_grad());
}

static OF_X: AtomicUsize = AtomicUsize::new(0);
static OF_Y: AtomicUsize = AtomicUsize::new(0);

struct Counted;

#[custom_function]
impl Counted {
    #[forward]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x * &y
    }

    #[backward(x)]
    fn backward_x(grad_output: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        OF_X.fetch_add(1, Ordering::Relaxed);
        &grad_output * &y
    }

    #[backward(y)]
    fn backward_y(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        OF_Y.fetch_add(1, Ordering::Relaxed);
        &grad_output * &x
    }
}

#[test]
fn only_the_gradients_that_a_pass_needs_are_computed() {
    let counted = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| Counted::apply(x, y);
    let counts = || {
        (
            OF_X.swap(0, Ordering::Relaxed),
            OF_Y.swap(0, Ordering::Relaxed),
        )
    };
    let (x, y) = (leaf(&[2.0]), leaf(&[3.0]));
    // A constant.
    apply(counted, (&x, &y.detach())).unwrap().backward();
    assert_eq!((counts(), y.grad().defined()), ((1, 0), false));
    // One that this pass does not ask for.
    let product = apply(counted, (&x, &y)).unwrap();
    Tensor::run_backward(&[&product], &[&y], true, false);
    assert_eq!(counts(), (0, 1));
    Tensor::run_backward(&[&product], &[&y], true, true);
    assert_eq!(counts(), (0, 1));
    product.backward();
    assert_eq!((counts(), numbers(&x.grad())), ((1, 1), vec![6.0]));
}

#[test]
fn a_graph_is_used_again_where_it_is_kept() {
    let (x, limit) = (leaf(&[1.0]), leaf(&[1.5]));
    let y = squash_1(&x, &limit);
    let keep = || Tensor::f_run_backward(&[&y], &[&x], true, false);
    let first = numbers(&keep().unwrap()[0]);
    assert_eq!(numbers(&keep().unwrap()[0]), first);
    y.f_backward().unwrap();
    let error = y.f_backward().unwrap_err().to_string();
    assert!(
        error.contains("Trying to backward through the graph a second time"),
        "{error}"
    );
    assert!(keep().is_err());
}

#[test]
fn gradients_add_up_where_a_tensor_is_used_twice() {
    let x = leaf(&[1.0, 2.0]);
    let product = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| x * y;
    let y = apply(product, (&x, &x)).unwrap();
    let z = apply(product, (&y, &x)).unwrap() + &y;
    z.sum(Kind::Double).backward();
    assert_eq!(numbers(&x.grad()), [5.0, 16.0]); // x³ + x²
}

#[test]
fn a_gradient_that_is_sparse_is_made_dense() {
    let x = leaf(&[1.0, 2.0, 3.0]);
    let y = apply(|x: &Tensor1<f64>| x * x, &x).unwrap();
    y.gather(0, &Tensor::from_slice(&[2_i64, 0]), true)
        .sum(Kind::Double)
        .backward();
    assert_eq!(numbers(&x.grad()), [2.0, 0.0, 6.0]);
}

#[test]
fn a_long_chain_is_dropped_and_differentiated_without_recursion() {
    let x = leaf(&[1.0]);
    let chain = || {
        (0..20_000).fold(x.shallow_clone(), |y, _| {
            apply(|y: &Tensor1<f64>| y * 1.0, &y).unwrap()
        })
    };
    drop(chain());
    chain().backward();
    assert_eq!(numbers(&x.grad()), [1.0]);
}

#[test]
fn several_threads_use_one_graph_and_their_own() {
    let (x, limit) = (leaf(&[1.0, -2.0]), leaf(&[1.5]));
    let y = squash_1(&x, &limit);
    let expected = numbers(&gradients(&y, &[&x])[0]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (x, y, limit) = (x.shallow_clone(), y.shallow_clone(), limit.shallow_clone());
            let expected = &expected;
            scope.spawn(move || {
                for _ in 0..200 {
                    assert_eq!(&numbers(&gradients(&y, &[&x])[0]), expected);
                    assert_eq!(
                        &numbers(&gradients(&squash_1(&x, &limit), &[&x])[0]),
                        expected
                    );
                }
            });
        }
    });
    let backward = std::thread::spawn({
        let y = y.shallow_clone();
        move || y.sum(Kind::Double).backward()
    });
    backward.join().unwrap();
    assert_eq!(numbers(&x.grad()), expected);
    assert!(y.sum(Kind::Double).f_backward().is_err());
}

#[test]
fn a_function_may_use_libtorch_and_another_graph_inside() {
    let x = leaf(&[3.0]);
    let y = apply(
        |x: &Tensor1<f64>| {
            let inner = leaf(&[2.0]);
            let square = apply(|inner: &Tensor1<f64>| inner * inner, &inner).unwrap();
            square.backward();
            x * inner.grad().double_value(&[0])
        },
        &x,
    );
    y.unwrap().backward();
    assert_eq!(numbers(&x.grad()), [4.0]);
}
