//! Scans: recurrences over time, beside the same by a loop on the tape.

mod slices;

use std::fmt::Debug;

use pullback::ndarray::{Array, Array2, ArrayD, Axis, Dimension, Ix1, Ix2, IxDyn, array, s};
use pullback::prelude::*;
use pullback::{Gradcheck, Tensor, kernels};

use crate::functions::panic_of;

/// A leaky integrator and its rate at each step.
#[custom_function(scan, outputs(last, rate), gradcheck(v = [3], x = [20, 3], tau = [3] in 0.5..0.9))]
pub fn leaky<T: Real>(#[state] v: T, #[step] x: T, tau: T) -> (T, T) {
    let v = tau * v + x;
    (v, v.sigmoid())
}

/// Two states, from the last step, with a value; parameters in no order.
#[custom_function(
    scan(reverse),
    outputs(last_u, last_v, product),
    gradcheck(k = 0.3, a = [4], u = [4], x = [7, 4], v = [4], y = [7, 4])
)]
pub fn coupled<T: Real>(
    k: f64,
    a: T,
    #[state] u: T,
    #[step] x: T,
    #[state] v: T,
    #[step] y: T,
) -> (T, T, T) {
    let next = a * u + k * x * v.sin();
    let other = v.tanh() - y * u * 0.2;
    (next, other, next * v)
}

/// A state alone, without outputs and shared numbers.
#[custom_function(scan, gradcheck(sum = [2, 2], x = [3, 2, 2]))]
pub fn squares<T: Real>(#[state] sum: T, #[step] x: T) -> T {
    sum + x * x
}

/// A point that turns, with rows as state, as steps and as outputs.
#[custom_function(
    scan,
    outputs(last, path, radius),
    gradcheck(p = [2, 2], force = [5, 2, 2], angle = [5, 2], damping = [2])
)]
pub fn turning<T: Real>(
    #[state] p: [T; 2],
    #[step] force: [T; 2],
    #[step] angle: T,
    damping: T,
) -> ([T; 2], [T; 2], T) {
    let (s, c) = (angle.sin(), angle.cos());
    let next = [
        damping * (c * p[0] - s * p[1]) + force[0],
        damping * (s * p[0] + c * p[1]) + force[1],
    ];
    (next, [next[0] * next[1], p[0]], next[0].hypot(next[1]))
}

/// A Kalman filter of a place and a velocity: nine numbers, of which forward is compiled and gradients are recorded.
#[custom_function(
    scan,
    outputs(last_x, last_p, likelihood),
    gradcheck(x = [2, 2], p = [2, 4] in 1.0..1.1, z = [4, 2], q = [2], r = [1], dt = 0.1)
)]
pub fn kalman<T: Real>(
    #[state] x: [T; 2],
    #[state] p: [T; 4],
    #[step] z: T,
    q: T,
    r: T,
    dt: f64,
) -> ([T; 2], [T; 4], T) {
    let x = [x[0] + dt * x[1], x[1]];
    let (above, below) = (p[1] + dt * p[3], p[2] + dt * p[3]);
    let p = [
        p[0] + dt * (p[1] + below) + q * (dt * dt * dt / 3.0),
        above + q * (dt * dt / 2.0),
        below + q * (dt * dt / 2.0),
        p[3] + q * dt,
    ];
    let spread = p[0] + r;
    let off = z - x[0];
    let gain = [p[0] / spread, p[2] / spread];
    (
        [x[0] + gain[0] * off, x[1] + gain[1] * off],
        [
            p[0] - gain[0] * p[0],
            p[1] - gain[0] * p[1],
            p[2] - gain[1] * p[0],
            p[3] - gain[1] * p[1],
        ],
        -0.5 * (spread.ln() + off * off / spread),
    )
}

fn numbers<D: Dimension, S: pullback::ndarray::ShapeBuilder<Dim = D>>(
    shape: S,
    seed: f64,
) -> Array<f64, D> {
    let mut position = seed;
    Array::from_shape_simple_fn(shape, || {
        position += 1.0;
        (position * 0.618_033_988_749_895).fract() - 0.5
    })
}

