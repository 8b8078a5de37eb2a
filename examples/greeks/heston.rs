//! Calls where the variance of the price moves too (Heston, 1993), by simulation.
//!
//! A path is a scan over its steps: the states are the logarithm of the price and the variance, and backward goes through
//! the steps in reverse, with the states of √n of n steps in memory. A path's payoff has a first derivative, whose mean is
//! that of the price. Price and sensitivities are compared with Lewis' integral of the characteristic function (2001).

use num_complex::Complex64;
use pullback::ndarray::{Array1, Array2, Axis, concatenate};
use pullback::nn::{Generator, init};
use pullback::prelude::*;

use crate::estimate::{Estimate, of_pairs};

const STEPS: usize = 100;
const STRIKE: f64 = 100.0;
const RATE: f64 = 0.03;
const MATURITY: f64 = 1.0;

/// What the price is differentiated with respect to.
pub const NAMES: [&str; 6] = [
    "delta",
    "variance",
    "speed",
    "mean",
    "volatility",
    "correlation",
];
/// The spot, the variance at first, the speed at which it returns to its mean, this mean, its volatility, and the
/// correlation of its moves with those of the price.
const MARKET: [f64; 6] = [100.0, 0.05, 2.0, 0.08, 0.3, -0.6];

/// Returns the logarithm of the price and the variance after all steps, by Euler's method with a variance that counts as 0
/// where it is negative (Lord, Koekkoek and van Dijk, 2010).
#[custom_function(
    scan,
    outputs(last_price, last_variance),
    gradcheck(
        price = [3],
        variance = [3] in 0.05..0.1,
        z = [5, 3],
        w = [5, 3],
        speed = [3] in 0.5..1.0,
        mean = [3] in 0.05..0.1,
        volatility = [3] in 0.1..0.2,
        correlation = [3] in -0.5..0.5,
        rate = 0.03,
        time = 0.01,
    ),
)]
#[expect(clippy::too_many_arguments, reason = "those of the model")]
fn heston<T: Real>(
    #[state] price: T,
    #[state] variance: T,
    #[step] z: T,
    #[step] w: T,
    speed: T,
    mean: T,
    volatility: T,
    correlation: T,
    rate: f64,
    time: f64,
) -> (T, T) {
    let positive = variance.max(0.0);
    let deviation = (positive * time).sqrt();
    let shock = correlation * z + (1.0 - correlation * correlation).sqrt() * w;
    (
        price + (rate - 0.5 * positive) * time + deviation * shock,
        variance + speed * (mean - positive) * time + volatility * deviation * z,
    )
}

/// Returns the price and its sensitivities from `pairs` of a path and its mirror image, beside those of the integral.
pub fn simulate(
    pairs: usize,
    random: &mut Generator,
) -> Result<[(Estimate, f64); 7], pullback::Error> {
    let each = |value| Tensor::from(Array1::from_elem(2 * pairs, value));
    let market = MARKET.map(|value| each(value).set_requires_grad(true));
    let [spot, variance, speed, mean, volatility, correlation] = &market;
    let [z, w] = [(); 2].map(|()| normals(pairs, random));
    let time = MATURITY / STEPS as f64;
    let (price, _) = heston(
        &spot.ln(),
        variance,
        &z,
        &w,
        speed,
        mean,
        volatility,
        correlation,
        RATE,
        time,
    );
    let payoff = (price.exp() - STRIKE).relu() * (-RATE * MATURITY).exp();
    payoff.sum().backward()?;
    let exact = exact();
    Ok(std::array::from_fn(|place| {
        let values = match place.checked_sub(1) {
            None => payoff.to_array(),
            // INVARIANT: the payoff depends on the whole market.
            Some(place) => market[place].grad().expect("a gradient"),
        };
        (Estimate::of(&of_pairs(&values.view())), exact[place])
    }))
}

/// Draws the normal numbers of all steps; the second half of the paths mirrors the first.
fn normals(pairs: usize, random: &mut Generator) -> Tensor2<f64> {
    let normals: Array2<f64> = init::normal((STEPS, pairs), 0.0, 1.0, random);
    // INVARIANT: both have STEPS rows.
    let both = concatenate(Axis(1), &[normals.view(), (-&normals).view()]);
    Tensor::from(both.expect("as many rows"))
}

/// Returns the price and its sensitivities, these as differences of prices.
fn exact() -> [f64; 7] {
    std::array::from_fn(|place| {
        let Some(place) = place.checked_sub(1) else {
            return price(MARKET);
        };
        let by = 1e-4 * MARKET[place].abs();
        let shifted = |by: f64| {
            let mut market = MARKET;
            market[place] += by;
            price(market)
        };
        (shifted(by) - shifted(-by)) / (2.0 * by)
    })
}

/// Returns the price of a call: spot − √(spot · strike) e^(−rT/2)/π ∫ Re(e^(iuk) φ(u − i/2)) / (u² + ¼) du over u > 0, where
/// k is ln(spot / strike) + rT.
fn price(market: [f64; 6]) -> f64 {
    const END: f64 = 200.0;
    const INTERVALS: usize = 4000;
    let spot = market[0];
    let moneyness = (spot / STRIKE).ln() + RATE * MATURITY;
    let integrand = |u: f64| {
        let wave = Complex64::new(0.0, u * moneyness).exp();
        (wave * characteristic(Complex64::new(u, -0.5), market)).re / (u * u + 0.25)
    };
    // Simpson's rule.
    let step = END / INTERVALS as f64;
    let inner = (1..INTERVALS).map(|place| {
        let weight = if place % 2 == 1 { 4.0 } else { 2.0 };
        weight * integrand(place as f64 * step)
    });
    let integral = (integrand(0.0) + inner.sum::<f64>() + integrand(END)) * step / 3.0;
    let scale = (spot * STRIKE).sqrt() * (-RATE * MATURITY / 2.0).exp();
    spot - scale * integral / std::f64::consts::PI
}

/// Returns E[e^(iuX)] of X = ln(S/spot) − rT at the maturity, in the form without jumps (Albrecher and others, 2007).
fn characteristic(u: Complex64, market: [f64; 6]) -> Complex64 {
    let [_, variance, speed, mean, volatility, correlation] = market;
    let square = volatility * volatility;
    let along = speed - Complex64::i() * u * (correlation * volatility);
    let root = (along * along + square * (Complex64::i() * u + u * u)).sqrt();
    let ratio = (along - root) / (along + root);
    let decay = (-root * MATURITY).exp();
    let logarithm = ((1.0 - ratio * decay) / (1.0 - ratio)).ln();
    let of_mean = (speed * mean / square) * ((along - root) * MATURITY - 2.0 * logarithm);
    let of_variance = (along - root) / square * (1.0 - decay) / (1.0 - ratio * decay);
    (of_mean + of_variance * variance).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_moves_of_the_variance_the_price_is_that_of_black_and_scholes() {
        let found = price([100.0, 0.04, 1.0, 0.04, 1e-3, 0.0]);
        let (deviation, growth) = (0.2, RATE * MATURITY);
        let d = (growth + 0.02) / deviation;
        let normal = |x: f64| pullback::kernels::normal_cdf(x);
        let expected = 100.0 * normal(d) - STRIKE * (-growth).exp() * normal(d - deviation);
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }
}
