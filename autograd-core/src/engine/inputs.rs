//! Gradients with respect to chosen tensors, handed back instead of accumulated.

use std::fmt;
use std::panic::Location;

use ndarray::Dimension;

use super::depth::with_room;
use super::in_mode;
use super::pass::Pass;
use super::roots::{Roots, Seed};
use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::error::{Error, ErrorKind};
use crate::tape::Failure;
use crate::tape::{AnyGradient, Edge, Retained};
use crate::tensor::Tensor;
use crate::thread::with_grad_mode;
use autograd_kernels::Element;

/// Returns the gradients of `output`, of one element, with respect to `inputs`: a tensor by reference, a list
/// of tensors, or a tuple of up to twelve of these. Nothing is accumulated, and only backward functions that
/// lead to the inputs are called. Frees the graph; [`Grad`] has the options.
///
/// # Errors
/// If an input does not require grad or the output does not depend on it, and as
/// [`Tensor::backward`].
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

/// [`grad()`] with options.
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
    called_at: &'static Location<'static>,
}

impl<'a, T: Element, D: Dimension> Grad<'a, T, D> {
    /// Returns the gradients of `output`.
    ///
    /// ```
    /// use pullback::{Grad, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![3.0]).set_requires_grad(true);
    /// let (dx,) = Grad::of(&(&x * &x).sum()).run((&x,))?;
    /// assert_eq!((dx.to_array(), x.grad()), (array![6.0], None));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn of(output: &'a Tensor<T, D>) -> Self {
        Self {
            roots: Roots::of(output),
            create_graph: false,
            retain_graph: false,
            allow_unused: false,
            called_at: Location::caller(),
        }
    }

    /// Starts with this gradient of the output that was named last, which may then have any shape.
    ///
    /// ```
    /// use pullback::{Grad, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let (dx,) = Grad::of(&(&x * 3.0)).seed(array![1.0, 10.0]).run((&x,))?;
    /// assert_eq!(dx.to_array(), array![3.0, 30.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn seed(self, seed: impl Seed<T, D>) -> Self {
        let roots = self.roots.seed(seed);
        Self { roots, ..self }
    }

    /// Adds the gradients of another output. An output that is given twice counts twice.
    ///
    /// ```
    /// use pullback::{Grad, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let (y, z) = ((&x * 3.0).sum(), &x * &x);
    /// let (dx,) = Grad::of(&y).output(&z).seed(array![1.0, 10.0]).run((&x,))?;
    /// assert_eq!(dx.to_array(), array![5.0, 43.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn output<U: Element, E: Dimension>(self, output: &'a Tensor<U, E>) -> Grad<'a, U, E> {
        Grad {
            roots: self.roots.output(output),
            create_graph: self.create_graph,
            retain_graph: self.retain_graph,
            allow_unused: self.allow_unused,
            called_at: self.called_at,
        }
    }

    /// Records the pass, so that the gradients can be differentiated. Retains the graph too.
    ///
    /// ```
    /// use pullback::{Grad, Tensor, grad};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let (slope,) = Grad::of(&x.powi(3).sum()).create_graph(true).run((&x,))?;
    /// let (curvature,) = grad(&slope.sum(), (&x,))?;
    /// assert_eq!(curvature.to_array(), array![12.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn create_graph(self, create_graph: bool) -> Self {
        Self {
            create_graph,
            ..self
        }
    }

    /// Retains the graph, so that a later pass can go through it.
    ///
    /// ```
    /// use pullback::{Grad, Tensor, grad};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let y = (&x * &x).sum();
    /// let (once,) = Grad::of(&y).retain_graph(true).run((&x,))?;
    /// let (twice,) = grad(&y, (&x,))?;
    /// assert_eq!(once.to_array(), twice.to_array());
    /// assert!(grad(&y, (&x,)).is_err());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn retain_graph(self, retain_graph: bool) -> Self {
        Self {
            retain_graph,
            ..self
        }
    }

    /// Sets whether an input that the output does not depend on has a gradient of zeros instead of being
    /// an error. [`run_unused`](Self::run_unused) marks such inputs by `None`.
    ///
    /// ```
    /// use pullback::{ErrorKind, Grad, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![2.0]).set_requires_grad(true);
    /// let unused = Tensor::from(array![5.0]).set_requires_grad(true);
    /// let strict = Grad::of(&x.sum()).run((&x, &unused));
    /// assert_eq!(strict.unwrap_err().kind(), &ErrorKind::UnusedInput { position: 1 });
    /// let (_, zeros) = Grad::of(&x.sum()).allow_unused(true).run((&x, &unused))?;
    /// assert_eq!(zeros.to_array(), array![0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn allow_unused(self, allow_unused: bool) -> Self {
        Self {
            allow_unused,
            ..self
        }
    }

    /// Returns the gradients, a tensor for each input.
    ///
    /// # Errors
    /// As [`grad()`].
    ///
    /// ```
    /// use pullback::{Grad, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    /// let w = Tensor::from(array![[3.0, 4.0]]).set_requires_grad(true);
    /// let (dw, dx) = Grad::of(&(&w * &x).sum()).run((&w, &x))?;
    /// assert_eq!((dw.to_array(), dx.to_array()), (array![[1.0, 2.0]], array![3.0, 4.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn run<I: InputTensors>(self, inputs: I) -> Result<I::Owned, Error> {
        let (create_graph, allow_unused) = (self.create_graph, self.allow_unused);
        let inputs = inputs.to_tensors();
        let lengths = inputs.lengths();
        let inputs = inputs.into_erased();
        let found = self.gradients(&inputs, allow_unused)?;
        let mut found = inputs.iter().zip(found).map(|(input, grad)| {
            grad.unwrap_or_else(|| {
                let zeros = input.zeros();
                // Zeros are differentiated in turn like any other gradient.
                if create_graph { zeros.leaf() } else { zeros }
            })
        });
        Ok(I::Owned::read(lengths, &mut found))
    }

    /// Returns the gradients, `None` for an input that the output does not depend on.
    ///
    /// # Errors
    /// As [`grad()`], but for unused inputs.
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
    pub fn run_unused<I: InputTensors>(self, inputs: I) -> Result<I::Optional, Error> {
        let inputs = inputs.to_tensors();
        let lengths = inputs.lengths();
        let found = self.gradients(&inputs.into_erased(), true)?;
        Ok(I::read_optional(lengths, &mut found.into_iter()))
    }

    fn gradients(
        self,
        inputs: &[AnyTensor],
        allow_unused: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let roots = self.roots.finish(self.create_graph)?;
        let targets = input_edges(inputs)?;
        let depth = roots.iter().map(|root| root.depth).fold(0, u64::max);
        let failures = roots.iter().filter(|root| root.depth == depth);
        let failures = failures.map(|root| root.failure.clone());
        let lost = LostTangents::new(depth, failures, self.create_graph, self.called_at);
        let roots = roots.into_iter().map(|root| (root.edge, root.seed));
        let found = in_mode(self.create_graph, || {
            let mut pass = Pass::new(self.create_graph, false);
            let found = collect(&mut pass, roots.collect(), &targets)?;
            // Before anything is freed: a pass that fails leaves the graph as it was.
            let missing = found.iter().position(Option::is_none);
            if let Some(position) = missing.filter(|_| !allow_unused) {
                return Err(Error::new(ErrorKind::UnusedInput { position }));
            }
            if !self.retain_graph && !self.create_graph {
                pass.free();
            }
            Ok(found)
        })?;
        Ok(lost
            .taken_from(found)
            .into_iter()
            .map(|grad| grad.map(AnyTensor::from_grad))
            .collect())
    }
}

