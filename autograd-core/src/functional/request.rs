//! What is asked for, on tensors whose types are forgotten.

use std::panic::Location;
use std::sync::Arc;

use super::Functional;
use super::stack::{self, Layout, assemble, cast, row_blocks};
use crate::erased::AnyTensor;
use crate::error::{Derivative, Error};
use crate::forward_mode::{Along, check_tangents, outputs_along};
use crate::grad_mode::{enable_grad, with_grad_mode};
use crate::recorded::{Recorded, or_zeros, set_apart};
use crate::tensor::Failure;

/// Tensors in the order of the outputs, or of the inputs.
type Tensors = Vec<AnyTensor>;

/// A function of tensors whose types are forgotten, that may be called any number of times.
pub(super) type Repeatable<'f> = dyn Fn(&[AnyTensor]) -> Result<Tensors, Error> + 'f;

/// Options, and the line that asks.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) options: Functional,
    pub(super) called_at: &'static Location<'static>,
}

impl Request {
    #[track_caller]
    pub(super) fn vjp(
        self,
        function: impl FnOnce(&[AnyTensor]) -> Result<Tensors, Error>,
        inputs: &[AnyTensor],
        seeds: Tensors,
    ) -> Result<(Tensors, Tensors), Error> {
        let recorded = self.record(function, inputs, Recorded::check_any)?;
        let (expected, found) = (recorded.outputs.len(), seeds.len());
        assert_eq!(
            expected, found,
            "`vjp` of {expected} outputs has {found} seeds"
        );
        let mut pairs = recorded.outputs.iter().zip(&seeds);
        if let Some((output, seed)) = pairs.find(|(output, seed)| output.shape() != seed.shape()) {
            return Err(Error::SeedShape {
                expected: output.shape().into(),
                found: seed.shape().into(),
            });
        }
        let seeds = seeds.into_iter().map(Some).collect();
        let found = recorded.pull(seeds, self.options.create_graph)?;
        let gradients = self.finish_or_zeros(found, inputs);
        Ok((self.finish(recorded.outputs), gradients))
    }

    #[track_caller]
    pub(super) fn jvp(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
        tangents: Tensors,
    ) -> Result<(Tensors, Tensors), Error> {
        check_tangents("jvp", inputs, &tangents, self.called_at)?;
        if self.options.strict {
            self.record(function, inputs, Recorded::check_any)?;
        }
        let along = self.along(function, inputs, tangents.iter().cloned().map(Some))?;
        let failures = along
            .iter()
            .filter_map(|(_, tangent)| tangent.as_ref().err());
        if let Some(failure) = failures.cloned().reduce(|one, other| one.and(Some(other))) {
            return self.along_by_passes(function, inputs, &tangents, failure);
        }
        let known = along
            .into_iter()
            .map(known)
            .collect::<Result<Vec<_>, _>>()?;
        let (values, found): (Tensors, Vec<_>) = known.into_iter().unzip();
        let derivatives = self.finish_or_zeros(found, &values);
        Ok((self.finish(values), derivatives))
    }

    /// The outputs and their derivatives where forward mode has met a function without a rule.
    fn along_by_passes(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
        tangents: &[AnyTensor],
        failure: Failure,
    ) -> Result<(Tensors, Tensors), Error> {
        let forward = Arc::unwrap_or_clone(failure.error);
        if !failure.is_recorded {
            return Err(forward);
        }
        let recorded = self.record(function, inputs, Recorded::check_any)?;
        let found = recorded.push(tangents, self.options.create_graph);
        let found = found.map_err(|error| match error {
            Error::OnceDifferentiable { .. } => Error::NeitherMode {
                forward: Box::new(forward),
                backward: Box::new(error),
            },
            error => error,
        })?;
        let derivatives = self.finish_or_zeros(found, &recorded.outputs);
        Ok((self.finish(recorded.outputs), derivatives))
    }

    /// For each output and input, the block of the Jacobian.
    pub(super) fn jacobian(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
    ) -> Result<Vec<Tensors>, Error> {
        if self.options.forward_mode {
            if self.options.strict {
                self.record(function, inputs, Recorded::check_each)?;
            }
            return self.jacobian_along(function, inputs);
        }
        let recorded = self.record(function, inputs, Recorded::check_each)?;
        let blocks = stack::jacobian(&recorded, self.options.create_graph)?;
        Ok(blocks.into_iter().map(|row| self.finish(row)).collect())
    }

