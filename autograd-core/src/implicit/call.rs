//! One use of a function with a residual: its backward and its forward mode, for generated code.

use std::cell::RefCell;

use ndarray::{Dimension, IxDyn};

use super::linear::gradients_of;
use super::solve::ImplicitSolve;
use super::{System, is_recorded};
use crate::erased::AnyTensor;
use crate::error::Error;
use crate::function::{Call, ForwardCall};
use crate::functional::{Functional, along};
use crate::recording::Recording;
use crate::tensor::{Tensor, TensorD};
use crate::thread::is_grad_enabled;
use autograd_kernels::{Element, ElementType};

/// What forward mode needs of the `apply` that it calls: the equations, and the unknowns that `apply` does not return.
#[derive(Debug)]
pub struct Link(Option<RefCell<Option<Passed>>>);

/// The equations, and the unknowns that `apply` does not return.
type Passed = (System, Vec<AnyTensor>);

impl Link {
    /// Returns a link that needs nothing.
    #[inline]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Returns a link of forward mode.
    #[inline]
    pub const fn wanted() -> Self {
        Self(Some(RefCell::new(None)))
    }

    /// Returns whether it is one of forward mode.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Passes on the equations and the unknowns that `apply` does not return.
    pub fn pass(&self, system: Option<&System>, hidden: impl FnOnce() -> Vec<AnyTensor>) {
        if let (Some(place), Some(system)) = (&self.0, system) {
            *place.borrow_mut() = Some((system.clone(), hidden()));
        }
    }

    /// Returns what was passed on.
    ///
    /// # Panics
    /// If nothing was.
    #[inline]
    pub fn take(self) -> Passed {
        let passed = self.0.and_then(RefCell::into_inner);
        // INVARIANT: `apply` passes it on before it returns outputs.
        passed.expect("the equations of an `apply` that has returned")
    }
}

impl System {
    /// Computes the gradients of the inputs that this pass needs, from those of the unknowns, which are all differentiable
    /// outputs; `inputs` has the tensors of each.
    #[inline]
    pub fn backward(
        &self,
        call: &mut Call<'_>,
        unknowns: &[AnyTensor],
        inputs: &[Vec<AnyTensor>],
    ) -> Result<(), Error> {
        let gradients = call.take_gradients();
        if gradients.iter().all(Option::is_none) {
            return Ok(());
        }
        let gradients = gradients.into_iter().zip(unknowns);
        let gradients: Vec<AnyTensor> = gradients
            .map(|(gradient, unknown)| gradient.unwrap_or_else(|| unknown.zeros()))
            .collect();
        let mut edges = Vec::new();
        for (input, tensors) in inputs.iter().enumerate() {
            edges.extend(call.edges(input).take(tensors.len()));
        }
        let needs: Vec<bool> = edges.iter().map(|&edge| call.needs_edge(edge)).collect();
        let inputs = inputs.concat();
        let adjoint = solve(self, gradients, unknowns, &inputs, true)?.into_iter();
        let seeds = adjoint.map(negative).collect();
        let found = if is_grad_enabled() {
            let (count, tensors) = (unknowns.len(), [unknowns, &inputs].concat());
            let recorded = Recording::of(self.at(count), &tensors, true, self.applied_at())?;
            gradients_of(&recorded, seeds, &recorded.inputs[count..], &needs, true)?
        } else {
            self.linear(unknowns, &inputs)?.gradients(seeds, &needs)?
        };
        for (edge, found) in edges.into_iter().zip(found) {
            call.give_any(edge, found);
        }
        Ok(())
    }

    /// Returns the tangents of the unknowns, from those of the inputs; `None` if they failed.
    #[inline]
    pub fn forward(
        &self,
        call: &mut ForwardCall,
        unknowns: &[AnyTensor],
        inputs: &[Vec<AnyTensor>],
        tangents: &[Vec<Option<AnyTensor>>],
    ) -> Option<Vec<AnyTensor>> {
        let of_each = inputs.iter().zip(tangents);
        // A missing optional input has no tensor, and then no tangent.
        let tangents = of_each.flat_map(|(inputs, tangents)| tangents.iter().take(inputs.len()));
        let tangents: Vec<&Option<AnyTensor>> = tangents.collect();
        if call.failed() {
            return None;
        }
        let found = tangents_of(self, unknowns, &inputs.concat(), &tangents);
        found.map_err(|error| call.fails(error)).ok()
    }

    /// Returns the unknowns that `apply` does not return with their tangents, which are the last.
    #[inline]
    pub fn hidden(
        &self,
        call: &ForwardCall,
        hidden: Vec<AnyTensor>,
        tangents: Option<&[AnyTensor]>,
    ) -> Vec<AnyTensor> {
        let count = hidden.len();
        let name = |place: usize| {
            let names = self.0.names;
            names[names.len() - count + place]
        };
        let of = |place: usize| tangents.map(|all| all[all.len() - count + place].clone());
        let with_tangent = |(place, unknown): (usize, AnyTensor)| match unknown {
            AnyTensor::F32(unknown) => typed(call, unknown, name(place), of(place)).into(),
            AnyTensor::F64(unknown) => typed(call, unknown, name(place), of(place)).into(),
        };
        hidden.into_iter().enumerate().map(with_tangent).collect()
    }
}

