//! One application of a function in forward mode, for generated code.

use std::panic::Location;

use ndarray::{Array, Dimension};

use crate::array::Buffer;
use crate::error::{Error, ErrorKind};
use crate::function::IntoSource;
use crate::tape::{AnyGradient, Edge, Gradient, once_differentiable};
use crate::tape::{Failure, RawTensor, Tangent};
use crate::tensor::Tensor;
use autograd_kernels::Element;
use autograd_kernels::Shape;

/// One application of a function in forward mode: splits the inputs into primals and tangents, and adds the tangents of
/// the outputs. See Note \[Depths\] in `tape::dual`.
#[derive(Debug)]
pub struct ForwardCall {
    function: &'static str,
    applied_at: &'static Location<'static>,
    depth: u64,
    /// The largest depth of the primals and tangents.
    depth_below: u64,
    /// The edges of the primals and tangents, for a tangent computed on arrays.
    edges: Vec<Option<Edge>>,
    /// The failure of an input's tangent.
    failure: Option<Failure>,
}

impl ForwardCall {
    /// Starts an application of a function; `depth` is the largest depth of its inputs.
    #[track_caller]
    pub fn new(function: &'static str, depth: u64) -> Self {
        Self::at(Location::caller(), function, depth)
    }

    /// Starts an application at this line.
    pub fn at(applied_at: &'static Location<'static>, function: &'static str, depth: u64) -> Self {
        Self {
            function,
            applied_at,
            depth,
            depth_below: 0,
            edges: Vec::new(),
            failure: None,
        }
    }

    /// Returns the primal of an input, and its tangent.
    pub(crate) fn split<T: Element, D: Dimension>(
        &mut self,
        input: &Tensor<T, D>,
    ) -> (Tensor<T, D>, Option<Tensor<T, D>>) {
        let (primal, tangent) = input.raw.split(self.depth);
        let primal = Tensor::from_raw(primal);
        self.add_edge(&primal);
        let tangent = match tangent {
            None => None,
            Some(Tangent::Known(tangent)) => {
                let tangent = Tensor::from_raw(tangent);
                self.add_edge(&tangent);
                Some(tangent)
            }
            Some(Tangent::Failed(failure)) => {
                self.failure = Some(failure.and(self.failure.take()));
                None
            }
        };
        (primal, tangent)
    }

    /// Returns the tangent of `input`, or zeros.
    pub fn or_zeros<T: Element, D: Dimension>(
        &self,
        tangent: Option<Tensor<T, D>>,
        input: &Tensor<T, D>,
    ) -> Tensor<T, D> {
        tangent.unwrap_or_else(|| Tensor::constant(Buffer::filled(input.to_shape(), T::zero())))
    }

    /// Returns the tangents of a list, zeros for missing ones.
    pub fn or_zeros_list<T: Element, D: Dimension>(
        &self,
        tangents: Vec<Option<Tensor<T, D>>>,
        list: &[Tensor<T, D>],
    ) -> Vec<Tensor<T, D>> {
        let pairs = tangents.into_iter().zip(list);
        pairs
            .map(|(tangent, input)| self.or_zeros(tangent, input))
            .collect()
    }

    fn add_edge<T: Element, D: Dimension>(&mut self, tensor: &Tensor<T, D>) {
        self.depth_below = self.depth_below.max(tensor.raw.depth());
        self.edges.push(tensor.recorded_edge());
    }

    /// Returns whether an input's tangent failed: then the rule is not called.
    pub fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns the tangents that a rule returned, or sets its error as theirs.
    pub fn succeeded<R, E: IntoSource>(&mut self, result: Result<R, E>) -> Option<R> {
        match result {
            Ok(tangents) => Some(tangents),
            Err(error) => {
                let kind = |reason| ErrorKind::ForwardRule { reason };
                let source = error.into_source();
                self.fails(Error::failed(source, self.function, self.applied_at, kind));
                None
            }
        }
    }

    /// Sets the error of the function's tangents, unless an input's tangent failed.
    pub(crate) fn fails(&mut self, error: Error) {
        self.failure.get_or_insert(Failure::lost(error));
    }

    /// Returns an output with a failed tangent: an input's failed, or the function has no rule.
    pub fn without_tangent<T: Element, D: Dimension>(&self, output: Tensor<T, D>) -> Tensor<T, D> {
        lose_tangents(&output);
        let missing = || Failure::missing_rule(self.function, self.applied_at);
        let failure = self.failure.clone().unwrap_or_else(missing).applied();
        let tangent = Tangent::Failed(failure);
        Tensor::from_raw(output.raw.with_tangent(self.depth, tangent))
    }

    /// Returns an output with its tangent.
    pub fn with_tangent<T: Element, D: Dimension>(
        &self,
        output: Tensor<T, D>,
        name: &'static str,
        tangent: impl IntoTangent<T, D>,
    ) -> Tensor<T, D> {
        let tangent = tangent.into_tangent(self);
        self.with_known(output, name, tangent)
    }

    fn with_known<T: Element, D: Dimension>(
        &self,
        output: Tensor<T, D>,
        name: &'static str,
        tangent: Option<RawTensor<T>>,
    ) -> Tensor<T, D> {
        lose_tangents(&output);
        let Some(tangent) = tangent else {
            return output;
        };
        let (expected, found) = (output.to_shape(), tangent.buffer.shape());
        let tangent = if expected == *found {
            Tangent::Known(tangent)
        } else {
            Tangent::Failed(Failure::lost(self.wrong_shape(
                name,
                expected,
                found.clone(),
            )))
        };
        Tensor::from_raw(output.raw.with_tangent(self.depth, tangent))
    }

