//! Implied volatilities, by Newton's method with the vega from the tape.

use pullback::ndarray::{Array1, Zip};
use pullback::prelude::*;

use crate::closed::{RATE, STRIKE};
use crate::functions::{Kind, black_scholes};
use crate::norm::largest;

const SPOT: f64 = STRIKE;
const MOST_STEPS: usize = 50;

/// Quotes calls on a smile of volatilities, recovers the smile from the prices, and returns the largest
/// error and the steps that it took.
pub fn smile(maturity: f64) -> Result<(f64, usize), Box<dyn std::error::Error>> {
    // Two to three deviations of the spot at maturity: further from the money, prices are not informative.
    let moneyness = Array1::linspace(-0.5, 0.5, 57);
    let strikes = moneyness.mapv(|x: f64| SPOT * (x * maturity.sqrt()).exp());
    let smile = moneyness.mapv(|x| 0.2 - 0.15 * x + 0.3 * x * x);
    let options = Options::new(strikes, maturity);
    let quotes = options.price(&Tensor::from(smile.view())).to_array();
    let (found, steps) = options.implied(&quotes)?;
    Ok((largest(&(found - smile)), steps))
}

/// Calls of one maturity.
struct Options {
    spot: Tensor1<f64>,
    strike: Tensor1<f64>,
    rate: Tensor1<f64>,
    maturity: Tensor1<f64>,
}

impl Options {
    fn new(strikes: Array1<f64>, maturity: f64) -> Self {
        let each = |value| Tensor::from(Array1::from_elem(strikes.len(), value));
        Self {
            spot: each(SPOT),
            rate: each(RATE),
            maturity: each(maturity),
            strike: Tensor::from(strikes),
        }
    }

    fn price(&self, volatility: &Tensor1<f64>) -> Tensor1<f64> {
        let Self {
            spot,
            strike,
            rate,
            maturity,
        } = self;
        black_scholes(spot, strike, rate, volatility, maturity, Kind::Call)
    }

    /// Returns the start of Newton's method: vega is largest there, so the method always converges (Manaster
    /// and Koehler, 1982). At the money the formula gives 0, so there is a lower limit.
    fn start(&self) -> Array1<f64> {
        let (strike, maturity) = (self.strike.view(), self.maturity.view());
        Zip::from(strike)
            .and(maturity)
            .map_collect(|strike, maturity| {
                let moneyness = (SPOT / strike).ln() + RATE * maturity;
                (2.0 * moneyness.abs() / maturity).sqrt().max(0.05)
            })
    }

    fn implied(
        &self,
        quotes: &Array1<f64>,
    ) -> Result<(Array1<f64>, usize), Box<dyn std::error::Error>> {
        let mut volatility = self.start();
        for step in 1..=MOST_STEPS {
            let at = Tensor::from(volatility.view()).set_requires_grad(true);
            let price = self.price(&at);
            let (vega,) = grad(&price.sum(), (&at,))?;
            let change = (price.to_array() - quotes) / vega.view();
            volatility -= &change;
            if change.iter().all(|change| change.abs() < 1e-12) {
                return Ok((volatility, step));
            }
        }
        Err(format!("no implied volatility after {MOST_STEPS} steps").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smile_is_found_again() {
        let (error, steps) = smile(0.5).unwrap();
        assert!(error < 1e-10 && steps < 20, "{error:.1e} after {steps}");
    }

    #[test]
    fn a_price_that_no_volatility_has_is_an_error() {
        let options = Options::new(Array1::from(vec![100.0]), 1.0);
        assert!(options.implied(&Array1::from(vec![200.0])).is_err());
    }
}
