//! softmax(q kᵀ · scale) v. The weights are not saved: the backward pass computes them again.

use std::marker::PhantomData;

use ndarray::{Array, ArrayD, ArrayView, Axis, Dimension};

use super::{Contract, SoftmaxBackward, Where, add_tangents, zeros};
use crate::kernels::{self, Subscripts};
use crate::ops::AttentionOptions;
use crate::{Element, custom_function, tensor::Tensor};

/// Scaled dot-product attention: for each query, the mean of the values, weighted by how well each key fits the query.
#[derive(Debug)]
pub struct Attention<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    q = [2, 3, 2],
    k = [2, 4, 2],
    v = [2, 4, 1],
    options = &AttentionOptions::default()
))]
impl<T: Element, D: Dimension> Attention<T, D> {
    /// Returns softmax(q kᵀ · scale) v.
    #[doc = crate::math!(r"O = P V, \qquad P = \operatorname{softmax}\left(s \, Q K^\top\right)")]
    /// Here Q, K and V are the matrices q, k and v of one head, s is the scale, and masked elements are −∞ in the
    /// softmax.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[forward]
    #[track_caller]
    pub fn forward(
        q: ArrayView<T, D>,
        k: ArrayView<T, D>,
        v: ArrayView<T, D>,
        options: &AttentionOptions,
    ) -> Array<T, D> {
        let (q, k, v) = (q.into_dyn(), k.into_dyn(), v.into_dyn());
        ranked(kernels::attention(&q, &k, &v, options))
    }

    #[backward]
    fn backward(
        grad_output: &Tensor<T, D>,
        q: &Tensor<T, D>,
        k: &Tensor<T, D>,
        v: &Tensor<T, D>,
        options: &AttentionOptions,
    ) -> (Tensor<T, D>, Tensor<T, D>, Tensor<T, D>) {
        AttentionBackward::apply(q, k, v, grad_output, options)
    }

    #[jvp]
    fn jvp(
        tangent_q: Option<&Tensor<T, D>>,
        tangent_k: Option<&Tensor<T, D>>,
        tangent_v: Option<&Tensor<T, D>>,
        q: &Tensor<T, D>,
        k: &Tensor<T, D>,
        v: &Tensor<T, D>,
        options: &AttentionOptions,
    ) -> Option<Tensor<T, D>> {
        let p = probabilities(q, k, options);
        let along_s = add_tangents(
            tangent_q.map(|tangent| matmul_nt(tangent, k)),
            tangent_k.map(|tangent| matmul_nt(q, tangent)),
        );
        let along_p = along_s.map(|along| through_softmax(&p, &(along * scale(q, options))));
        add_tangents(
            along_p.map(|along| matmul_nn(&along, v)),
            tangent_v.map(|tangent| matmul_nn(&p, tangent)),
        )
    }
}

