//! W4e: what W4 computes, y = gelu(eˣ) · x on ten million elements, as one function of numbers.

use std::time::Duration;

use pullback::kernels::{self, split_mut};
use pullback::memory;
use pullback::ndarray::Array1;
use pullback::prelude::*;

use crate::counting::peak;
use crate::harness::{Filter, medians, report, report_both, timed};
use crate::vectorized::vectorized;
use crate::w4::{LENGTH, ones, values};

const ROUNDS: usize = 15;
/// The bar for memory in tensors: x, y, the incoming gradient and the result.
const TENSORS: f64 = 4.0;
/// The fewest elements that are worth a thread.
const THREAD: usize = 1 << 15;

#[custom_function(elementwise)]
fn gelu_of_exp<T: Real>(x: T) -> T {
    x.exp().gelu() * x
}

pub fn run(filter: &Filter) {
    if filter.wants("W4e/time") {
        time();
    }
    if filter.wants("W4e/peak") {
        memory::empty_cache();
        let bytes = peak(|| {
            let x = Tensor::from(values()).set_requires_grad(true);
            ours(&x, ones());
        });
        let tensors = bytes as f64 / (LENGTH * size_of::<f32>()) as f64;
        report("W4e/peak", tensors, TENSORS, "tensors");
    }
    memory::empty_cache();
}

fn time() {
    let values = values();
    let x = Tensor::from(values.view()).set_requires_grad(true);
    let mut by_hand = ByHand::new(values.into_raw_vec_and_offset().0);
    ours(&x, ones());
    by_hand.run();
    let gradient = x.grad().expect("a gradient");
    for (ours, limit) in gradient.iter().zip(&by_hand.of_x) {
        let close = (ours - limit).abs() <= 1e-4 * limit.abs().max(1.0);
        assert!(close, "{ours} is not {limit}");
    }
    drop(gradient);
    let (ours, limit) = medians(
        ROUNDS,
        || {
            x.zero_grad();
            ours(&x, ones())
        },
        || by_hand.run(),
    );
    report_both("W4e/time", ours, limit, ("ms", 1e6));
}

fn ours(x: &Tensor1<f32>, gradient: Array1<f32>) -> [Duration; 2] {
    let (forward, y) = timed(|| gelu_of_exp(x));
    let (backward, ()) = timed(|| {
        y.backward_with(gradient).expect("the graph is whole");
        drop(y);
    });
    [forward, backward]
}

/// One loop forward and one backward, in buffers that are used again.
struct ByHand {
    x: Vec<f32>,
    y: Vec<f32>,
    of_y: Vec<f32>,
    of_x: Vec<f32>,
}

impl ByHand {
    fn new(x: Vec<f32>) -> Self {
        let ones = vec![1.0; x.len()];
        Self {
            x,
            y: ones.clone(),
            of_y: ones.clone(),
            of_x: ones,
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let (x, of_y) = (&self.x, &self.of_y);
        let (forward, ()) = timed(|| {
            split_mut(&mut self.y, 1, THREAD, |first, y| {
                forward(&x[first..][..y.len()], y);
            });
        });
        let (backward, ()) = timed(|| {
            split_mut(&mut self.of_x, 1, THREAD, |first, of_x| {
                let range = first..first + of_x.len();
                backward(&x[range.clone()], &of_y[range], of_x);
            });
        });
        [forward, backward]
    }
}

vectorized! {
    fn forward(x: &[f32], y: &mut [f32]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = kernels::gelu(kernels::exp(x)) * x;
        }
    }
}

vectorized! {
    fn backward(x: &[f32], of_y: &[f32], of_x: &mut [f32]) {
        for ((of_x, &x), &of_y) in of_x.iter_mut().zip(x).zip(of_y) {
            let exp = kernels::exp(x);
            *of_x = of_y * (kernels::gelu(exp) + x * exp * kernels::gelu_derivative(exp));
        }
    }
}
