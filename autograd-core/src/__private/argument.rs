//! Inputs of `apply` in generated code: `&Tensor`, `Option<&Tensor>` or `&[&Tensor]`.
//!
//! Their methods have the same names for all kinds, so that generated code does not depend on the kind.

use ndarray::{Array, ArrayView, Dimension};

use crate::erased::AnyTensor;
use crate::function::{Dims, ForwardCall};
use crate::saved::{Saved, SavedList};
use crate::tape::Edge;
use crate::tensor::Tensor;
use autograd_kernels::{Element, Shape};

/// Tensors that can be viewed as arrays: arguments, saved lists, the tangents of a list.
pub trait View: Copy {
    /// A view, an optional one, or a list.
    type View;

    /// Returns the view.
    fn view(self) -> Self::View;
}

/// Tensors and lists that a node can save: arguments, outputs, intermediates.
pub trait Save {
    /// The saved form.
    type Saved;

    /// Saves the tensors if a backward function that needs them can be called.
    fn save(self, needed: bool) -> Option<Self::Saved>;
}

/// An input of `apply`.
pub trait Argument: View + Save {
    /// The input without its tangent.
    type Primal;
    /// The tangent; of a list the tangents of its tensors.
    type Tangent;

    /// Returns the largest depth of a tangent; 0 without tangents.
    fn depth(self) -> u64;

    /// Returns the edges of the tensors.
    fn edges(self) -> Vec<Option<Edge>>;

    /// Returns the shapes of the tensors, for a message.
    fn shapes(self) -> Vec<Shape>;

    /// Returns the shapes of the tensors, to compare them with declared ones.
    fn dims<'d>(self) -> Dims<'d>
    where
        Self: 'd;

    /// Returns the tensors.
    fn erased(self) -> Vec<AnyTensor>;

    /// Returns the primal below the depth of `call`, and the tangent.
    fn split(self, call: &mut ForwardCall) -> (Self::Primal, Self::Tangent);
}

/// An input of at most one tensor.
pub trait Single: Argument {
    /// Returns the edge of the tensor; `None` if it needs no gradient or nothing is recorded.
    fn edge(self) -> Option<Edge>;
}

impl<'a, T: Element, D: Dimension> View for &'a Tensor<T, D> {
    type View = ArrayView<'a, T, D>;

    #[inline]
    fn view(self) -> Self::View {
        Tensor::view(self)
    }
}

impl<T: Element, D: Dimension> Save for &Tensor<T, D> {
    type Saved = Saved<T>;

    #[inline]
    fn save(self, needed: bool) -> Option<Saved<T>> {
        needed.then(|| Saved::new(self))
    }
}

impl<T: Element, D: Dimension> Argument for &Tensor<T, D> {
    type Primal = Tensor<T, D>;
    type Tangent = Option<Tensor<T, D>>;

    #[inline]
    fn depth(self) -> u64 {
        self.raw.depth()
    }

    fn edges(self) -> Vec<Option<Edge>> {
        vec![self.edge()]
    }

    fn shapes(self) -> Vec<Shape> {
        vec![self.to_shape()]
    }

    #[inline]
    fn dims<'d>(self) -> Dims<'d>
    where
        Self: 'd,
    {
        Dims::One(self.shape())
    }

    fn erased(self) -> Vec<AnyTensor> {
        vec![AnyTensor::new(self.clone())]
    }

    fn split(self, call: &mut ForwardCall) -> (Self::Primal, Self::Tangent) {
        call.split(self)
    }
}

impl<T: Element, D: Dimension> Single for &Tensor<T, D> {
    #[inline]
    fn edge(self) -> Option<Edge> {
        self.recorded_edge()
    }
}

impl<'a, T: Element, D: Dimension> View for Option<&'a Tensor<T, D>> {
    type View = Option<ArrayView<'a, T, D>>;

    #[inline]
    fn view(self) -> Self::View {
        self.map(Tensor::view)
    }
}

impl<T: Element, D: Dimension> Save for Option<&Tensor<T, D>> {
    type Saved = Saved<T>;

    #[inline]
    fn save(self, needed: bool) -> Option<Saved<T>> {
        self?.save(needed)
    }
}

impl<T: Element, D: Dimension> Argument for Option<&Tensor<T, D>> {
    type Primal = Option<Tensor<T, D>>;
    type Tangent = Option<Tensor<T, D>>;

    #[inline]
    fn depth(self) -> u64 {
        self.map_or(0, Argument::depth)
    }

