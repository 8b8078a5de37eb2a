//! The edges of a node: one for each differentiable input, several for a list.

use crate::function::Lists;
use crate::tape::Edge;

/// The edges of a node, in the order of its differentiable inputs.
///
/// The nodes of functions without lists hold an array of edges, one for each input.
pub trait EdgeList: Send + Sync + 'static {
    /// Returns all edges.
    #[doc(hidden)]
    fn edges(&self) -> &[Option<Edge>];

    #[doc(hidden)]
    fn edges_mut(&mut self) -> &mut [Option<Edge>];

    /// Returns the end of each input's edges; empty if each input has one edge.
    #[doc(hidden)]
    fn ends(&self) -> &[usize];
}

impl<const N: usize> EdgeList for [Option<Edge>; N] {
    #[inline]
    fn edges(&self) -> &[Option<Edge>] {
        self
    }

    #[inline]
    fn edges_mut(&mut self) -> &mut [Option<Edge>] {
        self
    }

    #[inline]
    fn ends(&self) -> &[usize] {
        &[]
    }
}

impl<const N: usize> Lists<Option<Edge>, N> {
    /// Returns for each input whether it needs a gradient: a list does if one of its tensors does.
    pub fn needs(&self) -> [bool; N] {
        std::array::from_fn(|input| self.of(input).iter().any(Option::is_some))
    }
}

impl<const N: usize> EdgeList for Lists<Option<Edge>, N> {
    fn edges(&self) -> &[Option<Edge>] {
        self.items()
    }

    fn edges_mut(&mut self) -> &mut [Option<Edge>] {
        self.items_mut()
    }

    fn ends(&self) -> &[usize] {
        self.ends()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::tensor::Tensor;

    /// A node whose edges cannot be taken would be dropped recursively: see `tape::drop`.
    #[test]
    fn edges_of_lists_can_be_taken() {
        let x = Tensor::from(array![1.0]).set_requires_grad(true);
        let mut lists = Lists::new([vec![], vec![x.raw.edge.clone(), None]]);
        let taken = lists.edges_mut().iter_mut().filter_map(Option::take);
        assert_eq!(taken.count(), 1);
        assert!(lists.edges().iter().all(Option::is_none));
    }
}
