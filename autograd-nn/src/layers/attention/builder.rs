//! The options of multi-head attention.

use std::marker::PhantomData;

use rand_core::Rng;

use autograd_core::Element;
use autograd_core::ndarray::Array1;
use autograd_kernels::counted;

use crate::init;
use crate::layers::attention::MultiheadAttention;
use crate::layers::dropout::Dropout;
use crate::layers::linear::Linear;
use crate::parameter::Parameter;

/// The options of a [`MultiheadAttention`].
///
/// ```
/// use pullback::nn::{Generator, MultiheadAttention, MultiheadAttentionBuilder};
///
/// let small: MultiheadAttentionBuilder<f32> = MultiheadAttention::builder(16, 4).causal(true).bias(false);
/// let mut generator = Generator::seed(7);
/// let layers = [small.clone().build(&mut generator), small.build(&mut generator)];
/// assert!(layers.iter().all(|layer| layer.in_proj_bias.is_none()));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder creates nothing before `build`"]
pub struct MultiheadAttentionBuilder<T> {
    lengths: [usize; 3],
    num_heads: usize,
    bias: bool,
    causal: bool,
    dropout: f64,
    element: PhantomData<T>,
}

impl<T: Element> MultiheadAttentionBuilder<T> {
    pub(super) fn new(embed_dim: usize, num_heads: usize) -> Self {
        Self {
            lengths: [embed_dim; 3],
            num_heads,
            bias: true,
            causal: false,
            dropout: 0.0,
            element: PhantomData,
        }
    }

    /// Sets the length of keys; `embed_dim` by default.
    pub fn kdim(mut self, kdim: usize) -> Self {
        self.lengths[1] = kdim;
        self
    }

    /// Sets the length of values; `embed_dim` by default.
    pub fn vdim(mut self, vdim: usize) -> Self {
        self.lengths[2] = vdim;
        self
    }

    /// Sets whether the linear functions have a bias; `true` by default.
    pub fn bias(self, bias: bool) -> Self {
        Self { bias, ..self }
    }

    /// Sets whether attention is causal: a query attends to no later key, whatever the mask; `false` by default.
    ///
    /// ```
    /// use pullback::ndarray::Array3;
    /// use pullback::nn::{Generator, MultiheadAttention};
    /// use pullback::prelude::*;
    ///
    /// let attention = MultiheadAttention::<f32>::builder(4, 2).causal(true).build(&mut Generator::seed(7));
    /// let mut text = Array3::from_shape_fn((1, 3, 4), |(_, place, k)| (place * k) as f32);
    /// let before = attention.forward(&Tensor::from(text.clone())).to_array();
    /// text[[0, 2, 0]] = 9.0; // the last word
    /// let after = attention.forward(&Tensor::from(text)).to_array();
    /// assert_eq!(before.slice(pullback::ndarray::s![0, ..2, ..]), after.slice(pullback::ndarray::s![0, ..2, ..]));
    /// ```
    pub fn causal(self, causal: bool) -> Self {
        Self { causal, ..self }
    }

    /// Sets the probability with which a weight is dropped in training; 0 by default. All weights of a head are then
    /// in memory at once; without dropout they are not.
    ///
    /// # Panics
    /// If `p` is not between 0 and 1.
    #[track_caller]
    pub fn dropout(self, p: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&p),
            "MultiheadAttention with the dropout {p}: it must be between 0 and 1"
        );
        Self { dropout: p, ..self }
    }

    /// Creates the layer. The matrices of queries, keys and values are drawn by
    /// [`xavier_uniform`](crate::nn::init::xavier_uniform), that of the output as in [`Linear`]; biases are 0.
    ///
    /// # Panics
    /// If the heads do not divide `embed_dim`.
    #[track_caller]
    pub fn build(self, generator: &mut impl Rng) -> MultiheadAttention<T> {
        let [embed_dim, kdim, vdim] = self.lengths;
        assert!(
            self.num_heads > 0 && embed_dim.is_multiple_of(self.num_heads),
            "MultiheadAttention of length {embed_dim} with {}: the heads must divide the length",
            counted(self.num_heads, "head", "heads")
        );
        let mut weight = |rows, columns| {
            Parameter::new(init::scaled::xavier_uniform(
                (rows, columns),
                1.0,
                generator,
            ))
        };
        let is_one = kdim == embed_dim && vdim == embed_dim;
        let in_proj_weight = is_one.then(|| weight(3 * embed_dim, embed_dim));
        let [q_proj_weight, k_proj_weight, v_proj_weight] = self
            .lengths
            .map(|length| (!is_one).then(|| weight(embed_dim, length)));
        let zeros = |length: usize| Parameter::new(Array1::zeros(length));
        let mut out_proj = Linear::builder(embed_dim, embed_dim)
            .bias(false)
            .build(generator);
        out_proj.bias = self.bias.then(|| zeros(embed_dim));
        MultiheadAttention {
            in_proj_weight,
            q_proj_weight,
            k_proj_weight,
            v_proj_weight,
            in_proj_bias: self.bias.then(|| zeros(3 * embed_dim)),
            out_proj,
            dropout: (self.dropout > 0.0).then(|| Dropout::new(self.dropout, generator)),
            lengths: self.lengths,
            num_heads: self.num_heads,
            causal: self.causal,
        }
    }
}
