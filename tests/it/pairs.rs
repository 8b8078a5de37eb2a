//! `#[custom_function(pairs)]`: a formula of each row with each column.

use pullback::functional::{Functional, vmap};
use pullback::kernels::set_threads;
use pullback::ndarray::{Array1, Array2, Axis, array, s};
use pullback::prelude::*;

use crate::functions::panic_of;

/// Σⱼ exp(−‖xᵢ − yⱼ‖² / width) bⱼ
#[custom_function(pairs, gradcheck(x = [5, 3], y = [7, 3], b = [7], width = 2.0))]
fn gaussian<T: Real>(#[row] x: [T; 3], #[column] y: [T; 3], #[column] b: T, width: f64) -> T {
    let square = |k: usize| (x[k] - y[k]) * (x[k] - y[k]);
    (-(square(0) + square(1) + square(2)) / width).exp() * b
}

mod apart {
    use super::*;

    pub fn square_of<T: Real>(x: [T; 3], y: [T; 3]) -> T {
        let mut square = T::from(0.0);
        for (x, y) in x.into_iter().zip(y) {
            square += (x - y).square();
        }
        square
    }
}

/// The same with a function of another module, which the macro does not see: its derivatives are recorded.
#[custom_function(pairs, gradcheck(x = [5, 3], y = [7, 3], b = [7], width = 2.0))]
fn recorded<T: Real>(#[row] x: [T; 3], #[column] y: [T; 3], #[column] b: T, width: f64) -> T {
    (-apart::square_of(x, y) / width).exp() * b
}

/// A kernel of several heights that ends at a radius: rows of pairs in two courses.
#[custom_function(
    pairs,
    outputs(heights, count),
    gradcheck(x = [3, 4], y = [40, 4], radius = [] in 0.7..0.8, gain = [2])
)]
fn compact<T: Real>(#[row] x: [T; 4], #[column] y: [T; 4], radius: T, gain: [T; 2]) -> ([T; 2], T) {
    let square: T = x.into_iter().zip(y).map(|(x, y)| (x - y).square()).sum();
    let rest = radius - square;
    if rest > 0.0 {
        (gain.map(|gain| gain * rest.powi(3)), rest * rest * rest)
    } else {
        ([T::from(0.0); 2], T::from(0.0))
    }
}

#[custom_function(pairs(reduce = log_sum_exp), gradcheck(query = [3, 8], key = [35, 8]))]
fn attention<T: Real>(#[row] query: [T; 8], #[column] key: [T; 8]) -> T {
    query.into_iter().zip(key).map(|(q, k)| q * k).sum()
}

#[custom_function(pairs(reduce = max), gradcheck(x = [4, 5], y = [3, 5]))]
fn most_alike<T: Real>(#[row] x: [T; 5], #[column] y: [T; 5]) -> T {
    -x.into_iter()
        .zip(y)
        .map(|(x, y)| (x - y).square())
        .sum::<T>()
}

/// A sum of rows and a sum of numbers, with a number and a row for all pairs.
#[custom_function(
    pairs,
    outputs(force, energy),
    gradcheck(x = [4], y = [3], center = [2], scale = []),
)]
fn pulled<T: Real>(#[row] x: T, #[column] y: T, center: [T; 2], scale: T) -> ([T; 2], T) {
    let distance = x - y;
    let pull = scale * distance.sin();
    ([pull * center[0], pull + center[1] * distance], pull * pull)
}

#[custom_function(pairs(reduce = log_sum_exp), gradcheck(x = [4, 2], y = [3, 2], b = [3]))]
fn potential<T: Real>(#[row] x: [T; 2], #[column] y: [T; 2], #[column] b: T) -> T {
    x[0] * y[0] + x[1] * y[1] + b
}

#[custom_function(pairs(reduce = min), gradcheck(x = [4, 2], y = [3, 2]))]
fn nearest<T: Real>(#[row] x: [T; 2], #[column] y: [T; 2]) -> T {
    (x[0] - y[0]).square() + (x[1] - y[1]).square()
}