fn leaf<D: Dimension>(array: Array<f64, D>) -> Tensor<f64, D> {
    Tensor::from(array).set_requires_grad(true)
}

/// [`leaky`] by a loop on the tape.
fn leaky_by_loop(
    v: &Tensor1<f64>,
    x: &Tensor2<f64>,
    tau: &Tensor1<f64>,
) -> (Tensor1<f64>, Tensor2<f64>) {
    let mut state = v.clone();
    let mut rates = Vec::new();
    for step in 0..x.shape()[0] {
        state = tau * &state + &x.slice(s![step, ..]);
        rates.push(state.sigmoid());
    }
    let rates: Vec<&Tensor1<f64>> = rates.iter().collect();
    (state, Tensor::stack(Axis(0), &rates))
}

fn assert_close<D: Dimension>(found: &Array<f64, D>, expected: &Array<f64, D>) {
    assert_eq!(found.shape(), expected.shape());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 1e-11 * (1.0 + expected.abs()),
            "{found} {expected}"
        );
    }
}

#[test]
fn time() {
    let v = leaf(array![0.5, -1.0]);
    let x = leaf(Array2::from_shape_fn((6, 2), |(t, c)| {
        (t as f64 * 0.3 - c as f64).sin()
    }));
    let tau = leaf(array![0.9, 0.5]);
    let (last, rate): (Tensor1<f64>, Tensor2<f64>) = leaky(&v, &x, &tau);
    assert_eq!((last.shape(), rate.shape()), (&[2][..], &[6, 2][..]));
    let (by_loop, rates) = leaky_by_loop(&v, &x, &tau);
    assert_close(&last.to_array(), &by_loop.to_array());
    assert_close(&rate.to_array(), &rates.to_array());
    let by_loop = grad(&(rates.sum() + by_loop.sum()), (&v, &x, &tau)).unwrap();
    let loss = rate.sum() + last.sum();
    let here = Grad::of(&loss)
        .create_graph(true)
        .run((&v, &x, &tau))
        .unwrap();
    assert_close(&here.0.to_array(), &by_loop.0.to_array());
    assert_close(&here.1.to_array(), &by_loop.1.to_array());
    assert_close(&here.2.to_array(), &by_loop.2.to_array());
    let second: Tensor1<f64> = grad(&here.2.sum(), &tau).unwrap();
    assert!(second.to_array().iter().all(|x| x.is_finite()));
}

/// Returns the sum of the outputs, each times weights.
fn weighted(last: &Tensor1<f64>, rate: &Tensor2<f64>) -> Tensor0<f64> {
    let of_last = Tensor::from(numbers(last.shape()[0], 5.0));
    let of_rate = Tensor::from(numbers([rate.shape()[0], rate.shape()[1]], 6.0));
    (last * of_last).sum() + (rate * of_rate).sum()
}

#[test]
fn second_derivatives_are_those_of_the_loop() {
    for steps in [1, 2, 3, 9, 50] {
        let (v, x, tau) = (
            leaf(numbers(3, 1.0)),
            leaf(numbers([steps, 3], 2.0)),
            leaf(numbers(3, 3.0)),
        );
        let second = |(last, rate): (Tensor1<f64>, Tensor2<f64>)| {
            let loss = weighted(&last, &rate);
            let (of_v, of_x, of_tau) = Grad::of(&loss)
                .create_graph(true)
                .run((&v, &x, &tau))
                .unwrap();
            let along =
                of_v.square().sum() + (&of_x * Tensor::from(numbers([steps, 3], 7.0))).sum();
            let along = along + of_tau.exp().sum();
            let second = grad(&along, (&v, &x, &tau)).unwrap();
            [
                second.0.to_array().into_dyn(),
                second.1.to_array().into_dyn(),
                second.2.to_array().into_dyn(),
            ]
        };
        let found = second(leaky(&v, &x, &tau));
        let expected = second(leaky_by_loop(&v, &x, &tau));
        for (found, expected) in found.iter().zip(&expected) {
            assert_close(found, expected);
        }
    }
}

type Recurrent = fn(&Tensor1<f64>, &Tensor2<f64>, &Tensor1<f64>) -> (Tensor1<f64>, Tensor2<f64>);

