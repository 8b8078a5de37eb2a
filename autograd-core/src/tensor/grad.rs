//! Leaves, accumulated gradients, and the node of a result.

use std::panic::Location;
use std::sync::Arc;

use ndarray::{Array, Dimension};

use super::Tensor;
use crate::array::Buffer;
use crate::tape::RawTensor;
use crate::tape::{Accumulated, AnyGradient, Edge, Gradient, Header, Leaf, Node};
use crate::thread::is_grad_enabled;
use autograd_kernels::Element;

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns whether the tensor is a leaf that accumulates a gradient, or was computed from one.
    pub fn requires_grad(&self) -> bool {
        self.raw.edge.is_some()
    }

    /// Returns whether the tensor was not computed from tensors that require grad.
    pub fn is_leaf(&self) -> bool {
        self.raw
            .edge
            .as_ref()
            .is_none_or(|edge| edge.node.header().is_leaf())
    }

    /// Makes a constant a leaf that accumulates a gradient, or a leaf a constant.
    ///
    /// # Panics
    /// If `required` is false for a computed tensor: use [`detach`](Self::detach).
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let w = Tensor::from(array![2.0]).set_requires_grad(true);
    /// (&w * 3.0).sum().backward()?;
    /// assert_eq!(w.grad(), Some(array![3.0]));
    /// let frozen = w.set_requires_grad(false);
    /// assert!(!(&frozen * 3.0).requires_grad());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use = "the leaf is the tensor that is returned"]
    #[track_caller]
    pub fn set_requires_grad(mut self, required: bool) -> Self {
        if required && self.raw.edge.is_none() {
            let leaf = Leaf::new(self.raw.buffer.shape());
            self.raw = self.raw.with_edge(Some(Edge {
                node: Node::new(Header::leaf(Location::caller()), leaf),
                output_nr: 0,
            }));
        } else if !required {
            assert!(
                self.is_leaf(),
                "set_requires_grad(false) on a computed tensor of shape {:?}: use `detach`",
                self.shape()
            );
            self.raw = self.raw.with_edge(None);
        }
        self
    }

    /// Returns the value as a constant that shares the memory.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let loss = (&x * (&x).detach()).sum();
    /// loss.backward()?;
    /// assert_eq!(x.grad(), Some(array![2.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    pub fn detach(&self) -> Self {
        Self::from_raw(RawTensor::new(self.raw.buffer.clone(), None))
    }

    /// Returns a copy of the gradient that backward passes have accumulated; `None` before the first pass, and for
    /// computed tensors without [`retain_grad`](Self::retain_grad).
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let w = Tensor::from(array![2.0]).set_requires_grad(true);
    /// assert_eq!(w.grad(), None);
    /// (&w * 3.0).sum().backward()?;
    /// (&w * 3.0).sum().backward()?;
    /// assert_eq!(w.grad(), Some(array![6.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn grad(&self) -> Option<Array<T, D>> {
        let grad: Gradient<T> = self.accumulated()?.get()?.recover()?;
        Some(grad.view().to_owned())
    }

    /// Returns the accumulated gradient as a tensor, which has a history if the pass ran with `create_graph`.
    pub fn grad_tensor(&self) -> Option<Self> {
        let grad = self.accumulated()?.get()?;
        Some(Self::from_raw(grad.recover()?.into_tensor()))
    }

    /// Removes the accumulated gradient.
    pub fn zero_grad(&self) {
        if let Some(accumulated) = self.accumulated() {
            accumulated.replace(None);
        }
    }

    /// Returns the accumulated gradient; of a computed tensor if it is retained.
    fn accumulated(&self) -> Option<Arc<Accumulated>> {
        let Edge { node, output_nr } = self.raw.edge.as_ref()?;
        match node.0.accumulated() {
            Some(accumulated) => Some(Arc::clone(accumulated)),
            None => node.0.hooks()?.retained(*output_nr).cloned(),
        }
    }

    /// Replaces the accumulated gradient.
    ///
    /// # Panics
    /// If the tensor is not a leaf that requires grad, or `grad` has another shape.
    #[track_caller]
    pub fn set_grad(&self, grad: Array<T, D>) {
        assert!(
            grad.shape() == self.shape(),
            "set_grad of a tensor of shape {:?} with a gradient of shape {:?}",
            self.shape(),
            grad.shape()
        );
        let leaf = self
            .leaf()
            .expect("set_grad of a tensor that is not a leaf requiring grad");
        let grad = Gradient::Owned(Buffer::from_array(grad));
        leaf.replace(Some(AnyGradient::erase(grad)));
    }

    /// Returns the node that computed the tensor; `None` for leaves and constants.
    pub fn grad_fn(&self) -> Option<Node> {
        if self.is_leaf() {
            None
        } else {
            self.raw.edge.as_ref().map(|edge| edge.node.clone())
        }
    }

    /// Returns the accumulated gradient of a leaf.
    pub(super) fn leaf(&self) -> Option<&Accumulated> {
        self.raw
            .edge
            .as_ref()?
            .node
            .0
            .accumulated()
            .map(Arc::as_ref)
    }

    /// Returns the edge for a function of this tensor; `None` if it is not recorded.
    pub(crate) fn recorded_edge(&self) -> Option<Edge> {
        if is_grad_enabled() {
            self.raw.edge.clone()
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn clones_share_value_and_gradient() {
        let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
        let same = x.clone();
        x.set_grad(array![3.0, 4.0]);
        assert_eq!(same.grad(), Some(array![3.0, 4.0]));
        same.zero_grad();
        assert_eq!(x.grad(), None);
        assert_eq!(x.view().as_ptr(), same.view().as_ptr());
    }

    #[test]
    fn leaves_and_constants_turn_into_each_other() {
        let x = Tensor::from(array![1.0]);
        assert!(x.is_leaf() && !x.requires_grad() && x.grad().is_none() && x.grad_fn().is_none());
        let leaf = x.set_requires_grad(true);
        assert!(leaf.is_leaf() && leaf.requires_grad() && leaf.grad_fn().is_none());
        let same = leaf.clone().set_requires_grad(true);
        leaf.set_grad(array![2.0]);
        assert_eq!(same.grad(), Some(array![2.0]));
        assert!(!leaf.set_requires_grad(false).requires_grad());
        assert!(!same.detach().requires_grad());
    }

    #[test]
    #[should_panic(expected = "set_grad of a tensor of shape [1] with a gradient of shape [2]")]
    fn a_gradient_of_another_shape_cannot_be_set() {
        Tensor::from(array![1.0])
            .set_requires_grad(true)
            .set_grad(array![1.0, 2.0]);
    }
}
