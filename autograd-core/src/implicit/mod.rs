//! Derivatives of solutions of equations, for code that `#[residual]` generates.
//!
//! The outputs y of a function of θ solve F(y, θ) = 0, however forward finds them. With J = ∂F/∂y, the implicit function
//! theorem gives ∂y/∂θ = −J⁻¹ ∂F/∂θ. So [`backward`] solves Jᵀλ = v for the gradient v of y, and returns the gradient of
//! −⟨F(y, θ), λ⟩ with respect to θ; [`forward`] solves Jẏ = −∂F/∂θ θ̇ for the tangent θ̇. The solutions of these linear
//! equations are a custom function, `ImplicitSolve`, written on tensors: so the derivatives have derivatives too, of any
//! order.
//!
//! [`System`] has the author's residual, and what is known of J at the outputs of one call of `apply`, which all passes
//! and both modes share. `linear` makes that: by LU in `dense`, or for many unknowns by products alone, in `gmres`.
//!
//! # Note [Aliases]
//! y depends on θ through the node of the function itself. A partial derivative of F is taken with respect to aliases:
//! tensors with a new input node (`recording::as_input`), from which recorded gradients still lead to y and θ.

mod dense;
mod gmres;
mod linear;
mod solve;
#[cfg(test)]
mod tests;

use std::error::Error as Source;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use ndarray::Dimension;

use crate::erased::AnyTensor;
use crate::error::{Error, ErrorKind, PassedOn};
use crate::functional::{Functional, along};
use crate::recording::Recording;
use crate::tensor::{Tensor, TensorD};
use crate::thread::is_grad_enabled;
use autograd_kernels::{Element, Shape};
use linear::{Linear, gradients_of};
use solve::ImplicitSolve;

/// The unknowns up to which J is factored, unless `#[residual(dense = …)]` says otherwise.
pub const DENSE: usize = 256;

/// A residual that failed.
type Failure = Box<dyn Source + Send + Sync>;

/// The author's residual, with the values that it asks for: a function of the unknowns and of the inputs.
type Residual<T> =
    dyn Fn(&[TensorD<T>], &[TensorD<T>]) -> Result<Vec<TensorD<T>>, Failure> + Send + Sync;

/// The equations that the outputs of one call of `apply` solve.
pub struct System<T>(Arc<Equations<T>>);

struct Equations<T> {
    residual: Box<Residual<T>>,
    /// The names of the unknowns.
    names: &'static [&'static str],
    function: &'static str,
    applied_at: &'static Location<'static>,
    dense: usize,
    /// Made when it is first needed.
    linear: OnceLock<Linear>,
}

impl<T> Clone for System<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for System<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("function", &self.0.function)
            .field("unknowns", &self.0.names)
            .finish_non_exhaustive()
    }
}

