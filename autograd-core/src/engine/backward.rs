//! Backward passes that accumulate gradients in leaves.

use std::fmt;

use ndarray::{Array, Dimension};

use super::accumulate::{accumulate_and_call_hooks, accumulate_leaf};
use super::in_mode;
use super::inputs::input_edges;
use super::pass::Pass;
use super::roots::{Roots, Seed};
use crate::erased::{InputTensors, OutputTensors};
use crate::error::{Error, ErrorKind};
use crate::tape::{AnyGradient, Edge, Node, Retained};
use crate::tensor::Tensor;
use autograd_kernels::Element;

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Computes the gradients of this tensor, which has one element, with respect to all leaves that it depends on, and
    /// adds each to its leaf's [`grad`](Self::grad).
    ///
    /// # Errors
    /// If the tensor does not have exactly one element, or does not require grad; if an earlier pass freed the graph;
    /// or if a backward function fails or returns a gradient of the wrong shape. After an error, or a panic of a
    /// backward function, the graph and all accumulated gradients are unchanged.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// (&x * &x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![2.0, 4.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn backward(&self) -> Result<(), Error> {
        Backward::of(self).run()
    }

    /// Runs [`backward`](Self::backward) from a tensor of any shape, with `grad` as its gradient.
    ///
    /// # Errors
    /// See [`backward`](Self::backward); also if `grad` does not have the shape of the tensor.
    #[track_caller]
    pub fn backward_with(&self, grad: Array<T, D>) -> Result<(), Error> {
        Backward::of(self).seed(grad).run()
    }
}

/// Options of [`Tensor::backward`]: several outputs, seeds, chosen inputs, retaining the graph.
///
/// ```
/// use pullback::{Backward, Tensor};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let w = Tensor::from(array![3.0, 4.0]).set_requires_grad(true);
/// let (sum, product) = (&x + &w, &x * &w);
/// Backward::of(&sum)
///     .seed(array![1.0, 1.0])
///     .output(&product)
///     .seed(array![10.0, 10.0])
///     .inputs((&x,))
///     .retain_graph(true)
///     .run()?;
/// assert_eq!(x.grad(), Some(array![31.0, 41.0]));
/// assert_eq!(w.grad(), None);
/// sum.backward_with(array![1.0, 1.0])?; // the graph is there for a second pass
/// assert_eq!(x.grad(), Some(array![32.0, 42.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[must_use = "nothing is computed before `run`"]
pub struct Backward<'a, T, D> {
    roots: Roots<'a, T, D>,
    inputs: Option<Result<Vec<Edge>, Error>>,
    retain_graph: bool,
    create_graph: bool,
    free_early: bool,
}

impl<'a, T: Element, D: Dimension> Backward<'a, T, D> {
    /// Returns the options of a pass from `output`.
    #[track_caller]
    pub fn of(output: &'a Tensor<T, D>) -> Self {
        Self {
            roots: Roots::of(output),
            inputs: None,
            retain_graph: false,
            create_graph: false,
            free_early: false,
        }
    }

    /// Sets the gradient of the last named output, which may then have any shape.
    pub fn seed(self, seed: impl Seed<T, D>) -> Self {
        let roots = self.roots.seed(seed);
        Self { roots, ..self }
    }

    /// Adds another output. An output that is given twice counts twice.
    pub fn output<U: Element, E: Dimension>(self, output: &'a Tensor<U, E>) -> Backward<'a, U, E> {
        Backward {
            roots: self.roots.output(output),
            inputs: self.inputs,
            retain_graph: self.retain_graph,
            create_graph: self.create_graph,
            free_early: self.free_early,
        }
    }

    /// Accumulates only the gradients of these tensors, and calls only the backward functions between them and the
    /// outputs. The tensors need not be leaves: then [`grad`](Tensor::grad) of a computed tensor returns its gradient.
    pub fn inputs<I: InputTensors>(self, inputs: I) -> Self {
        let edges = input_edges(&inputs.to_tensors().into_erased(), self.roots.called_at)
            .map(|edges| edges.into_iter().cloned().collect());
        Self {
            inputs: Some(edges),
            ..self
        }
    }

    /// Retains the saved values, so that a later pass can use the same graph.
    pub fn retain_graph(self, retain_graph: bool) -> Self {
        Self {
            retain_graph,
            ..self
        }
    }

    /// Records the pass, so that its gradients can be differentiated, and retains the saved values. A leaf then holds
    /// its gradient, and the gradient holds the graph with the leaf, so nothing is freed before [`Tensor::zero_grad`].
    /// [`grad`](crate::grad()) returns gradients instead, without such a cycle.
    ///
    /// ```
    /// use pullback::{Backward, Tensor, grad};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// Backward::of(&x.powi(3).sum()).create_graph(true).run()?;
    /// let first = x.grad_tensor().expect("a gradient with a history");
    /// let (second,) = grad(&first.sum(), (&x,))?;
    /// assert_eq!((first.to_array(), second.to_array()), (array![12.0], array![12.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn create_graph(self, create_graph: bool) -> Self {
        Self {
            create_graph,
            ..self
        }
    }