#[test]
fn forward_mode_is_that_of_the_loop() {
    let (v, x, tau) = (
        Tensor::from(numbers(3, 1.0)),
        Tensor::from(numbers([12, 3], 2.0)),
        Tensor::from(numbers(3, 3.0)),
    );
    let directions = (
        Tensor::from(numbers(3, 4.0)),
        Tensor::from(numbers([12, 3], 5.0)),
        Tensor::from(numbers(3, 6.0)),
    );
    let both = |function: Recurrent| {
        let along = |(v, x, tau): (&Tensor1<f64>, &Tensor2<f64>, &Tensor1<f64>)| {
            let function =
                |(v, x, tau): (&Tensor1<f64>, &Tensor2<f64>, &Tensor1<f64>)| function(v, x, tau);
            jvp(
                function,
                (v, x, tau),
                (&directions.0, &directions.1, &directions.2),
            )
            .unwrap()
            .1
        };
        let first = along((&v, &x, &tau));
        let (_, second) = jvp(
            along,
            (&v, &x, &tau),
            (&directions.0, &directions.1, &directions.2),
        )
        .unwrap();
        let arrays = [first, second]
            .map(|(last, rate)| [last.to_array().into_dyn(), rate.to_array().into_dyn()]);
        arrays.concat()
    };
    let (found, expected) = (both(|v, x, tau| leaky(v, x, tau)), both(leaky_by_loop));
    for (found, expected) in found.iter().zip(&expected) {
        assert_close(found, expected);
    }
}

#[test]
fn all_modes_agree() {
    let p = Tensor::from(numbers([2, 2], 1.0));
    let force = Tensor::from(numbers([5, 2, 2], 2.0));
    let angle = Tensor::from(numbers([5, 2], 3.0));
    let damping = Tensor::from(numbers(2, 4.0));
    Gradcheck::new()
        .second_order()
        .thorough()
        .run(
            |(p, force, angle, damping)| turning(p, force, angle, damping),
            (&p, &force, &angle, &damping),
        )
        .unwrap();
    let [u, v] = [1.0, 2.0].map(|seed| Tensor::from(numbers([2, 1, 3], seed)));
    let [x, y] = [3.0, 4.0].map(|seed| Tensor::from(numbers([6, 1, 4, 3], seed)));
    let a = Tensor::from(numbers([2, 4, 1], 5.0));
    Gradcheck::new()
        .second_order()
        .thorough()
        .run(
            |(a, u, x, v, y)| coupled(0.4, a, u, x, v, y),
            (&a, &u, &x, &v, &y),
        )
        .unwrap();
}

#[test]
fn rows_are_numbers_of_a_last_axis() {
    let (p, force) = (leaf(numbers([3, 2], 1.0)), leaf(numbers([8, 3, 2], 2.0)));
    let (angle, damping) = (leaf(numbers([8, 3], 3.0)), leaf(numbers(3, 4.0)));
    let (last, path, radius) = turning(&p, &force, &angle, &damping);
    let mut state = [p.slice(s![.., 0]), p.slice(s![.., 1])];
    let mut loss = Tensor::from(0.0);
    for step in 0..8 {
        let angle = angle.slice(s![step, ..]);
        let (s, c) = (angle.sin(), angle.cos());
        let next = [
            &damping * (&c * &state[0] - &s * &state[1]) + force.slice(s![step, .., 0]),
            &damping * (&s * &state[0] + &c * &state[1]) + force.slice(s![step, .., 1]),
        ];
        let size = (next[0].square() + next[1].square()).sqrt();
        assert_close(
            &path.slice(s![step, .., 0]).to_array(),
            &(&next[0] * &next[1]).to_array(),
        );
        assert_close(
            &path.slice(s![step, .., 1]).to_array(),
            &state[0].to_array(),
        );
        assert_close(&radius.slice(s![step, ..]).to_array(), &size.to_array());
        loss = loss + size.sum() + (&next[0] * &next[1]).sum();
        state = next;
    }
    assert_close(&last.slice(s![.., 1]).to_array(), &state[1].to_array());
    let expected = grad(&(loss + state[0].sum()), (&p, &force, &angle, &damping)).unwrap();
    let loss = radius.sum() + path.slice(s![.., .., 0]).sum() + last.slice(s![.., 0]).sum();
    let found = grad(&loss, (&p, &force, &angle, &damping)).unwrap();
    assert_close(&found.0.to_array(), &expected.0.to_array());
    assert_close(&found.1.to_array(), &expected.1.to_array());
    assert_close(&found.2.to_array(), &expected.2.to_array());
    assert_close(&found.3.to_array(), &expected.3.to_array());
}

