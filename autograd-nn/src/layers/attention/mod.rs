//! Multi-head attention.

mod builder;
mod dropped;

pub use builder::MultiheadAttentionBuilder;

use std::ptr;

use rand_core::Rng;

use autograd_core::ndarray::{Axis, Ix1, Ix2};
use autograd_core::ops::AttentionOptions;
use autograd_core::{Element, Tensor, Tensor2, Tensor3, Tensor4};

use crate::forward::Forward;
use crate::layers::dropout::Dropout;
use crate::layers::linear::Linear;
use crate::layers::{print, shapes};
use crate::module::Module;
use crate::parameter::Parameter;

/// Multi-head attention (Vaswani and others, 2017). Each head has its own linear functions of queries, keys and
/// values and computes softmax(q kᵀ / √length) v; one more linear function combines the outputs of the heads.
#[doc = autograd_core::math!(r"\text{head}_h = \operatorname{softmax}\left(\frac{Q_h K_h^\top}{\sqrt{d}}\right) V_h, \qquad y = \left[\text{head}_1, \dots, \text{head}_H\right] W^\top + b")]
/// Here Q, K and V are the linear functions of the head h, with d features each.
///
/// Tensors have the shape `[batch, places, features]`, as with PyTorch's `batch_first=True`. `forward` takes one
/// tensor, for self-attention, or a tuple of queries, keys and values.
///
/// ```
/// use pullback::ndarray::Array3;
/// use pullback::nn::{Generator, MultiheadAttention};
/// use pullback::prelude::*;
///
/// let attention = MultiheadAttention::<f32>::new(16, 4, &mut Generator::seed(7));
/// let text = Tensor::from(Array3::ones((2, 5, 16)));
/// let other = Tensor::from(Array3::ones((2, 9, 16)));
/// assert_eq!(attention.forward(&text).shape(), [2, 5, 16]);
/// assert_eq!(attention.forward((&text, &other, &other)).shape(), [2, 5, 16]);
/// ```
#[derive(Debug, Module)]
#[module(extra_repr = Self::options)]
pub struct MultiheadAttention<T: Element = f32> {
    /// The matrices of queries, keys and values, stacked, of shape `[3 · embed_dim, embed_dim]`; `None` if keys or
    /// values have another length.
    pub in_proj_weight: Option<Parameter<T, Ix2>>,
    /// The matrix of queries, of shape `[embed_dim, embed_dim]`, if keys or values have another length.
    pub q_proj_weight: Option<Parameter<T, Ix2>>,
    /// The matrix of keys, of shape `[embed_dim, kdim]`, if keys or values have another length.
    pub k_proj_weight: Option<Parameter<T, Ix2>>,
    /// The matrix of values, of shape `[embed_dim, vdim]`, if keys or values have another length.
    pub v_proj_weight: Option<Parameter<T, Ix2>>,
    /// The biases of queries, keys and values, of shape `[3 · embed_dim]`.
    pub in_proj_bias: Option<Parameter<T, Ix1>>,
    /// The linear function that combines the heads.
    pub out_proj: Linear<T>,
    /// Dropout of the weights.
    pub dropout: Option<Dropout>,
    #[module(skip)]
    lengths: [usize; 3],
    #[module(skip)]
    num_heads: usize,
    #[module(skip)]
    causal: bool,
}

impl<T: Element> MultiheadAttention<T> {
    /// Creates a layer for queries, keys and values of length `embed_dim`.
    ///
    /// # Panics
    /// If the heads do not divide `embed_dim`.
    #[track_caller]
    pub fn new(embed_dim: usize, num_heads: usize, generator: &mut impl Rng) -> Self {
        Self::builder(embed_dim, num_heads).build(generator)
    }

    /// Returns a builder, for other options.
    pub fn builder(embed_dim: usize, num_heads: usize) -> MultiheadAttentionBuilder<T> {
        MultiheadAttentionBuilder::new(embed_dim, num_heads)
    }

    /// Computes attention with options such as a mask, which is `true` where a query attends to a key, and broadcasts
    /// to `[batch, heads, queries, keys]`. PyTorch's masks have the opposite meaning.
    ///
    /// # Panics
    /// If the shapes do not fit.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pullback::ops::AttentionOptions;
    /// use pullback::ndarray::{Array3, Axis, array, s};
    /// use pullback::nn::{Generator, MultiheadAttention};
    /// use pullback::prelude::*;
    ///
    /// let attention = MultiheadAttention::<f32>::new(4, 2, &mut Generator::seed(7));
    /// let text = Tensor::from(Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i + j * k) as f32));
    /// // The second text has two words only.
    /// let words = array![[true, true, true], [true, true, false]];
    /// let mask = words.insert_axis(Axis(1)).insert_axis(Axis(1)).into_dyn();
    /// let options = AttentionOptions { mask: Some(Arc::new(mask)), ..AttentionOptions::default() };
    /// let y = attention.attend(&text, &text, &text, &options);
    /// let two = text.slice(s![1..2, ..2, ..]);
    /// let off = &y.slice(s![1..2, ..2, ..]) - &attention.forward(&two);
    /// assert!(off.view().iter().all(|off| off.abs() < 1e-6));
    /// ```
    #[track_caller]
    pub fn attend(
        &self,
        query: &Tensor3<T>,
        key: &Tensor3<T>,
        value: &Tensor3<T>,
        options: &AttentionOptions,
    ) -> Tensor3<T> {
        self.check([query, key, value]);
        let [q, k, v] = self
            .projected([query, key, value])
            .map(|tensor| self.in_heads(&tensor));
        let options = AttentionOptions {
            causal: options.causal || self.causal,
            ..options.clone()
        };
        let dropout = self.dropout.as_ref();
        let found = match dropout.filter(|dropout| dropout.mode.is_training()) {
            Some(dropout) => dropped::attention([&q, &k, &v], &options, dropout),
            None => q.scaled_dot_product_attention(&k, &v, &options),
        };
        let shape = (query.shape()[0], query.shape()[1], self.lengths[0]);
        let found = found.swap_axes(1, 2).reshape(shape);
        self.out_proj.forward(&found)
    }

