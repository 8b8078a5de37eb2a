//! One call of a function's backward, for generated code.

use std::error::Error as Source;
use std::fmt;
use std::ops::Range;

use ndarray::Dimension;

use crate::erased::AnyTensor;
use crate::error::{Error, ErrorKind};
use crate::function::Signature;
use crate::function::gradient::{GradOutput, GradOutputs, IntoGradient, IntoGradients};
use crate::function::lists::range;
use crate::saved::{Saved, SavedList};
use crate::tape::RawTensor;
use crate::tape::{AnyGradient, BackwardCall, Edge, Gradient, Node, once_differentiable};
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// One call of a function's backward: returns the incoming gradients and saved tensors, and takes the computed
/// gradients.
pub struct Call<'a> {
    inner: BackwardCall<'a>,
    /// The edges of the incoming gradients under `create_graph`.
    histories: Vec<Option<Edge>>,
    signature: &'static Signature,
    /// The end of each input's edges, and of each output's shapes: see `EdgeList` and `OutputList`.
    ends: [&'a [usize]; 2],
    /// The error of an incoming or a computed gradient.
    failure: Option<Error>,
    /// Whether a saved tensor was unpacked.
    unpacked: bool,
}

/// The origin of a saved tensor, which determines its edge under `create_graph`.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// The differentiable input of this number.
    Input(usize),
    /// The differentiable output of this number.
    Output(usize),
    /// A tensor without a gradient.
    Constant,
}

impl<'a> Call<'a> {
    #[inline]
    pub(crate) fn new(
        call: BackwardCall<'a>,
        signature: &'static Signature,
        ends: [&'a [usize]; 2],
    ) -> Self {
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
            signature,
            ends,
            failure: None,
            unpacked: false,
        }
    }

    /// Ends the call after the backward functions have run: returns whether a saved tensor was unpacked, or the error
    /// of a gradient.
    #[inline]
    pub(crate) fn finish(self) -> Result<bool, Error> {
        match self.failure {
            None => Ok(self.unpacked),
            Some(error) => Err(error),
        }
    }

    /// Returns whether this pass needs the gradient of a differentiable input, or of any tensor of a list.
    #[inline]
    pub fn needs(&self, input: usize) -> bool {
        self.inner.needs[self.edges(input)].contains(&true)
    }

