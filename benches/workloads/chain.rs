//! W1: what one small function costs. Nanoseconds an operation, forward, backward and drop together.

use std::time::Duration;

use pullback::ndarray::{Array1, ArrayView1, Zip};
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, timed};

const LENGTH: usize = 1000;
const ROUNDS: usize = 301;

/// y = max(x, 0), whose output is saved
struct Relu;

#[custom_function]
impl Relu {
    #[forward]
    fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        x.mapv(|x| x.max(0.0))
    }

    #[backward(x)]
    fn backward(mut grad_output: Array1<f32>, output: ArrayView1<f32>) -> Array1<f32> {
        Zip::from(&mut grad_output)
            .and(output)
            .for_each(|grad, &y| {
                if y <= 0.0 {
                    *grad = 0.0;
                }
            });
        grad_output
    }
}

/// The same as a formula.
#[custom_function(elementwise)]
fn positive<T: Real>(x: T) -> T {
    x.max(0.0)
}

/// The same beside a number that is broadcast.
#[custom_function(elementwise)]
fn clipped<T: Real>(x: T, low: T) -> T {
    x.max(low)
}

pub fn run(filter: &Filter) {
    let low = Tensor::from(Array1::<f32>::zeros(1));
    for elements in [1, 64] {
        chain(filter, "chain", elements, &Relu::apply);
        chain(filter, "formula", elements, &positive);
        chain(filter, "broadcast", elements, &|x| clipped(x, &low));
    }
    if filter.wants("W1/diamond") {
        diamond();
    }
    if filter.wants("W1/wide") {
        wide();
    }
}

/// A chain of ReLUs.
fn chain(
    filter: &Filter,
    name: &str,
    elements: usize,
    relu: &dyn Fn(&Tensor1<f32>) -> Tensor1<f32>,
) {
    let name = format!("W1/{name}{elements}");
    if !filter.wants(&name) {
        return;
    }
    let leaf = Tensor::from(Array1::<f32>::ones(elements)).set_requires_grad(true);
    let ours = || {
        leaf.zero_grad();
        let (forward, output) = timed(|| {
            let mut y = relu(&leaf);
            for _ in 1..LENGTH {
                y = relu(&y);
            }
            y
        });
        let seed = Array1::ones(elements);
        let (backward, ()) = timed(|| output.backward_with(seed).expect("the chain is whole"));
        let (drop, ()) = timed(|| drop(output));
        [forward, backward, drop]
    };
    let limit = || chain_by_hand(&vec![1.0; elements]);
    print(&name, medians(ROUNDS, ours, limit));
}

/// A vector for each output and each gradient.
fn chain_by_hand(x: &[f32]) -> [Duration; 3] {
    let (forward, outputs) = timed(|| {
        let mut outputs: Vec<Vec<f32>> = Vec::with_capacity(LENGTH);
        for _ in 0..LENGTH {
            let input = outputs.last().map_or(x, Vec::as_slice);
            let output = input.iter().map(|x| x.max(0.0)).collect();
            outputs.push(std::hint::black_box(output));
        }
        outputs
    });
    let seed = vec![1.0_f32; x.len()];
    let (backward, _) = timed(|| {
        outputs.iter().rev().fold(seed, |grad, output| {
            let masked = grad
                .iter()
                .zip(output)
                .map(|(&g, &y)| if y > 0.0 { g } else { 0.0 });
            std::hint::black_box(masked.collect())
        })
    });
    let (drop, ()) = timed(|| drop(outputs));
    [forward, backward, drop]
}

/// One tensor used a thousand times.
fn diamond() {
    let leaf = Tensor::from(Array1::<f32>::ones(1)).set_requires_grad(true);
    let ours = || {
        leaf.zero_grad();
        summed(|| {
            let mut sum = &leaf + &leaf;
            for _ in 2..LENGTH {
                sum = sum + &leaf;
            }
            sum
        })
    };
    print(
        "W1/diamond",
        medians(ROUNDS, ours, || sum_by_hand(&vec![vec![1.0]; LENGTH])),
    );
}

/// A thousand leaves summed.
fn wide() {
    let leaf = || Tensor::from(Array1::<f32>::ones(1)).set_requires_grad(true);
    let leaves: Vec<Tensor1<f32>> = (0..LENGTH).map(|_| leaf()).collect();
    let ours = || {
        leaves.iter().for_each(Tensor::zero_grad);
        summed(|| {
            leaves[1..]
                .iter()
                .fold(leaves[0].clone(), |sum, leaf| sum + leaf)
        })
    };
    print(
        "W1/wide",
        medians(ROUNDS, ours, || sum_by_hand(&vec![vec![1.0]; LENGTH])),
    );
}

fn summed(forward: impl FnOnce() -> Tensor1<f32>) -> [Duration; 3] {
    let (forward, output) = timed(forward);
    let (backward, ()) = timed(|| {
        output
            .backward_with(Array1::ones(1))
            .expect("the graph is whole");
    });
    let (drop, ()) = timed(|| drop(output));
    [forward, backward, drop]
}

/// A vector for each partial sum and each gradient.
fn sum_by_hand(terms: &[Vec<f32>]) -> [Duration; 3] {
    let add = |a: &[f32], b: &[f32]| -> Vec<f32> {
        std::hint::black_box(a.iter().zip(b).map(|(a, b)| a + b).collect())
    };
    let (forward, sum) = timed(|| {
        terms[1..]
            .iter()
            .fold(terms[0].clone(), |sum, term| add(&sum, term))
    });
    let (backward, grads) = timed(|| -> Vec<Vec<f32>> {
        (0..terms.len())
            .map(|_| std::hint::black_box(sum.iter().map(|_| 1.0).collect()))
            .collect()
    });
    let (drop, ()) = timed(|| drop(grads));
    [forward, backward, drop]
}

fn print(name: &str, (ours, limit): ([f64; 3], [f64; 3])) {
    let each = |times: [f64; 3]| times.map(|time| time / LENGTH as f64);
    let (ours, limit) = (each(ours), each(limit));
    report(name, ours.iter().sum(), limit.iter().sum(), "ns");
    let [forward, backward, drop] = ours;
    eprintln!("  forward {forward:.0}, backward {backward:.0}, drop {drop:.0} ns an operation");
}
