//! Running one node's backward by hand.

use super::in_mode;
use crate::element::Element;
use crate::error::Error;
use crate::grad_mode::is_grad_enabled;
use crate::hooks::Hooking;
use crate::tape::{AnyGradient, BackwardCall, Gradient, Node};
use crate::tensor::{Tensor, TensorD};

impl Node {
    /// Runs this node's backward by hand: gradients of its outputs in, gradients of its differentiable
    /// inputs out; `None` for an undefined gradient and for an input that requires none. No hook is
    /// called, nothing is freed. The result has a history if a gradient has one and recording is enabled.
    ///
    /// # Errors
    /// If the number of gradients is not the number of outputs, a shape or the element type is
    /// another, the saved values were freed, or the backward function fails.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let node = (&x * 3.0).grad_fn().unwrap();
    /// let grads = node.apply::<f64>(&[Some(Tensor::from(array![1.0, 1.0]).into_dyn())])?;
    /// assert_eq!(grads[0].as_ref().unwrap().to_array(), array![3.0, 3.0].into_dyn());
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    pub fn apply<T: Element>(
        &self,
        grads: &[Option<TensorD<T>>],
    ) -> Result<Vec<Option<TensorD<T>>>, Error> {
        let outputs = self.0.outputs();
        let (expected, found) = (outputs.len(), grads.len());
        if expected != found {
            return Err(Error::GradientCount {
                function: self.name(),
                expected,
                found,
            });
        }
        for (grad, shape) in grads.iter().zip(outputs) {
            if let Some(grad) = grad.as_ref().filter(|grad| *shape != grad.to_shape()) {
                let (expected, found) = (shape.unpack(), grad.to_shape());
                return Err(Error::SeedShape { expected, found });
            }
        }
        let create_graph = is_grad_enabled() && grads.iter().flatten().any(Tensor::requires_grad);
        let mut grads: Vec<Option<AnyGradient>> = grads
            .iter()
            .map(|grad| {
                Some(AnyGradient::erase(Gradient::from_tensor(
                    grad.as_ref()?.raw.clone(),
                )))
            })
            .collect();
        let needs: Vec<bool> = self.0.edges().iter().map(Option::is_some).collect();
        let mut results: Vec<Option<AnyGradient>> = needs.iter().map(|_| None).collect();
        let call = BackwardCall {
            node: self,
            grads: &mut grads,
            needs: &needs,
            create_graph,
            results: &mut results,
            hooking: Hooking::None,
            retained: &mut Vec::new(),
        };
        in_mode(create_graph, || self.0.backward(call))?;
        results
            .into_iter()
            .map(|grad| grad.map(|grad| self.typed(grad)).transpose())
            .collect()
    }

    fn typed<T: Element>(&self, grad: AnyGradient) -> Result<TensorD<T>, Error> {
        grad.recover::<T>()
            .map(|grad| Tensor::from_raw(grad.into_tensor()))
            .ok_or(Error::ElementType {
                function: self.name(),
                applied_at: self.applied_at(),
            })
    }
}
