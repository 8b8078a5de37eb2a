//! The equilibrium of a network as a function of its pipes and demands.

use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

use crate::network::{Network, Unbalanced};

/// Computes the heads at which every junction receives its demand.
///
/// Newton's method finds them; the residual says what they are. For any number of steps, backward solves one linear
/// system.
pub struct Heads;

#[custom_function(gradcheck(
    log_roughness = [5],
    demand = [4],
    network = &crate::network::square(),
))]
impl Heads {
    #[forward(outputs(heads))]
    pub fn forward(
        log_roughness: ArrayView1<f64>,
        demand: ArrayView1<f64>,
        network: &Network,
    ) -> Result<Array1<f64>, Unbalanced> {
        let (log_roughness, demand) = (Tensor::from(log_roughness), Tensor::from(demand));
        let heads = network.equilibrium(&log_roughness, &demand, |_, _| ())?;
        Ok(heads.into_array())
    }

    #[residual]
    fn residual(
        heads: &Tensor1<f64>,
        log_roughness: &Tensor1<f64>,
        demand: &Tensor1<f64>,
        network: &Network,
    ) -> Tensor1<f64> {
        network.outflow(&network.flow(log_roughness, heads).0) + demand
    }
}
