//! Rows by their indices, and its reverse.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView2, Axis};

use crate::{Element, Tensor2, custom_function};

/// A row of the weight for each index.
#[derive(Debug)]
pub struct Embedding<T>(PhantomData<T>);

#[custom_function(gradcheck(weight = [4, 3], indices = &[2, 0, 2], padding = None))]
impl<T: Element> Embedding<T> {
    /// The rows of `weight` at `indices`.
    ///
    /// # Panics
    /// If there is no row for an index.
    #[forward(outputs(output), saves(rows))]
    #[track_caller]
    pub fn forward(
        weight: ArrayView2<T>,
        indices: &[usize],
        padding: Option<usize>,
    ) -> (Array2<T>, usize) {
        check("embedding", weight.nrows(), indices);
        let _ = padding; // it has a value as any other row; only its gradient is left out
        (weight.select(Axis(0), indices), weight.nrows())
    }

    #[backward(weight)]
    fn backward(
        grad_output: &Tensor2<T>,
        indices: &[usize],
        padding: Option<usize>,
        rows: usize,
    ) -> Tensor2<T> {
        AddRows::apply(grad_output, indices, padding, rows)
    }

    #[jvp]
    fn jvp(tangent_weight: &Tensor2<T>, indices: &[usize], padding: Option<usize>) -> Tensor2<T> {
        TakeRows::apply(tangent_weight, indices, padding)
    }
}

/// Rows added up where their indices say; those for `padding` nowhere.
#[derive(Debug)]
pub struct AddRows<T>(PhantomData<T>);

#[custom_function(gradcheck(x = [3, 2], indices = &[2, 0, 2], padding = Some(0), rows = 4))]
impl<T: Element> AddRows<T> {
    /// `rows` rows, each the sum of the rows of `x` with its index.
    ///
    /// # Panics
    /// If there is not an index for each row of `x`, or no row for an index.
    #[forward]
    #[track_caller]
    pub fn forward(
        x: ArrayView2<T>,
        indices: &[usize],
        padding: Option<usize>,
        rows: usize,
    ) -> Array2<T> {
        check("add_rows", rows, indices);
        assert!(
            x.nrows() == indices.len(),
            "add_rows of shape {:?} with {} indices: a row for each is needed",
            x.shape(),
            indices.len()
        );
        let mut sums = Array2::zeros((rows, x.ncols()));
        for (row, &index) in x.rows().into_iter().zip(indices) {
            if padding != Some(index) {
                let mut sum = sums.row_mut(index);
                sum += &row;
            }
        }
        sums
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor2<T>, indices: &[usize], padding: Option<usize>) -> Tensor2<T> {
        TakeRows::apply(grad_output, indices, padding)
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor2<T>,
        indices: &[usize],
        padding: Option<usize>,
        rows: usize,
    ) -> Tensor2<T> {
        Self::apply(tangent_x, indices, padding, rows)
    }
}

/// The row at each index, zeros for `padding`: the reverse of [`AddRows`].
#[derive(Debug)]
pub struct TakeRows<T>(PhantomData<T>);

#[custom_function(gradcheck(x = [4, 2], indices = &[2, 0, 2], padding = Some(0)))]
impl<T: Element> TakeRows<T> {
    /// The rows of `x` at `indices`, zeros for `padding`.
    ///
    /// # Panics
    /// If there is no row for an index.
    #[forward(outputs(output), saves(rows))]
    #[track_caller]
    pub fn forward(
        x: ArrayView2<T>,
        indices: &[usize],
        padding: Option<usize>,
    ) -> (Array2<T>, usize) {
        check("take_rows", x.nrows(), indices);
        let mut taken = x.select(Axis(0), indices);
        for (mut row, &index) in taken.rows_mut().into_iter().zip(indices) {
            if padding == Some(index) {
                row.fill(T::zero());
            }
        }
        (taken, x.nrows())
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor2<T>,
        indices: &[usize],
        padding: Option<usize>,
        rows: usize,
    ) -> Tensor2<T> {
        AddRows::apply(grad_output, indices, padding, rows)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor2<T>, indices: &[usize], padding: Option<usize>) -> Tensor2<T> {
        Self::apply(tangent_x, indices, padding)
    }
}

#[track_caller]
fn check(name: &str, rows: usize, indices: &[usize]) {
    if let Some(index) = indices.iter().find(|&&index| index >= rows) {
        panic!("{name} of the index {index}: there are {rows} rows");
    }
}

impl<T: Element> Tensor2<T> {
    /// A row for each index: of a weight with a row for each word, the vectors of a text. The gradients of
    /// rows that stand there several times are added up.
    ///
    /// # Panics
    /// If there is no row for an index.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let weight = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    /// let vectors = weight.embedding(&[1, 0, 1]);
    /// assert_eq!(vectors.to_array(), array![[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]);
    /// vectors.sum().backward()?;
    /// assert_eq!(weight.grad(), Some(array![[1.0, 1.0], [2.0, 2.0]]));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn embedding(&self, indices: &[usize]) -> Self {
        Embedding::apply(self, indices, None)
    }

    /// As [`embedding`](Self::embedding), with an index whose row gets no gradient: that of a sign which
    /// fills texts up to one length.
    ///
    /// # Panics
    /// If there is no row for an index.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ndarray::array;
    ///
    /// let weight = Tensor::from(array![[1.0], [3.0]]).set_requires_grad(true);
    /// weight.embedding_padded(&[1, 0, 1], 0).sum().backward()?;
    /// assert_eq!(weight.grad(), Some(array![[0.0], [2.0]]));
    /// # Ok::<(), autograd_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn embedding_padded(&self, indices: &[usize], padding: usize) -> Self {
        Embedding::apply(self, indices, Some(padding))
    }
}