impl<T: Element> System<T> {
    /// Creates the equations of one call of `function`: `residual` gets `values`, the unknowns and the inputs.
    pub fn new<V: Send + Sync + 'static>(
        (function, applied_at): (&'static str, &'static Location<'static>),
        names: &'static [&'static str],
        dense: usize,
        values: V,
        residual: fn(&V, &[TensorD<T>], &[TensorD<T>]) -> Result<Vec<TensorD<T>>, Failure>,
    ) -> Self {
        Self(Arc::new(Equations {
            residual: Box::new(move |unknowns, inputs| residual(&values, unknowns, inputs)),
            names,
            function,
            applied_at,
            dense,
            linear: OnceLock::new(),
        }))
    }

    fn applied_at(&self) -> &'static Location<'static> {
        self.0.applied_at
    }

    fn dense(&self) -> usize {
        self.0.dense
    }

    fn name(&self, unknown: usize) -> &'static str {
        self.0.names.get(unknown).copied().unwrap_or_default()
    }

    fn error(&self, kind: ErrorKind) -> Error {
        kind.of(self.0.function, self.0.applied_at)
    }

    /// Returns the residual, which has the shapes of the unknowns.
    fn residual(
        &self,
        unknowns: &[AnyTensor],
        inputs: &[AnyTensor],
    ) -> Result<Vec<AnyTensor>, Error> {
        let typed = |tensors: &[AnyTensor]| -> Vec<TensorD<T>> {
            let tensors = tensors.iter().cloned();
            tensors.map(AnyTensor::into_typed).collect()
        };
        let found = (self.0.residual)(&typed(unknowns), &typed(inputs));
        let found = found.map_err(|error| {
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
        Ok(found.into_iter().map(AnyTensor::new).collect())
    }

    /// Returns the residual as a function of the unknowns, of which there are `count` tensors, and the inputs.
    fn at(&self, count: usize) -> impl Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error> {
        move |tensors| {
            let (unknowns, inputs) = tensors.split_at(count);
            self.residual(unknowns, inputs)
        }
    }

    /// Returns the equations linearized at the unknowns and inputs, which are always the same.
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

/// Returns the gradients of those inputs for which `needs` is true, from the gradients of the unknowns.
pub fn backward<T: Element>(
    system: &System<T>,
    gradients: &[Option<TensorD<T>>],
    unknowns: &[TensorD<T>],
    inputs: &[TensorD<T>],
    needs: &[bool],
) -> Result<Vec<Option<TensorD<T>>>, PassedOn> {
    if gradients.iter().all(Option::is_none) {
        return Ok(needs.iter().map(|_| None).collect());
    }
    let gradients = gradients.iter().zip(unknowns);
    let gradients = gradients.map(|(gradient, unknown)| match gradient {
        Some(gradient) => gradient.clone(),
        None => zeros(unknown),
    });
    let gradients: Vec<TensorD<T>> = gradients.collect();
    let adjoint = ImplicitSolve::apply(&gradients, unknowns, inputs, true, system);
    let seeds = adjoint.map_err(PassedOn)?.into_iter();
    let seeds = seeds.map(|adjoint| AnyTensor::new(-adjoint)).collect();
    let (unknowns, inputs) = (any(unknowns), any(inputs));
    let found = if is_grad_enabled() {
        let (count, tensors) = (unknowns.len(), [unknowns, inputs].concat());
        let recorded = Recording::of(system.at(count), &tensors, true, system.applied_at());
        recorded.and_then(|recorded| {
            gradients_of(&recorded, seeds, &recorded.inputs[count..], needs, true)
        })
    } else {
        let linear = system.linear(&unknowns, &inputs);
        linear.and_then(|linear| linear.gradients(seeds, needs))
    };
    let found = found.map_err(PassedOn)?.into_iter();
    Ok(found.map(|found| Some(found?.into_typed())).collect())
}

/// Returns the tangents of the unknowns, from those of the inputs.
pub fn forward<T: Element>(
    system: &System<T>,
    unknowns: &[TensorD<T>],
    inputs: &[TensorD<T>],
    tangents: &[Option<TensorD<T>>],
) -> Result<Vec<TensorD<T>>, PassedOn> {
    let all = any(inputs);
    let moving: Vec<usize> = (0..tangents.len())
        .filter(|&input| tangents[input].is_some())
        .collect();
    let at: Vec<AnyTensor> = moving.iter().map(|&input| all[input].clone()).collect();
    let direction: Vec<AnyTensor> = tangents
        .iter()
        .flatten()
        .cloned()
        .map(AnyTensor::new)
        .collect();
    let of_unknowns = any(unknowns);
    let residual = |moved: &[AnyTensor]| {
        let mut inputs = all.clone();
        for (place, moved) in moving.iter().zip(moved) {
            inputs[*place] = moved.clone();
        }
        system.residual(&of_unknowns, &inputs)
    };
    let options = Functional::new().create_graph(is_recorded(&[&at, &direction, &of_unknowns]));
    let change = along(options, &residual, &at, direction, system.applied_at());
    let (_, change) = change.map_err(PassedOn)?;
    let right: Vec<TensorD<T>> = change
        .into_iter()
        .map(|change| -change.into_typed())
        .collect();
    ImplicitSolve::apply(&right, unknowns, inputs, false, system).map_err(PassedOn)
}

/// Returns a tensor of a rank that is known.
pub fn typed<T: Element, D: Dimension>(tensor: &TensorD<T>) -> Tensor<T, D> {
    AnyTensor::new(tensor.clone()).into_typed()
}

fn zeros<T: Element>(like: &TensorD<T>) -> TensorD<T> {
    AnyTensor::new(like.clone()).zeros().into_typed()
}

/// Returns tensors without their element type in the type.
fn any<T: Element>(tensors: &[impl std::borrow::Borrow<TensorD<T>>]) -> Vec<AnyTensor> {
    let tensors = tensors.iter().map(|tensor| tensor.borrow().clone());
    tensors.map(AnyTensor::new).collect()
}

/// Returns whether the derivatives of a function of these tensors are to have derivatives.
fn is_recorded(tensors: &[&[AnyTensor]]) -> bool {
    let mut all = tensors.iter().copied().flatten();
    is_grad_enabled() && all.any(|tensor| tensor.edge().is_some() || tensor.depth() > 0)
}