/// Where the gradients of the inputs arrive.
pub(super) fn input_edges(inputs: &[AnyTensor]) -> Result<Vec<&Edge>, Error> {
    inputs
        .iter()
        .enumerate()
        .map(|(position, input)| {
            input
                .edge()
                .ok_or_else(|| Error::new(ErrorKind::InputWithoutGrad { position }))
        })
        .collect()
}

/// Why the gradients of a pass have no tangents, if it was run in forward mode: nodes save none, so what the gradients'
/// own derivatives are is not known.
pub(crate) struct LostTangents(Option<(u64, Failure)>);

impl LostTangents {
    /// Of a pass whose roots are of this depth, with what had gone wrong there before.
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

    /// The gradients without tangents: a run of forward mode that they reach fails.
    pub(crate) fn taken_from(
        &self,
        mut found: Vec<Option<AnyGradient>>,
    ) -> Vec<Option<AnyGradient>> {
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

/// The gradients that arrive at `targets` when each root starts with its gradient. The graph is retained.
pub(crate) fn gradients(
    roots: Vec<(&Edge, AnyGradient)>,
    targets: &[&Edge],
    create_graph: bool,
) -> Result<Vec<Option<AnyGradient>>, Error> {
    in_mode(create_graph, || {
        collect(&mut Pass::new(create_graph, false), roots, targets)
    })
}

/// The same for what was recorded above `floor`, as a part of the pass that runs: it ends at other nodes without
/// calling their hooks, and what it leaves for its end is left to that pass. With what `retain_grad` asks for.
pub(crate) fn gradients_above(
    floor: u64,
    roots: Vec<(&Edge, AnyGradient)>,
    targets: &[&Edge],
    create_graph: bool,
) -> Result<(Vec<Option<AnyGradient>>, Retained), Error> {
    let pass = || {
        let mut pass = Pass::above(floor, create_graph);
        let found = collect(&mut pass, roots, targets)?;
        Ok((found, pass.retained()))
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

/// Runs a pass, pruned to what leads to the targets, and gathers what has arrived at each.
fn collect<'g>(
    pass: &mut Pass<'g>,
    roots: Vec<(&'g Edge, AnyGradient)>,
    targets: &[&'g Edge],
) -> Result<Vec<Option<AnyGradient>>, Error> {
    pass.prune(roots.iter().map(|(root, _)| *root), targets);
    for (root, seed) in roots {
        pass.deliver(root, seed);
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
            *found = pass.arrived(target);
        }
    }
    Ok(found)
}
