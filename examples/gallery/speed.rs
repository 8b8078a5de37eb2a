//! Measures forward and backward: the best of many runs, on one thread. `speed.py` does so in PyTorch.

use std::time::{Duration, Instant};

use pullback::kernels;
use pullback::ndarray::{Array1, Array2, Dimension};
use pullback::prelude::*;

use crate::adjoint::Adjoint;
use crate::attention::Attention;
use crate::blackbox::{blackbox, cheapest_path};
use crate::ctc::Ctc;
use crate::entmax::entmax;
use crate::grouped::grouped;
use crate::lsq::lsq;
use crate::reversal::reversed;
use crate::reversible::Reversible;
use crate::segments::{segment_softmax, sort};
use crate::sinkhorn::Sinkhorn;
use crate::soft_dtw::SoftDtw;
use crate::sparsemax::sparsemax;
use crate::spikes::spiking;
use crate::spline::Spline;
use crate::sqrtm::Sqrtm;
use crate::upfirdn2d::{Sampling, Upfirdn2d};

pub fn print() {
    kernels::set_threads(1);
    let (x, w) = (matrix(256, 128), matrix(128, 128));
    time("sparsemax 256x128", || sparsemax(&x).sum());
    time("entmax 256x128", || entmax(&x, 1.5).sum());
    let costs = matrix(40, 50);
    time("sinkhorn 40x50", || {
        (Sinkhorn::apply(&costs, 0.1) * &costs).sum()
    });
    let distances = matrix(64, 64);
    time("soft_dtw 64x64", || SoftDtw::apply(&distances, 0.5));
    let halves = [matrix(64, 64), matrix(64, 64)];
    let weights: Vec<_> = (0..16).map(|_| matrix(64, 64)).collect();
    time("reversible, 8 blocks of 64", || {
        let (y1, y2) = Reversible::apply(&halves[0], &halves[1], &weights);
        y1.sum() + y2.sum()
    });
    let (z, weights) = (vector(64), [matrix(64, 64), matrix(64, 64)]);
    time("adjoint 64, 20 steps", || {
        let z = Adjoint::apply(&z, &weights, 1.0, 20);
        z.expect("no pass fails").sum()
    });
    let spread = matrix(16, 16).to_array();
    let definite = leaf(spread.dot(&spread.t()) + Array2::<f64>::eye(16));
    time("sqrtm 16x16", || {
        Sqrtm::apply(&definite).expect("positive definite").sum()
    });
    let (log_probs, labels) = (matrix(100, 30), (1..21).collect::<Vec<usize>>());
    time("ctc 100x30, 20 labels", || Ctc::apply(&log_probs, &labels));
    let filter = Array2::from_elem((4, 4), 0.25);
    let sampling = Sampling {
        up: 2,
        down: 1,
        pad: [[2, 1], [2, 1]],
    };
    time("upfirdn2d 128x128, up 2", || {
        Upfirdn2d::apply(&w, &filter, sampling).sum()
    });
    let (many, step) = (vector(100_000), Tensor::from(0.1).set_requires_grad(true));
    time("lsq 100000", || lsq(&many, &step, 4).sum());
    time("reversal 256x128", || reversed(&x, 0.7).sum());
    let grid = matrix(24, 24);
    time("blackbox 24x24", || {
        blackbox(&grid, 5.0, cheapest_path).sum()
    });
    let (inputs, experts): (Vec<_>, Vec<_>) = (0..8)
        .map(|k| (matrix(16 + 8 * k, 64), matrix(64, 64)))
        .unzip();
    time("grouped, 8 groups of 64", || {
        let outputs = grouped(&inputs, &experts);
        outputs.iter().map(Tensor::sum).sum()
    });
    let long = vector(10_000);
    let segments: Vec<usize> = (0..10_000).map(|i| i * i % 500).collect();
    time("segments, 10000 in 500", || {
        sort(&segment_softmax(&long, &segments)).0.sum()
    });
    let (values, knots) = (vector(64), (0..64).map(f64::from).collect::<Vec<_>>());
    let at = Array1::from_shape_fn(1000, |i| (number(i) + 0.2) / 0.4 * 63.0);
    let at = leaf(at);
    time("spline of 64, read at 1000", || {
        Spline::apply(&values, &at, &knots).sum()
    });
    let currents = leaf(Array2::from_shape_fn((100, 1000), |(i, j)| {
        number(i * 1000 + j) + 0.2
    }));
    let (u, beta) = (vector(1000), leaf(Array1::from_elem(1000, 0.9)));
    time("spikes, 100 steps of 1000", || {
        spiking(&u, &currents, &beta).1.sum()
    });
    let [q, k, v] = [0, 1, 2].map(|_| matrix(256, 64));
    time("attention 256x64", || {
        Attention::apply(&q, &k, &v, 64).sum()
    });
}

fn vector(length: usize) -> Tensor1<f64> {
    leaf(Array1::from_shape_fn(length, number))
}

fn matrix(rows: usize, columns: usize) -> Tensor2<f64> {
    leaf(Array2::from_shape_fn((rows, columns), |(i, j)| {
        number(i * columns + j)
    }))
}

fn number(i: usize) -> f64 {
    ((i as f64) * 0.618_033_988_749_895).fract() * 0.4 - 0.2
}

fn leaf<D: Dimension>(array: pullback::ndarray::Array<f64, D>) -> Tensor<f64, D> {
    Tensor::from(array).set_requires_grad(true)
}

fn time(name: &str, forward: impl Fn() -> Tensor0<f64>) {
    let start = Instant::now();
    let mut best = Duration::MAX;
    while start.elapsed() < Duration::from_secs(2) {
        let one = Instant::now();
        forward().backward().expect("a graph");
        best = best.min(one.elapsed());
    }
    println!("{name:<26} {:>9.1} us", best.as_secs_f64() * 1e6);
}
