//! What a node saved for its backward, described.

use crate::array::Buffer;
use autograd_kernels::Element;
use autograd_kernels::Shape;

/// Something that a node saved for its backward: see [`Node::saved`](crate::Node::saved).
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
    /// The name that the function's backward asks for it by; of a list with the tensor's place:
    /// `parts[2]`.
    pub name: String,
    /// The shape of a tensor; `None` for a value, which is an argument that is not a tensor.
    pub shape: Option<Shape>,
    /// The type: of a tensor that of its elements, `f32` or `f64`.
    pub ty: &'static str,
    /// Its size in bytes: of a tensor that of its elements, of a value the [`size_of`] of its type, without
    /// what it owns elsewhere. 0 for a tensor that [`saved_tensors_hooks`](crate::saved_tensors_hooks)
    /// have packed: only the hooks know where it is.
    pub bytes: usize,
    /// The address and the size in bytes of the memory that it holds: the whole of it, where the tensor is a
    /// view of a part. Two with the same address share it. `None` if nothing else can share it.
    pub memory: Option<(usize, usize)>,
}

/// Receives what a node saved, one after the other: all but the name, then the name, then the place in a list.
pub(crate) type NoteSaved<'a> = dyn FnMut(SavedInfo, &'static str, Option<usize>) + 'a;

impl SavedInfo {
    pub(crate) fn tensor<T: Element>(buffer: &Buffer<T>) -> Self {
        Self {
            name: String::new(),
            shape: Some(buffer.shape().clone()),
            ty: std::any::type_name::<T>(),
            bytes: buffer.shape().size() * size_of::<T>(),
            memory: Some(buffer.held()),
        }
    }

    /// A tensor that went elsewhere.
    pub(crate) fn packed<T: Element>(shape: &Shape) -> Self {
        Self {
            name: String::new(),
            shape: Some(shape.clone()),
            ty: std::any::type_name::<T>(),
            bytes: 0,
            memory: None,
        }
    }

    /// A value; `address` is where it is, if nodes can share it.
    pub(crate) fn value<V>(address: Option<usize>) -> Self {
        Self::value_of(std::any::type_name::<V>(), size_of::<V>(), address)
    }

    /// A value of this type and size.
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
