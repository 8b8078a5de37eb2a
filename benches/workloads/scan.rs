//! scan/leaky: a leaky integrator and its rate over many steps, forward and backward, and the memory that they take.
//! scan/series: the same of a single channel.

use std::time::Duration;

use pullback::ndarray::{Array1, Array2};
use pullback::prelude::*;
use pullback::{kernels, memory};

use crate::counting::peak;
use crate::harness::{Filter, medians, report, report_both, timed};
use crate::vectorized::vectorized;

const STEPS: usize = 10_000;
const CHANNELS: usize = 256;
const ROUNDS: usize = 31;

#[custom_function(scan, outputs(last, rate))]
fn leaky<T: Real>(#[state] v: T, #[step] x: T, tau: T) -> (T, T) {
    let v = tau * v + x;
    (v, v.sigmoid())
}

pub fn run(filter: &Filter) {
    for (name, channels) in [("scan/leaky", CHANNELS), ("scan/series", 1)] {
        if filter.wants(name) {
            time(name, channels);
        }
    }
    if filter.wants("scan/peak") {
        states();
    }
}

/// Measures the peak memory beyond what is there before and after: the inputs, the rates and the gradients. The states
/// are large here, so that the counter sees them.
fn states() {
    let channels = 4 * CHANNELS;
    let wide = |length: usize| Tensor::from(Array1::from_elem(length, 0.5));
    let leaves = (
        wide(channels).set_requires_grad(true),
        Tensor::from(Array2::from_elem((STEPS, channels), 0.1)).set_requires_grad(true),
        wide(channels).set_requires_grad(true),
    );
    let gradient = Tensor::from(Array2::ones((STEPS, channels)));
    memory::empty_cache();
    let bytes = peak(|| {
        ours(&leaves, &gradient);
    });
    let state = (channels * size_of::<f32>()) as f64;
    // The rates, and the gradients of x.
    let states = bytes as f64 / state - 2.0 * STEPS as f64;
    report("scan/peak", states, 2.0 * (STEPS as f64).sqrt(), "states");
}

fn time(name: &str, channels: usize) {
    let x = Array2::from_shape_fn((STEPS, channels), |(step, channel)| {
        ((step * 7 + channel * 31) % 997) as f32 / 997.0 - 0.5
    });
    let tau = Array1::from_shape_fn(channels, |channel| {
        0.5 + 0.4 * channel as f32 / channels as f32
    });
    let v = Array1::zeros(channels);
    let leaves = (
        Tensor::from(v.view()).set_requires_grad(true),
        Tensor::from(x.view()).set_requires_grad(true),
        Tensor::from(tau.view()).set_requires_grad(true),
    );
    let mut by_hand = ByHand::new(v, x, tau);
    let gradient = Tensor::from(Array2::ones((STEPS, channels)));
    ours(&leaves, &gradient);
    by_hand.run();
    let all = [
        (leaves.0.grad().map(Array1::into_dyn), &by_hand.of_v),
        (leaves.1.grad().map(Array2::into_dyn), &by_hand.of_x),
        (leaves.2.grad().map(Array1::into_dyn), &by_hand.of_tau),
    ];
    for (gradient, limits) in all {
        for (ours, limit) in gradient.expect("a gradient").iter().zip(limits) {
            let close = (ours - limit).abs() <= 1e-3 * limit.abs().max(1.0);
            assert!(close, "{ours} is not {limit}");
        }
    }
    let (ours, limit) = medians(
        ROUNDS,
        || {
            leaves.0.zero_grad();
            leaves.1.zero_grad();
            leaves.2.zero_grad();
            ours(&leaves, &gradient)
        },
        || by_hand.run(),
    );
    report_both(name, ours, limit, ("ms", 1e6));
}

fn ours(
    (v, x, tau): &(Tensor1<f32>, Tensor2<f32>, Tensor1<f32>),
    gradient: &Tensor2<f32>,
) -> [Duration; 2] {
    let (forward, (_, rate)) = timed(|| leaky(v, x, tau));
    let (backward, ()) = timed(|| {
        let pass = Backward::of(&rate).seed(gradient);
        pass.run().expect("the graph is whole");
        drop(rate);
    });
    [forward, backward]
}

/// A loop over the steps, which keeps all states and rates, and one back, derived by hand, in buffers that are used
/// again.
struct ByHand {
    v: Vec<f32>,
    x: Vec<f32>,
    tau: Vec<f32>,
    states: Vec<f32>,
    rates: Vec<f32>,
    of_rates: Vec<f32>,
    of_v: Vec<f32>,
    of_x: Vec<f32>,
    of_tau: Vec<f32>,
}

impl ByHand {
    fn new(v: Array1<f32>, x: Array2<f32>, tau: Array1<f32>) -> Self {
        let all = vec![1.0; STEPS * v.len()];
        Self {
            v: v.to_vec(),
            x: x.into_raw_vec_and_offset().0,
            tau: tau.to_vec(),
            states: all.clone(),
            rates: all.clone(),
            of_rates: all.clone(),
            of_v: v.to_vec(),
            of_x: all,
            of_tau: v.to_vec(),
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let (forward, ()) = timed(|| {
            forward(
                &self.v,
                &self.x,
                &self.tau,
                &mut self.states,
                &mut self.rates,
            );
        });
        let (backward, ()) = timed(|| {
            self.of_v.fill(0.0);
            self.of_tau.fill(0.0);
            backward(
                (&self.v, &self.tau, &self.states),
                (&self.rates, &self.of_rates),
                &mut self.of_v,
                &mut self.of_x,
                &mut self.of_tau,
            );
        });
        [forward, backward]
    }
}

vectorized! {
    fn forward(v: &[f32], x: &[f32], tau: &[f32], states: &mut [f32], rates: &mut [f32]) {
        let channels = tau.len();
        let mut before = v;
        let rows = states.chunks_exact_mut(channels).zip(rates.chunks_exact_mut(channels));
        for ((state, rate), x) in rows.zip(x.chunks_exact(channels)) {
            for channel in 0..channels {
                let next = tau[channel] * before[channel] + x[channel];
                state[channel] = next;
                rate[channel] = kernels::sigmoid(next);
            }
            before = state;
        }
    }
}

vectorized! {
    fn backward(
        saved: (&[f32], &[f32], &[f32]),
        rates: (&[f32], &[f32]),
        of_v: &mut [f32],
        of_x: &mut [f32],
        of_tau: &mut [f32],
    ) {
        let ((v, tau, states), (rates, of_rates)) = (saved, rates);
        let channels = tau.len();
        let (of_v, of_tau) = (&mut of_v[..channels], &mut of_tau[..channels]);
        for step in (0..STEPS).rev() {
            let row = step * channels..(step + 1) * channels;
            let before = if step == 0 { v } else { &states[row.start - channels..row.start] };
            let (rate, of_rate) = (&rates[row.clone()], &of_rates[row.clone()]);
            let of_x = &mut of_x[row];
            for channel in 0..channels {
                let slope = rate[channel] * (1.0 - rate[channel]);
                let of_state = of_v[channel] + of_rate[channel] * slope;
                of_x[channel] = of_state;
                of_tau[channel] += of_state * before[channel];
                of_v[channel] = of_state * tau[channel];
            }
        }
    }
}