#[inline]
fn tangents_of(
    system: &System,
    unknowns: &[AnyTensor],
    inputs: &[AnyTensor],
    tangents: &[&Option<AnyTensor>],
) -> Result<Vec<AnyTensor>, Error> {
    let (mut moving, mut at, mut direction) = (Vec::new(), Vec::new(), Vec::new());
    for (place, (input, tangent)) in inputs.iter().zip(tangents).enumerate() {
        if let Some(tangent) = tangent {
            moving.push(place);
            at.push(input.clone());
            direction.push(tangent.clone());
        }
    }
    let residual = |moved: &[AnyTensor]| {
        let mut inputs = inputs.to_vec();
        for (place, moved) in moving.iter().zip(moved) {
            inputs[*place] = moved.clone();
        }
        system.residual(unknowns, &inputs)
    };
    let records = is_recorded(&[inputs, &direction, unknowns]);
    let options = Functional::new().create_graph(records);
    let (_, change) = along(options, &residual, &at, direction, system.applied_at())?;
    let right = change.into_iter().map(negative).collect();
    solve(system, right, unknowns, inputs, false)
}

/// Returns the x of Jx = b, or of `Jᵀx = b` if `transposed`.
#[inline]
fn solve(
    system: &System,
    b: Vec<AnyTensor>,
    unknowns: &[AnyTensor],
    inputs: &[AnyTensor],
    transposed: bool,
) -> Result<Vec<AnyTensor>, Error> {
    match b.first().map(AnyTensor::element_type) {
        None => Ok(Vec::new()),
        Some(ElementType::F32) => solve_typed::<f32>(system, b, unknowns, inputs, transposed),
        Some(ElementType::F64) => solve_typed::<f64>(system, b, unknowns, inputs, transposed),
    }
}

fn solve_typed<T: Element>(
    system: &System,
    b: Vec<AnyTensor>,
    unknowns: &[AnyTensor],
    inputs: &[AnyTensor],
    transposed: bool,
) -> Result<Vec<AnyTensor>, Error> {
    let typed = |tensors: &[AnyTensor]| -> Vec<TensorD<T>> {
        let tensors = tensors.iter().cloned();
        tensors.map(AnyTensor::into_typed).collect()
    };
    let (b, unknowns, inputs) = (typed(&b), typed(unknowns), typed(inputs));
    let solved = ImplicitSolve::apply(&b, &unknowns, &inputs, transposed, system)?;
    Ok(solved.into_iter().map(AnyTensor::new).collect())
}

/// Returns an unknown with its tangent, or with the failure of the call.
fn typed<T: Element>(
    call: &ForwardCall,
    unknown: TensorD<T>,
    name: &'static str,
    tangent: Option<AnyTensor>,
) -> TensorD<T> {
    match tangent {
        Some(tangent) => call.with_tangent(unknown, name, tangent.into_typed::<T, IxDyn>()),
        None => call.without_tangent(unknown),
    }
}

/// Returns tangents without their element type in the type.
pub fn erased_tangents<T: Element, D: Dimension>(
    tangents: impl IntoIterator<Item = Option<Tensor<T, D>>>,
) -> Vec<Option<AnyTensor>> {
    let tangents = tangents.into_iter();
    tangents
        .map(|tangent| tangent.map(AnyTensor::new))
        .collect()
}

#[inline]
fn negative(tensor: AnyTensor) -> AnyTensor {
    match tensor {
        AnyTensor::F32(tensor) => AnyTensor::F32(-tensor),
        AnyTensor::F64(tensor) => AnyTensor::F64(-tensor),
    }
}

/// Returns tensors that a residual takes for constants.
#[inline]
pub fn constants(tensors: Vec<AnyTensor>) -> Vec<AnyTensor> {
    tensors.into_iter().map(AnyTensor::into_constant).collect()
}

/// Returns the only tensor.
pub fn single_of<T: Element, D: Dimension>(tensors: &[AnyTensor]) -> Tensor<T, D> {
    // INVARIANT: there is one tensor for an unknown, and for an input that is neither optional nor a list.
    tensors[0].clone().into_typed()
}

/// Returns the tensor, if there is one.
pub fn optional_of<T: Element, D: Dimension>(tensors: &[AnyTensor]) -> Option<Tensor<T, D>> {
    Some(tensors.first()?.clone().into_typed())
}

/// Returns all tensors.
pub fn list_of<T: Element, D: Dimension>(tensors: &[AnyTensor]) -> Vec<Tensor<T, D>> {
    let tensors = tensors.iter().cloned();
    tensors.map(AnyTensor::into_typed).collect()
}
