//! W4: y = gelu(eˣ) · x on ten million elements, forward and backward, as three functions one after the other.
//! W4e: the same as one elementwise function.

#![allow(
    clippy::inline_always,
    reason = "the loops by hand are vector code as ours are"
)]

use std::time::Duration;

use pullback::kernels::split_mut;
use pullback::ndarray::Array1;
use pullback::prelude::*;
use pullback::{kernels, memory};

use crate::counting::peak;
use crate::harness::{Filter, medians, report, report_both, timed};
use crate::vectorized::vectorized;

const LENGTH: usize = 10_000_000;
const ROUNDS: usize = 15;
/// The fewest elements that are worth a thread.
const THREAD: usize = 1 << 15;

#[custom_function(elementwise)]
fn gelu_of_exp<T: Real>(x: T) -> T {
    x.exp().gelu() * x
}

pub fn run(filter: &Filter) {
    let three = |x: &Tensor1<f32>| x.exp().gelu() * x;
    measure::<Three>("W4", filter, three, 6.0);
    // Four tensors: x, y, the incoming gradient and the result.
    measure::<One>("W4e", filter, gelu_of_exp, 4.0);
}

/// Measures the time beside that of `H`, and the peak memory. `most` is the bar for memory in tensors, x among them,
/// which has no limit measured in the same run.
fn measure<H: ByHand>(
    name: &str,
    filter: &Filter,
    function: fn(&Tensor1<f32>) -> Tensor1<f32>,
    most: f64,
) {
    let [time, memory] = ["time", "peak"].map(|figure| format!("{name}/{figure}"));
    if filter.wants(&time) {
        let (ours, limit) = times::<H>(function);
        report_both(&time, ours, limit, ("ms", 1e6));
    }
    if filter.wants(&memory) {
        memory::empty_cache();
        let bytes = peak(|| {
            let x = Tensor::from(values()).set_requires_grad(true);
            ours(function, &x);
        });
        let tensors = bytes as f64 / (LENGTH * size_of::<f32>()) as f64;
        report(&memory, tensors, most, "tensors");
    }
    memory::empty_cache();
}

fn times<H: ByHand>(function: fn(&Tensor1<f32>) -> Tensor1<f32>) -> ([f64; 2], [f64; 2]) {
    let values = values();
    let x = Tensor::from(values.view()).set_requires_grad(true);
    let mut by_hand = H::new(values.into_raw_vec_and_offset().0);
    ours(function, &x);
    by_hand.forward();
    by_hand.backward();
    let gradient = x.grad().expect("a gradient");
    for (ours, limit) in gradient.iter().zip(by_hand.grad_x()) {
        let close = (ours - limit).abs() <= 1e-4 * limit.abs().max(1.0);
        assert!(close, "{ours} is not {limit}");
    }
    drop(gradient);
    medians(
        ROUNDS,
        || {
            x.zero_grad();
            ours(function, &x)
        },
        || {
            let (forward, ()) = timed(|| by_hand.forward());
            let (backward, ()) = timed(|| by_hand.backward());
            [forward, backward]
        },
    )
}

fn values() -> Array1<f32> {
    Array1::from_shape_fn(LENGTH, |i| (i % 1000) as f32 / 250.0 - 2.0)
}

fn ours(function: fn(&Tensor1<f32>) -> Tensor1<f32>, x: &Tensor1<f32>) -> [Duration; 2] {
    let gradient = Array1::ones(LENGTH);
    let (forward, y) = timed(|| function(x));
    let (backward, ()) = timed(|| {
        y.backward_with(gradient).expect("the graph is whole");
        drop(y);
    });
    [forward, backward]
}

/// The arithmetic of a workload by hand, in buffers that are used again.
trait ByHand {
    fn new(x: Vec<f32>) -> Self;
    fn forward(&mut self);
    fn backward(&mut self);
    fn grad_x(&self) -> &[f32];
}

/// A loop for each function and each gradient.
struct Three {
    x: Vec<f32>,
    exp: Vec<f32>,
    gelu: Vec<f32>,
    y: Vec<f32>,
    of_y: Vec<f32>,
    of_gelu: Vec<f32>,
    of_x: Vec<f32>,
}

impl ByHand for Three {
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

    fn forward(&mut self) {
        kernels::zip_in_place(&mut self.exp, &self.x, exp_of);
        kernels::zip_in_place(&mut self.gelu, &self.exp, gelu_of);
        product(&mut self.y, &self.gelu, &self.x);
    }

    fn backward(&mut self) {
        product(&mut self.of_x, &self.of_y, &self.gelu);
        product(&mut self.of_gelu, &self.of_y, &self.x);
        kernels::zip_in_place(&mut self.of_gelu, &self.exp, gelu_backward);
        kernels::zip_in_place(&mut self.of_gelu, &self.exp, |gradient, exp| gradient * exp);
        kernels::zip_in_place(&mut self.of_x, &self.of_gelu, |x, y| x + y);
    }

    fn grad_x(&self) -> &[f32] {
        &self.of_x
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

/// One loop forward and one backward.
struct One {
    x: Vec<f32>,
    y: Vec<f32>,
    of_y: Vec<f32>,
    of_x: Vec<f32>,
}

impl ByHand for One {
    fn new(x: Vec<f32>) -> Self {
        let ones = vec![1.0; x.len()];
        Self {
            x,
            y: ones.clone(),
            of_y: ones.clone(),
            of_x: ones,
        }
    }

    fn forward(&mut self) {
        let x = &self.x;
        split_mut(&mut self.y, 1, THREAD, |first, y| {
            forward(&x[first..][..y.len()], y);
        });
    }

    fn backward(&mut self) {
        let (x, of_y) = (&self.x, &self.of_y);
        split_mut(&mut self.of_x, 1, THREAD, |first, of_x| {
            let range = first..first + of_x.len();
            backward(&x[range.clone()], &of_y[range], of_x);
        });
    }

    fn grad_x(&self) -> &[f32] {
        &self.of_x
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