#[test]
fn reversed_steps_are_those_of_reversed_tensors() {
    let [u, v, a] = [1.0, 2.0, 3.0].map(|seed| leaf(numbers(4, seed)));
    let [x, y] = [4.0, 5.0].map(|seed| leaf(numbers([11, 4], seed)));
    let (mut state_u, mut state_v) = (u.clone(), v.clone());
    let mut products = Vec::new();
    for step in (0..11).rev() {
        let (x, y) = (x.slice(s![step, ..]), y.slice(s![step, ..]));
        let next = &a * &state_u + 0.7 * x * state_v.sin();
        let other = state_v.tanh() - y * &state_u * 0.2;
        products.push(&next * &state_v);
        (state_u, state_v) = (next, other);
    }
    products.reverse();
    let products: Vec<&Tensor1<f64>> = products.iter().collect();
    let by_loop = Tensor::stack(Axis(0), &products);
    let (last_u, last_v, product) = coupled(0.7, &a, &u, &x, &v, &y);
    assert_close(&last_u.to_array(), &state_u.to_array());
    assert_close(&last_v.to_array(), &state_v.to_array());
    assert_close(&product.to_array(), &by_loop.to_array());
    let weights = Tensor::from(numbers([11, 4], 6.0));
    let expected = grad(
        &((by_loop * &weights).sum() + state_u.sum()),
        (&a, &u, &x, &v, &y),
    )
    .unwrap();
    let found = grad(
        &((product * &weights).sum() + last_u.sum()),
        (&a, &u, &x, &v, &y),
    )
    .unwrap();
    assert_close(&found.0.to_array(), &expected.0.to_array());
    assert_close(&found.1.to_array(), &expected.1.to_array());
    assert_close(&found.2.to_array(), &expected.2.to_array());
    assert_close(&found.3.to_array(), &expected.3.to_array());
    assert_close(&found.4.to_array(), &expected.4.to_array());
}

#[test]
fn without_steps_the_states_come_back() {
    let (v, x, tau) = (
        leaf(numbers(3, 1.0)),
        leaf(Array2::zeros([0, 3])),
        leaf(numbers(3, 2.0)),
    );
    let (last, rate) = leaky(&v, &x, &tau);
    assert_eq!(last.to_array(), v.to_array());
    assert_eq!(rate.shape(), [0, 3]);
    let (of_v, of_x, of_tau) = grad(&(last.sum() + rate.sum()), (&v, &x, &tau)).unwrap();
    assert_eq!(of_v.to_array(), array![1.0, 1.0, 1.0]);
    assert_eq!(of_x.shape(), [0, 3]);
    assert_eq!(of_tau.to_array(), array![0.0, 0.0, 0.0]);
}

#[test]
fn states_steps_and_shared_numbers_are_broadcast() {
    // One integrator, the same steps for all, and a rate for each lane.
    let v = leaf(numbers([1, 1], 1.0));
    let x = leaf(numbers([9, 2, 1], 2.0));
    let tau = leaf(numbers([1, 3], 3.0));
    let (last, rate) = leaky(&v, &x, &tau);
    assert_eq!((last.shape(), rate.shape()), (&[2, 3][..], &[9, 2, 3][..]));
    let whole = |shape: &[usize], tensor: &TensorD<f64>| tensor.broadcast_to::<IxDyn>(shape);
    let (v_whole, tau_whole) = (
        whole(&[2, 3], &v.clone().into_dyn()),
        whole(&[2, 3], &tau.clone().into_dyn()),
    );
    let x_whole = whole(&[9, 2, 3], &x.clone().into_dyn());
    let (last_whole, rate_whole) = leaky(&v_whole, &x_whole, &tau_whole);
    assert_eq!(last.to_array().into_dyn(), last_whole.to_array());
    assert_eq!(rate.to_array().into_dyn(), rate_whole.to_array());
    let found = grad(&(last.sum() + rate.square().sum()), (&v, &x, &tau)).unwrap();
    let expected = grad(
        &(last_whole.sum() + rate_whole.square().sum()),
        (&v, &x, &tau),
    )
    .unwrap();
    assert_close(&found.0.to_array(), &expected.0.to_array());
    assert_close(&found.1.to_array(), &expected.1.to_array());
    assert_close(&found.2.to_array(), &expected.2.to_array());
}

