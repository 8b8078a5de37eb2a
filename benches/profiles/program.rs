//! The program that `profiles` builds: functions of the library and formulas of its own, forward and backward. It prints
//! the nanoseconds for each element, the smallest of some runs.

use std::time::Instant;

use pullback::ndarray::{Array1, Array2, Axis, s};
use pullback::prelude::*;

/// In the fastest caches, so that loops are measured, and not memory.
const ROWS: usize = 128;
const COLUMNS: usize = 256;
const RUNS: usize = 60;

macro_rules! formulas {
    ($($name:ident($($x:ident),+) = $formula:expr;)+) => {$(
        #[custom_function(elementwise)]
        fn $name<T: Real>($($x: T),+) -> T {
            $formula
        }
    )+};
}

formulas! {
    cubic(x) = x * x * x - 2.0 * x;
    squash(x, limit) = x / (1.0 + (x / limit).powi(2)).sqrt();
    swish(x, beta) = x * (beta * x).sigmoid();
    mish(x) = x * x.softplus().tanh();
    bump(x, width) = (-(x / width).square()).exp();
    wave(x, frequency) = (x * frequency).sin() * (-x.abs()).exp();
    entropy(x) = -x * x.ln();
    hinge(x, margin) = (margin - x).max(0.0);
    angle(x, y) = y.atan2(x);
    power(x, p) = x.powf(p);
    density(x, mean) = (x - mean).normal_pdf();
    iterator(x, y) = [x, y].iter().map(|z| z.ln_1p()).sum::<T>();
    well(x) = if x > 0.5 { x.square() } else { x.exp_m1() };
}

/// A function of numbers, beside the formula that calls it: what a macro writes does not know its neighbors.
fn bent<T: Real>(x: T) -> T {
    x.ln_1p() + x.tanh()
}

#[custom_function(elementwise)]
fn helper<T: Real>(x: T, y: T) -> T {
    bent(x) * y
}

/// Rows of two numbers, each turned by an angle.
#[custom_function(elementwise)]
fn swirl<T: Real>(x: [T; 2], y: [T; 2]) -> [T; 2] {
    let angle = (y[0].square() + y[1].square()).sqrt();
    let (sin, cos) = (angle.sin(), angle.cos());
    [x[0] * cos - x[1] * sin, x[0] * sin + x[1] * cos]
}

/// A pendulum that is driven, step after step.
#[custom_function(scan, outputs(last, path))]
fn pendulum<T: Real>(#[state] state: [T; 2], #[step] force: T) -> ([T; 2], T) {
    let speed = state[1] + (force - state[0].sin()) * 0.01;
    let angle = state[0] + speed * 0.01;
    ([angle, speed], angle)
}

/// Oscillators that pull each other.
#[custom_function(pairs)]
fn coupling<T: Real>(#[row] x: T, #[column] y: T) -> T {
    (y - x).sin()
}

type Function<T> = (
    &'static str,
    Box<dyn Fn(&Tensor2<T>, &Tensor2<T>) -> Tensor2<T>>,
);

fn functions<T: Element>() -> Vec<Function<T>> {
    let number = T::from_f64;
    vec![
        ("exp", Box::new(|x, _| x.exp())),
        ("tanh", Box::new(|x, _| x.tanh())),
        ("sigmoid", Box::new(|x, _| x.sigmoid())),
        ("softplus", Box::new(|x, _| x.softplus())),
        ("gelu", Box::new(|x, _| x.gelu())),
        ("erf", Box::new(|x, _| x.erf())),
        ("elu", Box::new(move |x, _| x.elu(number(1.0)))),
        ("sin", Box::new(|x, _| x.sin())),
        ("ln", Box::new(|x, _| x.ln())),
        ("powf", Box::new(move |x, _| x.powf(number(1.7)))),
        ("mul", Box::new(|x, y| x * y)),
        ("softmax", Box::new(|x, _| x.softmax(Axis(1)))),
        ("cubic", Box::new(|x, _| cubic(x))),
        ("squash", Box::new(|x, y| squash(x, y))),
        ("swish", Box::new(|x, y| swish(x, y))),
        ("mish", Box::new(|x, _| mish(x))),
        ("bump", Box::new(|x, y| bump(x, y))),
        ("wave", Box::new(|x, y| wave(x, y))),
        ("entropy", Box::new(|x, _| entropy(x))),
        ("hinge", Box::new(|x, y| hinge(x, y))),
        ("angle", Box::new(|x, y| angle(x, y))),
        ("power", Box::new(|x, y| power(x, y))),
        ("density", Box::new(|x, y| density(x, y))),
        ("helper", Box::new(|x, y| helper(x, y))),
        ("iterator", Box::new(|x, y| iterator(x, y))),
        ("well", Box::new(|x, _| well(x))),
        (
            "swirl",
            Box::new(|x, y| {
                let rows = |x: &Tensor2<T>| x.reshape((ROWS * COLUMNS / 2, 2));
                swirl(&rows(x), &rows(y)).reshape((ROWS, COLUMNS))
            }),
        ),
        (
            "pendulum",
            Box::new(|x, y| {
                let states = y.slice(s![..2, ..]).t();
                pendulum(&states, x).1
            }),
        ),
        (
            "coupling",
            Box::new(|x, y| {
                let (rows, columns) = (x.slice(s![.., 0]), y.slice(s![0, ..]));
                coupling(&rows, &columns).reshape((ROWS, 1))
            }),
        ),
    ]
}

fn run<T: Element>() {
    let leaf = |low: f64, high: f64| {
        let numbers = Array1::linspace(low, high, ROWS * COLUMNS).mapv(T::from_f64);
        let numbers = Array2::from_shape_vec((ROWS, COLUMNS), numbers.to_vec()).expect("as many");
        Tensor::from(numbers).set_requires_grad(true)
    };
    let (x, y) = (leaf(0.1, 2.0), leaf(1.9, 0.4));
    for (name, function) in functions::<T>() {
        let (mut forward, mut backward) = (f64::MAX, f64::MAX);
        for _ in 0..RUNS {
            (x.zero_grad(), y.zero_grad());
            let start = Instant::now();
            let output = function(&x, &y);
            forward = forward.min(start.elapsed().as_secs_f64());
            let seed = Array2::from_elem(output.view().dim(), T::from_f64(1.5));
            let start = Instant::now();
            output.backward_with(seed).expect("a gradient");
            backward = backward.min(start.elapsed().as_secs_f64());
        }
        let each = |seconds: f64| seconds * 1e9 / (ROWS * COLUMNS) as f64;
        println!("{name}/{}/forward {:.4}", T::TYPE, each(forward));
        println!("{name}/{}/backward {:.4}", T::TYPE, each(backward));
    }
}

fn main() {
    pullback::kernels::set_threads(1);
    run::<f32>();
    /*both*/
}
