//! The inverse problem: which roughness explains the measured heads?

use std::error::Error;

use pullback::functional::{hessian, jacobian};
use pullback::ndarray::{Array1, Array2};
use pullback::nn::{Generator, init};
use pullback::prelude::*;
use rand::RngExt;

use crate::functions::Heads;
use crate::network::{Network, Unbalanced};

/// The prior of ln C before any measurement: its mean, that of C = 100, and its spread.
const PRIOR: (f64, f64) = (4.605, 0.3);
/// The demand of the town, and of an open hydrant in addition, in liters per second.
const TOWN: f64 = 100.0;
const HYDRANT: f64 = 40.0;
/// The limit of the gradient's largest entry; a unit of loss is half a squared standard deviation.
const FLAT: f64 = 1e-3;
const MOST_STEPS: usize = 100;

/// A network, its measurements, and the truth behind them.
pub struct Problem {
    pub network: Network,
    pub truth: Array1<f64>,
    /// The demands and measured heads of each hour.
    pub hours: Vec<(Tensor1<f64>, Tensor1<f64>)>,
    /// The standard deviation of a measurement, in meters.
    pub noise: f64,
}

/// The most probable roughness, with the standard deviation of its logarithm.
pub struct Fit {
    pub log_roughness: Array1<f64>,
    pub deviation: Array1<f64>,
    /// The loss after each step.
    pub losses: Vec<f64>,
}

impl Problem {
    /// Simulates heads of pipes of random age, with noise, at hours of random demands. One hydrant is open at
    /// each hour, because a pipe with little flow reveals little about itself.
    pub fn simulate(
        network: Network,
        hours: usize,
        noise: f64,
        random: &mut Generator,
    ) -> Result<Self, Unbalanced> {
        let truth = Array1::from_shape_simple_fn(network.pipes(), || {
            random.random_range(65.0_f64..145.0).ln()
        });
        let log_roughness = Tensor::from(truth.view());
        let measured = (0..hours).map(|_| {
            let mut demand = Array1::from_shape_simple_fn(network.junctions(), || {
                random.random_range(0.2..1.8) * TOWN / network.junctions() as f64
            });
            demand[random.random_range(0..network.junctions())] += HYDRANT;
            let demand = Tensor::from(demand);
            let heads = Heads::apply(&log_roughness, &demand, &network)?;
            let errors = init::normal(network.junctions(), 0.0, noise, random);
            Ok((demand, heads + Tensor::from(errors)))
        });
        let hours = measured.collect::<Result<_, _>>()?;
        Ok(Self {
            network,
            truth,
            hours,
            noise,
        })
    }

    /// Returns minus the logarithm of the probability of ln C, up to a constant. `heads` solves for the
    /// equilibrium.
    pub fn loss(
        &self,
        log_roughness: &Tensor1<f64>,
        heads: impl Fn(&Tensor1<f64>) -> Result<Tensor1<f64>, Unbalanced>,
    ) -> Result<Tensor0<f64>, Unbalanced> {
        let mut loss = ((log_roughness - PRIOR.0) / PRIOR.1).square().sum();
        for (demand, measured) in &self.hours {
            loss = loss + ((heads(demand)? - measured) / self.noise).square().sum();
        }
        Ok(loss * 0.5)
    }

    fn implicit(&self, log_roughness: &Tensor1<f64>) -> Result<Tensor0<f64>, Unbalanced> {
        self.loss(log_roughness, |demand| {
            Heads::apply(log_roughness, demand, &self.network)
        })
    }

    /// Returns the start of every search: the prior's mean.
    pub fn start(&self) -> Array1<f64> {
        Array1::from_elem(self.network.pipes(), PRIOR.0)
    }

    /// Minimizes the loss by the Gauss–Newton method, damped where a step would climb (Levenberg, 1944). At
    /// the minimum the inverse of the loss's Hessian is the covariance (Laplace's approximation).
    pub fn fit(&self) -> Result<Fit, Box<dyn Error>> {
        let mut at = Tensor::from(self.start()).set_requires_grad(true);
        let mut loss = self.implicit(&at)?;
        let mut losses = vec![loss.item()];
        let mut damping = 1e-3;
        for _ in 0..MOST_STEPS {
            let (gradient,) = Grad::of(&loss).retain_graph(true).run((&at,))?;
            if gradient.view().iter().all(|slope| slope.abs() < FLAT) {
                return Ok(Fit {
                    log_roughness: at.to_array(),
                    deviation: self.deviation(&at)?,
                    losses,
                });
            }
            let mut normal = self.normal(&at)?;
            normal
                .diag_mut()
                .mapv_inplace(|entry| entry * (1.0 + damping));
            let step = Tensor::from(normal).solve(&gradient)?;
            let next = (at.detach() - step).set_requires_grad(true);
            // A step that is too long may have no equilibrium, or may not descend.
            match self.implicit(&next) {
                Ok(lower) if lower.item() <= loss.item() => {
                    (at, loss) = (next, lower);
                    damping *= 0.2;
                    losses.push(loss.item());
                }
                _ => damping *= 10.0,
            }
        }
        Err(format!("the gradient is not below {FLAT:.0e} after {MOST_STEPS} steps").into())
    }

    /// Returns the sum of `JᵀJ` over the hours, in units of the noise, and the prior's share.
    fn normal(&self, at: &Tensor1<f64>) -> Result<Array2<f64>, pullback::Error> {
        let mut normal = Array2::from_diag_elem(at.len(), PRIOR.1.powi(-2));
        for (demand, _) in &self.hours {
            let heads = |x: &Tensor1<f64>| Heads::apply(x, demand, &self.network).expect(FOUND);
            let slopes = jacobian(heads, &at.detach())? / self.noise;
            normal += &slopes.t().matmul(&slopes).view();
        }
        Ok(normal)
    }

    fn deviation(&self, at: &Tensor1<f64>) -> Result<Array1<f64>, pullback::Error> {
        let loss = |x: &Tensor1<f64>| self.implicit(x).expect(FOUND);
        let covariance = hessian(loss, &at.detach())?.inv()?;
        Ok(covariance.view().diag().mapv(f64::sqrt))
    }
}

/// The panic message of a derivative at a point where the loss is known.
const FOUND: &str = "the equilibrium that was found before";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_noise_the_truth_is_found() {
        let mut random = Generator::seed(5);
        let town = Network::town(3, &mut random);
        let problem = Problem::simulate(town, 6, 1e-4, &mut random).unwrap();
        let fit = problem.fit().unwrap();
        let error = (&fit.log_roughness - &problem.truth).mapv(f64::abs);
        assert!(error.iter().all(|&error| error < 1e-2), "{error}");
        assert!(fit.losses.windows(2).all(|pair| pair[1] <= pair[0]));
    }
}