    /// Sets whether a node's saved values are freed as soon as the node has run, instead of at the end of the pass.
    /// This lowers the peak of memory, but after a pass that fails, the nodes that ran are freed. Without effect if the
    /// graph is retained.
    pub fn free_early(self, free_early: bool) -> Self {
        Self { free_early, ..self }
    }

    /// Runs the pass.
    ///
    /// # Errors
    /// See [`Tensor::backward`]; also if the list of inputs is empty, or an input does not require grad.
    #[track_caller]
    pub fn run(self) -> Result<(), Error> {
        let called_at = self.roots.called_at;
        let roots = self.roots.finish(self.create_graph)?;
        let inputs = self.inputs.transpose()?;
        if inputs.as_ref().is_some_and(Vec::is_empty) {
            return Err(ErrorKind::NoInputs.at(called_at));
        }
        if let Some(root) = roots.iter().find(|root| root.depth > 0) {
            // Nodes save no tangents: the derivatives of the gradients would be lost silently.
            return Err(
                ErrorKind::PassInForwardMode { pass: "backward" }.at(root.edge.node.applied_at())
            );
        }
        let keep = self.retain_graph || self.create_graph;
        let free_early = self.free_early && !keep;
        in_mode(self.create_graph, || {
            let mut pass = Pass::new(self.create_graph, free_early);
            if let Some(inputs) = &inputs {
                let targets: Vec<&Edge> = inputs.iter().collect();
                for input in inputs {
                    input.retain(false);
                }
                pass.prune(roots.iter().map(|root| root.edge), &targets)?;
            }
            for root in roots {
                pass.seed(root.edge, root.seed);
            }
            let inputs = inputs.as_deref().unwrap_or_default();
            let mut retained = Vec::new();
            pass.run(|node, grads| add_inputs(node, grads, inputs, &mut retained))?;
            let has_later_hooks = pass.call_leaf_hooks(true)?;
            retained.append(&mut pass.take_retained());
            pass.own_leaves();
            for (_, grad) in &mut retained {
                grad.own_memory();
            }
            if has_later_hooks {
                accumulate_and_call_hooks(&mut pass, retained);
            } else {
                pass.take_leaves(accumulate_leaf);
                for (accumulated, grad) in retained {
                    accumulated.accumulate(grad);
                }
            }
            if !keep {
                pass.free();
            }
            Ok(())
        })
    }
}

impl<T: Element, D: Dimension> fmt::Debug for Backward<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backward")
            .field("output", self.roots.last)
            .field("retain_graph", &self.retain_graph)
            .field("create_graph", &self.create_graph)
            .finish_non_exhaustive()
    }
}

/// Adds the gradients of the computed tensors among the pass's inputs.
fn add_inputs(
    node: &Node,
    grads: &mut [Option<AnyGradient>],
    inputs: &[Edge],
    retained: &mut Retained,
) {
    let Some(hooks) = node.0.hooks() else {
        return;
    };
    for input in inputs.iter().filter(|input| input.node == *node) {
        let grad = &mut grads[input.output_nr as usize];
        if let Some(accumulated) = hooks.retained_on_request(input.output_nr)
            && let Some(grad) = grad
        {
            retained.push((accumulated.clone(), grad.share()));
        }
    }
}
