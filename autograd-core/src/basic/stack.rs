//! Stacking along a new axis.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, ArrayViewD, Axis, Dimension, SliceInfoElem};

use super::Slice;
use crate::kernels::checks::has_rank;
use crate::tensor::{ListElement, Tensor};
use crate::{Element, custom_function, kernels};

/// Tensors of one shape, stacked along a new axis.
#[derive(Debug)]
pub struct Stack<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(axis = Axis(1), parts = [[2, 3], [2, 3]], E = ndarray::Ix3))]
impl<T: Element, D: Dimension, E: Dimension> Stack<T, D, E> {
    /// Stacks tensors along a new axis, in new memory.
    ///
    /// # Panics
    /// If there are no tensors, their shapes differ, `axis` is larger than their rank, or `E` does not have one axis
    /// more.
    #[forward(outputs(output), saves(count))]
    #[track_caller]
    pub fn forward(axis: Axis, parts: &[ArrayView<T, D>]) -> (Array<T, E>, usize) {
        let Some(first) = parts.first() else {
            panic!("stack of no tensors: at least one is needed");
        };
        let from = first.shape();
        assert!(
            axis.index() <= first.ndim(),
            "stack of tensors of shape {from:?}: there cannot be an axis {}",
            axis.index()
        );
        has_rank::<E>("stack", from, first.ndim() + 1);
        for part in parts {
            assert!(
                part.shape() == from,
                "stack of tensors of shapes {from:?} and {:?}: they differ",
                part.shape()
            );
        }
        let widened = parts
            .iter()
            .map(|part| part.view().into_dyn().insert_axis(axis));
        let stacked = kernels::concat(axis, &widened.collect::<Vec<ArrayViewD<T>>>());
        // INVARIANT: it has one axis more than the parts, as `E` does.
        let stacked = stacked.into_dimensionality().expect("one axis more");
        (stacked, parts.len())
    }

    #[backward(parts)]
    fn backward(grad_output: &Tensor<T, E>, axis: Axis, count: usize) -> Vec<Tensor<T, D>> {
        let mut slice = vec![SliceInfoElem::from(..); grad_output.ndim()];
        let mut part = |index: usize| {
            slice[axis.index()] = index.into();
            Slice::apply(grad_output, &slice)
        };
        (0..count).map(&mut part).collect()
    }

    #[jvp]
    fn jvp(tangent_parts: &[&Tensor<T, D>], axis: Axis) -> Tensor<T, E> {
        Self::apply(axis, tangent_parts)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Stacks tensors of one shape, given by value or by reference, along a new axis `axis`.
    ///
    /// # Panics
    /// If there are no tensors, their shapes differ, or `axis` is larger than their rank.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let (x, y) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![3.0, 4.0]));
    /// assert_eq!(Tensor::stack(Axis(0), &[&x, &y]).to_array(), array![[1.0, 2.0], [3.0, 4.0]]);
    /// let steps: Vec<Tensor<f64, _>> = (1..4).map(|step| &x * f64::from(step)).collect();
    /// assert_eq!(Tensor::stack(Axis(0), &steps).shape(), [3, 2]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn stack(axis: Axis, parts: &[impl ListElement<T, D>]) -> Tensor<T, D::Larger> {
        Stack::apply(axis, parts)
    }
}
