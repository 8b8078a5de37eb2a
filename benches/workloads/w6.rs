//! W6: the gradient of the gradient of Σ eˣ·x³.

use std::time::Duration;

use pullback::ndarray::Array1;
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, timed};

pub fn run(filter: &Filter) {
    if filter.wants("W6/1e3") {
        let (ours, limit) = twice(1_000, 301);
        report("W6/1e3", ours / 1e3, limit / 1e3, "us");
    }
    if filter.wants("W6/1e6") {
        let (ours, limit) = twice(1_000_000, 21);
        report("W6/1e6", ours / 1e6, limit / 1e6, "ms");
    }
}

fn twice(elements: usize, rounds: usize) -> (f64, f64) {
    let values = Array1::from_shape_fn(elements, |i| 0.5 + (i % 1000) as f32 / 2000.0);
    let x = Tensor::from(values.view()).set_requires_grad(true);
    let mut by_hand = ByHand::new(elements);
    let second = of_the_gradient(&x);
    by_hand.run(values.as_slice().expect("one piece"));
    for (ours, limit) in second.view().iter().zip(&by_hand.second) {
        assert!(
            (ours - limit).abs() <= 1e-4 * limit.abs(),
            "{ours} is not {limit}"
        );
    }
    let ours = || [timed(|| of_the_gradient(&x)).0];
    let limit = || [by_hand.run(values.as_slice().expect("one piece"))];
    let (ours, limit) = medians(rounds, ours, limit);
    (ours[0], limit[0])
}

fn of_the_gradient(x: &Tensor1<f32>) -> Tensor1<f32> {
    let y = (x.exp() * x.powi(3)).sum();
    let first = Grad::of(&y).create_graph(true).run((x,));
    let (first,) = first.expect("the graph is whole");
    let (second,) = grad(&first.sum(), (x,)).expect("the graph is whole");
    second
}

/// The same in buffers that are used again: y, eˣ·(x³ + 3x²) and eˣ·(x³ + 6x² + 6x), as one would write
/// them who knows them.
struct ByHand {
    exp: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl ByHand {
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
            std::hint::black_box(&self.first);
            for (second, (&exp, &x)) in self.second.iter_mut().zip(of_x) {
                *second = exp * x * (x * (x + 6.0) + 6.0);
            }
            std::hint::black_box(&self.second);
            y
        });
        time
    }
}
