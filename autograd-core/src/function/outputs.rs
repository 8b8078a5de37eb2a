//! The shapes of a node's outputs: one for each tensor, several for a list, none for a missing optional output.

use crate::array::PackedShape;
use crate::function::Lists;

/// The shapes of a node's outputs, in the order of the function's differentiable outputs.
///
/// The nodes of functions without lists hold an array of shapes, one for each output.
pub trait OutputList: Send + Sync + 'static {
    /// Returns all shapes.
    #[doc(hidden)]
    fn shapes(&self) -> &[PackedShape];

    /// Returns the end of each output's shapes; empty if each output has one shape.
    #[doc(hidden)]
    fn ends(&self) -> &[usize];
}

impl<const N: usize> OutputList for [PackedShape; N] {
    #[inline]
    fn shapes(&self) -> &[PackedShape] {
        self
    }

    #[inline]
    fn ends(&self) -> &[usize] {
        &[]
    }
}

impl<const N: usize> OutputList for Lists<PackedShape, N> {
    fn shapes(&self) -> &[PackedShape] {
        self.items()
    }

    fn ends(&self) -> &[usize] {
        self.ends()
    }
}
