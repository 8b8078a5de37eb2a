//! Gradients in a backward pass.

use ndarray::{ArrayView, Dimension, IxDyn};

use crate::array::Buffer;
use crate::tape::Edge;
use crate::tape::{Failure, RawTensor, Tangent};
use autograd_kernels::Shape;
use autograd_kernels::{Any, Element, ElementType, Family};

/// A gradient of either element type, in two words.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct AnyGradient(Either);

/// One enum: a [`Gradient`] inside another enum would be three words, which are passed in memory.
#[derive(Clone, Debug)]
enum Either {
    Owned32(Buffer<f32>),
    Constant32(Buffer<f32>),
    Tensor32(Box<RawTensor<f32>>),
    Owned64(Buffer<f64>),
    Constant64(Buffer<f64>),
    Tensor64(Box<RawTensor<f64>>),
}

/// A gradient: a buffer, or a tensor if it has a history.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum Gradient<T> {
    /// A result computed on arrays; it may depend on anything.
    Owned(Buffer<T>),
    /// A tensor without a history.
    Constant(Buffer<T>),
    /// A tensor with a history.
    Tensor(Box<RawTensor<T>>),
}

/// Runs the same expression for either element type.
macro_rules! either {
    ($grad:expr, $of:ident => $body:expr) => {
        match $grad.split() {
            Any::F32($of) => $body,
            Any::F64($of) => $body,
        }
    };
    ($grad:expr, to tensor $of:ident => $body:expr) => {
        either!($grad, $of => AnyGradient::from(Gradient::from_tensor($body)))
    };
}

impl From<Gradient<f32>> for AnyGradient {
    #[inline]
    fn from(grad: Gradient<f32>) -> Self {
        Self(match grad {
            Gradient::Owned(buffer) => Either::Owned32(buffer),
            Gradient::Constant(buffer) => Either::Constant32(buffer),
            Gradient::Tensor(tensor) => Either::Tensor32(tensor),
        })
    }
}

impl From<Gradient<f64>> for AnyGradient {
    #[inline]
    fn from(grad: Gradient<f64>) -> Self {
        Self(match grad {
            Gradient::Owned(buffer) => Either::Owned64(buffer),
            Gradient::Constant(buffer) => Either::Constant64(buffer),
            Gradient::Tensor(tensor) => Either::Tensor64(tensor),
        })
    }
}

/// Gradients of either element type.
pub(crate) struct Gradients;

impl Family for Gradients {
    type Of<T: Element> = Gradient<T>;
}

impl AnyGradient {
    /// Returns the gradient with its element type in the type.
    #[inline]
    pub(crate) fn split(self) -> Any<Gradients> {
        match self.0 {
            Either::Owned32(buffer) => Any::F32(Gradient::Owned(buffer)),
            Either::Constant32(buffer) => Any::F32(Gradient::Constant(buffer)),
            Either::Tensor32(tensor) => Any::F32(Gradient::Tensor(tensor)),
            Either::Owned64(buffer) => Any::F64(Gradient::Owned(buffer)),
            Either::Constant64(buffer) => Any::F64(Gradient::Constant(buffer)),
            Either::Tensor64(tensor) => Any::F64(Gradient::Tensor(tensor)),
        }
    }

    /// Makes a gradient whose element type is not in the type.
    #[inline]
    pub(crate) fn erase<T: Element>(grad: Gradient<T>) -> Self {
        match T::into_any::<Gradients>(grad) {
            Any::F32(grad) => grad.into(),
            Any::F64(grad) => grad.into(),
        }
    }

