//! rows/softmax: the softmax of a million rows of eight numbers, with a helper, a loop and `map`: forward.

use pullback::kernels;
use pullback::ndarray::Array2;
use pullback::prelude::*;

use crate::harness::{Filter, medians, report, timed};
use crate::vectorized::vectorized;

const ROWS: usize = 1_000_000;
const ROUNDS: usize = 15;

fn largest<T: Real>(x: [T; 8]) -> T {
    x.into_iter().fold(x[0], T::max)
}

#[custom_function(elementwise)]
fn softmax<T: Real>(x: [T; 8]) -> [T; 8] {
    let most = largest(x);
    let weights = x.map(|x| (x - most).exp());
    let mut sum = T::from(0.0);
    for weight in weights {
        sum += weight;
    }
    weights.map(|weight| weight / sum)
}

pub fn run(filter: &Filter) {
    if !filter.wants("rows/softmax") {
        return;
    }
    let at = |(row, k)| ((row * 8 + k * 31) % 997) as f32 / 200.0;
    let x = Array2::from_shape_fn((ROWS, 8), at);
    let input = Tensor::from(x.view());
    let rows = x.into_raw_vec_and_offset().0;
    let mut by_hand = vec![0.0; rows.len()];
    weigh(&rows, &mut by_hand);
    for (ours, limit) in softmax(&input).to_array().iter().zip(&by_hand) {
        assert!((ours - limit).abs() <= 1e-6, "{ours} is not {limit}");
    }
    let ([ours], [limit]) = medians(
        ROUNDS,
        || [timed(|| softmax(&input)).0],
        || [timed(|| weigh(&rows, &mut by_hand)).0],
    );
    report("rows/softmax", ours / 1e6, limit / 1e6, "ms");
}

vectorized! {
    fn weigh(x: &[f32], weights: &mut [f32]) {
        for (x, weights) in x.as_chunks::<8>().0.iter().zip(weights.as_chunks_mut::<8>().0) {
            let most = x.iter().fold(x[0], |most, x| most.max(*x));
            let mut sum = 0.0;
            for k in 0..8 {
                weights[k] = kernels::exp(x[k] - most);
                sum += weights[k];
            }
            for weight in weights {
                *weight /= sum;
            }
        }
    }
}