#[test]
fn a_step_of_length_one_is_the_same_in_each_step() {
    let (u, v, a) = (numbers(3, 1.0), numbers(3, 2.0), leaf(numbers(3, 3.0)));
    let (u, v) = (Tensor::from(u), Tensor::from(v));
    let (x, y) = (leaf(numbers([1, 3], 4.0)), leaf(numbers([5, 3], 5.0)));
    let repeated = x.broadcast_to::<Ix2>(&[5, 3]);
    let (_, _, found) = coupled(0.3, &a, &u, &x, &v, &y);
    let (_, _, expected) = coupled(0.3, &a, &u, &repeated, &v, &y);
    assert_eq!(found.shape(), [5, 3]);
    assert_eq!(found.to_array(), expected.to_array());
    let by_x = |output: &Tensor2<f64>| grad(&output.square().sum(), &x).unwrap().to_array();
    assert_close(&by_x(&found), &by_x(&expected));
}

#[test]
fn ranks_at_run_time_align_lanes_at_the_last_axis() {
    let v: TensorD<f64> = Tensor::from(numbers(IxDyn(&[2, 3]), 1.0)).set_requires_grad(true);
    let x: TensorD<f64> = Tensor::from(numbers(IxDyn(&[5, 3]), 2.0)).set_requires_grad(true);
    let tau: TensorD<f64> = Tensor::from(numbers(IxDyn(&[]), 3.0)).set_requires_grad(true);
    let (last, rate) = leaky(&v, &x, &tau);
    assert_eq!((last.shape(), rate.shape()), (&[2, 3][..], &[5, 2, 3][..]));
    Gradcheck::new()
        .second_order()
        .run(|(v, x, tau)| leaky(v, x, tau), (&v, &x, &tau))
        .unwrap();
}

#[test]
fn examples_of_a_map_are_those_of_a_loop() {
    let v = Tensor::from(numbers([4, 3], 1.0));
    let x = Tensor::from(numbers([4, 6, 3], 2.0));
    let tau = leaf(numbers(3, 3.0));
    let function = |(v, x): (&Tensor1<f64>, &Tensor2<f64>)| leaky(v, x, &tau);
    let (last, rate) = pullback::functional::vmap(function, Axis(0), (&v, &x)).unwrap();
    for example in 0..4 {
        let (v, x) = (v.slice(s![example, ..]), x.slice(s![example, .., ..]));
        let (of_last, of_rate) = leaky(&v, &x, &tau);
        assert_eq!(last.slice(s![example, ..]).to_array(), of_last.to_array());
        assert_eq!(
            rate.slice(s![example, .., ..]).to_array(),
            of_rate.to_array()
        );
    }
    let of_tau = grad(&(last.sum() + rate.sum()), &tau).unwrap();
    assert!(of_tau.to_array().iter().all(|element| element.is_finite()));
}

#[test]
fn at_most_two_roots_of_states_are_saved() {
    let (v, x, tau) = (
        leaf(numbers(3, 1.0)),
        Tensor::from(numbers([10_000, 3], 2.0)),
        Tensor::from(numbers(3, 3.0)),
    );
    let (last, _) = leaky(&v, &x, &tau);
    let saved = last.grad_fn().unwrap().saved().unwrap();
    let names: Vec<&str> = saved.iter().map(|saved| &*saved.name).collect();
    assert_eq!(names, ["v", "x", "tau", "states"]);
    let state = 3 * size_of::<f64>();
    assert_eq!(saved[3].bytes, 99 * state);
    // Nothing is needed, and nothing saved.
    let (last, _) = leaky(&v.detach(), &x, &tau);
    assert!(last.grad_fn().is_none() && !last.requires_grad());
    let (last, _) = no_grad(|| leaky(&v, &x, &tau));
    assert!(last.grad_fn().is_none());
}