    /// The Jacobian by a run of forward mode for each entry of the inputs.
    fn jacobian_along(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
    ) -> Result<Vec<Tensors>, Error> {
        let mut columns = Vec::with_capacity(inputs.len());
        for (place, input) in inputs.iter().enumerate() {
            let runs = (0..input.len()).map(|entry| {
                let along = self.along(function, inputs, direction(inputs, place, entry))?;
                along.into_iter().map(known).collect::<Result<Vec<_>, _>>()
            });
            columns.push(runs.collect::<Result<Vec<_>, Error>>()?);
        }
        let values = match columns.iter().flatten().next() {
            Some(run) => run.iter().map(|(value, _)| value.clone()).collect(),
            // Without an entry in the inputs there was no run to tell the outputs' shapes.
            None => enable_grad(|| function(inputs))?,
        };
        let block = |output: usize, input: usize| {
            let parts = columns[input].iter().map(|run| run[output].1.clone());
            let layout = Layout::columns(values[output].shape(), inputs[input].shape());
            with_grad_mode(self.options.create_graph, || {
                let block = assemble(parts.collect(), layout, &values[output]);
                cast(block, &inputs[input])
            })
        };
        let rows = (0..values.len()).map(|output| {
            self.finish(
                (0..inputs.len())
                    .map(|input| block(output, input))
                    .collect(),
            )
        });
        Ok(rows.collect())
    }

    /// For each pair of inputs, the block of the Hessian of a function of one output.
    pub(super) fn hessian(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
    ) -> Result<Vec<Tensors>, Error> {
        if self.options.forward_mode {
            if self.options.strict {
                self.gradients(function, inputs, Recorded::check_each)?;
            }
            return self.hessian_along(function, inputs);
        }
        let (_, gradients) = self.gradients(function, inputs, Recorded::check_each)?;
        let blocks = stack::jacobian(&gradients, self.options.create_graph)?;
        Ok(blocks.into_iter().map(|row| self.finish(row)).collect())
    }

    /// The Hessian by a backward pass through a run of forward mode for each entry of the inputs.
    fn hessian_along(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
    ) -> Result<Vec<Tensors>, Error> {
        let create_graph = self.options.create_graph;
        let blocks_of = |(place, input): (usize, &AnyTensor)| {
            let rows = (0..input.len()).map(|entry| {
                let directions = direction(inputs, place, entry).collect();
                let recorded = self.tangent(function, inputs, directions)?;
                recorded.pull(vec![Some(unit(&recorded.outputs[0])), None], create_graph)
            });
            let rows = rows.collect::<Result<_, Error>>()?;
            Ok(self.finish(row_blocks(rows, input.shape(), inputs, create_graph)))
        };
        inputs.iter().enumerate().map(blocks_of).collect()
    }

    /// The value of a function of one output, and the product of its Hessian with `vectors`.
    #[track_caller]
    pub(super) fn hvp(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
        vectors: Tensors,
    ) -> Result<(Tensors, Tensors), Error> {
        check_tangents("hvp", inputs, &vectors, self.called_at)?;
        let create_graph = self.options.create_graph;
        let (value, found) = if self.options.forward_mode {
            if self.options.strict {
                self.gradients(function, inputs, Recorded::check_any)?;
            }
            let vectors = vectors.into_iter().map(Some).collect();
            let recorded = self.tangent(function, inputs, vectors)?;
            let [tangent, value] = &recorded.outputs[..] else {
                unreachable!("a tangent and its value")
            };
            let found = recorded.pull(vec![Some(unit(tangent)), None], create_graph)?;
            (value.clone(), found)
        } else {
            let (value, gradients) = self.gradients(function, inputs, Recorded::check_any)?;
            (value, gradients.push(&vectors, create_graph)?)
        };
        Ok((
            self.finish(vec![value]),
            self.finish_or_zeros(found, inputs),
        ))
    }

    /// The value of a function of one output, and the product of `vectors` with its Hessian.
    #[track_caller]
    pub(super) fn vhp(
        self,
        function: impl FnOnce(&[AnyTensor]) -> Result<Tensors, Error>,
        inputs: &[AnyTensor],
        vectors: Tensors,
    ) -> Result<(Tensors, Tensors), Error> {
        check_tangents("vhp", inputs, &vectors, self.called_at)?;
        let (value, gradients) = self.gradients(function, inputs, Recorded::check_any)?;
        let seeds = vectors.into_iter().map(Some).collect();
        let found = gradients.pull(seeds, self.options.create_graph)?;
        Ok((
            self.finish(vec![value]),
            self.finish_or_zeros(found, inputs),
        ))
    }

