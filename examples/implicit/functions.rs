//! The equilibrium of a network as a function of its pipes and demands.

use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

use crate::network::{Network, Unbalanced};

/// The panic message of a derivative that solves the system of forward's last step.
const SOLVED: &str = "a matrix that Newton's method has factored";

/// Computes the heads at which every junction receives its demand.
///
/// Heads h solve F(h, θ) = 0, so a change of θ moves them by dh = -J⁻¹ ∂F/∂θ dθ, where J = ∂F/∂h. For any
/// number of forward steps, backward solves one linear system, for the adjoint λ = J⁻ᵀ·grad, and only
/// the result is saved. J is symmetric here.
///
/// Backward is written on tensors, and the heads in it are the function's own output, so gradients of
/// gradients are right too.
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

    #[backward]
    fn backward(
        grad_heads: &Tensor1<f64>,
        log_roughness: &Tensor1<f64>,
        heads: &Tensor1<f64>,
        network: &Network,
    ) -> (Tensor1<f64>, Tensor1<f64>) {
        let (flow, slope) = network.flow(log_roughness, heads);
        let adjoint = network.respond(&slope, grad_heads).expect(SOLVED);
        (-(network.losses(&adjoint) * flow), -adjoint)
    }

    #[jvp]
    fn jvp(
        tangent_log_roughness: &Tensor1<f64>,
        tangent_demand: &Tensor1<f64>,
        log_roughness: &Tensor1<f64>,
        heads: &Tensor1<f64>,
        network: &Network,
    ) -> Tensor1<f64> {
        let (flow, slope) = network.flow(log_roughness, heads);
        let change = network.outflow(&(flow * tangent_log_roughness)) + tangent_demand;
        -network.respond(&slope, &change).expect(SOLVED)
    }
}
