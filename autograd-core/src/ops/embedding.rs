//! Embeddings: rows of a matrix by their indices.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView2, Axis};

use super::{IndexAdd, zeros};
use crate::{Element, custom_function, kernels, tensor::Tensor2};

/// A row of the weight for each index. The row at the index `padding` has no gradient.
#[derive(Debug)]
pub struct Embedding<T>(PhantomData<T>);

// With a padding, the gradient is by design not that of the values.
#[custom_function(gradcheck(weight = [4, 3], indices = &[2, 0, 2], padding = None))]
impl<T: Element> Embedding<T> {
    /// Returns the rows of `weight` at `indices`.
    ///
    /// # Panics
    /// If an index or the padding is out of range.
    #[forward]
    #[track_caller]
    pub fn forward(weight: ArrayView2<T>, indices: &[usize], padding: Option<usize>) -> Array2<T> {
        let rows = weight.nrows();
        let range = || kernels::counted(rows, "row", "rows");
        if let Some(index) = indices.iter().find(|&&index| index >= rows) {
            panic!(
                "embedding: the index {index} is out of range for {}",
                range()
            );
        }
        // Only derivatives need it.
        if let Some(padding) = padding.filter(|&padding| padding >= rows) {
            panic!(
                "embedding: the padding {padding} is out of range for {}",
                range()
            );
        }
        kernels::index_select(&weight, Axis(0), indices)
    }

    #[backward(weight)]
    fn backward(
        grad_output: &Tensor2<T>,
        indices: &[usize],
        padding: Option<usize>,
        shape_weight: &[usize],
    ) -> Tensor2<T> {
        let (positions, counted) = counted(indices, padding);
        if counted.len() == indices.len() {
            return IndexAdd::apply(zeros(shape_weight), Axis(0), indices, grad_output);
        }
        let rows = grad_output.index_select(Axis(0), &positions);
        IndexAdd::apply(zeros(shape_weight), Axis(0), &counted, &rows)
    }

    #[jvp]
    fn jvp(
        tangent_weight: &Tensor2<T>,
        output: &Tensor2<T>,
        indices: &[usize],
        padding: Option<usize>,
    ) -> Tensor2<T> {
        let (positions, counted) = counted(indices, padding);
        let rows = tangent_weight.index_select(Axis(0), &counted);
        IndexAdd::apply(zeros(output.shape()), Axis(0), &positions, &rows)
    }
}

/// Returns the positions of the indices that are not the padding, and these indices.
fn counted(indices: &[usize], padding: Option<usize>) -> (Vec<usize>, Vec<usize>) {
    indices
        .iter()
        .copied()
        .enumerate()
        .filter(|&(_, index)| padding != Some(index))
        .unzip()
}

impl<T: Element> Tensor2<T> {
    /// Returns the row at each index, such as the vectors of the words of a text. The gradients of a row that is
    /// selected several times are added.
    ///
    /// # Panics
    /// If an index is out of range.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let weight = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    /// let vectors = weight.embedding(&[1, 0, 1]);
    /// assert_eq!(vectors.to_array(), array![[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]);
    /// vectors.sum().backward()?;
    /// assert_eq!(weight.grad(), Some(array![[1.0, 1.0], [2.0, 2.0]]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn embedding(&self, indices: &[usize]) -> Self {
        Embedding::apply(self, indices, None)
    }

    /// Returns the row at each index, as [`embedding`](Self::embedding) does, where the row at `padding` has no
    /// gradient: the row of the word that pads texts to one length.
    ///
    /// # Panics
    /// If an index or the padding is out of range.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let weight = Tensor::from(array![[1.0], [3.0]]).set_requires_grad(true);
    /// weight.embedding_padded(&[1, 0, 1], 0).sum().backward()?;
    /// assert_eq!(weight.grad(), Some(array![[0.0], [2.0]]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn embedding_padded(&self, indices: &[usize], padding: usize) -> Self {
        Embedding::apply(self, indices, Some(padding))
    }
}