    /// One recorded run, which `check` looks at in strict mode.
    fn record(
        self,
        function: impl FnOnce(&[AnyTensor]) -> Result<Tensors, Error>,
        inputs: &[AnyTensor],
        check: impl FnOnce(&Recorded, Derivative) -> Result<(), Error>,
    ) -> Result<Recorded, Error> {
        let recorded = Recorded::run(function, inputs, self.options.create_graph, self.called_at)?;
        if self.options.strict {
            check(&recorded, Derivative::First)?;
        }
        Ok(recorded)
    }

    /// The value of a function of one output, and its recorded gradients as outputs of the same inputs.
    /// `check` looks at them in strict mode.
    fn gradients(
        self,
        function: impl FnOnce(&[AnyTensor]) -> Result<Tensors, Error>,
        inputs: &[AnyTensor],
        check: impl FnOnce(&Recorded, Derivative) -> Result<(), Error>,
    ) -> Result<(AnyTensor, Recorded), Error> {
        let recorded = self.record(function, inputs, Recorded::check_each)?;
        let value = recorded.outputs[0].clone();
        let found = recorded.pull(vec![Some(unit(&value))], true)?;
        let gradients = Recorded {
            outputs: or_zeros(found, inputs),
            ..recorded
        };
        if self.options.strict {
            check(&gradients, Derivative::Second)?;
        }
        Ok((value, gradients))
    }

    /// A recorded run of a function of one output in forward mode: its tangent and its value.
    fn tangent(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
        tangents: Vec<Option<AnyTensor>>,
    ) -> Result<Recorded, Error> {
        let tangents = tangents.into_iter().map(|tangent| Some(self.cut(tangent?)));
        let along = |inputs: &[AnyTensor]| {
            let mut outputs = outputs_along(function, inputs.to_vec(), tangents)?;
            let (value, tangent) = known(outputs.remove(0))?;
            let zeros = value.zeros();
            Ok(vec![tangent.unwrap_or(zeros), value])
        };
        Recorded::run(along, inputs, self.options.create_graph, self.called_at)
    }

    /// The outputs along `tangents`, without a graph unless it is asked for.
    fn along(
        self,
        function: &Repeatable<'_>,
        inputs: &[AnyTensor],
        tangents: impl Iterator<Item = Option<AnyTensor>>,
    ) -> Result<Vec<Along>, Error> {
        let primals = inputs.iter().map(|input| {
            if self.options.create_graph {
                set_apart(input, true, self.called_at)
            } else {
                self.cut(input.clone())
            }
        });
        let tangents = tangents.map(|tangent| Some(self.cut(tangent?)));
        enable_grad(|| outputs_along(function, primals.collect(), tangents))
    }

    /// The tensor without its history, unless a graph is asked for.
    fn cut(self, tensor: AnyTensor) -> AnyTensor {
        if self.options.create_graph {
            tensor
        } else {
            tensor.with_edge(None)
        }
    }

    fn finish(self, tensors: Tensors) -> Tensors {
        tensors.into_iter().map(|tensor| self.cut(tensor)).collect()
    }

    fn finish_or_zeros(self, found: Vec<Option<AnyTensor>>, like: &[AnyTensor]) -> Tensors {
        self.finish(or_zeros(found, like))
    }
}

/// The gradient of a tensor of one element with respect to itself.
fn unit(value: &AnyTensor) -> AnyTensor {
    value.one_hot(0)
}

/// The direction of one entry of one input.
fn direction(
    inputs: &[AnyTensor],
    place: usize,
    entry: usize,
) -> impl Iterator<Item = Option<AnyTensor>> {
    let each = inputs.iter().enumerate();
    each.map(move |(other, input)| (other == place).then(|| input.one_hot(entry)))
}

/// A value and its tangent, or what forward mode lacks.
fn known((value, tangent): Along) -> Result<(AnyTensor, Option<AnyTensor>), Error> {
    let tangent = tangent.map_err(|failure| Arc::unwrap_or_clone(failure.error))?;
    Ok((value, tangent))
}
