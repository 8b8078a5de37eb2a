//! A water network: junctions, pipes between them, and reservoirs with a given level.
//!
//! Heads, the heights to which water would rise, are in meters, flows in liters per second. A pipe of
//! roughness coefficient C carries C·g·φ(Δ) from one end to the other, where Δ is the loss of head
//! between them and g the flow of its length and diameter at C = 1 and a loss of one meter, after
//! Hazen and Williams (1920). Their φ(Δ) = |Δ|^0.54 with Δ's sign has an infinite slope at 0; here it is
//! Δ·(Δ² + ε²)^(-0.23), which differs only at very small flows.

use std::fmt;

use pullback::ndarray::{Array1, Array2, Axis};
use pullback::nn::Generator;
use pullback::prelude::*;
use rand::RngExt;

/// The exponent of the loss of head in the flow.
const EXPONENT: f64 = 1.0 / 1.852;
/// The loss of head, in meters, below which flow is proportional to it.
const LAMINAR: f64 = 0.01;
/// The imbalance that counts as an equilibrium, in liters per second.
const BALANCED: f64 = 1e-9;
const MOST_STEPS: usize = 60;

/// The known parts of a network; the roughness of its pipes is unknown.
#[derive(Clone, Debug)]
pub struct Network {
    /// A row for each pipe: 1 at the junction where it starts, -1 at the junction where it ends.
    incidence: Tensor2<f64>,
    /// The head of the reservoir where a pipe starts, less that of the reservoir where it ends.
    given: Tensor1<f64>,
    /// The g of each pipe.
    flow_at_one: Tensor1<f64>,
}

/// The error if no equilibrium was found.
#[derive(Debug, PartialEq)]
pub struct Unbalanced {
    /// The sum of the remaining imbalances, in liters per second.
    pub residual: f64,
}

impl fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let residual = self.residual;
        write!(
            f,
            "no equilibrium: {residual:.1e} l/s too much at junctions"
        )
    }
}

impl std::error::Error for Unbalanced {}

/// One end of a pipe.
#[derive(Clone, Copy)]
pub enum End {
    Junction(usize),
    Reservoir(f64),
}

impl Network {
    /// Creates a network of pipes, each with its ends and its g.
    pub fn new(junctions: usize, pipes: &[(End, End, f64)]) -> Self {
        let mut incidence = Array2::zeros((pipes.len(), junctions));
        let mut given = Array1::zeros(pipes.len());
        for (row, &(from, to, _)) in pipes.iter().enumerate() {
            for (end, sign) in [(from, 1.0), (to, -1.0)] {
                match end {
                    End::Junction(junction) => incidence[[row, junction]] = sign,
                    End::Reservoir(head) => given[row] += sign * head,
                }
            }
        }
        Self {
            incidence: Tensor::from(incidence),
            given: Tensor::from(given),
            flow_at_one: Tensor::from(Array1::from_iter(pipes.iter().map(|pipe| pipe.2))),
        }
    }

    /// Creates a town of `side` by `side` junctions with pipes along its streets, fed at two corners.
    pub fn town(side: usize, random: &mut Generator) -> Self {
        let mut flow = || {
            let meters: f64 = random.random_range(100.0..300.0);
            let diameter: f64 = random.random_range(0.15..0.3);
            1e3 * diameter.powf(2.63) / (10.67 * meters).powf(0.54)
        };
        let at = |row, column| End::Junction(row * side + column);
        let mut pipes = vec![
            (End::Reservoir(60.0), at(0, 0), 4.0 * flow()),
            (End::Reservoir(57.0), at(side - 1, side - 1), 4.0 * flow()),
        ];
        for row in 0..side {
            for column in 0..side {
                if column + 1 < side {
                    pipes.push((at(row, column), at(row, column + 1), flow()));
                }
                if row + 1 < side {
                    pipes.push((at(row, column), at(row + 1, column), flow()));
                }
            }
        }
        Self::new(side * side, &pipes)
    }

    pub fn pipes(&self) -> usize {
        self.given.len()
    }

    pub fn junctions(&self) -> usize {
        self.incidence.shape()[1]
    }

    /// Returns the flow in each pipe, and its derivative with respect to the loss of head, for logarithms
    /// of roughness.
    pub fn flow(
        &self,
        log_roughness: &Tensor1<f64>,
        heads: &Tensor1<f64>,
    ) -> (Tensor1<f64>, Tensor1<f64>) {
        let loss = self.losses(heads) + &self.given;
        let square = loss.square();
        let root = &square + LAMINAR * LAMINAR;
        let scale = log_roughness.exp() * &self.flow_at_one;
        let slope =
            &scale * root.powf(0.5 * EXPONENT - 1.5) * (square * EXPONENT + LAMINAR * LAMINAR);
        (scale * loss * root.powf(0.5 * EXPONENT - 0.5), slope)
    }

