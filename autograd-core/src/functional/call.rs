//! [`Call`] runs a function at its inputs, recorded or in forward mode, and computes derivatives from the run.

use std::panic::Location;

use super::Functional;
use super::stack::{self, Layout, assemble, cast, row_blocks};
use crate::erased::{AnyTensor, ErasedFn};
use crate::error::{Derivative, Error};
use crate::forward_mode::{Along, failure, known, outputs_along};
use crate::recording::{Recording, as_input, or_zeros};
use crate::tape::Failure;
use crate::thread::{enable_grad, with_grad_mode};

/// Tensors in the order of the outputs, or of the inputs.
type Tensors = Vec<AnyTensor>;

/// The check of a recorded run in strict mode.
type Strictly = fn(&Recording, Derivative) -> Result<(), Error>;

pub(super) struct Call<'f> {
    pub(super) options: Functional,
    pub(super) function: &'f ErasedFn<'f>,
    pub(super) inputs: &'f [AnyTensor],
    /// The caller's line.
    pub(super) called_at: &'static Location<'static>,
}

impl Call<'_> {
    /// Runs the function once, recorded.
    #[inline]
    pub(super) fn record(&self, strictly: Strictly) -> Result<Recording, Error> {
        let create_graph = self.options.create_graph;
        let recorded = Recording::of(self.function, self.inputs, create_graph, self.called_at)?;
        if self.options.strict {
            strictly(&recorded, Derivative::First)?;
        }
        Ok(recorded)
    }

    /// Returns the value of a function of one output, and its recorded gradients as outputs of the same inputs.
    #[inline]
    pub(super) fn gradients(&self, strictly: Strictly) -> Result<(AnyTensor, Recording), Error> {
        let recorded = self.record(Recording::check_each)?;
        let value = recorded.outputs[0].clone();
        let found = recorded.vjp(vec![Some(unit(&value))], true)?;
        let gradients = Recording {
            outputs: or_zeros(found, self.inputs),
            ..recorded
        };
        if self.options.strict {
            strictly(&gradients, Derivative::Second)?;
        }
        Ok((value, gradients))
    }

    /// Returns the outputs and their derivatives along `tangents`.
    #[inline]
    pub(super) fn push(&self, tangents: Tensors) -> Result<(Tensors, Tensors), Error> {
        if self.options.strict {
            self.record(Recording::check_any)?;
        }
        let along = self.along(tangents.iter().cloned().map(Some).collect())?;
        if let Some(failure) = failure(&along) {
            return self.push_by_passes(&tangents, failure);
        }
        let known: Vec<_> = along.into_iter().map(known).collect::<Result<_, _>>()?;
        Ok(known.into_iter().unzip())
    }

    /// Returns the outputs and their derivatives along `tangents` by backward passes, after forward mode failed at a
    /// function without a rule.
    #[inline]
    fn push_by_passes(
        &self,
        tangents: &[AnyTensor],
        failure: Failure,
    ) -> Result<(Tensors, Tensors), Error> {
        if self.options.forward_mode {
            return Err(failure.error);
        }
        let recorded = self.record(Recording::check_any)?;
        let found = recorded.jvp_after(failure, tangents, self.options.create_graph)?;
        let derivatives = or_zeros(found, &recorded.outputs);
        Ok((recorded.outputs, derivatives))
    }

    /// Returns the blocks of the Jacobian, those of one output after the other.
    #[inline]
    pub(super) fn jacobian(&self) -> Result<Tensors, Error> {
        let create_graph = self.options.create_graph;
        if !self.options.forward_mode {
            return stack::jacobian(&self.record(Recording::check_each)?, create_graph);
        }
        if self.options.strict {
            self.record(Recording::check_each)?;
        }
        let inputs = self.inputs;
        let mut columns = Vec::with_capacity(inputs.len());
        for (place, input) in inputs.iter().enumerate() {
            let runs = (0..input.len()).map(|entry| {
                let along = self.along(direction(inputs, place, entry))?;
                along.into_iter().map(known).collect::<Result<Vec<_>, _>>()
            });
            columns.push(runs.collect::<Result<Vec<_>, Error>>()?);
        }
        let values = match columns.iter().flatten().next() {
            Some(run) => run.iter().map(|(value, _)| value.clone()).collect(),
            // Without an entry in the inputs nothing ran, and the shapes of the outputs are unknown.
            None => enable_grad(|| (self.function)(inputs))?,
        };
        let block = |output: usize, input: usize| {
            let parts = columns[input].iter().map(|run| Some(run[output].1.clone()));
            let layout = Layout::columns(values[output].shape(), inputs[input].shape());
            with_grad_mode(create_graph, || {
                let block = assemble(parts.collect(), layout, &values[output]);
                cast(block, &inputs[input])
            })
        };
        let row = |output| (0..inputs.len()).map(move |input| (output, input));
        let places = (0..values.len()).flat_map(row);
        Ok(places.map(|(output, input)| block(output, input)).collect())
    }

    /// Returns the blocks of the Hessian of a function of one output, those of one input after the other.
    #[inline]
    pub(super) fn hessian(&self) -> Result<Tensors, Error> {
        let create_graph = self.options.create_graph;
        if !self.options.forward_mode {
            let (_, gradients) = self.gradients(Recording::check_each)?;
            return stack::jacobian(&gradients, create_graph);
        }
        if self.options.strict {
            self.gradients(Recording::check_each)?;
        }
        let mut blocks = Vec::new();
        for (place, input) in self.inputs.iter().enumerate() {
            let rows = (0..input.len()).map(|entry| {
                let tangent = self.tangent(direction(self.inputs, place, entry))?;
                tangent.row(&tangent.outputs[0], 0, create_graph)
            });
            let rows = rows.collect::<Result<_, Error>>()?;
            blocks.extend(row_blocks(rows, input.shape(), self.inputs, create_graph));
        }
        Ok(blocks)
    }

    /// Returns the value of a function of one output, and the product of its Hessian with `vectors`, which a backward
    /// pass through forward mode computes, or [`vhp`](Self::vhp), because a Hessian is symmetric. The rule of Jacobians
    /// would need third derivatives, which most elementwise functions do not have.
    #[inline]
    pub(super) fn hvp(&self, vectors: Tensors) -> Result<(AnyTensor, Tensors), Error> {
        if !self.options.forward_mode {
            return self.vhp(vectors);
        }
        if self.options.strict {
            self.gradients(Recording::check_any)?;
        }
        let mut recorded = self.tangent(vectors.into_iter().map(Some).collect())?;
        let found = recorded.row(&recorded.outputs[0], 0, self.options.create_graph)?;
        Ok((recorded.outputs.remove(1), or_zeros(found, self.inputs)))
    }

    /// Returns the value of a function of one output, and the product of `vectors` with its Hessian.
    #[inline]
    pub(super) fn vhp(&self, vectors: Tensors) -> Result<(AnyTensor, Tensors), Error> {
        let (value, gradients) = self.gradients(Recording::check_any)?;
        let seeds = vectors.into_iter().map(Some).collect();
        let found = gradients.vjp(seeds, self.options.create_graph)?;
        Ok((value, or_zeros(found, self.inputs)))
    }

    /// Runs a function of one output in forward mode, recorded, and returns the tangent and the value.
    #[inline]
    fn tangent(&self, tangents: Vec<Option<AnyTensor>>) -> Result<Recording, Error> {
        let tangents = self.finish(tangents);
        let along = |inputs: &[AnyTensor]| {
            let mut outputs = outputs_along(self.function, inputs.to_vec(), tangents)?;
            let (value, tangent) = known(outputs.remove(0))?;
            Ok(vec![tangent, value])
        };
        let create_graph = self.options.create_graph;
        Recording::of(along, self.inputs, create_graph, self.called_at)
    }

    /// Returns the outputs along `tangents`, without a graph unless `create_graph` is set.
    #[inline]
    fn along(&self, tangents: Vec<Option<AnyTensor>>) -> Result<Vec<Along>, Error> {
        let primals = self.inputs.iter().map(|input| {
            if self.options.create_graph {
                as_input(input, true, self.called_at)
            } else {
                input.clone().with_edge(None)
            }
        });
        let (primals, tangents) = (primals.collect(), self.finish(tangents));
        enable_grad(|| outputs_along(self.function, primals, tangents))
    }

    /// Makes tangents constants unless `create_graph` is set.
    #[inline]
    fn finish(&self, tangents: Vec<Option<AnyTensor>>) -> Vec<Option<AnyTensor>> {
        let tangents = tangents.into_iter();
        let finished = tangents.map(|tangent| Some(self.options.finish(tangent?)));
        finished.collect()
    }
}

/// Returns the gradient of a tensor of one element with respect to itself.
#[inline]
fn unit(value: &AnyTensor) -> AnyTensor {
    value.one_hot(0)
}

/// Returns the direction of one entry of one input.
#[inline]
fn direction(inputs: &[AnyTensor], place: usize, entry: usize) -> Vec<Option<AnyTensor>> {
    let each = inputs.iter().enumerate();
    let tangents = each.map(|(other, input)| (other == place).then(|| input.one_hot(entry)));
    tangents.collect()
}
