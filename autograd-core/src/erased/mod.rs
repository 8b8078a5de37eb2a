//! Tensors without element type and rank in their type, and conversions of typed tensors to them.
//!
//! Code that takes a function of tensors, such as a gradient check or forward mode, is written once on these; `typed`
//! has the forms of inputs and outputs of functions.

mod typed;

pub(crate) use typed::{ErasedFn, Reader, each_list, erased};
pub use typed::{InputTensors, OutputTensors, each_tuple};

use ndarray::{Array, ArrayD, Dimension, IxDyn};

use crate::array::Buffer;
use crate::tape::{AnyGradient, Edge, Gradient};
use crate::tape::{Failure, RawTensor, Tangent};
use crate::tensor::{Tensor, TensorD};
use autograd_kernels::{Any, Element, ElementType, Family, Shape};

/// A tensor of either element type and any rank.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{AnyTensor, Tensor};
///
/// let any = AnyTensor::from(Tensor::from(array![[1.0_f32, 2.0]]));
/// assert_eq!(any.shape(), [1, 2]);
/// assert!(any.to_tensor::<f64>().is_none());
/// assert_eq!(any.to_tensor::<f32>().unwrap().to_array(), array![[1.0, 2.0]].into_dyn());
/// ```
#[derive(Clone, Debug)]
pub enum AnyTensor {
    /// A tensor of `f32`.
    F32(TensorD<f32>),
    /// A tensor of `f64`.
    F64(TensorD<f64>),
}

/// Tensors of either element type.
struct Tensors;

impl Family for Tensors {
    type Of<T: Element> = TensorD<T>;
}