    /// Applies the linear functions to queries, keys and values.
    #[track_caller]
    fn projected(&self, [query, key, value]: [&Tensor3<T>; 3]) -> [Tensor3<T>; 3] {
        let lengths = [self.lengths[0]; 3];
        let is_self = ptr::eq(query, key) && ptr::eq(query, value);
        if let Some(weight) = self.in_proj_weight.as_deref().filter(|_| is_self) {
            let all = query.linear(weight, self.in_proj_bias.as_deref());
            return three(all.split(Axis(2), &lengths));
        }
        let weights = match &self.in_proj_weight {
            Some(weight) => three(weight.split(Axis(0), &lengths)),
            None => self.weights(),
        };
        let biases = match &self.in_proj_bias {
            Some(bias) => three(bias.split(Axis(0), &lengths)).map(Some),
            None => [None, None, None],
        };
        let [of_q, of_k, of_v] = &weights;
        let [for_q, for_k, for_v] = &biases;
        [
            query.linear(of_q, for_q.as_ref()),
            key.linear(of_k, for_k.as_ref()),
            value.linear(of_v, for_v.as_ref()),
        ]
    }

    /// Returns the matrices of queries, keys and values, if they are separate.
    #[track_caller]
    fn weights(&self) -> [Tensor2<T>; 3] {
        let weights = [
            &self.q_proj_weight,
            &self.k_proj_weight,
            &self.v_proj_weight,
        ];
        weights.map(|weight| {
            let Some(weight) = weight else {
                panic!(
                    "MultiheadAttention({}) without weights: neither `in_proj_weight` nor all of \
                     `q_proj_weight`, `k_proj_weight` and `v_proj_weight`",
                    self.options()
                )
            };
            Tensor::clone(weight)
        })
    }

    /// Reshapes `[batch, places, features]` to `[batch, heads, places, features of a head]`.
    #[track_caller]
    fn in_heads(&self, x: &Tensor3<T>) -> Tensor4<T> {
        let length = self.lengths[0] / self.num_heads;
        let shape = (x.shape()[0], x.shape()[1], self.num_heads, length);
        x.reshape(shape).swap_axes(1, 2)
    }

    #[track_caller]
    fn check(&self, inputs: [&Tensor3<T>; 3]) {
        let names = ["embed_dim", "kdim", "vdim"];
        for ((input, length), name) in inputs.iter().zip(self.lengths).zip(names) {
            let wrong = format_args!("its last length is not `{name}`, {length}");
            shapes::fits(self, input.shape(), input.shape()[2] == length, wrong);
        }
        let [query, key, value] = inputs.map(Tensor::shape);
        let fits = query[0] == key[0] && key[..2] == value[..2];
        let wrong = format_args!("keys have shape {key:?} and values {value:?}");
        shapes::fits(self, query, fits, wrong);
    }

    fn options(&self) -> String {
        let [embed_dim, kdim, vdim] = self.lengths;
        let mut text = format!("embed_dim={embed_dim}, num_heads={}", self.num_heads);
        let shown = |length: usize| length.to_string();
        print::add_unless(&mut text, "kdim", kdim, embed_dim, shown);
        print::add_unless(&mut text, "vdim", vdim, embed_dim, shown);
        print::add_unless(&mut text, "causal", self.causal, false, |causal| {
            print::truth(causal).to_owned()
        });
        text
    }
}

fn three<D>(tensors: Vec<D>) -> [D; 3] {
    // INVARIANT: three lengths give three parts.
    tensors.try_into().ok().expect("three parts")
}

/// Computes self-attention.
impl<T: Element> Forward<&Tensor3<T>> for MultiheadAttention<T> {
    type Output = Tensor3<T>;

    /// # Panics
    /// If the last length is not `embed_dim`, or the layer has another `kdim` or `vdim`.
    #[track_caller]
    fn forward(&self, input: &Tensor3<T>) -> Tensor3<T> {
        self.forward((input, input, input))
    }
}

/// Computes the attention of queries to keys and values.
impl<T: Element> Forward<(&Tensor3<T>, &Tensor3<T>, &Tensor3<T>)> for MultiheadAttention<T> {
    type Output = Tensor3<T>;

    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    fn forward(&self, inputs: (&Tensor3<T>, &Tensor3<T>, &Tensor3<T>)) -> Tensor3<T> {
        let (query, key, value) = inputs;
        self.attend(query, key, value, &AttentionOptions::default())
    }
}
