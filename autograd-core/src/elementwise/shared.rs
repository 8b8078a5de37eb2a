//! The loops of an elementwise function, shared by all nodes of one use.

use std::panic::Location;
use std::sync::Arc;

use autograd_kernels::{Element, Item, Loops, Shape};

use super::arrays::{fitting, item_at, of_items};
use super::over::Over;
use crate::error::{ErrorKind, PassedOn};
use crate::function::ForwardCall;
use crate::tape::applied_at;
use crate::tensor::TensorD;

/// The loops that compute the derivatives of an elementwise function.
pub(super) struct NamedLoops<L: ?Sized> {
    /// The name of the function.
    pub(super) name: &'static str,
    /// The argument of the function's attribute that has its order.
    pub(super) form: &'static str,
    /// The number of times that the function can be differentiated.
    pub(super) order: usize,
    /// The line that applied the function: the nodes of its derivatives are made elsewhere.
    pub(super) applied_at: &'static Location<'static>,
    /// Whether the loops compute the function's gradients, as the attribute gives them, instead of the function.
    pub(super) are_gradients: bool,
    /// What the formula is computed for.
    pub(super) over: Over,
    pub(super) loops: L,
}

/// A handle on loops.
pub(super) type Shared<T> = crate::tape::Shared<NamedLoops<dyn Loops<T>>>;

impl<T: Element> Shared<T> {
    pub(super) fn new(function: NamedLoops<impl Loops<T> + 'static>) -> Self {
        Self::of(Arc::new(function))
    }
}

impl<T: Element> NamedLoops<dyn Loops<T>> {
    /// Returns the number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.loops.inputs().len()
    }

    /// Returns the number of inputs and outputs, which is the number of places of each component.
    pub(super) fn width(&self) -> usize {
        self.inputs() + self.loops.outputs().len()
    }

    /// Returns the item of the tensor at a place.
    pub(super) fn item(&self, place: usize) -> Item {
        item_at(&self.loops, place)
    }

    /// Returns the shape of the elements of the results, from the shapes of tensors with their places.
    pub(super) fn fitting<'a>(&self, shapes: impl Iterator<Item = (usize, &'a [usize])>) -> Shape {
        fitting(shapes.map(|(place, shape)| of_items(shape, self.item(place))))
    }

    /// Returns an error if there are no loops for derivatives of this order.
    pub(super) fn has_order(&self, order: usize) -> Result<(), PassedOn> {
        if order <= self.loops.order() {
            return Ok(());
        }
        let order = ErrorKind::OrderExceeded {
            order: self.order,
            form: Some(self.form),
        };
        Err(PassedOn(order.of(self.name, self.applied_at)))
    }

    /// Applies a function of tensors whose rule for forward mode needs loops for derivatives of `order`.
    pub(super) fn applied(
        &self,
        tensors: &[&TensorD<T>],
        order: usize,
        apply: impl FnOnce(&[&TensorD<T>]) -> Vec<TensorD<T>>,
    ) -> Vec<TensorD<T>> {
        let function = (self.name, self.applied_at);
        if_differentiable(function, self.has_order(order), tensors, apply)
    }
}

/// Applies a function of tensors that has a rule for forward mode if it can be differentiated, else without tangents. Its
/// nodes have the line that applied the function.
pub(crate) fn if_differentiable<T: Element>(
    (name, line): (&'static str, &'static Location<'static>),
    can_be: Result<(), PassedOn>,
    tensors: &[&TensorD<T>],
    apply: impl FnOnce(&[&TensorD<T>]) -> Vec<TensorD<T>>,
) -> Vec<TensorD<T>> {
    let depth = tensors.iter().map(|tensor| tensor.raw.depth()).max();
    let (Some(depth @ 1..), Err(exceeded)) = (depth, can_be) else {
        return applied_at(line, || apply(tensors));
    };
    let mut call = ForwardCall::new(name, depth);
    let primals: Vec<_> = tensors.iter().map(|tensor| call.split(tensor).0).collect();
    call.fails(exceeded.0);
    let outputs = applied_at(line, || apply(&primals.iter().collect::<Vec<_>>()));
    call.without_tangents(outputs)
}