/// The gradients of queries, keys and values.
#[derive(Debug)]
pub struct AttentionBackward<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    q = [2, 3, 2],
    k = [2, 4, 2],
    v = [2, 4, 1],
    grad = [2, 3, 1],
    options = &AttentionOptions { causal: true, ..AttentionOptions::default() }
))]
impl<T: Element, D: Dimension> AttentionBackward<T, D> {
    /// Returns the gradients of q, k and v, where `grad` is the gradient of softmax(q kᵀ · scale) v.
    #[doc = crate::math!(
        r"\begin{aligned}"
        r"\frac{\partial L}{\partial V} &= P^\top G, \qquad S_{ij} = s \, P_{ij} \left(\left(G V^\top\right)_{ij} - \sum_k \left(G V^\top\right)_{ik} P_{ik}\right) \\"
        r"\frac{\partial L}{\partial Q} &= S K, \qquad \frac{\partial L}{\partial K} = S^\top Q"
        r"\end{aligned}"
    )]
    /// Here P is the softmax, s the scale, and G the gradient of the output.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[forward(outputs(of_q, of_k, of_v))]
    #[track_caller]
    pub fn forward(
        q: ArrayView<T, D>,
        k: ArrayView<T, D>,
        v: ArrayView<T, D>,
        grad: ArrayView<T, D>,
        options: &AttentionOptions,
    ) -> (Array<T, D>, Array<T, D>, Array<T, D>) {
        let (q, k, v, grad) = (q.into_dyn(), k.into_dyn(), v.into_dyn(), grad.into_dyn());
        let [q, k, v] = kernels::attention_gradients(&q, &k, &v, &grad, options);
        (ranked(q), ranked(k), ranked(v))
    }

    // With p = softmax(s), s = scale · q kᵀ, the outputs' gradients h and dp = grad vᵀ, the gradients are those of
    // h_q · of_q + h_k · of_k + h_v · of_v, where
    // of_q = scale · ds k, of_k = scale · dsᵀ q, of_v = pᵀ grad and ds = p (dp − Σ p dp).
    #[backward]
    #[expect(
        clippy::too_many_arguments,
        reason = "inputs and the gradient of each output"
    )]
    #[expect(clippy::type_complexity, reason = "a gradient for each input")]
    fn backward(
        grad_of_q: &Tensor<T, D>,
        grad_of_k: &Tensor<T, D>,
        grad_of_v: &Tensor<T, D>,
        q: &Tensor<T, D>,
        k: &Tensor<T, D>,
        v: &Tensor<T, D>,
        grad: &Tensor<T, D>,
        options: &AttentionOptions,
    ) -> (Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<T, D>) {
        let scale: T = scale(q, options);
        let p = probabilities(q, k, options);
        let dp = matmul_nt(grad, v);
        let off = &dp - row_sums(&(&p * &dp));
        let ds = &p * &off;
        let of_ds = (matmul_nt(grad_of_q, k) + matmul_nt(q, grad_of_k)) * scale;
        let sums = row_sums(&(&of_ds * &p));
        let of_dp = &p * (&of_ds - &sums);
        let of_p = &of_ds * off - &dp * sums + matmul_nt(grad, grad_of_v);
        let of_s = through_softmax(&p, &of_p);
        (
            (matmul_nn(&ds, grad_of_k) + matmul_nn(&of_s, k)) * scale,
            (matmul_tn(&ds, grad_of_q) + matmul_tn(&of_s, q)) * scale,
            matmul_tn(&of_dp, grad),
            matmul_nn(&of_dp, v) + matmul_nn(&p, grad_of_v),
        )
    }

    #[jvp]
    #[expect(clippy::too_many_arguments, reason = "each has its tangent")]
    fn jvp(
        tangent_q: &Tensor<T, D>,
        tangent_k: &Tensor<T, D>,
        tangent_v: &Tensor<T, D>,
        tangent_grad: &Tensor<T, D>,
        q: &Tensor<T, D>,
        k: &Tensor<T, D>,
        v: &Tensor<T, D>,
        grad: &Tensor<T, D>,
        options: &AttentionOptions,
    ) -> (Tensor<T, D>, Tensor<T, D>, Tensor<T, D>) {
        let scale: T = scale(q, options);
        let p = probabilities(q, k, options);
        let along_s = (matmul_nt(tangent_q, k) + matmul_nt(q, tangent_k)) * scale;
        let along_p = through_softmax(&p, &along_s);
        let dp = matmul_nt(grad, v);
        let along_dp = matmul_nt(tangent_grad, v) + matmul_nt(grad, tangent_v);
        let off = &dp - row_sums(&(&p * &dp));
        let along_off = &along_dp - row_sums(&(&along_p * &dp + &p * &along_dp));
        let ds = &p * &off;
        let along_ds = &along_p * off + &p * along_off;
        (
            (matmul_nn(&along_ds, k) + matmul_nn(&ds, tangent_k)) * scale,
            (matmul_tn(&along_ds, q) + matmul_tn(&ds, tangent_q)) * scale,
            matmul_tn(&along_p, grad) + matmul_tn(&p, tangent_grad),
        )
    }
}

/// INVARIANT: the kernels return arrays of the rank of their inputs.
fn ranked<T: Element, D: Dimension>(array: ArrayD<T>) -> Array<T, D> {
    array.into_dimensionality().expect("the same rank")
}

fn scale<T: Element, D: Dimension>(q: &Tensor<T, D>, options: &AttentionOptions) -> T {
    options.scale(q.shape()[q.ndim() - 1])
}

/// Returns the weights of the values.
#[track_caller]
fn probabilities<T: Element, D: Dimension>(
    q: &Tensor<T, D>,
    k: &Tensor<T, D>,
    options: &AttentionOptions,
) -> Tensor<T, D> {
    let scores = matmul_nt(q, k) * scale(q, options);
    let (shape, last) = (scores.shape(), scores.ndim() - 1);
    let mut allowed = allowed(shape, options);
    // Masked elements are −∞; but a query that attends to no key has no softmax, and is masked below.
    let mut rest = ArrayD::from_elem(shape, T::neg_infinity());
    let view = scores.view().into_dyn();
    let rows = view.rows().into_iter().zip(rest.rows_mut());
    for ((row, mut rest), mut allowed) in rows.zip(allowed.rows_mut()) {
        let mut pairs = row.iter().zip(&allowed);
        if !pairs.any(|(&score, &allowed)| allowed && score != T::neg_infinity()) {
            allowed.fill(false);
            rest.fill(T::zero());
        }
    }
    let (allowed, rest) = (allowed.into_shared(), Tensor::from(ranked(rest)));
    let p = Where::apply(&allowed, &scores, &rest).softmax(Axis(last));
    Where::apply(&allowed, &p, &zeros(shape))
}