    /// Returns the loss of head in each pipe, for the heads at the junctions.
    pub fn losses(&self, heads: &Tensor1<f64>) -> Tensor1<f64> {
        self.incidence.matmul(heads)
    }

    /// Returns the flow out of each junction.
    pub fn outflow(&self, flow: &Tensor1<f64>) -> Tensor1<f64> {
        flow.matmul(&self.incidence)
    }

    /// Returns the x such that heads higher by x raise the outflow by `change`.
    pub fn respond(
        &self,
        slope: &Tensor1<f64>,
        change: &Tensor1<f64>,
    ) -> Result<Tensor1<f64>, pullback::Error> {
        let weighted = &self.incidence * slope.unsqueeze(Axis(1));
        self.incidence.t().matmul(&weighted).solve(change)
    }

    /// Finds the heads at which each junction receives its demand, by Newton's method with halved steps, from
    /// heads that fall a little along every pipe. It is recorded if its inputs are: that is unrolling.
    ///
    /// `watch` sees the heads after each step.
    pub fn equilibrium(
        &self,
        log_roughness: &Tensor1<f64>,
        demand: &Tensor1<f64>,
        mut watch: impl FnMut(&Tensor1<f64>, f64),
    ) -> Result<Tensor1<f64>, Unbalanced> {
        let state = |heads: &Tensor1<f64>| {
            let (flow, slope) = self.flow(log_roughness, heads);
            let imbalance = self.outflow(&flow) + demand;
            let size = imbalance.view().mapv(f64::abs).sum();
            (imbalance, slope, size)
        };
        let start = 50.0 - 0.1 * Array1::from_iter((0..self.junctions()).map(|i| i as f64));
        let mut heads = Tensor::from(start);
        let (mut imbalance, mut slope, mut size) = state(&heads);
        for _ in 0..MOST_STEPS {
            if size <= BALANCED {
                return Ok(heads);
            }
            let Ok(step) = self.respond(&slope, &imbalance) else {
                break;
            };
            let mut length = 1.0;
            loop {
                let next = &heads - &step * length;
                let reached = state(&next);
                if reached.2 < size || length < 1e-6 {
                    heads = next;
                    (imbalance, slope, size) = reached;
                    break;
                }
                length *= 0.5;
            }
            watch(&heads, size);
        }
        Err(Unbalanced { residual: size })
    }
}

/// Returns a square of four junctions under one reservoir, for tests.
#[cfg(test)]
pub fn square() -> Network {
    let at = End::Junction;
    let pipes = [
        (End::Reservoir(3.0), at(0), 2.0),
        (at(0), at(1), 1.0),
        (at(0), at(2), 1.5),
        (at(1), at(3), 0.7),
        (at(3), at(2), 0.9),
    ];
    Network::new(4, &pipes)
}

#[cfg(test)]
mod tests {
    use pullback::ndarray::array;

    use super::*;

    #[test]
    fn every_junction_receives_its_demand() {
        let mut random = Generator::seed(3);
        let town = Network::town(4, &mut random);
        let roughness = Tensor::from(Array1::from_elem(town.pipes(), 4.6));
        let demand = Tensor::from(Array1::from_elem(16, 3.0));
        let heads = town.equilibrium(&roughness, &demand, |_, _| ()).unwrap();
        let (flow, _) = town.flow(&roughness, &heads);
        let received = -town.outflow(&flow);
        assert!(received.view().iter().all(|flow| (flow - 3.0).abs() < 1e-9));
        let supplied: f64 = flow.view().iter().take(2).sum();
        assert!((supplied - 48.0).abs() < 1e-9, "{supplied}");
        assert!(heads.view().iter().all(|&head| head < 60.0));
    }

    #[test]
    fn flow_follows_hazen_and_williams() {
        let pipe = [(End::Reservoir(10.0), End::Junction(0), 0.5)];
        let (flow, slope) = Network::new(1, &pipe).flow(
            &Tensor::from(array![100.0_f64.ln()]),
            &Tensor::from(array![7.0]),
        );
        let expected = 50.0 * 3.0_f64.powf(EXPONENT);
        assert!((flow.view()[0] / expected - 1.0).abs() < 1e-5);
        assert!((slope.view()[0] / (expected * EXPONENT / 3.0) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn demands_without_end_are_an_error() {
        let demand = Tensor::from(array![f64::NAN, 0.0, 0.0, 0.0]);
        let roughness = Tensor::from(Array1::zeros(5));
        let error = square()
            .equilibrium(&roughness, &demand, |_, _| ())
            .unwrap_err();
        assert!(error.to_string().contains("no equilibrium"), "{error}");
    }
}
