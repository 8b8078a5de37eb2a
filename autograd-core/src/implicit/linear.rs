//! The equations of a residual, linearized at their solution.

use std::sync::OnceLock;

use ndarray::Array2;

use super::System;
use super::dense::{Factors, Place, Singular};
use super::gmres::{Limits, gmres};
use crate::erased::AnyTensor;
use crate::error::{Error, ErrorKind, Unsolved};
use crate::functional::{Functional, along};
use crate::gradcheck;
use crate::recording::{Recording, as_input, or_zeros};
use autograd_kernels::ElementType;

/// J, the derivative of a residual with respect to the unknowns, and a recording of the residual. Nothing here has a
/// history, so what is saved in the function's node does not lead back to it.
pub(super) struct Linear {
    /// Its inputs are the unknowns, then the function's inputs.
    recorded: Recording,
    /// The number of tensors of unknowns.
    count: usize,
    /// The precision of the unknowns.
    epsilon: f64,
    solver: Solver,
}

enum Solver {
    Factors(Factors),
    /// By products alone, if that is possible.
    Products(Products),
}

#[derive(Default)]
struct Products {
    /// The way to compute Jv, once it is known.
    way: OnceLock<Along>,
    /// The factors, once products have stalled.
    factors: OnceLock<Factors>,
}

/// A way to compute Jv.
enum Along {
    ForwardMode,
    /// The gradients of the residual as linear functions of its seeds: see `Recording::jvp`.
    Passes {
        seeds: Vec<AnyTensor>,
        gradients: Vec<Option<AnyTensor>>,
    },
}

impl Linear {
    /// Linearizes at constants: the unknowns, of which there are `count` tensors, then the inputs.
    #[inline]
    pub(super) fn new(system: &System, tensors: &[AnyTensor], count: usize) -> Result<Self, Error> {
        let recorded = Recording::of(system.at(count), tensors, false, system.applied_at())?;
        let size: usize = tensors[..count].iter().map(AnyTensor::len).sum();
        let epsilon = tensors.first().map_or(f64::EPSILON, epsilon);
        let mut linear = Self {
            recorded,
            count,
            epsilon,
            solver: Solver::Products(Products::default()),
        };
        if size <= system.dense() {
            linear.solver = Solver::Factors(linear.factors(system)?);
        }
        if gradcheck::is_running() {
            linear.is_solved(system)?;
        }
        Ok(linear)
    }

    /// Returns the factors of J.
    #[inline]
    fn factors(&self, system: &System) -> Result<Factors, Error> {
        let size = self.unknowns().iter().map(AnyTensor::len).sum();
        let Matrix {
            elements,
            connected,
        } = self.matrix(size)?;
        Factors::new(elements, self.epsilon).map_err(|Singular { condition, place }| {
            let because = place.map(|place| self.because(system, place, &connected));
            system.error(ErrorKind::SingularResidual {
                unknowns: size,
                condition,
                because: because.unwrap_or_default(),
            })
        })
    }

    /// Returns what makes J singular, in words; `connected` has, for each unknown, whether the residual depends on it.
    #[inline]
    fn because(&self, system: &System, place: Place, connected: &[bool]) -> String {
        let cut = "is it computed inside `no_grad`, or by `grad` without `create_graph`?";
        let zero = "0, as that of a square is where it has its minimum";
        match place {
            Place::Row(row) => {
                let (output, entry) = self.place(row);
                let name = system.name(output);
                if self.recorded.outputs[output].edge().is_none() {
                    return format!("the residual of `{name}` depends on no unknown: {cut}");
                }
                format!("the derivative of the residual of `{name}` at entry {entry:?} is {zero}")
            }
            Place::Column(column) => {
                let (unknown, entry) = self.place(column);
                let name = system.name(unknown);
                if !connected[unknown] {
                    return format!("the residual does not depend on `{name}`: {cut}");
                }
                format!("the derivative of the residual by `{name}` at entry {entry:?} is {zero}")
            }
            Place::Combined(column) => {
                let (unknown, entry) = self.place(column);
                let name = system.name(unknown);
                format!("they do not determine `{name}` at entry {entry:?}")
            }
        }
    }

    /// Returns the unknown that has an element of all in a row, and the index there.
    #[inline]
    fn place(&self, mut entry: usize) -> (usize, Vec<usize>) {
        let mut unknowns = self.unknowns().iter().enumerate();
        let place = unknowns.find_map(|(place, unknown)| {
            if entry < unknown.len() {
                return Some((place, indices(entry, unknown.shape())));
            }
            entry -= unknown.len();
            None
        });
        place.unwrap_or_default()
    }

    /// Returns the gradients of those inputs for which `needs` is true, for these seeds of the residual.
    #[inline]
    pub(super) fn gradients(
        &self,
        seeds: Vec<AnyTensor>,
        needs: &[bool],
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let inputs = &self.recorded.inputs[self.count..];
        gradients_of(&self.recorded, seeds, inputs, needs, false)
    }

