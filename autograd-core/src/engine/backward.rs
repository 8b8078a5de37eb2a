//! Backward passes into leaves.

use std::fmt;

use ndarray::{Array, Dimension};

use super::accumulate::{accumulate_and_follow, accumulate_leaf};
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
    /// Computes the gradient of this tensor, of one element, with respect to every leaf that it
    /// depends on, and adds it to the leaf's [`grad`](Self::grad).
    ///
    /// # Errors
    /// If the tensor has not exactly one element or no history, the graph was freed by an earlier
    /// pass, or a backward function gives a gradient of the wrong shape. The graph and all accumulated
    /// gradients are then as they were; if a backward function panics, too.
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
    pub fn backward(&self) -> Result<(), Error> {
        Backward::of(self).run()
    }

    /// [`backward`](Self::backward) of a tensor of any shape, starting with the gradient `grad`.
    ///
    /// # Errors
    /// As [`backward`](Self::backward), and if `grad` has another shape than the tensor.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// (&x * &x).backward_with(array![1.0, 10.0])?;
    /// assert_eq!(x.grad(), Some(array![2.0, 40.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn backward_with(&self, grad: Array<T, D>) -> Result<(), Error> {
        Backward::of(self).seed(grad).run()
    }
}

/// [`Tensor::backward`] with options: from several tensors, for chosen inputs alone, more than once.
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
///     .run()?;
/// assert_eq!(x.grad(), Some(array![31.0, 41.0]));
/// assert_eq!(w.grad(), None);
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
    /// Returns a pass that starts from `output`.
    ///
    /// ```
    /// use pullback::{Backward, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![3.0]).set_requires_grad(true);
    /// Backward::of(&(&x * &x).sum()).run()?;
    /// assert_eq!(x.grad(), Some(array![6.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn of(output: &'a Tensor<T, D>) -> Self {
        Self {
            roots: Roots::of(output),
            inputs: None,
            retain_graph: false,
            create_graph: false,
            free_early: false,
        }
    }

    /// Starts with this gradient of the output that was named last, which may then have any shape.
    ///
    /// ```
    /// use pullback::{Backward, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// Backward::of(&(&x * 3.0)).seed(array![1.0, 10.0]).run()?;
    /// assert_eq!(x.grad(), Some(array![3.0, 30.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn seed(self, seed: impl Seed<T, D>) -> Self {
        let roots = self.roots.seed(seed);
        Self { roots, ..self }
    }

    /// Starts from another output too. An output that is given twice counts twice.
    ///
    /// ```
    /// use pullback::{Backward, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let (sum, square) = (x.sum(), (&x * &x).sum());
    /// Backward::of(&sum).output(&square).output(&square).run()?;
    /// assert_eq!(x.grad(), Some(array![9.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn output<U: Element, E: Dimension>(self, output: &'a Tensor<U, E>) -> Backward<'a, U, E> {
        Backward {
            roots: self.roots.output(output),
            inputs: self.inputs,
            retain_graph: self.retain_graph,
            create_graph: self.create_graph,
            free_early: self.free_early,
        }
    }

    /// Accumulates the gradients of these tensors alone, and calls only backward functions that lead to
    /// them. They need not be leaves: [`grad`](Tensor::grad) of a computed tensor has it then too.
    ///
    /// ```
    /// use pullback::{Backward, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let h = &x * 3.0;
    /// Backward::of(&(&h * &h).sum()).inputs((&h,)).run()?;
    /// assert_eq!((h.grad(), x.grad()), (Some(array![12.0]), None));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn inputs<I: InputTensors>(self, inputs: I) -> Self {
        let edges = input_edges(&inputs.to_tensors().into_erased())
            .map(|edges| edges.into_iter().cloned().collect());
        Self {
            inputs: Some(edges),
            ..self
        }
    }

    /// Retains what was saved, so that a later pass can go through the same graph.
    ///
    /// ```
    /// use pullback::{Backward, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![3.0]).set_requires_grad(true);
    /// let y = (&x * &x).sum();
    /// Backward::of(&y).retain_graph(true).run()?;
    /// y.backward()?;
    /// assert_eq!(x.grad(), Some(array![12.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn retain_graph(self, retain_graph: bool) -> Self {
        Self {
            retain_graph,
            ..self
        }
    }

    /// Records the pass itself, so that the gradients can be differentiated. Retains what was saved too: a leaf
    /// holds its gradient, and the gradient holds the graph that leads to the leaf, so none of it is freed
    /// before [`Tensor::zero_grad`]. [`grad`](crate::grad()) returns gradients instead, and makes no such
    /// cycle.
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

    /// Sets whether what a node has saved is freed as soon as it has run, not when the pass has succeeded: the
    /// memory is there for what follows, but a pass that fails leaves the nodes that ran freed. Without
    /// effect where the graph is retained.
    ///
    /// ```
    /// use pullback::{Backward, ErrorKind, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let h = x.exp();
    /// let y = h.sin().sum();
    /// let of_another_shape = h.register_hook(|_| Some(Tensor::from(array![1.0])));
    /// assert!(Backward::of(&y).free_early(true).run().is_err());
    /// of_another_shape.remove();
    /// // The sine had run by then, and what it had saved is gone.
    /// assert!(y.backward().unwrap_err().kind() == &ErrorKind::Freed);
    /// ```
    pub fn free_early(self, free_early: bool) -> Self {
        Self { free_early, ..self }
    }

    /// Runs the pass.
    ///
    /// # Errors
    /// As [`Tensor::backward`]; and if there are inputs, but none at all, or one that does not require grad.
    ///
    /// ```
    /// use pullback::{Backward, ErrorKind, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let y = &x * 2.0;
    /// assert!(matches!(Backward::of(&y).run().unwrap_err().kind(), ErrorKind::NotScalar { .. }));
    /// Backward::of(&y).seed(array![1.0, 1.0]).run()?;
    /// assert_eq!(x.grad(), Some(array![2.0, 2.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn run(self) -> Result<(), Error> {
        let roots = self.roots.finish(self.create_graph)?;
        let inputs = self.inputs.transpose()?;
        if inputs.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::new(ErrorKind::NoInputs));
        }
        if let Some(root) = roots.iter().find(|root| root.depth > 0) {
            // Nodes save no tangents: the gradients' own derivatives would be lost in silence.
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
                pass.prune(roots.iter().map(|root| root.edge), &targets);
            }
            for root in roots {
                pass.deliver(root.edge, root.seed);
            }
            let inputs = inputs.as_deref().unwrap_or_default();
            let mut asked = Vec::new();
            pass.run(|node, grads| note_asked(node, grads, inputs, &mut asked))?;
            let followed = pass.call_leaf_hooks(true)?;
            asked.append(&mut pass.retained());
            if followed {
                accumulate_and_follow(&mut pass, asked);
            } else {
                pass.leaves(accumulate_leaf);
                for (place, grad) in asked {
                    place.accumulate(grad);
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

/// Notes the gradients of computed tensors that this pass was asked for.
fn note_asked(
    node: &Node,
    grads: &mut [Option<AnyGradient>],
    inputs: &[Edge],
    asked: &mut Retained,
) {
    let Some(hooks) = node.0.hooks() else {
        return;
    };
    for input in inputs.iter().filter(|input| input.node == *node) {
        let grad = &mut grads[input.output_nr as usize];
        if let Some(place) = hooks.asked(input.output_nr)
            && let Some(grad) = grad
        {
            asked.push((place.clone(), grad.share()));
        }
    }
}
