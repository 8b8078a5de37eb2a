//! Greeks from gradients of gradients.

use pullback::prelude::*;

/// The names of the Greeks, in the order of [`Greeks::all`].
pub const NAMES: [&str; 10] = [
    "price", "delta", "vega", "rho", "theta", "gamma", "vanna", "volga", "charm", "speed",
];

/// The inputs of prices, each a leaf with an entry for each option or path.
pub struct Market {
    pub spot: Tensor1<f64>,
    pub rate: Tensor1<f64>,
    pub volatility: Tensor1<f64>,
    pub maturity: Tensor1<f64>,
}

/// Prices and their derivatives, entry by entry.
pub struct Greeks {
    pub all: [Tensor1<f64>; 10],
}

impl Market {
    pub fn new(
        spot: impl Into<Tensor1<f64>>,
        rate: impl Into<Tensor1<f64>>,
        volatility: impl Into<Tensor1<f64>>,
        maturity: impl Into<Tensor1<f64>>,
    ) -> Self {
        Self {
            spot: spot.into().set_requires_grad(true),
            rate: rate.into().set_requires_grad(true),
            volatility: volatility.into().set_requires_grad(true),
            maturity: maturity.into().set_requires_grad(true),
        }
    }
}

impl Greeks {
    /// Computes the Greeks of a price that depends on the market entry by entry, so the gradient of the sum has
    /// the derivatives of all entries. Five backward passes give nine derivatives.
    pub fn of(
        market: &Market,
        price: impl FnOnce(&Market) -> Tensor1<f64>,
    ) -> Result<Self, pullback::Error> {
        let Market {
            spot,
            rate,
            volatility,
            maturity,
        } = market;
        let price = price(market);
        let (delta, vega, rho, longer) = Grad::of(&price.sum())
            .create_graph(true)
            .run((spot, volatility, rate, maturity))?;
        let (gamma, vanna, charm) = Grad::of(&delta.sum())
            .create_graph(true)
            .run((spot, volatility, maturity))?;
        let (volga,) = Grad::of(&vega.sum())
            .retain_graph(true)
            .run((volatility,))?;
        let (speed,) = grad(&gamma.sum(), (spot,))?;
        let all = [
            price, delta, vega, rho, -longer, gamma, vanna, volga, -charm, speed,
        ];
        Ok(Self {
            all: all.map(|greek| greek.detach()),
        })
    }
}