#[test]
fn the_signature_has_the_names_and_the_states() {
    use pullback::ndarray::Ix1;
    let signature = Coupled::<f64, Ix1>::SIGNATURE;
    let inputs: Vec<&str> = signature.inputs.iter().map(|input| input.name).collect();
    assert_eq!(inputs, ["k", "a", "u", "x", "v", "y"]);
    assert_eq!(signature.inputs[3].ty, "ArrayView<'_, T, D::Larger>");
    assert_eq!(signature.outputs[0].ty, "Array<T, D>");
    assert_eq!(signature.outputs[2].ty, "Array<T, D::Larger>");
    let saved: Vec<&str> = signature.saved.iter().map(|saved| saved.name).collect();
    assert_eq!(saved, ["u", "v", "x", "y", "a", "k", "states"]);
    assert!(!signature.elementwise && signature.forward_mode);
    let steps: Vec<bool> = signature.inputs.iter().map(|input| input.step).collect();
    assert_eq!(steps, [false, false, false, true, false, true]);
    let steps: Vec<bool> = signature.outputs.iter().map(|output| output.step).collect();
    assert_eq!(steps, [false, false, true]);
}

#[test]
fn the_formula_and_forward_are_there() {
    assert_eq!(Leaky::formula(1.0, 0.5, 2.0), (2.5, kernels::sigmoid(2.5)));
    let (v, x, tau) = (numbers(3, 1.0), numbers([4, 3], 2.0), numbers(3, 3.0));
    let (last, _) = Leaky::forward(v.view(), x.view(), tau.view());
    assert_eq!(last, leaky(&v.into(), &x.into(), &tau.into()).0.to_array());
}

/// Returns the message of a panic at a line of these tests.
fn panicked(work: impl FnOnce()) -> String {
    let (message, file, _) = panic_of(work);
    assert!(
        file.starts_with("tests/it/scans/"),
        "not the line of the call: {file}: {message}"
    );
    message
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    let of = |shape: &[usize]| Tensor::from(ArrayD::<f64>::zeros(shape));
    let (u, v, a) = (of(&[3]), of(&[3]), of(&[3]));
    let message = panicked(|| drop(coupled(1.0, &a, &u, &of(&[4, 3]), &v, &of(&[5, 3]))));
    assert_eq!(
        message,
        "`coupled` of `u` of shape [3], `v` of shape [3], `x` of shape [4, 3], `y` of shape [5, 3] and `a` of shape [3]: \
         `x` has 4 steps, but `y` has 5"
    );
    let message = panicked(|| drop(leaky(&v, &of(&[4, 2]), &a)));
    assert_eq!(
        message,
        "`leaky` of `v` of shape [3], `x` of shape [4, 2] and `tau` of shape [3]: \
         `v` and `x` do not broadcast beside the axis of steps"
    );
    let message = panicked(|| drop(leaky(&v, &of(&[]), &a)));
    assert!(message.ends_with("`x` has no axis of steps"), "{message}");
    let message = panicked(|| {
        drop(turning(
            &of(&[3, 4]),
            &of(&[5, 3, 2]),
            &of(&[5, 3]),
            &of(&[3]),
        ));
    });
    assert!(
        message.ends_with("the last axis of `p` must have length 2"),
        "{message}"
    );
}

#[test]
fn a_third_derivative_is_an_error() {
    let (v, x, tau) = (
        leaf(numbers(2, 1.0)),
        leaf(numbers([3, 2], 2.0)),
        leaf(numbers(2, 3.0)),
    );
    let (last, _) = leaky(&v, &x, &tau);
    let again = |loss: &Tensor0<f64>| {
        Grad::of(loss)
            .create_graph(true)
            .run(&tau)
            .unwrap()
            .square()
            .sum()
    };
    let second = again(&again(&last.sum()));
    let error = grad(&second, &tau).unwrap_err();
    assert!(error.to_string().contains("leaky"), "{error}");
}

