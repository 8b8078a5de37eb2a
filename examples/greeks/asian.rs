//! Calls on the average price at twelve dates, by simulation.
//!
//! A path's payoff has a kink, so its second derivative is useless. But a path can be drawn as a
//! Brownian bridge and one more normal number z, on which the average depends monotonically. Given the
//! bridge, the mean over z is known: the Black–Scholes formula for each date, up to the z beyond which
//! the option is exercised ([`Boundary`]). It is smooth in all inputs, so gradients of gradients are
//! right for each path, and their means have a standard error.
//!
//! The geometric average has a lognormal distribution, so its Greeks are known exactly (Kemna and Vorst,
//! 1990). They show that the simulation's intervals can be trusted. They also make those of the arithmetic
//! average narrow: the same paths have the same errors for both averages.

use pullback::ndarray::{Array1, Array2, Axis, concatenate};
use pullback::nn::{Generator, init};
use pullback::prelude::*;

use crate::estimate::{Estimate, of_pairs};
use crate::functions::{Boundary, Kind, black_scholes, cdf};
use crate::sensitivities::{Greeks, Market};

const DATES: usize = 12;
const SPOT: f64 = 100.0;
const STRIKE: f64 = 100.0;
const RATE: f64 = 0.05;
const VOLATILITY: f64 = 0.3;
const MATURITY: f64 = 1.0;

/// The kind of average.
#[derive(Clone, Copy)]
pub enum Average {
    Arithmetic,
    Geometric,
}

/// The Greeks of both averages from the same paths.
pub struct Simulation {
    /// Estimates beside exact values.
    pub geometric: Vec<(Estimate, f64)>,
    pub arithmetic: Vec<Estimate>,
}

/// Computes the Greeks of both averages from `pairs` of a bridge and its mirror image.
pub fn simulate(pairs: usize, random: &mut Generator) -> Result<Simulation, pullback::Error> {
    let bridges = bridges(pairs, random);
    let each = |value| Array1::from_elem(2 * pairs, value);
    let market = Market::new(each(SPOT), each(RATE), each(VOLATILITY), each(MATURITY));
    let geometric = Greeks::of(&market, |market| {
        price(market, &bridges, Average::Geometric)
    })?;
    let arithmetic = Greeks::of(&market, |market| {
        price(market, &bridges, Average::Arithmetic)
    })?;
    let exact = exact()?.all.map(|greek| greek.view()[0]);

    let both = geometric.all.iter().zip(&arithmetic.all).zip(exact);
    let (geometric, arithmetic) = both
        .map(|((geometric, arithmetic), exact)| {
            let geometric = of_pairs(&geometric.view());
            let controlled = of_pairs(&arithmetic.view()) - &geometric + exact;
            ((Estimate::of(&geometric), exact), Estimate::of(&controlled))
        })
        .unzip();
    Ok(Simulation {
        geometric,
        arithmetic,
    })
}

/// Returns the discounted payoff's mean over z, for each row of `bridges`.
fn price(market: &Market, bridges: &Tensor2<f64>, average: Average) -> Tensor1<f64> {
    let Market {
        spot,
        rate,
        volatility,
        maturity,
    } = market;
    let dates = Tensor::from(dates()).unsqueeze(Axis(0));
    let deviation = (volatility * maturity.sqrt()).unsqueeze(Axis(1));
    let growth = ((rate - volatility.square() * 0.5) * maturity).unsqueeze(Axis(1));
    let start = (spot / STRIKE).ln().unsqueeze(Axis(1));
    let mut drift = start + growth * &dates + &deviation * bridges;
    let mut slope = deviation * &dates;
    if let Average::Geometric = average {
        drift = drift.mean_keepdim(&[1]);
        slope = slope.mean_keepdim(&[1]);
    }

    let boundary = Boundary::apply(&drift, &slope).unsqueeze(Axis(1));
    let grown = (drift + slope.square() * 0.5).exp();
    let received = (grown * cdf(&(slope - &boundary))).mean_axis(Axis(1));
    let paid = cdf(&-boundary.squeeze(Axis(1)));
    (received - paid) * (-(rate * maturity)).exp() * STRIKE
}