    /// Returns the x of Jx = b, or of `Jᵀx = b` if `transposed`: the elements of all tensors in a row.
    #[inline]
    pub(super) fn solve(
        &self,
        system: &System,
        b: Vec<f64>,
        transposed: bool,
    ) -> Result<Vec<f64>, Error> {
        let Products { way, factors } = match &self.solver {
            Solver::Factors(factors) => return Ok(factors.solve(b, transposed)),
            Solver::Products(products) => products,
        };
        if let Some(factors) = factors.get() {
            return Ok(factors.solve(b, transposed));
        }
        let can_be_factored = b.len() <= System::FACTORED;
        let limits = if can_be_factored {
            Limits::before_factors(b.len())
        } else {
            Limits::alone(b.len())
        };
        let product = |x: &[f64]| {
            if transposed {
                self.pull(x)
            } else {
                self.push(system, way, x)
            }
        };
        match gmres(product, &b, self.epsilon, &limits)? {
            Ok(x) => Ok(x),
            Err(_) if can_be_factored => {
                let found = self.factors(system)?;
                Ok(factors.get_or_init(|| found).solve(b, transposed))
            }
            Err(left) => Err(system.error(ErrorKind::ResidualNotSolved {
                unknowns: b.len(),
                products: left.products,
                remains: left.remains,
            })),
        }
    }

    #[inline]
    fn unknowns(&self) -> &[AnyTensor] {
        &self.recorded.inputs[..self.count]
    }

    /// Returns `Jᵀx`.
    #[inline]
    fn pull(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        let seeds = split(x, &self.recorded.outputs);
        let roots = self.recorded.outputs.iter().zip(seeds);
        let found = self
            .recorded
            .pass(roots.collect(), self.unknowns(), false)?;
        Ok(joined(&or_zeros(found, self.unknowns())))
    }

    /// Returns Jx.
    #[inline]
    fn push(&self, system: &System, way: &OnceLock<Along>, x: &[f64]) -> Result<Vec<f64>, Error> {
        let tangents = split(x, self.unknowns());
        match way.get() {
            Some(Along::ForwardMode) => self.push_forward(system, tangents),
            Some(Along::Passes { seeds, gradients }) => {
                self.push_by_passes(seeds, gradients, tangents)
            }
            None => {
                let found = self.push_forward(system, tangents.clone());
                if found.is_ok() {
                    way.get_or_init(|| Along::ForwardMode);
                    return found;
                }
                let seeds = self.recorded.outputs.iter();
                let seeds: Vec<_> = seeds
                    .map(|output| as_input(&output.zeros(), false, system.applied_at()))
                    .collect();
                let roots = self.recorded.outputs.iter().zip(seeds.iter().cloned());
                let gradients = self.recorded.pass(roots.collect(), self.unknowns(), true)?;
                let found = self.push_by_passes(&seeds, &gradients, tangents);
                way.get_or_init(|| Along::Passes { seeds, gradients });
                found
            }
        }
    }

    #[inline]
    fn push_forward(&self, system: &System, tangents: Vec<AnyTensor>) -> Result<Vec<f64>, Error> {
        let inputs = &self.recorded.inputs[self.count..];
        let inputs: Vec<_> = inputs
            .iter()
            .map(|input| input.clone().with_edge(None))
            .collect();
        let residual = |unknowns: &[AnyTensor]| system.residual(unknowns, &inputs);
        let options = Functional::new().forward_mode(true);
        let at = system.applied_at();
        let (_, found) = along(options, &residual, self.unknowns(), tangents, at)?;
        Ok(joined(&found))
    }

    #[inline]
    fn push_by_passes(
        &self,
        seeds: &[AnyTensor],
        gradients: &[Option<AnyTensor>],
        tangents: Vec<AnyTensor>,
    ) -> Result<Vec<f64>, Error> {
        let roots = gradients.iter().zip(tangents);
        let roots = roots.filter_map(|(gradient, tangent)| Some((gradient.as_ref()?, tangent)));
        let found = self.recorded.pass(roots.collect(), seeds, false)?;
        Ok(joined(&or_zeros(found, &self.recorded.outputs)))
    }

