//! Concatenation.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Axis, Dimension};

use crate::tensor::{ListElement, Tensor};
use crate::{Element, custom_function, kernels};

/// The concatenation of tensors along an axis.
#[derive(Debug)]
pub struct Concat<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(axis = Axis(1), parts = [[2, 3], [2, 1]]))]
impl<T: Element, D: Dimension> Concat<T, D> {
    /// Concatenates tensors along `axis`, in new memory.
    ///
    /// # Panics
    /// If there are no tensors, they do not have the axis, or they differ in the length of another axis.
    #[forward(outputs(output), saves(lengths))]
    #[track_caller]
    pub fn forward(axis: Axis, parts: &[ArrayView<T, D>]) -> (Array<T, D>, Vec<usize>) {
        let output = kernels::concat(axis, parts);
        let lengths = parts.iter().map(|part| part.len_of(axis)).collect();
        (output, lengths)
    }

    #[backward(parts)]
    fn backward(grad_output: &Tensor<T, D>, axis: Axis, lengths: &[usize]) -> Vec<Tensor<T, D>> {
        grad_output.split(axis, lengths)
    }

    #[jvp]
    fn jvp(tangent_parts: &[&Tensor<T, D>], axis: Axis) -> Tensor<T, D> {
        Self::apply(axis, tangent_parts)
    }
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Concatenates tensors along `axis`, given by value or by reference.
    ///
    /// # Panics
    /// If there are no tensors, they do not have the axis, or they differ in the length of another axis.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::{Axis, array}};
    ///
    /// let (x, y) = (Tensor::from(array![[1.0], [2.0]]), Tensor::from(array![[3.0], [4.0]]));
    /// assert_eq!(Tensor::concat(Axis(1), &[&x, &y]).to_array(), array![[1.0, 3.0], [2.0, 4.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn concat(axis: Axis, parts: &[impl ListElement<T, D>]) -> Self {
        Concat::apply(axis, parts)
    }
}
