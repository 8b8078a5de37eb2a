//! W4: y = gelu(eˣ) · x on ten million elements, forward and backward, three functions one after the other.

#![allow(
    clippy::inline_always,
    reason = "the loops by hand are vector code as ours are"
)]

use std::time::Duration;

use pullback::ndarray::Array1;
use pullback::prelude::*;
use pullback::{kernels, memory};

use crate::counting::peak;
use crate::harness::{Filter, medians, report, report_both, timed};

pub const LENGTH: usize = 10_000_000;
const ROUNDS: usize = 15;
/// The bar for memory in tensors, x among them, which has no limit measured in the same run.
const TENSORS: f64 = 6.0;

pub fn run(filter: &Filter) {
    if filter.wants("W4/time") {
        time();
    }
    if filter.wants("W4/peak") {
        memory::empty_cache();
        let bytes = peak(|| {
            let x = Tensor::from(values()).set_requires_grad(true);
            ours(&x, ones());
        });
        let tensors = bytes as f64 / (LENGTH * size_of::<f32>()) as f64;
        report("W4/peak", tensors, TENSORS, "tensors");
    }
    memory::empty_cache();
}

pub fn values() -> Array1<f32> {
    Array1::from_shape_fn(LENGTH, |i| (i % 1000) as f32 / 250.0 - 2.0)
}

pub fn ones() -> Array1<f32> {
    Array1::ones(LENGTH)
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
    report_both("W4/time", ours, limit, ("ms", 1e6));
}

fn ours(x: &Tensor1<f32>, gradient: Array1<f32>) -> [Duration; 2] {
    let (forward, y) = timed(|| x.exp().gelu() * x);
    let (backward, ()) = timed(|| {
        y.backward_with(gradient).expect("the graph is whole");
        drop(y);
    });
    [forward, backward]
}

/// The same loops in buffers that are used again.
struct ByHand {
    x: Vec<f32>,
    exp: Vec<f32>,
    gelu: Vec<f32>,
    y: Vec<f32>,
    of_y: Vec<f32>,
    of_gelu: Vec<f32>,
    of_x: Vec<f32>,
}

impl ByHand {
    fn new(x: Vec<f32>) -> Self {
        let ones = vec![1.0; x.len()];
        Self {
            x,
            exp: ones.clone(),
            gelu: ones.clone(),
            y: ones.clone(),
            of_y: ones.clone(),
            of_gelu: ones.clone(),
            of_x: ones,
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let (forward, ()) = timed(|| {
            kernels::zip_in_place(&mut self.exp, &self.x, exp_of);
            kernels::zip_in_place(&mut self.gelu, &self.exp, gelu_of);
            product(&mut self.y, &self.gelu, &self.x);
        });
        let (backward, ()) = timed(|| {
            product(&mut self.of_x, &self.of_y, &self.gelu);
            product(&mut self.of_gelu, &self.of_y, &self.x);
            kernels::zip_in_place(&mut self.of_gelu, &self.exp, gelu_backward);
            kernels::zip_in_place(&mut self.of_gelu, &self.exp, |gradient, exp| gradient * exp);
            kernels::zip_in_place(&mut self.of_x, &self.of_gelu, |x, y| x + y);
        });
        [forward, backward]
    }
}

fn product(product: &mut [f32], x: &[f32], y: &[f32]) {
    for ((product, x), y) in product.iter_mut().zip(x).zip(y) {
        *product = x * y;
    }
}

#[inline(always)]
fn exp_of(_: f32, x: f32) -> f32 {
    kernels::exp(x)
}

#[inline(always)]
fn gelu_of(_: f32, x: f32) -> f32 {
    kernels::gelu(x)
}

#[inline(always)]
fn gelu_backward(gradient: f32, x: f32) -> f32 {
    gradient * kernels::gelu_derivative(x)
}