#[test]
fn single_precision_is_near_double() {
    let (v, x, tau) = (numbers(5, 1.0), numbers([40, 5], 2.0), numbers(5, 3.0));
    let double = leaky(&v.clone().into(), &x.clone().into(), &tau.clone().into())
        .1
        .to_array();
    let single = |array: Array<f64, _>| Tensor::from(array.mapv(f32::from_f64));
    let x = Tensor::from(x.mapv(f32::from_f64));
    let found: Tensor2<f32> = leaky(&single(v), &x, &single(tau)).1;
    for (found, expected) in found.to_array().iter().zip(&double) {
        assert!((f64::from(*found) - expected).abs() < 1e-5);
    }
}

#[test]
fn squares_are_summed_up() {
    let (sum, x) = (leaf(numbers([2, 2], 1.0)), leaf(numbers([30, 2, 2], 2.0)));
    let all = squares(&sum, &x);
    assert_close(
        &all.to_array(),
        &(sum.to_array() + (x.to_array() * x.to_array()).sum_axis(Axis(0))),
    );
    let of_x = grad(&all.sum(), &x).unwrap();
    assert_close(&of_x.to_array(), &(x.to_array() * 2.0));
}

/// A root, whose derivative is infinite at 0.
#[custom_function(scan, outputs(last, root))]
fn roots<T: Real>(#[state] sum: T, #[step] x: T) -> (T, T) {
    let sum = sum + x;
    (sum, sum.sqrt() * 0.0 * sum)
}

/// Returns the error of a step whose derivative is not a number.
pub(crate) fn anomaly() -> pullback::Error {
    let sum = leaf(array![0.0]);
    let x = leaf(array![[1.0], [2.0], [-3.0], [1.0], [1.0]]);
    let (_, root) = roots(&sum, &x);
    detect_anomaly(|| root.sum().backward()).unwrap_err()
}

#[test]
fn the_step_of_an_anomaly_is_named() {
    let error = anomaly();
    assert!(
        error
            .to_string()
            .starts_with("backward of `roots` gave a gradient that is not a number at step 2"),
        "{error}"
    );
}

/// More numbers than one loop has tangents for, and a branch that lanes of one block take differently.
#[custom_function(
    scan,
    outputs(last, total),
    gradcheck(h = [3, 6], x = [4, 3], w = [1, 6], gate = [3] in 0.6..0.9),
    gradcheck(h = [2, 6], x = [2, 2], w = [2, 6], gate = [1] in -0.9..-0.6)
)]
pub fn wide<T: Real>(#[state] h: [T; 6], #[step] x: T, w: [T; 6], gate: T) -> ([T; 6], T) {
    let (mut next, mut total) = (h, x);
    for n in 0..6 {
        let moved = (w[n] * x).tanh() + 0.5 * h[n];
        next[n] = if gate > 0.0 {
            moved.sin()
        } else {
            moved * gate
        };
        total += next[n] * w[n];
    }
    (next, total)
}

#[test]
fn lanes_of_many_numbers_are_those_of_one_by_one() {
    let lanes = 150;
    let of = |shape: &[usize]| {
        let mut place = 0.0_f64;
        ArrayD::from_shape_simple_fn(IxDyn(shape), || {
            place += 1.0;
            (place * 0.37).sin()
        })
    };
    let leaf = |array: ArrayD<f64>| Tensor::from(array).set_requires_grad(true);
    let run = |[h, x, w, gate]: [ArrayD<f64>; 4]| {
        let [h, x, w, gate] = [h, x, w, gate].map(leaf);
        let two = |tensor: &TensorD<f64>| -> Tensor2<f64> {
            tensor.clone().into_dimensionality().unwrap()
        };
        let (last, total) = wide(
            &two(&h),
            &two(&x),
            &two(&w),
            &gate.clone().into_dimensionality::<Ix1>().unwrap(),
        );
        (last.sum() + (&total * &total).sum()).backward().unwrap();
        let grads = [&h, &x, &w, &gate].map(|leaf| leaf.grad().unwrap());
        (last.to_array(), total.to_array(), grads)
    };
    let arrays = [
        of(&[lanes, 6]),
        of(&[5, lanes]),
        of(&[lanes, 6]),
        of(&[lanes]),
    ];
    let (last, total, grads) = run(arrays.clone());
    for lane in 0..lanes {
        let part = |array: &ArrayD<f64>, axis: usize| {
            array
                .slice_axis(Axis(axis), (lane..=lane).into())
                .to_owned()
        };
        let [h, x, w, gate] = &arrays;
        let alone = run([part(h, 0), part(x, 1), part(w, 0), part(gate, 0)]);
        assert_eq!(part(&last.clone().into_dyn(), 0), alone.0.into_dyn());
        assert_eq!(part(&total.clone().into_dyn(), 1), alone.1.into_dyn());
        for (place, (grad, alone)) in grads.iter().zip(alone.2).enumerate() {
            let grad = part(grad, usize::from(place == 1));
            let near = grad.iter().zip(&alone).all(|(x, y)| (x - y).abs() < 1e-12);
            assert!(near, "gradient {place} of lane {lane}: {grad} and {alone}");
        }
    }
}

