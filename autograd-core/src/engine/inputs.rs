//! Gradients with respect to chosen tensors, returned instead of accumulated.

use std::fmt;
use std::panic::Location;

use ndarray::Dimension;

use super::depth::with_room;
use super::in_mode;
use super::pass::Pass;
use super::roots::{Roots, Seed};
use super::single;
use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::error::{Error, ErrorKind};
use crate::tape::Failure;
use crate::tape::{AnyGradient, Edge, Retained};
use crate::tensor::Tensor;
use crate::thread::with_grad_mode;
use autograd_kernels::Element;

/// Returns the gradients of `output`, which has one element, with respect to `inputs`: a tensor by reference, a list of
/// tensors, or a tuple of up to twelve of these. Nothing is accumulated, and only the backward functions between the
/// output and the inputs are called. Frees the graph; [`Grad`] has options.
///
/// # Errors
/// If an input does not require grad, or the output does not depend on an input; see also [`Tensor::backward`].
///
/// ```
/// use pullback::{Tensor, grad};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let w = Tensor::from(array![3.0, 4.0]).set_requires_grad(true);
/// let (dx, dw) = grad(&(&x * &w).sum(), (&x, &w))?;
/// assert_eq!(dx.to_array(), array![3.0, 4.0]);
/// assert_eq!(dw.to_array(), array![1.0, 2.0]);
/// let dx = grad(&(&x * &w).sum(), &x)?;
/// assert_eq!(dx.to_array(), array![3.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[track_caller]
pub fn grad<T: Element, D: Dimension, I: InputTensors>(
    output: &Tensor<T, D>,
    inputs: I,
) -> Result<I::Owned, Error> {
    Grad::of(output).run(inputs)
}

/// Options of [`grad()`].
///
/// ```
/// use pullback::{Grad, Tensor, grad};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![2.0]).set_requires_grad(true);
/// let y = (&x * &x * &x).sum();
/// let (first,) = Grad::of(&y).create_graph(true).run((&x,))?;
/// let (second,) = grad(&first.sum(), (&x,))?;
/// assert_eq!((first.to_array(), second.to_array()), (array![12.0], array![12.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
#[must_use = "nothing is computed before `run`"]
pub struct Grad<'a, T, D> {
    roots: Roots<'a, T, D>,
    create_graph: bool,
    retain_graph: bool,
    allow_unused: bool,
}

impl<'a, T: Element, D: Dimension> Grad<'a, T, D> {
    /// Returns the options for gradients of `output`.
    #[track_caller]
    pub fn of(output: &'a Tensor<T, D>) -> Self {
        Self {
            roots: Roots::of(output),
            create_graph: false,
            retain_graph: false,
            allow_unused: false,
        }
    }

    /// Sets the gradient of the last named output, which may then have any shape.
    pub fn seed(self, seed: impl Seed<T, D>) -> Self {
        let roots = self.roots.seed(seed);
        Self { roots, ..self }
    }

    /// Adds another output, whose gradients are added. An output that is given twice counts twice.
    pub fn output<U: Element, E: Dimension>(self, output: &'a Tensor<U, E>) -> Grad<'a, U, E> {
        Grad {
            roots: self.roots.output(output),
            create_graph: self.create_graph,
            retain_graph: self.retain_graph,
            allow_unused: self.allow_unused,
        }
    }

    /// Records the pass, so that the gradients can be differentiated, and retains the graph.
    pub fn create_graph(self, create_graph: bool) -> Self {
        Self {
            create_graph,
            ..self
        }
    }

    /// Retains the graph, so that a later pass can use it.
    pub fn retain_graph(self, retain_graph: bool) -> Self {
        Self {
            retain_graph,
            ..self
        }
    }

    /// Sets whether an input that the output does not depend on has a gradient of zeros instead of being an error.
    /// [`run_unused`](Self::run_unused) returns `None` for such inputs.
    pub fn allow_unused(self, allow_unused: bool) -> Self {
        Self {
            allow_unused,
            ..self
        }
    }

    /// Returns the gradients, a tensor for each input.
    ///
    /// # Errors
    /// See [`grad()`].
    #[track_caller]
    pub fn run<I: InputTensors>(self, inputs: I) -> Result<I::Owned, Error> {
        let (create_graph, allow_unused) = (self.create_graph, self.allow_unused);
        let inputs = inputs.to_tensors();
        let lengths = inputs.lengths();
        let inputs = inputs.into_erased();
        let found = self.gradients(&inputs, allow_unused)?;
        let mut found = inputs.iter().zip(found).map(|(input, grad)| {
            grad.unwrap_or_else(|| {
                let zeros = input.zeros();
                // Zeros can be differentiated like any other gradient.
                if create_graph { zeros.leaf() } else { zeros }
            })
        });
        Ok(I::Owned::read(lengths, &mut found))
    }

    /// Returns the gradients, `None` for an input that the output does not depend on.
    ///
    /// # Errors
    /// See [`grad()`]; an unused input is not an error.
    ///
    /// ```
    /// use pullback::{Grad, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let unused = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let (dx, none) = Grad::of(&x.sum()).allow_unused(true).run_unused((&x, &unused))?;
    /// assert!(dx.is_some() && none.is_none());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn run_unused<I: InputTensors>(self, inputs: I) -> Result<I::Optional, Error> {
        let inputs = inputs.to_tensors();
        let lengths = inputs.lengths();
        let found = self.gradients(&inputs.into_erased(), true)?;
        Ok(I::read_optional(lengths, &mut found.into_iter()))
    }

