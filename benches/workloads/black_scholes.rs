//! W9: the price of a call option by Black and Scholes with its sensitivities to spot, volatility and time, on a
//! million elements, as one elementwise function.

use std::time::Duration;

use pullback::kernels::{self, split_mut};
use pullback::ndarray::Array1;
use pullback::prelude::*;

use crate::harness::{Filter, medians, report_both, timed};
use crate::vectorized::vectorized;

const LENGTH: usize = 1_000_000;
const ROUNDS: usize = 31;
const STRIKE: f64 = 100.0;
const RATE: f64 = 0.03;
/// The number of elements by hand that a thread takes at a time.
const PIECE: usize = 1 << 15;

#[custom_function(elementwise)]
fn call_price<T: Real>(spot: T, volatility: T, time: T, strike: f64, rate: f64) -> T {
    let deviation = volatility * time.sqrt();
    let drift = (rate + 0.5 * volatility * volatility) * time;
    let d_1 = ((spot / strike).ln() + drift) / deviation;
    let d_2 = d_1 - deviation;
    let discounted = strike * (-rate * time).exp();
    spot * d_1.normal_cdf() - discounted * d_2.normal_cdf()
}

pub fn run(filter: &Filter) {
    if !filter.wants("W9") {
        return;
    }
    let inputs = Inputs::new();
    let leaf = |x: &Vec<f64>| Tensor::from(Array1::from(x.clone())).set_requires_grad(true);
    let leaves = [
        leaf(&inputs.spot),
        leaf(&inputs.volatility),
        leaf(&inputs.time),
    ];
    let mut by_hand = ByHand::new(inputs);
    ours(&leaves, ones());
    by_hand.run();
    for (leaf, limits) in leaves.iter().zip(&by_hand.sensitivities) {
        let gradient = leaf.grad().expect("a gradient");
        for (ours, limit) in gradient.iter().zip(limits) {
            let close = (ours - limit).abs() <= 1e-9 * limit.abs().max(1.0);
            assert!(close, "{ours} is not {limit}");
        }
    }
    let (ours, limit) = medians(
        ROUNDS,
        || {
            for leaf in &leaves {
                leaf.zero_grad();
            }
            ours(&leaves, ones())
        },
        || by_hand.run(),
    );
    report_both("W9", ours, limit, ("ms", 1e6));
}

fn ones() -> Array1<f64> {
    Array1::ones(LENGTH)
}

fn ours([spot, volatility, time]: &[Tensor1<f64>; 3], gradient: Array1<f64>) -> [Duration; 2] {
    let (forward, price) = timed(|| call_price(spot, volatility, time, STRIKE, RATE));
    let (backward, ()) = timed(|| {
        price.backward_with(gradient).expect("the graph is whole");
        drop(price);
    });
    [forward, backward]
}

struct Inputs {
    spot: Vec<f64>,
    volatility: Vec<f64>,
    time: Vec<f64>,
}

impl Inputs {
    fn new() -> Self {
        let between = |from: f64, to: f64, period: usize| {
            let at = |i: usize| from + (to - from) * (i % period) as f64 / period as f64;
            (0..LENGTH).map(at).collect()
        };
        Self {
            spot: between(60.0, 160.0, 997),
            volatility: between(0.1, 0.6, 1009),
            time: between(0.1, 3.0, 1013),
        }
    }
}

/// One loop for the price and one for its three derivatives as they are known, in buffers that are used again.
struct ByHand {
    inputs: Inputs,
    price: Vec<f64>,
    of_price: Vec<f64>,
    sensitivities: [Vec<f64>; 3],
}

impl ByHand {
    fn new(inputs: Inputs) -> Self {
        let ones = vec![1.0; LENGTH];
        Self {
            inputs,
            price: ones.clone(),
            of_price: ones.clone(),
            sensitivities: [ones.clone(), ones.clone(), ones],
        }
    }

    fn run(&mut self) -> [Duration; 2] {
        let Inputs {
            spot,
            volatility,
            time,
        } = &self.inputs;
        let (forward, ()) = timed(|| {
            split_mut(&mut self.price, 1, PIECE, |first, price| {
                let at = first..first + price.len();
                prices(&spot[at.clone()], &volatility[at.clone()], &time[at], price);
            });
        });
        let (backward, ()) = timed(|| {
            let [delta, vega, theta] = &mut self.sensitivities;
            let pieces = delta.chunks_mut(PIECE).zip(vega.chunks_mut(PIECE));
            let pieces = pieces.zip(theta.chunks_mut(PIECE));
            let mut pieces: Vec<_> = pieces.collect();
            split_mut(&mut pieces, 1, 1, |first, pieces| {
                for (index, ((delta, vega), theta)) in pieces.iter_mut().enumerate() {
                    let start = (first + index) * PIECE;
                    let at = start..start + delta.len();
                    let of_price = &self.of_price[at.clone()];
                    let (spot, volatility) = (&spot[at.clone()], &volatility[at.clone()]);
                    sensitivities(spot, volatility, &time[at], of_price, delta, vega, theta);
                }
            });
        });
        [forward, backward]
    }
}

vectorized! {
    fn prices(spot: &[f64], volatility: &[f64], time: &[f64], price: &mut [f64]) {
        let inputs = spot.iter().zip(volatility).zip(time);
        for (price, ((&spot, &volatility), &time)) in price.iter_mut().zip(inputs) {
            let deviation = volatility * time.sqrt();
            let drift = (RATE + 0.5 * volatility * volatility) * time;
            let d_1 = (kernels::ln(spot / STRIKE) + drift) / deviation;
            let d_2 = d_1 - deviation;
            let discounted = STRIKE * kernels::exp(-RATE * time);
            *price = spot * kernels::normal_cdf(d_1) - discounted * kernels::normal_cdf(d_2);
        }
    }
}

vectorized! {
    fn sensitivities(
        spot: &[f64],
        volatility: &[f64],
        time: &[f64],
        of_price: &[f64],
        delta: &mut [f64],
        vega: &mut [f64],
        theta: &mut [f64],
    ) {
        let inputs = spot.iter().zip(volatility).zip(time).zip(of_price);
        let outputs = delta.iter_mut().zip(vega).zip(theta);
        for (((delta, vega), theta), (((&spot, &volatility), &time), &of_price)) in outputs.zip(inputs) {
            let root = time.sqrt();
            let deviation = volatility * root;
            let drift = (RATE + 0.5 * volatility * volatility) * time;
            let d_1 = (kernels::ln(spot / STRIKE) + drift) / deviation;
            let d_2 = d_1 - deviation;
            let discounted = STRIKE * kernels::exp(-RATE * time);
            let density = of_price * spot * kernels::normal_pdf(d_1);
            *delta = of_price * kernels::normal_cdf(d_1);
            *vega = density * root;
            *theta = density * volatility / (root + root)
                + of_price * RATE * discounted * kernels::normal_cdf(d_2);
        }
    }
}
