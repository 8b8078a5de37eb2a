//! Descriptions of saved values.

use std::any::type_name;

use crate::array::Buffer;
use autograd_kernels::Element;
use autograd_kernels::Shape;

/// A tensor or a value that a node saved for its backward: see [`Node::saved`](crate::Node::saved).
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![2.0, 3.0]).set_requires_grad(true);
/// let saved = x.powi(3).grad_fn().and_then(|node| node.saved()).expect("not freed yet");
/// assert_eq!((&saved[0].name[..], saved[0].ty, saved[0].bytes), ("x", "f64", 16));
/// assert_eq!((&saved[1].name[..], saved[1].ty, &saved[1].shape), ("n", "i32", &None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedInfo {
    /// The name of the parameter of backward; in a list with the tensor's index: `parts[2]`.
    pub name: String,
    /// The shape of a tensor; `None` for a value, which is an argument that is not a tensor.
    pub shape: Option<Shape>,
    /// The type of the value, or of the tensor's elements: `f32` or `f64`.
    pub ty: &'static str,
    /// The size in bytes of the tensor's elements, or of the value by [`size_of`], without memory that it owns
    /// elsewhere. 0 for a tensor that [`saved_tensors_hooks`](crate::saved_tensors_hooks) have packed.
    pub bytes: usize,
    /// The address and the size in bytes of the memory that is held: all of it, even if the tensor is a view of a part.
    /// Saved tensors or values with the same address share memory. `None` if nothing else can share it.
    pub memory: Option<(usize, usize)>,
}

/// A callback for each saved value: a description without a name, the name, and the index in a list.
pub(crate) type NoteSaved<'a> = dyn FnMut(SavedInfo, &'static str, Option<usize>) + 'a;

impl SavedInfo {
    /// Describes a tensor.
    pub(crate) fn tensor<T: Element>(buffer: &Buffer<T>) -> Self {
        Self {
            name: String::new(),
            shape: Some(buffer.shape().clone()),
            ty: type_name::<T>(),
            bytes: buffer.shape().size() * size_of::<T>(),
            memory: Some(buffer.held()),
        }
    }

    /// Describes a packed tensor.
    pub(crate) fn packed<T: Element>(shape: &Shape) -> Self {
        Self {
            name: String::new(),
            shape: Some(shape.clone()),
            ty: type_name::<T>(),
            bytes: 0,
            memory: None,
        }
    }

    /// Describes a value, with its address if nodes can share it.
    pub(crate) fn value<V>(address: Option<usize>) -> Self {
        Self::value_of(type_name::<V>(), size_of::<V>(), address)
    }

    /// Describes a value of this type and size.
    pub(crate) fn value_of(ty: &'static str, bytes: usize, address: Option<usize>) -> Self {
        Self {
            name: String::new(),
            shape: None,
            ty,
            bytes,
            memory: address.map(|address| (address, bytes)),
        }
    }
}
