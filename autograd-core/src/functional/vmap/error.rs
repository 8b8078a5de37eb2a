//! The reasons why `vmap` returns no outputs.

use std::panic::Location;

use crate::error::{Error, ErrorKind};
use autograd_kernels::Shape;

/// An error or a mistake of an example.
pub(super) enum VmapError {
    Error(Error),
    /// The output of an example does not have the shape of the others.
    Shapes {
        example: usize,
        expected: Shape,
        found: Shape,
    },
    /// The lists of two examples differ in their lengths.
    Lists,
}

impl From<Error> for VmapError {
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
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Error(error) => error,
            Self::Shapes {
                example,
                expected,
                found,
            } => panic!(
                "vmap: example {example} returned a tensor of shape {found}, others returned one of shape {expected}"
            ),
            Self::Lists => panic!("vmap: examples returned lists of tensors of different lengths"),
        }
    }

    /// Adds the example that failed.
    pub(super) fn of(self, example: usize, called_at: &'static Location<'static>) -> Self {
        match self {
            Self::Error(error) => ErrorKind::Example { example, error }.at(called_at).into(),
            other => other,
        }
    }
}