#[custom_function(pairs(reduce = max), gradcheck(x = [4], y = [3], shift = []))]
fn largest<T: Real>(#[row] x: T, #[column] y: T, shift: T) -> T {
    (x * y + shift).sin()
}

fn number(i: usize, j: usize) -> f64 {
    ((i * 7 + j * 3) as f64 * 0.37).sin()
}

fn points(count: usize, seed: usize) -> Tensor2<f64> {
    let points = Array2::from_shape_fn((count, 3), |(i, j)| number(i + seed, j));
    Tensor::from(points).set_requires_grad(true)
}

fn near<D: pullback::ndarray::Dimension>(found: &Tensor<f64, D>, expected: &Tensor<f64, D>) {
    let error = (&found.view() - &expected.view()).mapv(f64::abs);
    let largest = expected
        .view()
        .iter()
        .fold(1.0, |most: f64, x| most.max(x.abs()));
    let error = error.iter().fold(0.0, |most: f64, x| most.max(*x));
    assert!(error <= 1e-12 * largest, "{found} in place of {expected}");
}

/// The same on the tape, with the whole matrix.
fn on_the_tape(x: &Tensor2<f64>, y: &Tensor2<f64>, b: &Tensor1<f64>) -> Tensor1<f64> {
    let difference = x.unsqueeze(Axis(1)) - y.unsqueeze(Axis(0));
    let weights = (-difference.square().sum_axis(Axis(2)) / 2.0).exp();
    weights.matmul(b)
}

#[test]
fn sums_have_the_derivatives_of_the_tape() {
    for (n, m) in [(5, 7), (1, 4), (9, 1), (300, 40), (20, 1500)] {
        let (x, y) = (points(n, 0), points(m, 50));
        let b = Array1::from_shape_fn(m, |i| number(i, 5));
        let b = Tensor::from(b).set_requires_grad(true);
        let derivatives = |sums: Tensor1<f64>| {
            let all = (&x, &y, &b);
            let first = Grad::of(&sums.powi(2).sum())
                .create_graph(true)
                .run(all)
                .unwrap();
            let again = first.0.square().sum() + first.1.square().sum() + first.2.square().sum();
            let second = grad(&again, all).unwrap();
            (sums, first, second)
        };
        let expected = derivatives(on_the_tape(&x, &y, &b));
        for sums in [gaussian(&x, &y, &b, 2.0), recorded(&x, &y, &b, 2.0)] {
            let found = derivatives(sums);
            near(&found.0, &expected.0);
            near(&found.1.0, &expected.1.0);
            near(&found.1.1, &expected.1.1);
            near(&found.1.2, &expected.1.2);
            near(&found.2.0, &expected.2.0);
            near(&found.2.1, &expected.2.1);
            near(&found.2.2, &expected.2.2);
        }
    }
}

#[test]
fn recorded_gradients_are_the_same_on_any_number_of_threads() {
    let (x, y) = (points(200, 0), points(1100, 50));
    let b = Tensor::from(Array1::from_shape_fn(1100, |i| number(i, 5)));
    let gradients = |threads| {
        set_threads(threads);
        let (x, y) = grad(&recorded(&x, &y, &b, 2.0).powi(2).sum(), (&x, &y)).unwrap();
        [x, y].map(|gradient| gradient.to_array())
    };
    let one = gradients(1);
    for threads in [2, 3] {
        assert!(gradients(threads) == one, "{threads} threads");
    }
    set_threads(2);
}