/// Returns which keys each query attends to.
fn allowed(shape: &[usize], options: &AttentionOptions) -> ArrayD<bool> {
    let mut allowed = options
        .mask
        .as_deref()
        .and_then(|mask| mask.broadcast(shape))
        .map_or_else(|| ArrayD::from_elem(shape, true), |mask| mask.to_owned());
    if options.causal {
        let rank = shape.len();
        for (index, allowed) in allowed.indexed_iter_mut() {
            *allowed &= index[rank - 1] <= index[rank - 2];
        }
    }
    allowed
}

/// Returns the sum of each row.
#[track_caller]
fn row_sums<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let mut shape = x.shape().to_vec();
    shape[x.ndim() - 1] = 1;
    x.sum_to(&shape)
}

/// Multiplies by the Jacobian of softmax, which is symmetric: for tangents and for gradients.
#[track_caller]
fn through_softmax<T: Element, D: Dimension>(p: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
    SoftmaxBackward::apply(x, p, Axis(p.ndim() - 1))
}

/// Returns x yᵀ of the last two axes.
#[track_caller]
fn matmul_nt<T: Element, D: Dimension>(x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
    let rank = x.ndim();
    product(
        x,
        y,
        [[0, 2], [1, 2], [0, 1]],
        [x.shape()[rank - 2], y.shape()[rank - 2]],
    )
}

/// Returns p x of the last two axes.
#[track_caller]
fn matmul_nn<T: Element, D: Dimension>(p: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
    let rank = x.ndim();
    product(
        p,
        x,
        [[0, 1], [1, 2], [0, 2]],
        [p.shape()[rank - 2], x.shape()[rank - 1]],
    )
}

/// Returns pᵀ x of the last two axes.
#[track_caller]
fn matmul_tn<T: Element, D: Dimension>(p: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
    let rank = x.ndim();
    product(
        p,
        x,
        [[0, 1], [0, 2], [1, 2]],
        [p.shape()[rank - 1], x.shape()[rank - 1]],
    )
}

/// Returns a contraction with these names for the last two axes, for each index of the leading axes.
#[track_caller]
fn product<T: Element, D: Dimension>(
    x: &Tensor<T, D>,
    y: &Tensor<T, D>,
    names: [[u8; 2]; 3],
    last: [usize; 2],
) -> Tensor<T, D> {
    let lead = x.ndim() - 2;
    // INVARIANT: no tensor has so many axes.
    let leading = 3..u8::try_from(lead + 3).expect("few axes");
    let [of_x, of_y, of_output] =
        names.map(|last| leading.clone().chain(last).collect::<Vec<u8>>());
    let mut shape = x.shape()[..lead].to_vec();
    shape.extend(last);
    Contract::apply(x, y, &Subscripts::new(of_x, of_y, of_output), &shape)
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the attention of queries of shape `[…, queries, m]` to keys of shape `[…, keys, m]` with values of shape
    /// `[…, keys, n]`: softmax(q kᵀ · scale) v.
    ///
    /// [`Attention`](crate::ops::Attention) has the formula.
    ///
    /// The weights are computed for some queries at a time, and again in the backward pass: they are not saved.
    ///
    /// # Panics
    /// If the leading axes differ, the lengths do not fit, or the mask does not broadcast.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::AttentionOptions};
    ///
    /// let (q, k) = (Tensor::from(array![[0.0], [0.0]]), Tensor::from(array![[1.0], [2.0]]));
    /// let v = Tensor::from(array![[10.0], [20.0]]);
    /// let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
    /// let y = q.scaled_dot_product_attention(&k, &v, &causal);
    /// assert_eq!(y.to_array(), array![[10.0], [15.0]]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn scaled_dot_product_attention(
        &self,
        keys: &Self,
        values: &Self,
        options: &AttentionOptions,
    ) -> Self {
        Attention::apply(self, keys, values, options)
    }
}
