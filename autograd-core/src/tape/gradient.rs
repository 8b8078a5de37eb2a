//! A gradient on its way.

use std::any::Any;

use ndarray::{ArrayView, Dimension, IxDyn};

use crate::array::{Buffer, Shape};
use crate::element::Element;
use crate::tape::Edge;
use crate::tensor::{Failure, RawTensor, Tangent};

/// A gradient of either element type, as the engine passes it on.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum AnyGradient {
    F32(Gradient<f32>),
    F64(Gradient<f64>),
}

/// A gradient: a buffer while it can be, a tensor once it has a history.
///
/// Two words with the element type: a pass moves a gradient through many hands.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum Gradient<T> {
    /// Computed on arrays: it may depend on anything.
    Owned(Buffer<T>),
    /// A tensor without a history.
    Constant(Buffer<T>),
    /// A tensor with one.
    Tensor(Box<RawTensor<T>>),
}

/// Runs the same expression for either element type.
macro_rules! either {
    ($grad:expr, $of:ident => $body:expr) => {
        match $grad {
            AnyGradient::F32($of) => $body,
            AnyGradient::F64($of) => $body,
        }
    };
    ($grad:expr, to tensor $of:ident => $body:expr) => {
        match $grad {
            AnyGradient::F32($of) => AnyGradient::F32(Gradient::from_tensor($body)),
            AnyGradient::F64($of) => AnyGradient::F64(Gradient::from_tensor($body)),
        }
    };
}

impl AnyGradient {
    /// Forgets the element type.
    #[inline]
    pub(crate) fn erase<T: Element>(grad: Gradient<T>) -> Self {
        let grad = &mut Some(grad) as &mut dyn Any;
        // The compiler knows `T` and keeps one branch.
        if let Some(grad) = grad
            .downcast_mut::<Option<Gradient<f32>>>()
            .and_then(Option::take)
        {
            return Self::F32(grad);
        }
        let grad = grad
            .downcast_mut::<Option<Gradient<f64>>>()
            .and_then(Option::take);
        // INVARIANT: `Element` is sealed, for these two types.
        Self::F64(grad.expect("an element is f32 or f64"))
    }

    /// Remembers the element type, `None` if it was another.
    #[inline]
    pub(crate) fn recover<T: Element>(self) -> Option<Gradient<T>> {
        either!(self, grad => (&mut Some(grad) as &mut dyn Any).downcast_mut::<Option<Gradient<T>>>()?.take())
    }

    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        either!(self, grad => grad.buffer().shape())
    }

    /// The index of the first element that is not a number.
    pub(crate) fn first_not_a_number(&self) -> Option<Vec<usize>> {
        either!(self, grad => {
            let view = grad.view::<IxDyn>();
            let mut elements = view.indexed_iter();
            elements.find(|(_, element)| element.is_nan()).map(|(index, _)| index.slice().to_vec())
        })
    }

    /// The node that recorded it, if any did.
    #[inline]
    pub(crate) fn edge(&self) -> Option<&Edge> {
        either!(self, grad => grad.edge())
    }

    /// A second handle on the same gradient; its buffer is shared from now on.
    pub(crate) fn share(&mut self) -> Self {
        either!(self, to tensor grad => grad.share())
    }

    /// The same gradient, whose own derivative in a run of forward mode is not known.
    pub(crate) fn without_tangent(self, level: u64, failure: &Failure) -> Self {
        either!(self, to tensor grad => {
            grad.into_tensor().with_tangent(level, Tangent::Failed(failure.clone()))
        })
    }

    /// The same gradient as a constant.
    pub(crate) fn without_history(self) -> Self {
        match self.edge() {
            None => self,
            Some(_) => either!(self, to tensor grad => grad.into_tensor().with_edge(None)),
        }
    }

    /// The same gradient, attached to `edge`.
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

    #[inline]
    pub(crate) fn edge(&self) -> Option<&Edge> {
        match self {
            Self::Owned(_) | Self::Constant(_) => None,
            Self::Tensor(tensor) => tensor.edge.as_ref(),
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

    /// The gradient as a tensor that shares its buffer with what stays here.
    pub(crate) fn share(&mut self) -> RawTensor<T> {
        self.clone().into_tensor()
    }

    /// The gradient's buffer, without what it came from.
    #[inline]
    pub(crate) fn into_buffer(self) -> Buffer<T> {
        match self {
            Self::Owned(buffer) | Self::Constant(buffer) => buffer,
            Self::Tensor(tensor) => tensor.buffer,
        }
    }

    /// The sum of two gradients of the same input, in the buffer of either where that is its own.
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
