//! The reasons why `vmap` returns no outputs.

use crate::error::Error;
use autograd_kernels::Shape;

/// An error or a mistake of an example.
pub(super) enum VmapError {
    Error(Error),
    /// An output of an example does not have the shape of the others.
    Shapes {
        example: usize,
        output: usize,
        expected: Shape,
        found: Shape,
    },
    /// The lists of two examples differ in their lengths.
    Lists,
    /// The function of `apply_batch` returned an error for this example.
    Returned {
        example: usize,
    },
}

impl From<Error> for VmapError {
    #[inline]
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl VmapError {
    /// Returns the error.
    ///
    /// # Panics
    /// If shapes or lengths differ, which is a mistake of the caller.
    #[track_caller]
    #[inline]
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Error(error) => error,
            Self::Shapes {
                example,
                expected,
                found,
                ..
            } => panic!(
                "vmap: example {example} returned a tensor of shape {found}, others returned one of shape {expected}"
            ),
            Self::Lists => panic!("vmap: examples returned lists of tensors of different lengths"),
            // INVARIANT: only functions of `apply_batch` return it, and a pass runs none of them.
            Self::Returned { .. } => unreachable!("an error that `apply_batch` returns"),
        }
    }
}
