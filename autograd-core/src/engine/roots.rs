//! What a pass starts from.

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
    /// Its level in forward mode.
    pub(super) level: u64,
    /// Why it has no tangent there.
    pub(super) failure: Option<Failure>,
}

impl<'a> Root<'a> {
    /// Starts with `seed`, or with one for a tensor of one element.
    pub(super) fn new<T: Element, D: Dimension>(
        output: &'a Tensor<T, D>,
        seed: Option<Array<T, D>>,
    ) -> Result<Self, Error> {
        let shape = output.to_shape();
        let seed = match seed {
            Some(seed) if seed.shape() == output.shape() => Buffer::from_array(seed),
            Some(seed) => {
                let (expected, found) = (shape, seed.shape().into());
                return Err(Error::new(ErrorKind::SeedShape { expected, found }));
            }
            None if output.len() == 1 => Buffer::filled(shape, T::one()),
            None => return Err(Error::new(ErrorKind::NotScalar { shape })),
        };
        Ok(Self {
            edge: output
                .raw
                .edge
                .as_ref()
                .ok_or_else(|| Error::new(ErrorKind::NoGraph))?,
            seed: AnyGradient::erase(Gradient::Owned(seed)),
            level: output.raw.level(),
            failure: output.raw.failure(output.raw.level()),
        })
    }
}

/// The outputs that a pass is started from, while they are being named. What is wrong with one is reported
/// at the end.
pub(super) struct Roots<'a, T, D> {
    former: Vec<Result<Root<'a>, Error>>,
    pub(super) last: &'a Tensor<T, D>,
    seed: Option<Array<T, D>>,
}

impl<'a, T: Element, D: Dimension> Roots<'a, T, D> {
    pub(super) fn of(output: &'a Tensor<T, D>) -> Self {
        Self {
            former: Vec::new(),
            last: output,
            seed: None,
        }
    }

    /// The gradient of the last output.
    pub(super) fn seed(self, seed: Array<T, D>) -> Self {
        Self {
            seed: Some(seed),
            ..self
        }
    }

    pub(super) fn output<U: Element, E: Dimension>(
        mut self,
        output: &'a Tensor<U, E>,
    ) -> Roots<'a, U, E> {
        self.former.push(Root::new(self.last, self.seed));
        Roots {
            former: self.former,
            last: output,
            seed: None,
        }
    }

    pub(super) fn finish(mut self) -> Result<Vec<Root<'a>>, Error> {
        self.former.push(Root::new(self.last, self.seed));
        self.former.into_iter().collect()
    }
}
