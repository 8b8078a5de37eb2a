//! W6: the gradient of the gradient of Σ eˣ·x³, of three functions. W6e: with eˣ·x³ as one elementwise function.

use std::hint::black_box;
use std::time::Duration;

use pullback::kernels;
use pullback::ndarray::Array1;
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, timed};
use crate::vectorized::vectorized;

/// The number of partial sums in the loop by hand, which make it vector code.
const SUMS: usize = 32;

#[custom_function(elementwise)]
fn exp_cubed<T: Real>(x: T) -> T {
    x.exp() * x.powi(3)
}

pub fn run(filter: &Filter) {
    let three = |x: &Tensor1<f32>| x.exp() * x.powi(3);
    measure::<Exponentials>("W6", filter, three, 21);
    measure::<Loops>("W6e", filter, exp_cubed, 41);
}

fn measure<H: ByHand>(
    name: &str,
    filter: &Filter,
    function: fn(&Tensor1<f32>) -> Tensor1<f32>,
    rounds: usize,
) {
    for (size, elements, rounds, unit, per) in [
        ("1e3", 1_000, 301, "us", 1e3),
        ("1e6", 1_000_000, rounds, "ms", 1e6),
    ] {
        let name = format!("{name}/{size}");
        if filter.wants(&name) {
            let (ours, limit) = twice::<H>(function, elements, rounds);
            report(&name, ours / per, limit / per, unit);
        }
    }
}

fn twice<H: ByHand>(
    function: fn(&Tensor1<f32>) -> Tensor1<f32>,
    elements: usize,
    rounds: usize,
) -> (f64, f64) {
    let values = Array1::from_shape_fn(elements, |i| 0.5 + (i % 1000) as f32 / 2000.0);
    let x = Tensor::from(values.view()).set_requires_grad(true);
    let mut by_hand = H::new(elements);
    let second = of_the_gradient(function, &x);
    by_hand.run(values.as_slice().expect("one piece"));
    for (ours, limit) in second.view().iter().zip(by_hand.second()) {
        assert!(
            (ours - limit).abs() <= 1e-4 * limit.abs(),
            "{ours} is not {limit}"
        );
    }
    let ours = || [timed(|| of_the_gradient(function, &x)).0];
    let limit = || [by_hand.run(values.as_slice().expect("one piece"))];
    let (ours, limit) = medians(rounds, ours, limit);
    (ours[0], limit[0])
}

fn of_the_gradient(function: fn(&Tensor1<f32>) -> Tensor1<f32>, x: &Tensor1<f32>) -> Tensor1<f32> {
    let y = function(x).sum();
    let first = Grad::of(&y).create_graph(true).run((x,));
    let (first,) = first.expect("the graph is whole");
    let (second,) = grad(&first.sum(), (x,)).expect("the graph is whole");
    second
}

/// Σ eˣ·x³, eˣ·(x³ + 3x²) and eˣ·(x³ + 6x² + 6x) in buffers that are used again, by formulas that are known.
trait ByHand {
    fn new(elements: usize) -> Self;
    fn run(&mut self, x: &[f32]) -> Duration;
    fn second(&self) -> &[f32];
}

/// The exponentials are computed once, in a buffer of their own.
struct Exponentials {
    exp: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl ByHand for Exponentials {
    fn new(elements: usize) -> Self {
        let zeros = vec![0.0; elements];
        Self {
            exp: zeros.clone(),
            first: zeros.clone(),
            second: zeros,
        }
    }

    fn run(&mut self, x: &[f32]) -> Duration {
        let (time, _) = timed(|| {
            let mut y = 0.0;
            for (exp, &x) in self.exp.iter_mut().zip(x) {
                *exp = x.exp();
                y += *exp * x * x * x;
            }
            let of_x = self.exp.iter().zip(x);
            for (first, (&exp, &x)) in self.first.iter_mut().zip(of_x.clone()) {
                *first = exp * x * x * (x + 3.0);
            }
            black_box(&self.first);
            for (second, (&exp, &x)) in self.second.iter_mut().zip(of_x) {
                *second = exp * x * (x * (x + 6.0) + 6.0);
            }
            black_box(&self.second);
            y
        });
        time
    }

    fn second(&self) -> &[f32] {
        &self.second
    }
}

/// Three loops, each with its own exponentials.
struct Loops {
    first: Vec<f32>,
    second: Vec<f32>,
}

impl ByHand for Loops {
    fn new(elements: usize) -> Self {
        let zeros = vec![0.0; elements];
        Self {
            first: zeros.clone(),
            second: zeros,
        }
    }

    fn run(&mut self, x: &[f32]) -> Duration {
        let (time, ()) = timed(|| {
            let mut y = 0.0;
            value(x, &mut y);
            black_box(y);
            first(x, &mut self.first);
            black_box(&self.first);
            second(x, &mut self.second);
            black_box(&self.second);
        });
        time
    }

    fn second(&self) -> &[f32] {
        &self.second
    }
}

vectorized! {
    fn value(x: &[f32], y: &mut f32) {
        let mut sums = [0.0; SUMS];
        let (rows, rest) = x.as_chunks::<SUMS>();
        for row in rows {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += kernels::exp(x) * x * x * x;
            }
        }
        *y = sums.iter().sum();
        for &x in rest {
            *y += kernels::exp(x) * x * x * x;
        }
    }
}

vectorized! {
    fn first(x: &[f32], first: &mut [f32]) {
        for (first, &x) in first.iter_mut().zip(x) {
            *first = kernels::exp(x) * x * x * (x + 3.0);
        }
    }
}

vectorized! {
    fn second(x: &[f32], second: &mut [f32]) {
        for (second, &x) in second.iter_mut().zip(x) {
            *second = kernels::exp(x) * x * (x * (x + 6.0) + 6.0);
        }
    }
}