#[test]
fn lanes_of_many_numbers_have_the_same_bits_on_any_number_of_threads() {
    let (lanes, steps) = (1000, 60);
    let number = |place: usize| (place as f32 * 0.37).sin();
    same_on_any_number_of_threads(|| {
        let leaf = |shape: [usize; 2]| {
            let array = Array2::from_shape_fn(shape, |(i, j)| number(i * shape[1] + j));
            Tensor::from(array).set_requires_grad(true)
        };
        let (h, x, w) = (leaf([lanes, 6]), leaf([steps, lanes]), leaf([lanes, 6]));
        // The lanes of the first recordings take both branches.
        let gate = Array::from_shape_fn(lanes, |lane| {
            if lane % 7 == 0 && lane < 200 {
                -0.9
            } else {
                0.8
            }
        });
        let gate = Tensor::from(gate).set_requires_grad(true);
        let (last, total) = wide(&h, &x, &w, &gate);
        (last.sum() + total.sum()).backward().unwrap();
        let grads = [&h, &x, &w].map(|leaf| leaf.grad().unwrap());
        (last.to_array(), total.to_array(), grads, gate.grad())
    });
}

/// Lanes that are no whole rows of a recording.
#[test]
fn recorded_gradients_of_a_compiled_forward_are_those_of_each_lane() {
    let lanes = 45;
    let start = numbers([lanes, 2], 1.0);
    let spread = numbers([lanes, 4], 2.0).mapv(|entry| 1.0 + 0.1 * entry);
    let seen = numbers([700, lanes], 3.0);
    let gradients = |of: std::ops::Range<usize>| {
        let (x, p) = (
            start.slice(s![of.clone(), ..]),
            spread.slice(s![of.clone(), ..]),
        );
        let (x, p) = (leaf(x.to_owned()), leaf(p.to_owned()));
        let z = leaf(seen.slice(s![.., of]).to_owned());
        let (q, r) = (leaf(array![0.3]), leaf(array![0.5]));
        let (_, _, likelihood) = kalman(&x, &p, &z, &q, &r, 0.1);
        let found = grad(&likelihood.square().sum(), (&x, &p, &z, &q, &r)).unwrap();
        let (of_x, of_p, of_z, of_q, of_r) = found;
        let own = [of_x.to_array(), of_p.to_array(), of_z.to_array()];
        (own, [of_q.to_array(), of_r.to_array()])
    };
    same_on_any_number_of_threads(|| gradients(0..lanes));
    let ([of_x, of_p, of_z], _) = gradients(0..lanes);
    let ([one_x, one_p, one_z], _) = gradients(40..41);
    assert_eq!(one_x, of_x.slice(s![40..41, ..]));
    assert_eq!(one_p, of_p.slice(s![40..41, ..]));
    assert_eq!(one_z, of_z.slice(s![.., 40..41]));
}

fn same_on_any_number_of_threads<R: PartialEq + Debug>(run: impl Fn() -> R) {
    let threads = kernels::threads();
    kernels::set_threads(1);
    let alone = run();
    for count in [2, 3] {
        kernels::set_threads(count);
        assert_eq!(run(), alone);
    }
    kernels::set_threads(threads);
}