    /// Returns a saved tensor or list, with its history under `create_graph`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "in registers inlined, through memory twice if not"
    )]
    pub fn restore<S: Restore<R>, R>(
        &mut self,
        saved: Option<S>,
        origin: Origin,
    ) -> Result<Option<R>, Error> {
        match saved {
            None => Ok(None),
            Some(saved) => saved.restore(self, origin).map(Some),
        }
    }

    /// Returns the indices of one input's edges.
    #[inline]
    pub(crate) fn edges(&self, input: usize) -> Range<usize> {
        range(self.ends[0], input)
    }

    /// Returns whether this pass needs the gradient of the tensor of one edge.
    pub(crate) fn needs_edge(&self, edge: usize) -> bool {
        self.inner.needs[edge]
    }

    /// Takes the gradients of all differentiable outputs.
    pub(crate) fn take_gradients(&mut self) -> Vec<Option<AnyTensor>> {
        let gradients = self.inner.grads.iter_mut();
        gradients
            .map(|gradient| gradient.take().map(AnyTensor::from_grad))
            .collect()
    }

    /// Takes the gradient of the tensor of one edge.
    pub(crate) fn give_any(&mut self, edge: usize, gradient: Option<AnyTensor>) {
        self.inner.results[edge] = gradient.map(AnyTensor::into_grad);
    }

    /// Returns the indices of one output's gradients.
    #[inline]
    fn outputs(&self, output: usize) -> Range<usize> {
        range(self.ends[1], output)
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "in registers inlined, through memory twice if not"
    )]
    fn restore_one<T: Element, D: Dimension>(
        &mut self,
        saved: Saved<T>,
        origin: Origin,
        index: usize,
    ) -> Result<Tensor<T, D>, Error> {
        let (buffer, unpacked) = saved
            .restore()
            .map_err(|reason| self.inner.node.error(ErrorKind::Unpack { reason }))?;
        self.unpacked |= unpacked;
        let edge = self.edge(origin, index);
        Ok(Tensor::from_raw(RawTensor::new(buffer, edge)))
    }

    /// Returns the edge of a saved tensor; `index` is that in a list.
    #[inline]
    fn edge(&self, origin: Origin, index: usize) -> Option<Edge> {
        match origin {
            _ if !self.inner.create_graph => None,
            Origin::Input(input) => {
                let edge = self.edges(input).start + index;
                self.inner.node.0.edges()[edge].clone()
            }
            Origin::Output(output) => Some(Edge {
                node: self.inner.node.clone(),
                output_nr: u32::try_from(self.outputs(output).start + index).ok()?,
            }),
            Origin::Constant => None,
        }
    }

    /// Returns the gradient of a differentiable output.
    #[inline]
    pub fn grad<T: Element, D: Dimension>(&mut self, output: usize) -> GradOutput<'a, T, D> {
        self.grad_at(self.outputs(output).start)
    }

    /// Returns the gradient of an optional output; an undefined one without the output.
    pub fn grad_of_optional<T: Element, D: Dimension>(
        &mut self,
        output: usize,
    ) -> GradOutput<'a, T, D> {
        match self.outputs(output).next() {
            Some(index) => self.grad_at(index),
            None => GradOutput::missing(),
        }
    }

    /// Returns the gradients of a list of outputs.
    pub fn grad_of_list<T: Element, D: Dimension>(
        &mut self,
        output: usize,
    ) -> GradOutputs<'a, T, D> {
        let indices = self.outputs(output);
        GradOutputs(indices.map(|index| self.grad_at(index)).collect())
    }

    #[inline]
    fn grad_at<T: Element, D: Dimension>(&mut self, index: usize) -> GradOutput<'a, T, D> {
        let node: &'a Node = self.inner.node;
        let shape = &node.0.outputs()[index];
        let gradient = self.inner.grads[index].take();
        let is_defined = gradient.is_some();
        let gradient = gradient.and_then(AnyGradient::recover);
        if is_defined && gradient.is_none() {
            // A gradient of the user's: those of the engine have the right type.
            self.failure = Some(self.inner.node.error(ErrorKind::element_type(T::TYPE)));
        }
        GradOutput::new(gradient, shape)
    }

    /// Takes the gradient of a differentiable input.
    #[inline]
    pub fn give<T: Element, D: Dimension>(
        &mut self,
        input: usize,
        gradient: impl IntoGradient<T, D>,
    ) {
        let edge = self.edges(input).start;
        if let Some(gradient) = gradient.into_gradient() {
            self.inner.results[edge] = Some(self.attached(gradient));
        }
    }

    /// Takes the gradients of a list, one for each tensor; those that the pass does not need are dropped.
    pub fn give_list<T: Element, D: Dimension>(
        &mut self,
        input: usize,
        gradients: impl IntoGradients<T, D>,
    ) {
        let Some(gradients) = gradients.into_gradients() else {
            return;
        };
        let edges = self.edges(input);
        if gradients.len() != edges.len() {
            self.failure = Some(
                self.inner.node.error(ErrorKind::ListLength {
                    input: self
                        .signature
                        .differentiable(input)
                        .map_or("a list", |input| input.name),
                    expected: edges.len(),
                    found: gradients.len(),
                }),
            );
            return;
        }
        for (edge, gradient) in edges.zip(gradients) {
            if self.inner.needs[edge] {
                self.inner.results[edge] = gradient.map(|gradient| self.attached(gradient));
            }
        }
    }

    /// Returns the result of a backward function, whose error becomes the error of the pass.
    pub fn succeeded<R, E: IntoSource>(&self, result: Result<R, E>) -> Result<R, Error> {
        result.map_err(|error| self.inner.node.failed(error.into_source()))
    }

    /// Under `create_graph`, attaches a gradient that was computed on arrays to a node that fails: without a history it
    /// would be differentiated as a constant.
    #[inline]
    fn attached<T: Element>(&self, gradient: Gradient<T>) -> AnyGradient {
        let on_arrays = matches!(gradient, Gradient::Owned(_));
        let gradient = AnyGradient::erase(gradient);
        if on_arrays && self.inner.create_graph {
            self.once(gradient)
        } else {
            gradient
        }
    }

    #[cold]
    fn once(&self, gradient: AnyGradient) -> AnyGradient {
        let node = self.inner.node;
        let edges = node.0.edges().iter().chain(&self.histories);
        let edges = edges.cloned().collect();
        once_differentiable(node.name(), node.applied_at(), edges, gradient)
    }
}

/// The error of a backward function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error type",
    label = "backward returns it as an error",
    note = "return a `String`, a type that is `std::error::Error + Send + Sync + 'static`, or a \
            `Box<dyn std::error::Error + Send + Sync>`"
)]
pub trait IntoSource {
    /// Converts the error to the source of another.
    fn into_source(self) -> Box<dyn Source + Send + Sync>;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Source + Send + Sync>>> IntoSource for E {
    fn into_source(self) -> Box<dyn Source + Send + Sync> {
        self.into()
    }
}

/// A saved tensor or list that backward functions take as `R`.
pub trait Restore<R> {
    #[doc(hidden)]
    fn restore(self, call: &mut Call<'_>, origin: Origin) -> Result<R, Error>;
}

impl<T: Element, D: Dimension> Restore<Tensor<T, D>> for Saved<T> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "in registers inlined, through memory twice if not"
    )]
    fn restore(self, call: &mut Call<'_>, origin: Origin) -> Result<Tensor<T, D>, Error> {
        call.restore_one(self, origin, 0)
    }
}

impl<T: Element, D: Dimension> Restore<Vec<Tensor<T, D>>> for SavedList<T> {
    fn restore(self, call: &mut Call<'_>, origin: Origin) -> Result<Vec<Tensor<T, D>>, Error> {
        self.into_iter()
            .enumerate()
            .map(|(index, saved)| call.restore_one(saved, origin, index))
            .collect()
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("node", self.inner.node)
            .finish_non_exhaustive()
    }
}