impl<T: Element, D: Dimension> From<Tensor<T, D>> for AnyTensor {
    fn from(tensor: Tensor<T, D>) -> Self {
        Self::new(tensor)
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for AnyTensor {
    fn from(array: Array<T, D>) -> Self {
        Self::new(Tensor::from(array))
    }
}

/// Runs the same expression for either element type.
macro_rules! either {
    ($tensor:expr, $of:ident => $body:expr) => {
        match $tensor {
            AnyTensor::F32($of) => $body,
            AnyTensor::F64($of) => $body,
        }
    };
    ($tensor:expr, map $of:ident => $body:expr) => {
        match $tensor {
            AnyTensor::F32($of) => AnyTensor::F32($body),
            AnyTensor::F64($of) => AnyTensor::F64($body),
        }
    };
}

pub(crate) use either;

impl AnyTensor {
    pub(crate) fn new<T: Element, D: Dimension>(tensor: Tensor<T, D>) -> Self {
        match T::into_any::<Tensors>(Tensor::from_raw(tensor.raw)) {
            Any::F32(tensor) => Self::F32(tensor),
            Any::F64(tensor) => Self::F64(tensor),
        }
    }

    pub(crate) fn from_grad(grad: AnyGradient) -> Self {
        match grad.split() {
            Any::F32(grad) => Self::F32(Tensor::from_raw(grad.into_tensor())),
            Any::F64(grad) => Self::F64(Tensor::from_raw(grad.into_tensor())),
        }
    }

    pub(crate) fn into_grad(self) -> AnyGradient {
        match self {
            Self::F32(tensor) => Gradient::from_tensor(tensor.raw).into(),
            Self::F64(tensor) => Gradient::from_tensor(tensor.raw).into(),
        }
    }

    pub(crate) fn edge(&self) -> Option<&Edge> {
        either!(self, tensor => tensor.raw.edge.as_ref())
    }

    /// Returns the tensor; `None` if it has another element type.
    pub fn to_tensor<T: Element>(&self) -> Option<TensorD<T>> {
        self.clone().into_tensor()
    }

    /// Converts to the tensor, without a second handle on its memory; `None` if it has another element type.
    pub fn into_tensor<T: Element>(self) -> Option<TensorD<T>> {
        T::from_any::<Tensors>(match self {
            Self::F32(tensor) => Any::F32(tensor),
            Self::F64(tensor) => Any::F64(tensor),
        })
    }

    /// Returns the shape.
    pub fn shape(&self) -> &[usize] {
        either!(self, tensor => tensor.shape())
    }

    /// Returns the element type.
    pub const fn element_type(&self) -> ElementType {
        match self {
            Self::F32(_) => ElementType::F32,
            Self::F64(_) => ElementType::F64,
        }
    }

    pub(crate) fn len(&self) -> usize {
        either!(self, tensor => tensor.len())
    }

    /// Replaces the history.
    pub(crate) fn with_edge(self, edge: Option<Edge>) -> Self {
        either!(self, map tensor => Tensor::from_raw(tensor.raw.with_edge(edge)))
    }

    /// Returns the largest depth of a tangent of the tensor; 0 without tangents.
    pub(crate) fn depth(&self) -> u64 {
        either!(self, tensor => tensor.raw.depth())
    }

    /// Returns the failure of the tangent of `depth`, if it failed.
    pub(crate) fn failure(&self, depth: u64) -> Option<Failure> {
        either!(self, tensor => tensor.raw.failure(depth))
    }

    /// Drops history and tangents.
    pub(crate) fn into_constant(self) -> Self {
        either!(self, map tensor => Tensor::constant(tensor.raw.buffer))
    }

    /// Returns the value with its history, without tangents.
    pub(crate) fn without_tangents(&self) -> Self {
        either!(self, map tensor => {
            Tensor::from_raw(RawTensor::new(tensor.raw.buffer.clone(), tensor.raw.edge.clone()))
        })
    }

    /// Returns a new leaf with the value.
    pub(crate) fn leaf(&self) -> Self {
        either!(self, map tensor => tensor.detach().set_requires_grad(true))
    }

    /// Returns a copy in row-major order.
    pub(crate) fn copy(&self) -> Self {
        either!(self, map tensor => Tensor::from(tensor.view().as_standard_layout().into_owned()))
    }

    /// Returns the elements in row-major order.
    pub(crate) fn values(&self) -> Vec<f64> {
        // Through a slice: iterating over any number of axes is slow.
        either!(self, tensor => {
            let view = tensor.view();
            let in_order = view.as_standard_layout();
            // INVARIANT: the array has standard layout.
            let elements = in_order.as_slice().expect("one piece");
            elements.iter().map(|value| value.as_f64()).collect()
        })
    }

    /// Returns the element at an index in row-major order.
    pub(crate) fn value(&self, entry: usize) -> f64 {
        // INVARIANT: `entry` is an index of an element.
        either!(self, tensor => {
            let view = tensor.view();
            match view.as_slice() {
                Some(elements) => elements[entry].as_f64(),
                None => view.iter().nth(entry).expect("an entry of the tensor").as_f64(),
            }
        })
    }

    /// Sets one element, in place if no other handle holds the memory.
    pub(crate) fn set(&mut self, entry: usize, value: f64) {
        let empty = Self::F64(Tensor::from(ArrayD::zeros(IxDyn(&[0]))));
        *self = either!(std::mem::replace(self, empty), map tensor => {
            let mut array = tensor.into_array();
            let value = Element::from_f64(value);
            match array.as_slice_mut() {
                Some(elements) => elements[entry] = value,
                // INVARIANT: `entry` is an index of an element.
                None => *array.iter_mut().nth(entry).expect("an entry of the tensor") = value,
            }
            Tensor::from(array)
        });
    }

    /// Adds a tangent of the same element type.
    pub(crate) fn with_tangent(self, depth: u64, tangent: Self) -> Self {
        match (self, tangent) {
            (Self::F32(primal), Self::F32(tangent)) => Self::F32(dual(primal, depth, tangent)),
            (Self::F64(primal), Self::F64(tangent)) => Self::F64(dual(primal, depth, tangent)),
            // INVARIANT: primals and tangents have the types of the same `InputTensors`.
            _ => unreachable!("a tangent of another element type"),
        }
    }

    /// Returns the primal below `depth`, and the tangent of that depth, if there is one.
    pub(crate) fn split(self, depth: u64) -> (Self, Result<Option<Self>, Failure>) {
        either!(self, tensor => {
            let (primal, tangent) = tensor.raw.split(depth);
            let tangent = match tangent {
                None => Ok(None),
                Some(Tangent::Known(tangent)) => Ok(Some(Self::new(TensorD::from_raw(tangent)))),
                Some(Tangent::Failed(failure)) => Err(failure),
            };
            (Self::new(TensorD::from_raw(primal)), tangent)
        })
    }

    /// Returns a tensor of the same shape with these elements, in row-major order.
    pub(crate) fn with_values(&self, values: &[f64]) -> Self {
        either!(self, map tensor => {
            let values = values.iter().map(|&value| Element::from_f64(value)).collect();
            // INVARIANT: there is a value for each element.
            Tensor::from(ArrayD::from_shape_vec(tensor.shape(), values).expect("a value for each element"))
        })
    }

    /// Returns zeros of the same shape, with a one at `entry`.
    pub(crate) fn one_hot(&self, entry: usize) -> Self {
        let mut seed = self.zeros();
        seed.set(entry, 1.0);
        seed
    }

    /// Returns zeros of the same shape.
    pub(crate) fn zeros(&self) -> Self {
        self.zeros_of(&Shape::from(self.shape()))
    }

    /// Returns zeros of this shape, of the same element type.
    pub(crate) fn zeros_of(&self, shape: &Shape) -> Self {
        Self::zeros_of_type(self.element_type(), shape)
    }

    /// Returns zeros of this element type and shape.
    pub(crate) fn zeros_of_type(ty: ElementType, shape: &Shape) -> Self {
        match ty {
            ElementType::F32 => Self::F32(Tensor::constant(Buffer::filled(shape.clone(), 0.0))),
            ElementType::F64 => Self::F64(Tensor::constant(Buffer::filled(shape.clone(), 0.0))),
        }
    }

    pub(crate) fn into_typed<T: Element, D: Dimension>(self) -> Tensor<T, D> {
        let tensor = self.into_tensor::<T>();
        // INVARIANT: a tensor is read as the type that it was written as, or computed for.
        Tensor::from_raw(tensor.expect("the element type that was written").raw)
    }
}

fn dual<T: Element>(primal: TensorD<T>, depth: u64, tangent: TensorD<T>) -> TensorD<T> {
    Tensor::from_raw(primal.raw.with_tangent(depth, Tangent::Known(tangent.raw)))
}