/// Returns the Greeks of the geometric average: an option on a price that moves less.
fn exact() -> Result<Greeks, pullback::Error> {
    let one = |value| Array1::from_elem(1, value);
    let dates = dates();
    let mean = dates.sum() / DATES as f64;
    let square = (DATES * DATES) as f64;
    let pairs = dates
        .iter()
        .flat_map(|&u| dates.iter().map(move |&v| u.min(v)));
    let variance = pairs.sum::<f64>() / square;
    let market = Market::new(one(SPOT), one(RATE), one(VOLATILITY), one(MATURITY));
    Greeks::of(&market, |market| {
        let Market {
            spot,
            rate,
            volatility,
            maturity,
        } = market;
        let half = volatility.square() * 0.5;
        let growth = (rate - &half) * mean + half * variance - rate;
        let spot = spot * (growth * maturity).exp();
        let strike = Tensor::from(one(STRIKE));
        let volatility = volatility * variance.sqrt();
        black_scholes(&spot, &strike, rate, &volatility, maturity, Kind::Call)
    })
}

/// Returns price and delta of the arithmetic average by plain simulation with mirrored paths, on arrays:
/// no bridge, no boundary, no tape.
pub fn plain(pairs: usize, random: &mut Generator) -> [Estimate; 2] {
    let step = (MATURITY / DATES as f64).sqrt() * VOLATILITY;
    let growth = (RATE - 0.5 * VOLATILITY * VOLATILITY) * MATURITY / DATES as f64;
    let discount = (-RATE * MATURITY).exp();
    let mut prices = Array1::zeros(pairs);
    let mut deltas = Array1::zeros(pairs);
    for (price, delta) in prices.iter_mut().zip(&mut deltas) {
        let moves: Array1<f64> = init::normal(DATES, 0.0, 1.0, random);
        for sign in [1.0, -1.0] {
            let (mut spot, mut total) = (SPOT, 0.0);
            for z in &moves {
                spot *= (growth + step * sign * z).exp();
                total += spot;
            }
            let average = total / DATES as f64;
            if average > STRIKE {
                *price += 0.5 * discount * (average - STRIKE);
                *delta += 0.5 * discount * average / SPOT;
            }
        }
    }
    [Estimate::of(&prices), Estimate::of(&deltas)]
}

/// Returns the dates as shares of the maturity.
fn dates() -> Array1<f64> {
    Array1::from_iter((1..=DATES).map(|date| date as f64 / DATES as f64))
}

/// Draws Brownian bridges over a maturity of 1; the second half of the rows mirrors the first.
fn bridges(pairs: usize, random: &mut Generator) -> Tensor2<f64> {
    let scale = (1.0 / DATES as f64).sqrt();
    let mut bridges: Array2<f64> = init::normal((pairs, DATES), 0.0, scale, random);
    bridges.accumulate_axis_inplace(Axis(1), |&before, now| *now += before);
    let dates = dates();
    for mut bridge in bridges.rows_mut() {
        let end = bridge[DATES - 1];
        bridge.scaled_add(-end, &dates);
    }
    // INVARIANT: both have DATES columns.
    let both = concatenate(Axis(0), &[bridges.view(), (-&bridges).view()]);
    Tensor::from(both.expect("as many columns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tape_and_shifted_prices_agree_on_the_same_paths() {
        let bridges = bridges(8, &mut Generator::seed(2));
        let each = |value| Array1::from_elem(16, value);
        let market =
            |spot, volatility| Market::new(each(spot), each(RATE), each(volatility), each(1.0));
        let at = |spot, volatility| {
            price(&market(spot, volatility), &bridges, Average::Arithmetic)
                .sum()
                .item()
        };
        let greeks = Greeks::of(&market(SPOT, VOLATILITY), |market| {
            price(market, &bridges, Average::Arithmetic)
        });
        let total = greeks.unwrap().all.map(|greek| greek.sum().item());
        let (ds, dv) = (1e-2, 1e-4);
        let (up, down) = (at(SPOT + ds, VOLATILITY), at(SPOT - ds, VOLATILITY));
        let (more, less) = (at(SPOT, VOLATILITY + dv), at(SPOT, VOLATILITY - dv));
        for (place, shifted) in [
            (1, (up - down) / (2.0 * ds)),
            (2, (more - less) / (2.0 * dv)),
            (5, (up - 2.0 * total[0] + down) / (ds * ds)),
            (7, (more - 2.0 * total[0] + less) / (dv * dv)),
        ] {
            let greek = total[place];
            assert!(
                (greek - shifted).abs() < 1e-5 * greek.abs(),
                "{greek} {shifted}"
            );
        }
    }

    #[test]
    fn bridges_end_at_zero_and_come_in_pairs() {
        let bridges = bridges(3, &mut Generator::seed(1)).to_array();
        assert!(
            bridges
                .column(DATES - 1)
                .iter()
                .all(|end| end.abs() < 1e-12)
        );
        assert_eq!(bridges.row(1), -&bridges.row(4));
    }
}
