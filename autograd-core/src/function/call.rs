//! One call of a function's backward, as generated code sees it.

use std::error::Error as Source;
use std::fmt;
use std::ops::Range;

use ndarray::Dimension;

use crate::error::{Error, ErrorKind};
use crate::function::Signature;
use crate::function::gradient::{GradOutput, GradOutputs, IntoGradient, IntoGradients};
use crate::function::lists::range;
use crate::saved::{Saved, SavedList};
use crate::tape::RawTensor;
use crate::tape::{AnyGradient, BackwardCall, Edge, Gradient, Node, once_differentiable};
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// One call of a function's backward: gives the incoming gradients and saved tensors, takes the computed gradients.
pub struct Call<'a> {
    inner: BackwardCall<'a>,
    /// Under `create_graph`, where the incoming gradients come from.
    histories: Vec<Option<Edge>>,
    signature: &'static Signature,
    /// Where each input's edges end, and each output's shapes: see `EdgeList` and `OutputList`.
    ends: [&'a [usize]; 2],
    /// What is wrong with an incoming or a computed gradient.
    failure: Option<Error>,
    /// Whether a saved tensor had been packed.
    unpacked: bool,
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

    /// What the call comes to after the backward functions have run: whether a saved tensor was unpacked
    /// for them.
    #[inline]
    pub(crate) fn finish(self) -> Result<bool, Error> {
        match self.failure {
            None => Ok(self.unpacked),
            Some(error) => Err(error),
        }
    }

    /// Returns whether this pass wants the gradient of the differentiable input of this number, of a list that
    /// of any of its tensors.
    #[inline]
    pub fn needs(&self, input: usize) -> bool {
        self.inner.needs[self.edges(input)].contains(&true)
    }

    /// Returns what was saved, with its history under `create_graph`.
    #[inline]
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

    /// The places of one input's edges.
    #[inline]
    fn edges(&self, input: usize) -> Range<usize> {
        range(self.ends[0], input)
    }

    /// The places of one output's gradients.
    #[inline]
    fn outputs(&self, output: usize) -> Range<usize> {
        range(self.ends[1], output)
    }

    #[inline]
    fn restore_one<T: Element, D: Dimension>(
        &mut self,
        saved: Saved<T>,
        origin: Origin,
        place: usize,
    ) -> Result<Tensor<T, D>, Error> {
        let (buffer, unpacked) = saved
            .restore()
            .map_err(|reason| self.inner.node.error(ErrorKind::Unpack { reason }))?;
        self.unpacked |= unpacked;
        let edge = self.edge(origin, place);
        Ok(Tensor::from_raw(RawTensor::new(buffer, edge)))
    }

    /// The edge that belongs to a saved tensor; `place` counts within a list.
    #[inline]
    fn edge(&self, origin: Origin, place: usize) -> Option<Edge> {
        match origin {
            _ if !self.inner.create_graph => None,
            Origin::Input(input) => {
                let edge = self.edges(input).start + place;
                self.inner.node.0.edges()[edge].clone()
            }
            Origin::Output(output) => Some(Edge {
                node: self.inner.node.clone(),
                output_nr: u32::try_from(self.outputs(output).start + place).ok()?,
            }),
            Origin::Constant => None,
        }
    }

    /// Returns the gradient of the differentiable output of this number.
    #[inline]
    pub fn grad<T: Element, D: Dimension>(&mut self, output: usize) -> GradOutput<'a, T, D> {
        self.grad_at(self.outputs(output).start)
    }

    /// Returns the gradient of a differentiable output that may be missing, and is `None` with it.
    pub fn grad_of_optional<T: Element, D: Dimension>(
        &mut self,
        output: usize,
    ) -> GradOutput<'a, T, D> {
        match self.outputs(output).next() {
            Some(place) => self.grad_at(place),
            None => GradOutput::missing(),
        }
    }

    /// Returns the gradients of a list.
    pub fn grad_of_list<T: Element, D: Dimension>(
        &mut self,
        output: usize,
    ) -> GradOutputs<'a, T, D> {
        let places = self.outputs(output);
        GradOutputs(places.map(|place| self.grad_at(place)).collect())
    }

    #[inline]
    fn grad_at<T: Element, D: Dimension>(&mut self, place: usize) -> GradOutput<'a, T, D> {
        let node: &'a Node = self.inner.node;
        let shape = &node.0.outputs()[place];
        let gradient = self.inner.grads[place].take();
        let came = gradient.is_some();
        let gradient = gradient.and_then(AnyGradient::recover);
        if came && gradient.is_none() {
            // One that a user handed in: the engine's are of the right type.
            self.failure = Some(self.inner.node.error(ErrorKind::element_type(T::TYPE)));
        }
        GradOutput::new(gradient, shape)
    }

    /// Takes in the gradient of the differentiable input of this number.
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

    /// Takes in the gradients of a list: as many as it has tensors, of which some may not be wanted.
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

    /// Returns what a backward function returned that can fail.
    pub fn succeeded<R, E: IntoSource>(&self, result: Result<R, E>) -> Result<R, Error> {
        result.map_err(|error| self.inner.node.failed(error.into_source()))
    }

    /// A gradient that was computed on arrays has no history, which must not be lost in silence.
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

/// What a backward function may fail with.
#[diagnostic::on_unimplemented(
    message = "backward fails with `{Self}`, which is no error",
    label = "not an error",
    note = "return a `String`, or a type that is `std::error::Error + Send + Sync + 'static`"
)]
pub trait IntoSource {
    /// The error as the source of another.
    fn into_source(self) -> Box<dyn Source + Send + Sync>;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Source + Send + Sync>>> IntoSource for E {
    fn into_source(self) -> Box<dyn Source + Send + Sync> {
        self.into()
    }
}

/// What a node saved of a tensor or of a list, and what it becomes for backward functions.
pub trait Restore<R> {
    #[doc(hidden)]
    fn restore(self, call: &mut Call<'_>, origin: Origin) -> Result<R, Error>;
}

impl<T: Element, D: Dimension> Restore<Tensor<T, D>> for Saved<T> {
    #[inline]
    fn restore(self, call: &mut Call<'_>, origin: Origin) -> Result<Tensor<T, D>, Error> {
        call.restore_one(self, origin, 0)
    }
}

impl<T: Element, D: Dimension> Restore<Vec<Tensor<T, D>>> for SavedList<T> {
    fn restore(self, call: &mut Call<'_>, origin: Origin) -> Result<Vec<Tensor<T, D>>, Error> {
        self.into_iter()
            .enumerate()
            .map(|(place, saved)| call.restore_one(saved, origin, place))
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