    fn edges(self) -> Vec<Option<Edge>> {
        vec![self.edge()]
    }

    fn shapes(self) -> Vec<Shape> {
        self.into_iter().map(Tensor::to_shape).collect()
    }

    #[inline]
    fn dims<'d>(self) -> Dims<'d>
    where
        Self: 'd,
    {
        self.map_or(Dims::Missing, Argument::dims)
    }

    fn erased(self) -> Vec<AnyTensor> {
        self.into_iter().flat_map(Argument::erased).collect()
    }

    fn split(self, call: &mut ForwardCall) -> (Self::Primal, Self::Tangent) {
        match self {
            None => (None, None),
            Some(tensor) => {
                let (primal, tangent) = call.split(tensor);
                (Some(primal), tangent)
            }
        }
    }
}

impl<T: Element, D: Dimension> Single for Option<&Tensor<T, D>> {
    #[inline]
    fn edge(self) -> Option<Edge> {
        self.and_then(Tensor::recorded_edge)
    }
}

impl<'a, T: Element, D: Dimension> View for &[&'a Tensor<T, D>] {
    type View = Vec<ArrayView<'a, T, D>>;

    fn view(self) -> Self::View {
        self.iter().map(|tensor| tensor.view()).collect()
    }
}

impl<T: Element, D: Dimension> Save for &[&Tensor<T, D>] {
    type Saved = SavedList<T>;

    fn save(self, needed: bool) -> Option<SavedList<T>> {
        needed.then(|| self.iter().map(|tensor| Saved::new(*tensor)).collect())
    }
}

impl<T: Element, D: Dimension> Argument for &[&Tensor<T, D>] {
    type Primal = Vec<Tensor<T, D>>;
    type Tangent = Vec<Option<Tensor<T, D>>>;

    fn depth(self) -> u64 {
        self.iter().map(|tensor| tensor.depth()).max().unwrap_or(0)
    }

    fn edges(self) -> Vec<Option<Edge>> {
        self.iter().map(|tensor| tensor.edge()).collect()
    }

    fn shapes(self) -> Vec<Shape> {
        self.iter().map(|tensor| tensor.to_shape()).collect()
    }

    #[inline]
    fn dims<'d>(self) -> Dims<'d>
    where
        Self: 'd,
    {
        Dims::List(self.iter().map(|tensor| tensor.shape()).collect())
    }

    fn erased(self) -> Vec<AnyTensor> {
        self.iter().flat_map(|tensor| tensor.erased()).collect()
    }

    fn split(self, call: &mut ForwardCall) -> (Self::Primal, Self::Tangent) {
        self.iter().map(|tensor| call.split(tensor)).unzip()
    }
}

/// A list that owns its tensors.
impl<'a, T: Element, D: Dimension> View for &'a Vec<Tensor<T, D>> {
    type View = Vec<ArrayView<'a, T, D>>;

    fn view(self) -> Self::View {
        self.iter().map(Tensor::view).collect()
    }
}

/// The tangents of a list.
impl<'a, T: Element, D: Dimension> View for &'a Vec<Option<Tensor<T, D>>> {
    type View = Vec<Option<ArrayView<'a, T, D>>>;

    fn view(self) -> Self::View {
        self.iter()
            .map(|tangent| tangent.as_ref().map(Tensor::view))
            .collect()
    }
}

/// An intermediate.
impl<T: Element, D: Dimension> Save for Array<T, D> {
    type Saved = Saved<T>;

    #[inline]
    fn save(self, needed: bool) -> Option<Saved<T>> {
        needed.then(|| Saved::from_array(self))
    }
}

/// An optional intermediate.
impl<T: Element, D: Dimension> Save for Option<Array<T, D>> {
    type Saved = Saved<T>;

    fn save(self, needed: bool) -> Option<Saved<T>> {
        self?.save(needed)
    }
}

/// A list of intermediates.
impl<T: Element, D: Dimension> Save for Vec<Array<T, D>> {
    type Saved = SavedList<T>;

    fn save(self, needed: bool) -> Option<SavedList<T>> {
        needed.then(|| self.into_iter().map(Saved::from_array).collect())
    }
}

/// A list of outputs.
impl<T: Element, D: Dimension> Save for &Vec<Tensor<T, D>> {
    type Saved = SavedList<T>;

    fn save(self, needed: bool) -> Option<SavedList<T>> {
        needed.then(|| self.iter().map(Saved::new).collect())
    }
}