#[test]
fn forward_mode_is_that_of_the_tape() {
    let (x, y, v) = (points(6, 0), points(8, 50), points(6, 9).detach());
    let b = Tensor::from(Array1::from_shape_fn(8, |i| number(i, 5)));
    let (_, found) = jvp(|x| gaussian(x, &y, &b, 2.0), &x, &v).unwrap();
    let (_, expected) = jvp(|x| on_the_tape(x, &y, &b), &x, &v).unwrap();
    near(&found, &expected);
    // Along two directions, one after the other, and of gradients.
    let forward = Functional::new().forward_mode(true);
    let twice = |f: &dyn Fn(&Tensor2<f64>) -> Tensor1<f64>| {
        let once = |x: &Tensor2<f64>| jvp(f, x, &v).unwrap().1;
        forward.jvp(once, &x, &v).unwrap().1
    };
    near(
        &twice(&|x| gaussian(x, &y, &b, 2.0)),
        &twice(&|x| on_the_tape(x, &y, &b)),
    );
    let of_gradient = |f: &dyn Fn(&Tensor2<f64>) -> Tensor1<f64>| {
        forward
            .hvp(|x| f(x).powi(2).sum(), &x.detach(), &v)
            .unwrap()
            .1
    };
    near(
        &of_gradient(&|x| gaussian(x, &y, &b, 2.0)),
        &of_gradient(&|x| on_the_tape(x, &y, &b)),
    );
}

#[test]
fn several_sums_of_rows_and_numbers() {
    let leaf = |x: Array1<f64>| Tensor::from(x).set_requires_grad(true);
    let (x, y) = (leaf(array![0.3, -0.5]), leaf(array![0.1, 0.9, -2.0]));
    let (center, scale) = (leaf(array![0.7, -0.2]), Tensor::from(1.5));
    let (force, energy): (Tensor2<f64>, Tensor1<f64>) = pulled(&x, &y, &center, &scale);
    let pull = |i: usize, j: usize| 1.5 * (x.view()[i] - y.view()[j]).sin();
    let sum = |f: &dyn Fn(usize) -> f64| (0..3).map(f).sum::<f64>();
    for i in 0..2 {
        assert!((energy.view()[i] - sum(&|j| pull(i, j).powi(2))).abs() < 1e-14);
        assert!((force.view()[[i, 0]] - sum(&|j| 0.7 * pull(i, j))).abs() < 1e-14);
    }
    let thorough = Gradcheck::new().second_order().forward_mode();
    thorough
        .run(|(x, y, c, s)| pulled(x, y, c, s), (&x, &y, &center, &scale))
        .unwrap();
}

#[test]
fn a_tensor_may_be_both_rows_and_columns() {
    let x = points(6, 1);
    let b = Tensor::from(Array1::ones(6));
    let found = grad(&gaussian(&x, &x, &b, 2.0).sum(), &x).unwrap();
    let expected = grad(&on_the_tape(&x, &x, &b).sum(), &x).unwrap();
    near(&found, &expected);
}

#[test]
fn logarithms_of_sums_neither_overflow_nor_lose_derivatives() {
    for (n, m) in [(4, 5), (7, 3000)] {
        let rows = |count, seed| {
            let rows = Array2::from_shape_fn((count, 2), |(i, j)| 30.0 * number(i + seed, j));
            Tensor::from(rows).set_requires_grad(true)
        };
        let (x, y) = (rows(n, 0), rows(m, 90));
        let b = Tensor::from(Array1::from_shape_fn(m, |i| number(i, 2)));
        let b = b.set_requires_grad(true);
        let whole = || (x.matmul(&y.t()) + &b).logsumexp_axis(Axis(1));
        let derivatives = |value: Tensor1<f64>| {
            let all = (&x, &y, &b);
            let first = Grad::of(&value.square().sum())
                .create_graph(true)
                .run(all)
                .unwrap();
            let again = first.0.square().sum() + first.2.square().sum();
            (value, first.0, first.2, grad(&again, &y).unwrap())
        };
        let (found, expected) = (derivatives(potential(&x, &y, &b)), derivatives(whole()));
        near(&found.0, &expected.0);
        near(&found.1, &expected.1);
        near(&found.2, &expected.2);
        let largest = expected
            .3
            .view()
            .iter()
            .fold(0.0, |most: f64, x| most.max(x.abs()));
        let error = (&found.3.view() - &expected.3.view()).mapv(f64::abs);
        assert!(
            error.iter().all(|error| *error <= 1e-9 * largest),
            "{error}"
        );
    }
}

