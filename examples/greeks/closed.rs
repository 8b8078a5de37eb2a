//! The textbook formulas for the Greeks of European options, to compare with.

use std::f64::consts::TAU;

use pullback::ndarray::{Array1, Axis, concatenate};
use pullback::prelude::*;

use crate::functions::{Cdf, Kind, black_scholes};
use crate::norm::largest;
use crate::sensitivities::{Greeks, Market, NAMES};

pub const STRIKE: f64 = 100.0;
pub const RATE: f64 = 0.03;
pub const MATURITIES: [f64; 3] = [0.1, 0.5, 2.0];
const VOLATILITIES: [f64; 3] = [0.1, 0.25, 0.6];

/// Returns the largest differences between the tape's Greeks and the formulas', over spots, volatilities, maturities,
/// calls and puts, each relative to the Greek's largest value if that is above 1.
pub fn errors() -> Result<[f64; 10], pullback::Error> {
    let spots = Array1::linspace(60.0, 150.0, 46);
    let mut worst = [0.0_f64; 10];
    for kind in [Kind::Call, Kind::Put] {
        let mut computed: Vec<Vec<Array1<f64>>> = vec![Vec::new(); NAMES.len()];
        let mut expected: Vec<Vec<f64>> = vec![Vec::new(); NAMES.len()];
        for maturity in MATURITIES {
            for volatility in VOLATILITIES {
                let greeks = greeks(&spots, volatility, maturity, kind)?;
                for (at, greek) in computed.iter_mut().zip(&greeks.all) {
                    at.push(greek.to_array());
                }
                for &spot in &spots {
                    let exact = formulas(spot, volatility, maturity, kind);
                    expected
                        .iter_mut()
                        .zip(exact)
                        .for_each(|(all, greek)| all.push(greek));
                }
            }
        }
        for ((worst, computed), expected) in worst.iter_mut().zip(computed).zip(expected) {
            let views: Vec<_> = computed.iter().map(|greeks| greeks.view()).collect();
            // INVARIANT: arrays of one axis have no other axes to differ in.
            let computed = concatenate(Axis(0), &views).expect("arrays of one axis");
            *worst = largest(&[*worst, difference(&computed, &Array1::from(expected))]);
        }
    }
    Ok(worst)
}

fn difference(computed: &Array1<f64>, expected: &Array1<f64>) -> f64 {
    largest(&(computed - expected)) / largest(expected).max(1.0)
}

/// Computes the Greeks with the tape, one for each spot.
pub fn greeks(
    spots: &Array1<f64>,
    volatility: f64,
    maturity: f64,
    kind: Kind,
) -> Result<Greeks, pullback::Error> {
    let each = |value| Array1::from_elem(spots.len(), value);
    let market = Market::new(spots.view(), each(RATE), each(volatility), each(maturity));
    let strike = Tensor::from(each(STRIKE));
    Greeks::of(&market, |market| {
        let Market {
            spot,
            rate,
            volatility,
            maturity,
        } = market;
        black_scholes(spot, &strike, rate, volatility, maturity, kind)
    })
}

/// Computes the Greeks with their formulas, in the order of [`NAMES`].
fn formulas(spot: f64, volatility: f64, maturity: f64, kind: Kind) -> [f64; 10] {
    let (w, root) = (kind.sign(), maturity.sqrt());
    let deviation = volatility * root;
    let d1 = ((spot / STRIKE).ln() + (RATE + 0.5 * volatility * volatility) * maturity) / deviation;
    let d2 = d1 - deviation;
    let density = (-0.5 * d1 * d1).exp() / TAU.sqrt();
    let discounted = STRIKE * (-RATE * maturity).exp();
    let exercised = w * discounted * Cdf::formula(w * d2);
    let delta = w * Cdf::formula(w * d1);
    let vega = spot * density * root;
    let gamma = density / (spot * deviation);
    [
        spot * delta - exercised,
        delta,
        vega,
        maturity * exercised,
        -spot * density * volatility / (2.0 * root) - RATE * exercised,
        gamma,
        -density * d2 / volatility,
        vega * d1 * d2 / volatility,
        -density * (2.0 * RATE * maturity - d2 * deviation) / (2.0 * maturity * deviation),
        -gamma / spot * (d1 / deviation + 1.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tape_knows_the_formulas() {
        for (name, error) in NAMES.iter().zip(errors().unwrap()) {
            assert!(error < 1e-10, "{name}: {error:.1e}");
        }
    }
}
