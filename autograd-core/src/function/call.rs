//! One call of a function's backward, as generated code sees it.

use std::fmt;

use ndarray::Dimension;

use crate::element::Element;
use crate::error::Error;
use crate::function::gradient::{GradOutput, IntoGradient};
use crate::function::record::Saved;
use crate::tape::{AnyGradient, BackwardCall, Edge, Gradient, once_differentiable};
use crate::tensor::{RawTensor, Tensor};

/// One call of a function's backward: hands out gradients and saved tensors, takes in gradients.
pub struct Call<'a> {
    inner: BackwardCall<'a>,
    /// Under `create_graph`, where the incoming gradients come from.
    histories: Vec<Option<Edge>>,
    /// Whether a gradient came of another element type than its output's: one that a user handed in,
    /// as the engine's are of the right type.
    mistyped: bool,
}

/// Where a saved tensor comes from: which edge is attached to it when its history matters.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// The differentiable input of this number.
    Input(usize),
    /// The differentiable output of this number.
    Output(usize),
    /// Something without a gradient.
    Constant,
}

impl<'a> Call<'a> {
    #[inline]
    pub(crate) fn new(call: BackwardCall<'a>) -> Self {
        let histories = if call.create_graph {
            call.grads
                .iter()
                .map(|grad| grad.as_ref()?.edge().cloned())
                .collect()
        } else {
            Vec::new()
        };
        Self {
            inner: call,
            histories,
            mistyped: false,
        }
    }

    /// What the call comes to after the author's functions have run.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let (function, applied_at) = (self.inner.node.name(), self.inner.node.applied_at());
        if self.mistyped {
            return Err(Error::ElementType {
                function,
                applied_at,
            });
        }
        Ok(())
    }

    /// Whether this pass wants the gradient of the differentiable input of this number.
    #[inline]
    pub fn needs(&self, input: usize) -> bool {
        self.inner.needs[input]
    }

    /// A saved tensor, with its history under `create_graph`.
    pub fn restore<T: Element, D: Dimension>(
        &self,
        saved: Option<Saved<T>>,
        origin: Origin,
    ) -> Option<Tensor<T, D>> {
        let edge = match origin {
            _ if !self.inner.create_graph => None,
            Origin::Input(input) => self.inner.node.0.edges()[input].clone(),
            Origin::Output(output) => {
                let output_nr = u32::try_from(output).ok()?;
                Some(Edge {
                    node: self.inner.node.clone(),
                    output_nr,
                })
            }
            Origin::Constant => None,
        };
        Some(Tensor::from_raw(RawTensor::new(saved?.into_buffer(), edge)))
    }

    /// The gradient of the differentiable output of this number.
    pub fn grad<T: Element, D: Dimension>(&mut self, output: usize) -> GradOutput<T, D> {
        let shape = &self.inner.node.0.outputs()[output];
        let gradient = self.inner.grads[output].take();
        let came = gradient.is_some();
        let gradient = gradient.and_then(AnyGradient::recover);
        self.mistyped |= came && gradient.is_none();
        GradOutput::new(gradient, shape)
    }

    /// Takes in the gradient of the differentiable input of this number.
    pub fn give<T: Element, D: Dimension>(
        &mut self,
        input: usize,
        gradient: impl IntoGradient<T, D>,
    ) {
        self.inner.results[input] = gradient.into_gradient().map(|gradient| {
            let on_arrays = matches!(gradient, Gradient::Owned(_));
            let gradient = AnyGradient::erase(gradient);
            if on_arrays && self.inner.create_graph {
                let node = self.inner.node;
                let edges = node
                    .0
                    .edges()
                    .iter()
                    .chain(&self.histories)
                    .cloned()
                    .collect();
                once_differentiable(node.name(), node.applied_at(), edges, gradient)
            } else {
                gradient
            }
        });
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("node", self.inner.node)
            .finish_non_exhaustive()
    }
}