#[test]
fn extremes_go_to_the_first_column_that_has_them() {
    let leaf = |x: Array2<f64>| Tensor::from(x).set_requires_grad(true);
    let x = leaf(array![[0.0, 0.0], [5.0, 5.0]]);
    let y = leaf(array![[1.0, 0.0], [-1.0, 0.0], [4.0, 5.0]]);
    let found = nearest(&x, &y);
    assert_eq!(found.to_array(), array![1.0, 1.0]);
    let (of_x, of_y) = grad(&found.sum(), (&x, &y)).unwrap();
    assert_eq!(of_x.to_array(), array![[-2.0, 0.0], [2.0, 0.0]]);
    assert_eq!(of_y.to_array(), array![[2.0, 0.0], [0.0, 0.0], [-2.0, 0.0]]);
    Gradcheck::new()
        .second_order()
        .forward_mode()
        .run(
            |(x, y)| nearest(x, y),
            (&x, &leaf(array![[1.0, 0.3], [4.0, 5.5]])),
        )
        .unwrap();
}

#[test]
fn none_of_a_side() {
    let none = Tensor::from(Array1::<f64>::zeros(0));
    let some = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    let (center, scale) = (Tensor::from(array![1.0, 1.0]), Tensor::from(1.0));
    let (force, energy) = pulled(&some, &none, &center, &scale);
    assert_eq!(force.to_array(), Array2::<f64>::zeros((2, 2)));
    assert_eq!(
        grad(&energy.sum(), &some).unwrap().to_array(),
        array![0.0, 0.0]
    );
    assert_eq!(pulled(&none, &some, &center, &scale).1.shape(), [0]);
    assert_eq!(largest(&none, &some, &scale).shape(), [0]);
    let (message, ..) = panic_of(|| drop(largest(&some, &none, &scale)));
    assert!(message.contains("there is no column"), "{message}");
    let columns = Tensor::from(Array2::<f64>::zeros((0, 2)));
    let rows = Tensor::from(Array2::<f64>::zeros((3, 2)));
    let none = potential(&rows, &columns, &Tensor::from(Array1::zeros(0)));
    assert!(none.view().iter().all(|x| *x == f64::NEG_INFINITY));
}

#[test]
fn wrong_shapes_are_named_at_the_line_of_the_call() {
    let of = |n: usize, k: usize| Tensor::from(Array2::<f64>::zeros((n, k)));
    let b = Tensor::from(Array1::<f64>::zeros(4));
    let (message, file, line) = panic_of(|| drop(gaussian(&of(2, 3), &of(5, 3), &b, 1.0)));
    assert_eq!(
        message,
        "`gaussian` of `x` of shape [2, 3], `y` of shape [5, 3] and `b` of shape [4]: \
         `y` has 5 columns, and `b` has 4"
    );
    assert_eq!((&*file, line), (file!(), line!() - 6));
    let (message, ..) = panic_of(|| drop(gaussian(&of(2, 2), &of(4, 3), &b, 1.0)));
    assert_eq!(
        message,
        "`gaussian` of `x` of shape [2, 2], `y` of shape [4, 3] and `b` of shape [4]: \
         `x` has rows of length 3, but its last axis has length 2"
    );
}

#[test]
fn single_precision_and_arrays() {
    let x = Array2::from_shape_fn((3, 3), |(i, j)| f32::from_f64(number(i, j)));
    let b = Array1::from_elem(3, 0.5_f32);
    let found = Gaussian::forward(x.view(), x.view(), b.view(), 2.0);
    let double = gaussian(
        &Tensor::from(x.mapv(f64::from)),
        &Tensor::from(x.mapv(f64::from)),
        &Tensor::from(b.mapv(f64::from)),
        2.0,
    );
    let error = found.mapv(f64::from) - double.view();
    assert!(error.iter().all(|error| error.abs() < 1e-6));
}

