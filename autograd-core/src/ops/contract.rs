//! Contractions over axes with names.

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::add_tangents;
use crate::kernels::{self, Subscripts};
use crate::{Element, custom_function, tensor::Tensor};

/// The contraction of two tensors over axes with names, as [`kernels::contract`] computes it. Its
/// gradients are contractions too.
#[derive(Debug)]
pub struct Contract<T, D, E, F>(PhantomData<(T, D, E, F)>);

#[custom_function(gradcheck(
    x = [2, 3, 2],
    y = [3, 1],
    subscripts = &Subscripts::new([0, 1, 2], [1, 3], [3, 0]),
    shape = &[1, 2],
    F = ndarray::Ix2
))]
impl<T: Element, D: Dimension, E: Dimension, F: Dimension> Contract<T, D, E, F> {
    /// Returns Σ x · y over the axes that `subscripts` names, as a tensor of `shape`.
    ///
    /// # Panics
    /// If the shapes do not fit the names, or the rank of `shape` is not that of `F`.
    #[forward]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, D>,
        y: ArrayView<T, E>,
        subscripts: &Subscripts,
        shape: &[usize],
    ) -> Array<T, F> {
        let output = kernels::contract(&x.into_dyn(), &y.into_dyn(), subscripts, shape);
        let Ok(output) = output.into_dimensionality() else {
            panic!("a contraction to shape {shape:?}, which does not have the rank of its type")
        };
        output
    }

    #[backward(x)]
    fn grad_x(
        grad_output: &Tensor<T, F>,
        y: &Tensor<T, E>,
        subscripts: &Subscripts,
        shape_x: &[usize],
    ) -> Tensor<T, D> {
        Contract::apply(grad_output, y, &subscripts.of_x(), shape_x)
    }

    #[backward(y)]
    fn grad_y(
        grad_output: &Tensor<T, F>,
        x: &Tensor<T, D>,
        subscripts: &Subscripts,
        shape_y: &[usize],
    ) -> Tensor<T, E> {
        Contract::apply(x, grad_output, &subscripts.of_y(), shape_y)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor<T, D>>,
        tangent_y: Option<&Tensor<T, E>>,
        x: &Tensor<T, D>,
        y: &Tensor<T, E>,
        subscripts: &Subscripts,
        shape: &[usize],
    ) -> Option<Tensor<T, F>> {
        let along_x = tangent_x.map(|tangent| Self::apply(tangent, y, subscripts, shape));
        let along_y = tangent_y.map(|tangent| Self::apply(x, tangent, subscripts, shape));
        add_tangents(along_x, along_y)
    }
}
