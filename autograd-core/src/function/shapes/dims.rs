//! The shapes of the tensors of one input: one, none, or those of a list.

use autograd_kernels::{Element, Shape};
use ndarray::Dimension;

use crate::tensor::Tensor;

/// The shapes of the tensors of one input.
#[derive(Clone, Debug)]
pub enum Dims<'a> {
    /// Of a tensor.
    One(&'a [usize]),
    /// Of an optional tensor that is not there.
    Missing,
    /// Of a list.
    List(Vec<&'a [usize]>),
}

impl<'a> Dims<'a> {
    /// Returns the shape of a single tensor.
    #[inline]
    pub(super) fn only(&self) -> &'a [usize] {
        match self {
            Self::One(shape) => shape,
            Self::Missing | Self::List(_) => &[],
        }
    }

    /// Returns the shapes, for a message.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        let shapes = self.as_slice().iter();
        shapes.map(|shape| Shape::from(*shape)).collect()
    }

    pub(super) fn as_slice(&self) -> &[&'a [usize]] {
        match self {
            Self::One(shape) => std::slice::from_ref(shape),
            Self::Missing => &[],
            Self::List(shapes) => shapes,
        }
    }
}

impl<'a> From<Option<&'a [usize]>> for Dims<'a> {
    fn from(shape: Option<&'a [usize]>) -> Self {
        shape.map_or(Self::Missing, Self::One)
    }
}

/// Returns the name and the shape of a tensor; in a list with its index.
pub(super) fn named(name: &str, dims: &Dims<'_>, element: usize) -> (String, Shape) {
    let name = match dims {
        Dims::List(_) => format!("{name}[{element}]"),
        Dims::One(_) | Dims::Missing => name.to_owned(),
    };
    (name, Shape::from(dims.as_slice()[element]))
}

/// Returns the shapes of the tensors of all inputs, for a message.
pub fn shapes_of_dims(inputs: &[Dims<'_>]) -> Vec<Vec<Shape>> {
    inputs.iter().map(Dims::shapes).collect()
}

/// Returns the shape of a tensor that forward consumes, or writes to.
pub fn shape_of<T: Element, D: Dimension>(tensor: &Tensor<T, D>) -> Shape {
    tensor.to_shape()
}

/// The shapes that `output_shape` takes: pairs of that of an input and those of the ones after it. In one value the
/// compiler of a user's crate has less to infer than in a slice of [`Dims`].
pub trait InputShapes {
    /// Adds them as those of tensors.
    fn push_dims<'a>(&'a self, dims: &mut Vec<Dims<'a>>);
}

impl InputShapes for () {
    fn push_dims<'a>(&'a self, _: &mut Vec<Dims<'a>>) {}
}

impl<F: IntoDims, O: InputShapes> InputShapes for (F, O) {
    fn push_dims<'a>(&'a self, dims: &mut Vec<Dims<'a>>) {
        dims.push(self.0.dims());
        self.1.push_dims(dims);
    }
}

/// The shape or the shapes that `output_shape` takes for an input.
pub trait IntoDims {
    /// Returns them as those of tensors.
    fn dims(&self) -> Dims<'_>;
}

impl<const R: usize> IntoDims for [usize; R] {
    fn dims(&self) -> Dims<'_> {
        Dims::One(self)
    }
}

impl IntoDims for &[usize] {
    fn dims(&self) -> Dims<'_> {
        Dims::One(self)
    }
}

impl<S: IntoDims> IntoDims for Option<S> {
    fn dims(&self) -> Dims<'_> {
        self.as_ref().map_or(Dims::Missing, IntoDims::dims)
    }
}

impl<const R: usize> IntoDims for &[[usize; R]] {
    fn dims(&self) -> Dims<'_> {
        Dims::List(self.iter().map(|shape| &shape[..]).collect())
    }
}

impl IntoDims for &[&[usize]] {
    fn dims(&self) -> Dims<'_> {
        Dims::List(self.to_vec())
    }
}
