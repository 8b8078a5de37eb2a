//! What a node keeps for its backward, told to people.

use super::Node;
use crate::array::Buffer;
use autograd_kernels::Element;
use autograd_kernels::Shape;

/// Something that a node keeps for its backward: see [`Node::kept`].
///
/// ```
/// use autograd_core::Tensor;
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![2.0, 3.0]).set_requires_grad(true);
/// let kept = x.powi(3).grad_fn().and_then(|node| node.kept()).expect("not freed yet");
/// assert_eq!((&kept[0].name[..], kept[0].ty, kept[0].bytes), ("x", "f64", 16));
/// assert_eq!((&kept[1].name[..], kept[1].ty, &kept[1].shape), ("n", "i32", &None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The name that the function's backward asks for it by; of a list with the tensor's place:
    /// `parts[2]`.
    pub name: String,
    /// The shape of a tensor; `None` for a value, which is an argument that is no tensor.
    pub shape: Option<Shape>,
    /// The type: of a tensor that of its elements, `f32` or `f64`.
    pub ty: &'static str,
    /// What it takes in bytes: a tensor its elements, a value what [`size_of`] says of its type, without
    /// what it owns elsewhere. 0 for a tensor that [`saved_tensors_hooks`](crate::saved_tensors_hooks)
    /// have packed, whose whereabouts only they know.
    pub bytes: usize,
    /// Where the memory is, and how many bytes of it are held: the whole of it, where the tensor is a view
    /// of a part. `None` if nothing else can share it.
    pub(crate) memory: Option<(usize, usize)>,
}

/// Is told what a node keeps, one after the other: all but the name, then the name, then the place in a list.
pub(crate) type NoteKept<'a> = dyn FnMut(Kept, &'static str, Option<usize>) + 'a;

impl Kept {
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
        Self {
            name: String::new(),
            shape: None,
            ty: std::any::type_name::<V>(),
            bytes: size_of::<V>(),
            memory: address.map(|address| (address, size_of::<V>())),
        }
    }
}

impl Node {
    /// What the node keeps for its backward, in the order of the function's
    /// [`saved`](crate::Signature::saved): only what some input's gradient needs. `None` once a backward
    /// pass has freed it. Nodes of leaves keep nothing.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let y = x.exp().sum();
    /// let exp = y.grad_fn().unwrap().next_functions()[0].clone().unwrap();
    /// let kept = exp.kept().unwrap();
    /// assert_eq!((&kept[0].name[..], kept[0].ty, kept[0].bytes), ("output", "f64", 16));
    ///
    /// y.backward()?;
    /// assert!(exp.kept().is_none());
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    pub fn kept(&self) -> Option<Vec<Kept>> {
        let mut all = Vec::new();
        let is_live = self.0.kept(self, &mut |kept, name, place| {
            let name = match place {
                Some(place) => format!("{name}[{place}]"),
                None => name.to_owned(),
            };
            all.push(Kept { name, ..kept });
        });
        is_live.then_some(all)
    }
}
