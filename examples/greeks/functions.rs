//! The custom functions: the normal distribution, the Black–Scholes price, and the boundary beyond which
//! an option on an average is worth exercising.

use pullback::ndarray::{Array1, ArrayView1, ArrayView2, Axis};
use pullback::prelude::*;

/// Φ(x), the probability that a standard normal number is below x.
#[custom_function(elementwise(order = 3), gradcheck(x = [2, 3]))]
pub fn cdf<T: Real>(x: T) -> T {
    x.normal_cdf()
}

/// The right to buy or to sell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Call,
    Put,
}

impl Kind {
    pub fn sign(self) -> f64 {
        match self {
            Self::Call => 1.0,
            Self::Put => -1.0,
        }
    }
}

/// The price of a European option by Black and Scholes (1973):
///
/// `w·(S Φ(w d₁) - K e^(-rT) Φ(w d₂))`, with w = 1 for calls and -1 for puts,
/// `d₁ = (ln(S/K) + (r + σ²/2) T)/(σ√T)` and d₂ = d₁ - σ√T.
///
/// The Greeks need no formulas: delta, rho, vega and theta are its derivatives, vanna and charm theirs, and speed is
/// one of the third order.
#[custom_function(
    elementwise(order = 3),
    outputs(price),
    gradcheck(
        spot = [3] in 0.7..1.3,
        strike = [3] in 0.9..1.1,
        rate = [3] in -0.1..0.1,
        volatility = [3] in 0.3..0.8,
        maturity = [3] in 0.5..2.0,
        kind = Kind::Call,
    ),
)]
pub fn black_scholes<T: Real>(
    spot: T,
    strike: T,
    rate: T,
    volatility: T,
    maturity: T,
    kind: Kind,
) -> T {
    let w = kind.sign();
    let deviation = volatility * maturity.sqrt();
    let discounted = strike * (-rate * maturity).exp();
    let d1 = (spot / discounted).ln() / deviation + 0.5 * deviation;
    let d2 = d1 - deviation;
    w * (spot * (w * d1).normal_cdf() - discounted * (w * d2).normal_cdf())
}

/// Finds, for each row, the z at which the mean of e^(drift + slope·z) is 1, with positive slopes. If prices,
/// in units of the strike, move with one normal number z, an option on their average is worth exercising
/// beyond it.
///
/// Forward is Newton's method on the logarithm of the mean, which is convex, so it cannot fail. Backward
/// does not depend on it: where the mean stays 1, Σ pⱼ (d driftⱼ + z d slopeⱼ + slopeⱼ dz) = 0, with p the share of
/// each term.
pub struct Boundary;

#[custom_function]
impl Boundary {
    #[forward(outputs(z))]
    pub fn forward(drift: ArrayView2<f64>, slope: ArrayView2<f64>) -> Array1<f64> {
        let rows = drift.rows().into_iter().zip(slope.rows());
        rows.map(|(drift, slope)| root(drift, slope)).collect()
    }

    #[backward]
    fn backward(
        grad_z: &Tensor1<f64>,
        drift: &Tensor2<f64>,
        slope: &Tensor2<f64>,
        z: &Tensor1<f64>,
    ) -> (Tensor2<f64>, Tensor2<f64>) {
        let z = z.unsqueeze(Axis(1));
        let shares = (drift + slope * &z).softmax(Axis(1));
        let steepness = (&shares * slope).sum_keepdim(&[1]);
        let by_drift = -(grad_z.unsqueeze(Axis(1)) / steepness) * shares;
        let by_slope = &by_drift * z;
        (by_drift, by_slope)
    }
}

fn root(drift: ArrayView1<f64>, slope: ArrayView1<f64>) -> f64 {
    const MOST_STEPS: usize = 100;
    let mut z = 0.0;
    for _ in 0..MOST_STEPS {
        let exponents = &drift + &(&slope * z);
        let largest = exponents.fold(f64::NEG_INFINITY, |most, &x| most.max(x));
        let terms = exponents.mapv(|x| (x - largest).exp());
        let mean_log = largest + (terms.sum() / terms.len() as f64).ln();
        let step = mean_log * terms.sum() / terms.dot(&slope);
        z -= step;
        if step.abs() <= 4.0 * f64::EPSILON * (1.0 + z.abs()) {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use pullback::ndarray::array;

    use super::*;

    #[test]
    fn gradients_of_prices_are_right_to_second_order() {
        let leaf = |x: Array1<f64>| Tensor::from(x).set_requires_grad(true);
        let spot = leaf(array![1.0, 1.2, 0.7]);
        let strike = leaf(array![1.1, 1.0, 0.9]);
        let rate = leaf(array![0.05, -0.01, 0.0]);
        let volatility = leaf(array![0.3, 0.5, 0.8]);
        let maturity = leaf(array![0.5, 2.0, 1.0]);
        for kind in [Kind::Call, Kind::Put] {
            let price = |(s, k, r, v, t): (&_, &_, &_, &_, &_)| black_scholes(s, k, r, v, t, kind);
            Gradcheck::new()
                .thorough()
                .second_order()
                .run(price, (&spot, &strike, &rate, &volatility, &maturity))
                .unwrap();
        }
    }

    #[test]
    fn gradients_of_the_boundary_are_right_to_second_order() {
        let drift = Tensor::from(array![[-0.3, 0.1, 0.2], [-2.0, -1.0, -1.5]]);
        let slope = Tensor::from(array![[0.1, 0.2, 0.4], [0.9, 0.5, 0.7]]);
        let (drift, slope) = (drift.set_requires_grad(true), slope.set_requires_grad(true));
        let boundary = |(drift, slope): (&_, &_)| Boundary::apply(drift, slope);
        let check = Gradcheck::new().thorough().second_order();
        check.run(boundary, (&drift, &slope)).unwrap();
    }

    /// Compares Φ with values to sixteen places from tables, because the formulas that the tape is compared with
    /// use the same Φ.
    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        for (x, expected) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
            (2.0, 0.977_249_868_051_820_8),
            (-3.0, 0.001_349_898_031_630_093_3),
        ] {
            assert!((Cdf::formula(x) - expected).abs() < 1e-15, "{x}");
        }
    }

    #[test]
    fn the_mean_is_one_at_the_boundary() {
        let drift = array![[-9.0, 3.0, -40.0], [0.2, 0.3, 0.5]];
        let slope = array![[0.01, 0.02, 3.0], [0.2, 0.1, 0.3]];
        let z = Boundary::forward(drift.view(), slope.view());
        for row in 0..2 {
            let exponents = &drift.row(row) + &(&slope.row(row) * z[row]);
            let mean = exponents.mapv(f64::exp).mean().unwrap();
            assert!((mean - 1.0).abs() < 1e-12, "{mean}");
        }
    }

    /// Checks S = 42, K = 40, r = 10 %, σ = 20 %, half a year: an example in Hull, Options, Futures, and Other
    /// Derivatives, with prices of 4.76 and 0.81.
    #[test]
    fn prices_are_those_of_the_textbook() {
        let [s, k, r, v, t] = [42.0, 40.0, 0.1, 0.2, 0.5].map(|x| array![x]);
        let price =
            |kind| BlackScholes::forward(s.view(), k.view(), r.view(), v.view(), t.view(), kind)[0];
        let (call, put) = (price(Kind::Call), price(Kind::Put));
        assert_eq!(
            (format!("{call:.2}"), format!("{put:.2}")),
            ("4.76".into(), "0.81".into())
        );
        let parity = 42.0 - 40.0 * (-0.05_f64).exp();
        assert!((call - put - parity).abs() < 1e-12);
    }
}
