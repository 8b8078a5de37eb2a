//! Derivatives of solutions of equations, for code that `#[residual]` generates.
//!
//! The outputs y of a function of θ solve F(y, θ) = 0, however forward finds them. With J = ∂F/∂y, the implicit function
//! theorem gives ∂y/∂θ = −J⁻¹ ∂F/∂θ. So [`System::backward`] solves Jᵀλ = v for the gradient v of y, and returns the gradient of
//! −⟨F(y, θ), λ⟩ with respect to θ; [`System::forward`] solves Jẏ = −∂F/∂θ θ̇ for the tangent θ̇. The solutions of these linear
//! equations are a custom function, `ImplicitSolve`, written on tensors: so the derivatives have derivatives too, of any
//! order.
//!
//! [`System`] has the author's residual, and what is known of J at the outputs of one call of `apply`, which all passes
//! and both modes share. `linear` makes that: by LU in `dense`, or for many unknowns by products alone, in `gmres`, unless
//! that stalls.
//!
//! # Note [Aliases]
//! y depends on θ through the node of the function itself. A partial derivative of F is taken with respect to aliases:
//! tensors with a new input node (`recording::as_input`), from which recorded gradients still lead to y and θ.

mod call;
mod dense;
mod gmres;
mod linear;
mod solve;
#[cfg(test)]
mod tests;

pub use call::{Link, constants, erased_tangents, list_of, optional_of, single_of};

use std::error::Error as Source;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use crate::erased::AnyTensor;
use crate::error::{Error, ErrorKind};
use crate::tensor::TensorD;
use crate::thread::is_grad_enabled;
use autograd_kernels::{Element, Shape};
use linear::Linear;

/// A residual that failed.
pub type Failure = Box<dyn Source + Send + Sync>;

/// The author's residual, with the values that it asks for: a function of the unknowns, and of the tensors of each input.
type Residual = dyn Fn(&[AnyTensor], &[Vec<AnyTensor>]) -> Found + Send + Sync;

/// The tensors that it returns.
type Found = Result<Vec<AnyTensor>, Failure>;

/// The equations that the outputs of one call of `apply` solve.
#[derive(Clone)]
pub struct System(Arc<Equations>);

struct Equations {
    residual: Box<Residual>,
    /// The names of the unknowns.
    names: &'static [&'static str],
    /// The number of tensors of each input.
    counts: Box<[usize]>,
    function: &'static str,
    applied_at: &'static Location<'static>,
    dense: usize,
    /// Made when it is first needed.
    linear: OnceLock<Linear>,
}

impl fmt::Debug for System {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("function", &self.0.function)
            .field("unknowns", &self.0.names)
            .finish_non_exhaustive()
    }
}

impl System {
    /// The number of unknowns up to which J is factored, unless `#[residual(dense = …)]` gives another.
    pub const DENSE: usize = 256;

    /// The number of unknowns up to which J is factored where products with it do not solve the equations.
    pub const FACTORED: usize = 4096;

    /// Creates the equations of one call of `function`: `residual` gets `values`, the unknowns and the inputs, of which
    /// there are `counts` tensors each.
    pub fn new<V: Send + Sync + 'static>(
        (function, applied_at): (&'static str, &'static Location<'static>),
        names: &'static [&'static str],
        counts: &[usize],
        dense: usize,
        values: V,
        residual: fn(&V, &[AnyTensor], &[Vec<AnyTensor>]) -> Found,
    ) -> Self {
        Self(Arc::new(Equations {
            residual: Box::new(move |unknowns, inputs| residual(&values, unknowns, inputs)),
            names,
            counts: counts.into(),
            function,
            applied_at,
            dense,
            linear: OnceLock::new(),
        }))
    }

    #[inline]
    fn applied_at(&self) -> &'static Location<'static> {
        self.0.applied_at
    }

    #[inline]
    fn dense(&self) -> usize {
        self.0.dense
    }

    #[inline]
    fn name(&self, unknown: usize) -> &'static str {
        self.0.names.get(unknown).copied().unwrap_or_default()
    }

    #[inline]
    fn error(&self, kind: ErrorKind) -> Error {
        kind.of(self.0.function, self.0.applied_at)
    }

    /// Returns the residual, which has the shapes of the unknowns.
    #[inline]
    fn residual(
        &self,
        unknowns: &[AnyTensor],
        inputs: &[AnyTensor],
    ) -> Result<Vec<AnyTensor>, Error> {
        let mut rest = inputs.iter().cloned();
        let counts = self.0.counts.iter();
        let inputs: Vec<_> = counts
            .map(|&count| rest.by_ref().take(count).collect())
            .collect();
        let found = (self.0.residual)(unknowns, &inputs).map_err(|error| {
            let kind = |reason| ErrorKind::Residual { reason };
            Error::failed(error, self.0.function, self.0.applied_at, kind)
        })?;
        for (place, (unknown, found)) in unknowns.iter().zip(&found).enumerate() {
            if unknown.shape() != found.shape() {
                return Err(self.error(ErrorKind::ResidualShape {
                    output: self.name(place),
                    expected: Shape::from(unknown.shape()),
                    found: Shape::from(found.shape()),
                }));
            }
        }
        Ok(found)
    }

    /// Returns the residual as a function of the unknowns, of which there are `count` tensors, and the inputs.
    #[inline]
    fn at(&self, count: usize) -> impl Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error> {
        move |tensors| {
            let (unknowns, inputs) = tensors.split_at(count);
            self.residual(unknowns, inputs)
        }
    }

    /// Returns the equations linearized at the unknowns and inputs, which are always the same.
    #[inline]
    fn linear(&self, unknowns: &[AnyTensor], inputs: &[AnyTensor]) -> Result<&Linear, Error> {
        let place = &self.0.linear;
        if let Some(linear) = place.get() {
            return Ok(linear);
        }
        let tensors = unknowns.iter().chain(inputs).cloned();
        let tensors: Vec<AnyTensor> = tensors.map(AnyTensor::into_constant).collect();
        // Outside of `get_or_init`: it would hold a lock while the residual runs.
        let linear = Linear::new(self, &tensors, unknowns.len())?;
        Ok(place.get_or_init(|| linear))
    }
}

/// Returns tensors without their element type in the type.
fn any<T: Element>(tensors: &[impl std::borrow::Borrow<TensorD<T>>]) -> Vec<AnyTensor> {
    let tensors = tensors.iter().map(|tensor| tensor.borrow().clone());
    tensors.map(AnyTensor::new).collect()
}

/// Returns whether the derivatives of a function of these tensors are to have derivatives.
#[inline]
fn is_recorded(tensors: &[&[AnyTensor]]) -> bool {
    let mut all = tensors.iter().copied().flatten();
    is_grad_enabled() && all.any(|tensor| tensor.edge().is_some() || tensor.depth() > 0)
}