    /// Returns a list of outputs with failed tangents.
    pub fn without_tangents<T: Element, D: Dimension>(
        &self,
        outputs: Vec<Tensor<T, D>>,
    ) -> Vec<Tensor<T, D>> {
        let outputs = outputs.into_iter();
        outputs.map(|output| self.without_tangent(output)).collect()
    }

    /// Returns a list of outputs with their tangents.
    pub fn with_tangents<T: Element, D: Dimension>(
        &self,
        outputs: Vec<Tensor<T, D>>,
        name: &'static str,
        tangents: impl IntoTangents<T, D>,
    ) -> Vec<Tensor<T, D>> {
        let Some(tangents) = tangents.into_tangents(self) else {
            outputs.iter().for_each(lose_tangents);
            return outputs;
        };
        let (expected, found) = (outputs.len(), tangents.len());
        if expected != found {
            let kind = ErrorKind::TangentCount {
                of: name,
                expected,
                found,
            };
            let failure = Failure::lost(kind.of(self.function, self.applied_at));
            let failed = |output: Tensor<T, D>| {
                lose_tangents(&output);
                let tangent = Tangent::Failed(failure.clone());
                Tensor::from_raw(output.raw.with_tangent(self.depth, tangent))
            };
            return outputs.into_iter().map(failed).collect();
        }
        let pairs = outputs.into_iter().zip(tangents);
        pairs
            .map(|(output, tangent)| self.with_known(output, name, tangent))
            .collect()
    }

    fn wrong_shape(&self, name: &str, expected: Shape, found: Shape) -> Error {
        ErrorKind::TangentShape {
            of: name.to_owned(),
            expected,
            found,
        }
        .of(self.function, self.applied_at)
    }

    /// Makes a tangent of an array, with a node and a tangent that fail: without them a backward pass, or an outer run
    /// of forward mode, would treat it as a constant.
    fn once<T: Element>(&self, buffer: Buffer<T>) -> RawTensor<T> {
        let mut tangent = RawTensor::new(buffer, None);
        if self.edges.iter().any(Option::is_some) {
            let edges = self.edges.clone().into();
            let erased = AnyGradient::erase(Gradient::from_tensor(tangent.clone()));
            let attached = once_differentiable(self.function, self.applied_at, edges, erased);
            // INVARIANT: the gradient was made from this element type above.
            tangent = attached
                .recover()
                .expect("the same element type")
                .into_tensor();
        }
        if self.depth_below > 0 {
            let (function, applied_at) = (self.function, self.applied_at);
            let failure = Failure::lost(ErrorKind::OnceDifferentiable.of(function, applied_at));
            tangent = tangent.with_tangent(self.depth_below, Tangent::Failed(failure));
        }
        tangent
    }
}

/// Marks the node of an output: its inputs had tangents, for `Node::apply`.
fn lose_tangents<T: Element, D: Dimension>(output: &Tensor<T, D>) {
    if let Some(edge) = &output.raw.edge {
        edge.node.lose_tangents();
    }
}

/// A tangent that a `#[jvp]` rule may return for an output: an array or, to be differentiable again, a tensor; `None`
/// for zeros.
#[diagnostic::on_unimplemented(
    message = "the `#[jvp]` rule returns `{Self}`, which is not a tangent of a `{T}` output of this rank",
    label = "not the tangent's type",
    note = "a tangent has the element type and the rank of its output: return an owned array or a \
            tensor of them, or an `Option` of one"
)]
pub trait IntoTangent<T, D> {
    /// Converts the tangent, with its history.
    #[doc(hidden)]
    fn into_tangent(self, call: &ForwardCall) -> Option<RawTensor<T>>;
}

impl<T: Element, D: Dimension> IntoTangent<T, D> for Array<T, D> {
    fn into_tangent(self, call: &ForwardCall) -> Option<RawTensor<T>> {
        Some(call.once(Buffer::from_array(self)))
    }
}

impl<T: Element, D: Dimension> IntoTangent<T, D> for Tensor<T, D> {
    fn into_tangent(self, _call: &ForwardCall) -> Option<RawTensor<T>> {
        Some(self.raw)
    }
}

impl<T, D, G: IntoTangent<T, D>> IntoTangent<T, D> for Option<G> {
    fn into_tangent(self, call: &ForwardCall) -> Option<RawTensor<T>> {
        self?.into_tangent(call)
    }
}

/// Tangents that a `#[jvp]` rule may return for a list of outputs: one for each, in order; `None` for zeros.
#[diagnostic::on_unimplemented(
    message = "the `#[jvp]` rule returns `{Self}`, which are not tangents of a list of `{T}` outputs of this rank",
    label = "not the tangents' type",
    note = "return a `Vec` of owned arrays or of tensors, or of `Option`s of them"
)]
pub trait IntoTangents<T, D> {
    /// Converts the tangents, one for each tensor of the list.
    #[doc(hidden)]
    fn into_tangents(self, call: &ForwardCall) -> Option<Vec<Option<RawTensor<T>>>>;
}

impl<T, D, G: IntoTangent<T, D>> IntoTangents<T, D> for Vec<G> {
    fn into_tangents(self, call: &ForwardCall) -> Option<Vec<Option<RawTensor<T>>>> {
        let tangents = self.into_iter();
        Some(tangents.map(|tangent| tangent.into_tangent(call)).collect())
    }
}

impl<T, D, G: IntoTangents<T, D>> IntoTangents<T, D> for Option<G> {
    fn into_tangents(self, call: &ForwardCall) -> Option<Vec<Option<RawTensor<T>>>> {
        self?.into_tangents(call)
    }
}