#[test]
fn examples_are_mapped() {
    let x = points(12, 0).reshape([3, 4, 3]);
    let (y, b) = (points(5, 7), Tensor::from(Array1::ones(5)));
    let mapped = vmap(|x| gaussian(x, &y, &b, 2.0), Axis(0), &x).unwrap();
    let one = gaussian(&x.slice(s![1, .., ..]), &y, &b, 2.0);
    near(&mapped.slice(s![1, ..]), &one);
}

#[test]
fn the_signature_has_the_shapes() {
    let signature = Pulled::<f64>::SIGNATURE;
    let inputs: Vec<_> = signature.inputs.iter().map(|input| input.shape).collect();
    assert_eq!(
        inputs,
        [Some("[rows]"), Some("[columns]"), Some("[2]"), Some("[]")]
    );
    let outputs = signature.outputs.iter().map(|output| output.shape);
    assert_eq!(
        outputs.collect::<Vec<_>>(),
        [Some("[rows, 2]"), Some("[rows]")]
    );
}

/// Σⱼ ‖xᵢ − yⱼ‖⁻¹²
#[custom_function(pairs)]
fn repulsion<T: Real>(#[row] x: [T; 2], #[column] y: [T; 2]) -> T {
    ((x[0] - y[0]).square() + (x[1] - y[1]).square()).powi(-6)
}

#[test]
fn a_check_names_the_input_and_an_output_that_is_too_large_for_differences() {
    let (x, y) = (
        Tensor::from(array![[0.0, 0.0]]),
        Tensor::from(array![[0.01, 0.0], [1.0, 0.3]]),
    );
    let result = Gradcheck::new().run(|(x, y)| repulsion(x, y), (&x, &y));
    let text = result.unwrap_err().to_string();
    assert!(
        text.contains("of `repulsion` with respect to `x` (input 0): "),
        "{text}"
    );
    assert!(
        text.contains("The output is 1.0e24, and the rounding of such a number"),
        "{text}"
    );
}

/// In `f32`, replays have one row of 32 columns or two, and the last one may not be whole.
#[test]
fn recorded_sums_of_single_precision_are_those_of_double_precision() {
    fn same<D: pullback::ndarray::Dimension>(found: Tensor<f32, D>, expected: Tensor<f64, D>) {
        let (found, expected) = (found.to_array(), expected.to_array());
        let largest = expected.fold(1.0, |most: f64, x| most.max(x.abs()));
        let mut pairs = found.iter().zip(&expected);
        let are_near = pairs.all(|(x, y)| (f64::from(*x) - y).abs() < 1e-6 * largest);
        assert!(are_near, "{found} in place of {expected}");
    }

    for columns in [31, 33, 64, 70, 96, 129, 300] {
        let (x, y) = (points(3, 0), points(columns, 50));
        let b = Tensor::from(Array1::from_shape_fn(columns, |i| number(i, 5)));
        let b = b.set_requires_grad(true);
        let single = |points: &Tensor2<f64>| {
            Tensor::from(points.to_array().mapv(f32::from_f64)).set_requires_grad(true)
        };
        let (single_x, single_y) = (single(&x), single(&y));
        let single_b = Tensor::from(b.to_array().mapv(f32::from_f64)).set_requires_grad(true);
        let found = recorded(&single_x, &single_y, &single_b, 2.0);
        let expected = recorded(&x, &y, &b, 2.0);
        let first = grad(&found.sum(), (&single_x, &single_y, &single_b)).unwrap();
        let exact = grad(&expected.sum(), (&x, &y, &b)).unwrap();
        same(found, expected);
        same(first.0, exact.0);
        same(first.1, exact.1);
        same(first.2, exact.2);
    }
}
