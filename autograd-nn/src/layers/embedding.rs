//! A table of vectors.

use std::marker::PhantomData;

use rand_core::Rng;

use autograd_core::ndarray::{Array, Dimension, Ix2};
use autograd_core::ops::Reshape;
use autograd_core::{Element, Tensor, Tensor2};
use autograd_kernels::counted;

use crate::forward::Forward;
use crate::init;
use crate::layers::print;
use crate::module::Module;
use crate::parameter::Parameter;

/// A trained table that has a vector, its row, for each index.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Embedding, Forward, Generator};
///
/// let words = Embedding::<f32>::new(1000, 16, &mut Generator::seed(7));
/// assert_eq!(words.forward(&[3, 1, 4][..]).shape(), [3, 16]);
/// assert_eq!(words.forward(&array![[3, 1, 4], [1, 5, 9]]).shape(), [2, 3, 16]);
/// ```
#[derive(Debug, Module)]
#[module(extra_repr = Self::options)]
pub struct Embedding<T: Element = f32> {
    /// The table, of shape `[num_embeddings, embedding_dim]`.
    pub weight: Parameter<T, Ix2>,
    /// An index whose row gets no gradient, to pad short texts.
    #[module(skip)]
    pub padding_idx: Option<usize>,
}

impl<T: Element> Embedding<T> {
    /// Creates a table of numbers from the standard normal distribution.
    pub fn new(num_embeddings: usize, embedding_dim: usize, generator: &mut impl Rng) -> Self {
        Self::builder(num_embeddings, embedding_dim).build(generator)
    }

    /// Returns a builder, for other options.
    pub fn builder(num_embeddings: usize, embedding_dim: usize) -> EmbeddingBuilder<T> {
        EmbeddingBuilder {
            shape: [num_embeddings, embedding_dim],
            padding_idx: None,
            element: PhantomData,
        }
    }

    #[track_caller]
    fn rows(&self, indices: &[usize]) -> Tensor2<T> {
        let rows = self.weight.shape()[0];
        if let Some(index) = indices.iter().find(|&&index| index >= rows) {
            panic!(
                "Embedding({}): the index {index} is out of range for {}",
                self.options(),
                counted(rows, "row", "rows")
            )
        }
        match self.padding_idx {
            Some(padding) => self.weight.embedding_padded(indices, padding),
            None => self.weight.embedding(indices),
        }
    }

    fn options(&self) -> String {
        let shape = self.weight.shape();
        let mut text = format!("{}, {}", shape[0], shape[1]);
        if let Some(padding) = self.padding_idx {
            print::add(&mut text, "padding_idx", padding);
        }
        text
    }
}

impl<T: Element> Forward<&[usize]> for Embedding<T> {
    type Output = Tensor2<T>;

    /// # Panics
    /// If an index is out of range.
    #[track_caller]
    fn forward(&self, indices: &[usize]) -> Tensor2<T> {
        self.rows(indices)
    }
}

/// The vectors are along the last axis of the output.
impl<T: Element, D: Dimension> Forward<&Array<usize, D>> for Embedding<T> {
    type Output = Tensor<T, D::Larger>;

    /// # Panics
    /// If an index is out of range.
    #[track_caller]
    fn forward(&self, indices: &Array<usize, D>) -> Tensor<T, D::Larger> {
        let list: Vec<usize> = indices.iter().copied().collect();
        let mut shape = indices.shape().to_vec();
        shape.push(self.weight.shape()[1]);
        Reshape::apply(&self.rows(&list), &shape)
    }
}

/// The options of an [`Embedding`].
#[derive(Clone, Debug)]
#[must_use = "a builder creates nothing before `build`"]
pub struct EmbeddingBuilder<T> {
    shape: [usize; 2],
    padding_idx: Option<usize>,
    element: PhantomData<T>,
}

impl<T: Element> EmbeddingBuilder<T> {
    /// Sets an index whose row is zeros and gets no gradient, to pad short texts.
    ///
    /// ```
    /// use pullback::nn::{Embedding, Forward, Generator};
    ///
    /// let words = Embedding::<f32>::builder(10, 3).padding_idx(0).build(&mut Generator::seed(7));
    /// words.forward(&[0, 4][..]).sum().backward()?;
    /// let grad = words.weight.grad().unwrap();
    /// assert!(grad.row(0).sum() == 0.0 && grad.row(4).sum() == 3.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn padding_idx(self, index: usize) -> Self {
        Self {
            padding_idx: Some(index),
            ..self
        }
    }

    /// Creates the table, with values from the generator.
    ///
    /// # Panics
    /// If the padding index is out of range.
    #[track_caller]
    pub fn build(self, generator: &mut impl Rng) -> Embedding<T> {
        let mut values = init::normal(self.shape, 0.0, 1.0, generator);
        if let Some(padding) = self.padding_idx {
            let rows = self.shape[0];
            assert!(
                padding < rows,
                "Embedding of {}: the padding index {padding} is out of range",
                counted(rows, "row", "rows")
            );
            values.row_mut(padding).fill(T::zero());
        }
        Embedding {
            weight: Parameter::new(values),
            padding_idx: self.padding_idx,
        }
    }
}
