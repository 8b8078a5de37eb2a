//! `Node::apply`: runs the backward of one node.

use std::panic::Location;

use super::pass::check;
use super::{anomaly, in_mode, single, trace};
use crate::error::{Error, ErrorKind};
use crate::tape::Hooking;
use crate::tape::{AnyGradient, Gradient, Node};
use crate::tensor::{Tensor, TensorD};
use crate::thread::is_grad_enabled;
use autograd_kernels::Element;

impl Node {
    /// Runs this node's backward: takes gradients of its outputs, and returns gradients of its differentiable inputs;
    /// `None` for an undefined gradient and for an input that requires none. No hook is called, nothing is freed. The
    /// result has a history if a gradient has one and recording is enabled.
    ///
    /// # Errors
    /// If the gradients differ from the outputs in number, shape or element type, the saved values were freed, or the
    /// backward function fails or returns a gradient of the wrong shape. In forward mode, if a gradient has a tangent
    /// or the function was applied to an input with a tangent: a node saves no tangents, so those of the result are
    /// unknown.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let node = (&x * 3.0).grad_fn().unwrap();
    /// let grads = node.apply::<f64>(&[Some(Tensor::from(array![1.0, 1.0]).into_dyn())])?;
    /// assert_eq!(grads[0].as_ref().unwrap().to_array(), array![3.0, 3.0].into_dyn());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn apply<T: Element>(
        &self,
        grads: &[Option<TensorD<T>>],
    ) -> Result<Vec<Option<TensorD<T>>>, Error> {
        self.check_outputs(grads)?;
        if self.lost_tangents() || grads.iter().flatten().any(|grad| grad.raw.depth() > 0) {
            return Err(ErrorKind::PassInForwardMode {
                pass: "Node::apply",
            }
            .at(Location::caller()));
        }
        let create_graph = is_grad_enabled() && grads.iter().flatten().any(Tensor::requires_grad);
        let grads = grads.iter().map(|grad| {
            let grad = Gradient::from_tensor(grad.as_ref()?.raw.clone());
            Some(AnyGradient::erase(grad))
        });
        let grads: Vec<Option<AnyGradient>> = grads.collect();
        let results = match trace::recorder() {
            None => self.run(grads, create_graph),
            Some(recorder) => recorder.record(self, || self.run(grads, create_graph)),
        }?;
        let typed = results.into_iter().zip(self.0.edges()).enumerate();
        typed
            .map(|(input, (grad, edge))| match (grad, edge) {
                (Some(grad), Some(edge)) => {
                    let outputs = edge.node.0.outputs();
                    check(self, input, &outputs[edge.output_nr as usize], &grad)?;
                    if anomaly::is_watching() {
                        anomaly::check(self, input, &grad)?;
                    }
                    self.typed(grad).map(Some)
                }
                _ => Ok(None),
            })
            .collect()
    }

    /// Checks that there is a gradient for each output of this node, of its shape.
    #[track_caller]
    fn check_outputs<T: Element>(&self, grads: &[Option<TensorD<T>>]) -> Result<(), Error> {
        let outputs = self.0.outputs();
        let (expected, found) = (outputs.len(), grads.len());
        if expected != found {
            return Err(self.error(ErrorKind::GradientCount { expected, found }));
        }
        for (grad, shape) in grads.iter().zip(outputs) {
            if let Some(grad) = grad.as_ref().filter(|grad| *shape != grad.to_shape()) {
                let (expected, found) = (shape.unpack(), grad.to_shape());
                return Err(ErrorKind::SeedShape { expected, found }.at(Location::caller()));
            }
        }
        Ok(())
    }

    #[track_caller]
    fn run(
        &self,
        mut grads: Vec<Option<AnyGradient>>,
        create_graph: bool,
    ) -> Result<Vec<Option<AnyGradient>>, Error> {
        let needs: Vec<bool> = self.0.edges().iter().map(Option::is_some).collect();
        in_mode(create_graph, || {
            single::backward(self, &mut grads, &needs, create_graph, Hooking::None)
        })
    }

    fn typed<T: Element>(&self, grad: AnyGradient) -> Result<TensorD<T>, Error> {
        grad.recover::<T>()
            .map(|grad| Tensor::from_raw(grad.into_tensor()))
            .ok_or_else(|| self.error(ErrorKind::element_type(T::TYPE)))
    }
}