    /// Returns the gradient with the element type `T`; `None` if it has the other one.
    #[inline]
    pub(crate) fn recover<T: Element>(self) -> Option<Gradient<T>> {
        T::from_any::<Gradients>(self.split())
    }

    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        match &self.0 {
            Either::Owned32(buffer) | Either::Constant32(buffer) => buffer.shape(),
            Either::Owned64(buffer) | Either::Constant64(buffer) => buffer.shape(),
            Either::Tensor32(tensor) => tensor.buffer.shape(),
            Either::Tensor64(tensor) => tensor.buffer.shape(),
        }
    }

    /// See [`Buffer::own_memory`].
    pub(crate) fn own_memory(&mut self) {
        match &mut self.0 {
            Either::Owned32(buffer) | Either::Constant32(buffer) => buffer.own_memory(),
            Either::Owned64(buffer) | Either::Constant64(buffer) => buffer.own_memory(),
            Either::Tensor32(tensor) => tensor.buffer.own_memory(),
            Either::Tensor64(tensor) => tensor.buffer.own_memory(),
        }
    }

    /// Returns the size of the elements in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let element = match &self.0 {
            Either::Owned32(_) | Either::Constant32(_) | Either::Tensor32(_) => ElementType::F32,
            Either::Owned64(_) | Either::Constant64(_) | Either::Tensor64(_) => ElementType::F64,
        };
        self.shape().size() * element.size()
    }

    /// Returns the index of the first element that is not a number.
    pub(crate) fn first_not_a_number(&self) -> Option<Vec<usize>> {
        either!(self.clone(), grad => {
            let view = grad.view::<IxDyn>();
            let mut elements = view.indexed_iter();
            elements.find(|(_, element)| element.is_nan()).map(|(index, _)| index.slice().to_vec())
        })
    }

    /// Returns the edge to the node that computed the gradient, if it was recorded.
    #[inline]
    pub(crate) fn edge(&self) -> Option<&Edge> {
        match &self.0 {
            Either::Tensor32(tensor) => tensor.edge.as_ref(),
            Either::Tensor64(tensor) => tensor.edge.as_ref(),
            _ => None,
        }
    }

    /// Returns a handle on the gradient if dropping the gradient may drop nodes.
    pub(crate) fn history(&self) -> Option<Self> {
        matches!(self.0, Either::Tensor32(_) | Either::Tensor64(_)).then(|| self.clone())
    }

    /// Returns a second handle on the gradient, which shares its buffer.
    pub(crate) fn share(&mut self) -> Self {
        either!(self.clone(), to tensor grad => grad.into_tensor())
    }

    /// Returns the gradient with a failed tangent in a run of forward mode.
    pub(crate) fn without_tangent(self, depth: u64, failure: &Failure) -> Self {
        either!(self, to tensor grad => {
            grad.into_tensor().with_tangent(depth, Tangent::Failed(failure.clone()))
        })
    }

    /// Returns the gradient as a constant.
    pub(crate) fn without_history(self) -> Self {
        match self.edge() {
            None => self,
            Some(_) => either!(self, to tensor grad => grad.into_tensor().with_edge(None)),
        }
    }

    /// Returns the gradient attached to `edge`.
    pub(crate) fn with_edge(self, edge: Edge) -> Self {
        either!(self, to tensor grad => grad.into_tensor().with_edge(Some(edge)))
    }
}

impl<T: Element> Gradient<T> {
    #[inline]
    pub(crate) fn from_tensor(tensor: RawTensor<T>) -> Self {
        if tensor.is_plain() {
            Self::Constant(tensor.buffer)
        } else {
            Self::Tensor(Box::new(tensor))
        }
    }

    #[inline]
    pub(crate) fn buffer(&self) -> &Buffer<T> {
        match self {
            Self::Owned(buffer) | Self::Constant(buffer) => buffer,
            Self::Tensor(tensor) => &tensor.buffer,
        }
    }

    pub(crate) fn view<D: Dimension>(&self) -> ArrayView<'_, T, D> {
        self.buffer().view()
    }

    #[inline]
    pub(crate) fn into_tensor(self) -> RawTensor<T> {
        match self {
            Self::Owned(buffer) | Self::Constant(buffer) => RawTensor::new(buffer, None),
            Self::Tensor(tensor) => *tensor,
        }
    }

    /// Returns the gradient's buffer, without its history.
    #[inline]
    pub(crate) fn into_buffer(self) -> Buffer<T> {
        match self {
            Self::Owned(buffer) | Self::Constant(buffer) => buffer,
            Self::Tensor(tensor) => tensor.buffer,
        }
    }

    /// Returns the sum of two gradients, in the buffer of one of them if no other handle has it.
    #[inline]
    pub(crate) fn plus(self, other: Self) -> Self {
        let (mut sum, mut addend) = (self.into_buffer(), other.into_buffer());
        if !sum.is_own() && addend.is_own() {
            std::mem::swap(&mut sum, &mut addend);
        }
        sum.add_assign(&addend);
        Self::Owned(sum)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::tensor::Tensor;

    /// Returns a gradient with a history.
    fn recorded<T: Element>() -> AnyGradient {
        let tensor = Tensor::from(array![T::one()]).set_requires_grad(true);
        AnyGradient::erase(Gradient::from_tensor(tensor.raw))
    }

    #[test]
    fn a_gradient_of_either_element_type_has_its_history() {
        for grad in [recorded::<f32>(), recorded::<f64>()] {
            assert!(grad.edge().is_some() && grad.history().is_some());
            let grad = grad.without_history();
            assert!(grad.edge().is_none());
        }
    }
}