    #[track_caller]
    fn gradients(
        self,
        inputs: &[AnyTensor],
        allow_unused: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let called_at = self.roots.called_at;
        let roots = self.roots.finish(self.create_graph)?;
        let targets = input_edges(inputs, called_at)?;
        let depth = roots.iter().map(|root| root.depth).fold(0, u64::max);
        let failures = roots.iter().filter(|root| root.depth == depth);
        let failures = failures.map(|root| root.failure.clone());
        let lost = LostTangents::new(depth, failures, self.create_graph, called_at);
        let roots = roots.into_iter().map(|root| (root.edge, root.seed));
        let found = in_mode(self.create_graph, || {
            let mut pass = Pass::new(self.create_graph, false);
            let found = collect(&mut pass, roots.collect(), &targets)?;
            // Before anything is freed: a pass that fails leaves the graph as it was.
            let missing = found.iter().position(Option::is_none);
            if let Some(position) = missing.filter(|_| !allow_unused) {
                return Err(ErrorKind::UnusedInput { position }.at(called_at));
            }
            if !self.retain_graph && !self.create_graph {
                pass.free();
            }
            Ok(found)
        })?;
        Ok(lost
            .apply(found)
            .into_iter()
            .map(|grad| grad.map(AnyTensor::from_grad))
            .collect())
    }
}

/// Returns the edges of the inputs.
pub(super) fn input_edges<'i>(
    inputs: &'i [AnyTensor],
    called_at: &'static Location<'static>,
) -> Result<Vec<&'i Edge>, Error> {
    inputs
        .iter()
        .enumerate()
        .map(|(position, input)| {
            input
                .edge()
                .ok_or_else(|| ErrorKind::InputWithoutGrad { position }.at(called_at))
        })
        .collect()
}

/// The failure of the tangents of gradients, if a pass runs in forward mode: nodes save no tangents, so the gradients'
/// tangents are unknown.
pub(crate) struct LostTangents(Option<(u64, Failure)>);

impl LostTangents {
    /// Returns the failure of a pass whose roots have this depth, with the failures of the roots' tangents.
    pub(crate) fn new(
        depth: u64,
        failures: impl Iterator<Item = Option<Failure>>,
        create_graph: bool,
        called_at: &'static Location<'static>,
    ) -> Self {
        Self((depth > 0).then(|| {
            let lost = Failure::of_pass("grad", called_at, create_graph);
            (depth, failures.fold(lost, Failure::and))
        }))
    }

    /// Gives the gradients failed tangents: a run of forward mode that uses them is an error.
    pub(crate) fn apply(&self, mut found: Vec<Option<AnyGradient>>) -> Vec<Option<AnyGradient>> {
        if let Some((depth, failure)) = &self.0 {
            for grad in &mut found {
                *grad = grad
                    .take()
                    .map(|grad| grad.without_tangent(*depth, failure));
            }
        }
        found
    }
}

/// Returns the gradients at `targets` of a pass that starts with a gradient for each root. The graph is retained.
#[track_caller]
pub(crate) fn gradients(
    roots: Vec<(&Edge, AnyGradient)>,
    targets: &[&Edge],
    create_graph: bool,
) -> Result<Vec<Option<AnyGradient>>, Error> {
    in_mode(create_graph, || match single::node_of(&roots, targets) {
        Some(node) => single::run(node, roots, targets, create_graph),
        None => collect(&mut Pass::new(create_graph, false), roots, targets),
    })
}

/// Like [`gradients`], for the nodes above `floor`, as a part of the pass that runs: it ends at nodes below the floor
/// without calling their hooks, and its cleanup is that pass's. Also returns the gradients for `retain_grad`.
pub(crate) fn gradients_above(
    floor: u64,
    roots: Vec<(&Edge, AnyGradient)>,
    targets: &[&Edge],
    create_graph: bool,
) -> Result<(Vec<Option<AnyGradient>>, Retained), Error> {
    let pass = || {
        let mut pass = Pass::above(floor, create_graph);
        let found = collect(&mut pass, roots, targets)?;
        Ok((found, pass.take_retained()))
    };
    with_room(|| with_grad_mode(create_graph, pass))
}

impl<T: Element, D: Dimension> fmt::Debug for Grad<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grad")
            .field("output", self.roots.last)
            .field("create_graph", &self.create_graph)
            .field("retain_graph", &self.retain_graph)
            .field("allow_unused", &self.allow_unused)
            .finish_non_exhaustive()
    }
}

/// Runs a pass, pruned to the paths to the targets, and returns their gradients.
fn collect<'g>(
    pass: &mut Pass<'g>,
    roots: Vec<(&'g Edge, AnyGradient)>,
    targets: &[&'g Edge],
) -> Result<Vec<Option<AnyGradient>>, Error> {
    pass.prune(roots.iter().map(|(root, _)| *root), targets)?;
    for (root, seed) in roots {
        pass.seed(root, seed);
    }
    let mut found: Vec<Option<AnyGradient>> = targets.iter().map(|_| None).collect();
    pass.run(|node, grads| {
        for (found, target) in found.iter_mut().zip(targets) {
            if target.node == *node {
                *found = grads[target.output_nr as usize]
                    .as_mut()
                    .map(AnyGradient::share);
            }
        }
    })?;
    pass.call_leaf_hooks(false)?;
    for (found, target) in found.iter_mut().zip(targets) {
        if pass.ends_at(&target.node) {
            *found = pass.gradient_at(target);
        }
    }
    Ok(found)
}