    /// Finds out whether the residual is far from zero: whether one step of Newton's method would change the unknowns by
    /// more than the cube root of the precision, relative to the largest of them. In a generated check that is an error;
    /// any other check mentions it where differences disagree.
    ///
    /// A large step from a residual that is rounding is one of equations that are singular, or nearly so.
    #[inline]
    fn is_solved(&self, system: &System) -> Result<(), Error> {
        let residual = joined(&self.recorded.outputs);
        let step = match self.solve(system, residual.clone(), false) {
            // The passes of that check may never need it.
            Err(_) if !gradcheck::is_generated() => return Ok(()),
            step => step?,
        };
        let (moved, step) = largest(&step);
        let size = 1.0 + largest(&joined(self.unknowns())).1;
        let (entry, residual) = largest(&residual);
        let (output, entry) = self.place(entry);
        let output = system.name(output);
        if step > self.epsilon.powf(2.0 / 3.0) * size {
            gradcheck::note(Unsolved {
                function: system.0.function,
                output,
                residual,
            });
        }
        if step <= self.epsilon.cbrt() * size || !gradcheck::is_generated() {
            return Ok(());
        }
        let factors = match &self.solver {
            Solver::Factors(factors) => Some(factors),
            Solver::Products(products) => products.factors.get(),
        };
        let terms = factors.map_or(0.0, |factors| factors.largest() * size);
        Err(system.error(if residual <= 16.0 * self.epsilon * terms {
            let (unknown, place) = self.place(moved);
            ErrorKind::SingularResidual {
                unknowns: self.unknowns().iter().map(AnyTensor::len).sum(),
                condition: step * terms / (size * residual),
                because: format!(
                    "the residual is rounding, {residual:.1e}, and moves `{}` at entry {place:?} by {step:.1e}",
                    system.name(unknown)
                ),
            }
        } else {
            ErrorKind::ResidualNotZero {
                output,
                entry,
                residual,
            }
        }))
    }

    /// Returns J, by a pass for each row.
    #[inline]
    fn matrix(&self, size: usize) -> Result<Matrix, Error> {
        let unknowns = self.unknowns();
        let mut connected = vec![false; unknowns.len()];
        let mut elements = Vec::with_capacity(size * size);
        for output in &self.recorded.outputs {
            for entry in 0..output.len() {
                let root = vec![(output, output.one_hot(entry))];
                let row = self.recorded.pass(root, unknowns, false)?;
                for (connected, found) in connected.iter_mut().zip(&row) {
                    *connected |= found.is_some();
                }
                elements.extend(joined(&or_zeros(row, unknowns)));
            }
        }
        // INVARIANT: the residual has the shapes of the unknowns.
        let elements = Array2::from_shape_vec((size, size), elements);
        Ok(Matrix {
            elements: elements.expect("as many rows as columns"),
            connected,
        })
    }
}

/// J, and for each unknown whether the residual depends on it.
struct Matrix {
    elements: Array2<f64>,
    connected: Vec<bool>,
}

/// Returns the gradients of a recorded residual with respect to those `targets` for which `needs` is true.
#[inline]
pub(super) fn gradients_of(
    recorded: &Recording,
    seeds: Vec<AnyTensor>,
    targets: &[AnyTensor],
    needs: &[bool],
    create_graph: bool,
) -> Result<Vec<Option<AnyTensor>>, Error> {
    let needed = targets.iter().zip(needs).filter(|(_, needed)| **needed);
    let needed: Vec<AnyTensor> = needed.map(|(target, _)| target.clone()).collect();
    let roots = recorded.outputs.iter().zip(seeds).collect();
    let mut found = recorded.pass(roots, &needed, create_graph)?.into_iter();
    let each = needs.iter();
    Ok(each
        .map(|needed| needed.then(|| found.next()).flatten().flatten())
        .collect())
}

/// Returns the distance of 1 to the next number of a tensor's element type.
#[inline]
fn epsilon(tensor: &AnyTensor) -> f64 {
    match tensor.element_type() {
        ElementType::F32 => f64::from(f32::EPSILON),
        ElementType::F64 => f64::EPSILON,
    }
}

/// Returns the elements of all tensors in a row.
#[inline]
pub(super) fn joined(tensors: &[AnyTensor]) -> Vec<f64> {
    tensors.iter().flat_map(AnyTensor::values).collect()
}

/// Returns elements in a row as tensors of the types and shapes of others.
#[inline]
pub(super) fn split(mut elements: &[f64], like: &[AnyTensor]) -> Vec<AnyTensor> {
    let mut next = |like: &AnyTensor| {
        let (values, rest) = elements.split_at(like.len());
        elements = rest;
        like.with_values(values)
    };
    like.iter().map(&mut next).collect()
}

/// Returns the place of the number of the largest magnitude, and that magnitude; 0 without numbers.
#[inline]
fn largest(values: &[f64]) -> (usize, f64) {
    let each = values.iter().map(|value| value.abs()).enumerate();
    each.fold(
        (0, 0.0),
        |most, one| if one.1 <= most.1 { most } else { one },
    )
}

/// Returns the index along each axis of an entry in row-major order.
#[inline]
fn indices(mut entry: usize, shape: &[usize]) -> Vec<usize> {
    let mut indices: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&length| {
            let index = entry % length;
            entry /= length;
            index
        })
        .collect();
    indices.reverse();
    indices
}
