//! Running gradients back along the tape.
//!
//! `pass` walks the tape once; this file starts it from a tensor ([`Tensor::backward`]) and writes the
//! result into the leaves; `inputs` starts it from a tensor and hands the result back ([`grad`]).
//!
//! The engine knows nodes only as `dyn TapeNode`: neither functions nor ranks.

mod anomaly;
mod inputs;
mod pass;
mod targets;

pub use anomaly::detect_anomaly;
pub use inputs::{Grad, grad};
pub(crate) use inputs::{gradients, lost_tangent, without_tangents};
pub use targets::GradInputs;

use ndarray::{Array, Dimension};

use crate::array::Buffer;
use crate::element::Element;
use crate::error::Error;
use crate::grad_mode::{is_grad_enabled, with_grad_mode};
use crate::tape::{AnyGradient, BackwardCall, Edge, Gradient, Node};
use crate::tensor::{Tensor, TensorD};
use pass::Pass;

/// How a backward pass is run: a plain struct, to be written with `..Default::default()`.
///
/// ```
/// use autograd_core::{BackwardOptions, Tensor};
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![3.0]).set_requires_grad(true);
/// let y = (&x * &x).sum();
/// y.backward_opts(BackwardOptions { retain_graph: true, ..Default::default() })?;
/// y.backward()?;
/// assert_eq!(x.grad(), Some(array![12.0]));
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackwardOptions {
    /// Keep what was saved, so that a later pass can go through the same nodes.
    pub retain_graph: bool,
    /// Record the pass itself, so that the gradients can be differentiated. Keeps what was saved too.
    pub create_graph: bool,
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Computes the gradient of this tensor, of one element, with respect to every leaf that it
    /// depends on, and adds it to the leaf's [`grad`](Self::grad).
    ///
    /// # Errors
    /// If the tensor has not exactly one element or no history, the graph was freed by an earlier
    /// pass, or a backward function gives a gradient of the wrong shape. The graph and all accumulated
    /// gradients are then as they were; if a backward function panics, too.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// (&x * &x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![2.0, 4.0]));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    pub fn backward(&self) -> Result<(), Error> {
        self.backward_opts(BackwardOptions::default())
    }

    /// [`backward`](Self::backward) with options.
    ///
    /// # Errors
    /// As [`backward`](Self::backward).
    pub fn backward_opts(&self, options: BackwardOptions) -> Result<(), Error> {
        run_backward(self, unit_seed(self)?, options)
    }

    /// [`backward`](Self::backward) of a tensor of any shape, starting with the gradient `grad`.
    ///
    /// # Errors
    /// As [`backward`](Self::backward), and if `grad` has another shape than the tensor.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// (&x * &x).backward_with(array![1.0, 10.0])?;
    /// assert_eq!(x.grad(), Some(array![2.0, 40.0]));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    pub fn backward_with(&self, grad: Array<T, D>) -> Result<(), Error> {
        let seed = Buffer::from_array(grad);
        if seed.shape() != self.raw.buffer.shape() {
            let (expected, found) = (self.to_shape(), seed.shape().clone());
            return Err(Error::SeedShape { expected, found });
        }
        run_backward(self, Gradient::Owned(seed), BackwardOptions::default())
    }
}

/// The gradient of a tensor of one element with respect to itself.
fn unit_seed<T: Element, D: Dimension>(root: &Tensor<T, D>) -> Result<Gradient<T>, Error> {
    if root.len() != 1 {
        return Err(Error::NotScalar {
            shape: root.to_shape(),
        });
    }
    Ok(Gradient::Owned(Buffer::filled(root.to_shape(), T::one())))
}

fn run_backward<T: Element, D: Dimension>(
    root: &Tensor<T, D>,
    seed: Gradient<T>,
    options: BackwardOptions,
) -> Result<(), Error> {
    let edge = root.raw.edge.as_ref().ok_or(Error::NoGraph)?;
    if root.raw.level() > 0 {
        // Nodes save no tangents: the gradients' own derivatives would be lost in silence.
        return Err(Error::NoForwardRule {
            function: "backward",
            applied_at: edge.node.applied_at(),
        });
    }
    let BackwardOptions {
        retain_graph,
        create_graph,
    } = options;
    with_grad_mode(create_graph, || {
        let mut pass = Pass::new(create_graph);
        pass.deliver(edge, AnyGradient::erase(seed));
        pass.run(|_, _| {})?;
        pass.leaves(|node, grad| {
            if let Some(leaf) = node.0.as_leaf() {
                leaf.accumulate(grad);
            }
        });
        if !retain_graph && !create_graph {
            pass.free();
        }
        Ok(())
    })
}

impl Node {
    /// Runs this node's backward by hand: gradients of its outputs in, gradients of its differentiable
    /// inputs out; `None` for an undefined gradient and for an input that requires none. Nothing is
    /// freed. The result has a history if a gradient has one and recording is enabled.
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
                Some(AnyGradient::erase(Gradient::Tensor(
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
        };
        with_grad_mode(create_graph, || self.0.backward(call))?;
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

/// The edge of a tensor that gradients are asked for.
fn input_edge<T, D>(input: &Tensor<T, D>, position: usize) -> Result<&Edge, Error> {
    input
        .raw
        .edge
        .as_ref()
        .ok_or(Error::InputWithoutGrad { position })
}
