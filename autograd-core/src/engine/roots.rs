//! The outputs that a pass starts from.

use std::panic::Location;

use ndarray::{Array, Dimension};

use crate::array::Buffer;
use crate::error::{Error, ErrorKind};
use crate::tape::Failure;
use crate::tape::{AnyGradient, Edge, Gradient};
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// A tensor that a pass starts from, with its gradient.
pub(super) struct Root<'a> {
    pub(super) edge: &'a Edge,
    pub(super) seed: AnyGradient,
    /// The depth of the tensor or the seed in forward mode.
    pub(super) depth: u64,
    /// The failure of the tensor's tangent at that depth.
    pub(super) failure: Option<Failure>,
}

impl<'a> Root<'a> {
    /// Returns a root with `seed`; without one, a tensor of one element starts with 1.
    pub(super) fn new<T: Element, D: Dimension>(
        output: &'a Tensor<T, D>,
        seed: Option<Gradient<T>>,
        called_at: &'static Location<'static>,
    ) -> Result<Self, Error> {
        let shape = output.to_shape();
        let seed = match seed {
            Some(seed) if seed.buffer().shape()[..] == *output.shape() => seed,
            Some(seed) => {
                let (expected, found) = (shape, seed.buffer().shape().clone());
                return Err(ErrorKind::SeedShape { expected, found }.at(called_at));
            }
            None if output.len() == 1 => Gradient::Owned(Buffer::filled(shape, T::one())),
            None => return Err(ErrorKind::NotScalar { shape }.at(called_at)),
        };
        // Nodes use neither the tangents of outputs nor those of seeds.
        let depth = match &seed {
            Gradient::Tensor(seed) => seed.depth().max(output.raw.depth()),
            Gradient::Owned(_) | Gradient::Constant(_) => output.raw.depth(),
        };
        Ok(Self {
            edge: output
                .raw
                .edge
                .as_ref()
                .ok_or_else(|| ErrorKind::NoGraph.at(called_at))?,
            seed: AnyGradient::erase(seed),
            depth,
            failure: output.raw.failure(depth),
        })
    }
}

/// A gradient of an output that a pass may start with: an array, or a tensor by value or by reference. Under
/// `create_graph` the pass is also differentiable with respect to a tensor's history.
///
/// ```
/// use pullback::{Grad, Tensor, grad};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![3.0]).set_requires_grad(true);
/// let (y, v) = (&x * &x, &x * 1.0);
/// let along = Grad::of(&y).seed(&v).create_graph(true).run(&x)?;
/// assert_eq!(along.to_array(), array![18.0]);
/// assert_eq!(Grad::of(&y).seed(&array![3.0]).retain_graph(true).run(&x)?.to_array(), array![18.0]);
/// assert_eq!(grad(&along.sum(), &x)?.to_array(), array![12.0]); // of v · 2x
/// # Ok::<(), pullback::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a pass cannot start with `{Self}` as the gradient of a tensor of `{T}`",
    note = "give an array or a tensor of the output's element type and rank; of a view, `view.to_owned()`"
)]
pub trait Seed<T, D> {
    #[doc(hidden)]
    fn into_seed(self) -> Gradient<T>;
}

impl<T: Element, D: Dimension> Seed<T, D> for Array<T, D> {
    fn into_seed(self) -> Gradient<T> {
        Gradient::Owned(Buffer::from_array(self))
    }
}

impl<T: Element, D: Dimension> Seed<T, D> for &Array<T, D> {
    fn into_seed(self) -> Gradient<T> {
        self.clone().into_seed()
    }
}

impl<T: Element, D: Dimension> Seed<T, D> for Tensor<T, D> {
    fn into_seed(self) -> Gradient<T> {
        Gradient::from_tensor(self.raw)
    }
}

impl<T: Element, D: Dimension> Seed<T, D> for &Tensor<T, D> {
    fn into_seed(self) -> Gradient<T> {
        self.clone().into_seed()
    }
}

/// Collects the outputs that a pass starts from. Errors are returned at the end.
pub(super) struct Roots<'a, T, D> {
    former: Vec<Result<Root<'a>, Error>>,
    pub(super) last: &'a Tensor<T, D>,
    seed: Option<Gradient<T>>,
    /// The line of the call that starts the pass.
    pub(super) called_at: &'static Location<'static>,
}

impl<'a, T: Element, D: Dimension> Roots<'a, T, D> {
    #[track_caller]
    pub(super) fn of(output: &'a Tensor<T, D>) -> Self {
        Self {
            former: Vec::new(),
            last: output,
            seed: None,
            called_at: Location::caller(),
        }
    }

    /// Sets the gradient of the last output.
    pub(super) fn seed(self, seed: impl Seed<T, D>) -> Self {
        Self {
            seed: Some(seed.into_seed()),
            ..self
        }
    }

    pub(super) fn output<U: Element, E: Dimension>(
        mut self,
        output: &'a Tensor<U, E>,
    ) -> Roots<'a, U, E> {
        let root = Root::new(self.last, self.seed, self.called_at);
        self.former.push(root);
        Roots {
            former: self.former,
            last: output,
            seed: None,
            called_at: self.called_at,
        }
    }

    /// Returns all roots. If the pass is not recorded, the seeds have no histories.
    pub(super) fn finish(mut self, create_graph: bool) -> Result<Vec<Root<'a>>, Error> {
        let root = Root::new(self.last, self.seed, self.called_at);
        self.former.push(root);
        let finish = |root: Result<Root<'a>, Error>| {
            let root = root?;
            let seed = if create_graph {
                root.seed
            } else {
                root.seed.without_history()
            };
            Ok(Root { seed, ..root })
        };
        self.former.into_iter().map(finish).collect()
    }
}
