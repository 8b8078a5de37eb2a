//! softmax(q kᵀ · scale) v, whose weights are computed again in the backward pass instead of kept.

use std::marker::PhantomData;

use ndarray::{Array, ArrayD, ArrayView, Axis, Dimension};

use super::{Contract, SoftmaxBackward, Where, joined, zeros};
use crate::kernels::{self, Subscripts};
use crate::ops::AttentionOptions;
use crate::{Element, Tensor, custom_function};

/// Values, weighed for each query by how well it fits each key.
///
/// ```
/// use autograd_core::{Tensor, ops::AttentionOptions, ops::Attention};
/// use autograd_core::ndarray::array;
///
/// // Two keys that fit the query equally well: the mean of their values.
/// let (q, k) = (Tensor::from(array![[1.0, 0.0]]), Tensor::from(array![[1.0, 1.0], [1.0, 1.0]]));
/// let v = Tensor::from(array![[2.0], [4.0]]).set_requires_grad(true);
/// let y = Attention::apply(&q, &k, &v, &AttentionOptions::default());
/// assert_eq!(y.to_array(), array![[3.0]]);
/// y.sum().backward()?;
/// assert_eq!(v.grad(), Some(array![[0.5], [0.5]]));
/// # Ok::<(), autograd_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Attention<T, D>(PhantomData<(T, D)>);

#[custom_function(gradcheck(
    q = [2, 3, 2],
    k = [2, 4, 2],
    v = [2, 4, 1],
    options = &AttentionOptions::default()
))]
impl<T: Element, D: Dimension> Attention<T, D> {
    /// softmax(q kᵀ · scale) v.
    #[doc = crate::math!(r"O = P V, \qquad P = \operatorname{softmax}\left(s \, Q K^\top\right)")]
    /// Here Q, K and V are the matrices q, k and v of one head, s is the scale, and what is masked counts as −∞ in the
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
        let along_p = along_probabilities(&p, [tangent_q, tangent_k], [q, k], options);
        let along_weights = along_p.map(|along| mixed(&along, v));
        joined(along_weights, tangent_v.map(|tangent| mixed(&p, tangent)))
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
    /// The gradients of softmax(q kᵀ · scale) v for q, k and v, where `grad` comes in for it.
    #[doc = crate::math!(
        r"\begin{aligned}"
        r"\frac{\partial L}{\partial V} &= P^\top G, \qquad S_{ij} = s \, P_{ij} \left(\left(G V^\top\right)_{ij} - \sum_k \left(G V^\top\right)_{ik} P_{ik}\right) \\"
        r"\frac{\partial L}{\partial Q} &= S K, \qquad \frac{\partial L}{\partial K} = S^\top Q"
        r"\end{aligned}"
    )]
    /// Here P is the softmax, s the scale, and G what comes in.
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

    // With p = softmax(s), s = scale · q kᵀ, what comes in as h and dp = grad vᵀ, the gradients are those of
    // h_q · of_q + h_k · of_k + h_v · of_v, where
    // of_q = scale · ds k, of_k = scale · dsᵀ q, of_v = pᵀ grad and ds = p (dp − Σ p dp).
    #[backward]
    #[expect(
        clippy::too_many_arguments,
        reason = "inputs and what comes in for each output"
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
        let dp = scores(grad, v);
        let off = &dp - row_sums(&(&p * &dp));
        let ds = &p * &off;
        let of_ds = (scores(grad_of_q, k) + scores(q, grad_of_k)) * scale;
        let sums = row_sums(&(&of_ds * &p));
        let of_dp = &p * (&of_ds - &sums);
        let of_p = &of_ds * off - &dp * sums + scores(grad, grad_of_v);
        let of_s = through_softmax(&p, &of_p);
        (
            (mixed(&ds, grad_of_k) + mixed(&of_s, k)) * scale,
            (spread(&ds, grad_of_q) + spread(&of_s, q)) * scale,
            spread(&of_dp, grad),
            mixed(&of_dp, v) + mixed(&p, grad_of_v),
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
        let along_s = (scores(tangent_q, k) + scores(q, tangent_k)) * scale;
        let along_p = through_softmax(&p, &along_s);
        let dp = scores(grad, v);
        let along_dp = scores(tangent_grad, v) + scores(grad, tangent_v);
        let off = &dp - row_sums(&(&p * &dp));
        let along_off = &along_dp - row_sums(&(&along_p * &dp + &p * &along_dp));
        let ds = &p * &off;
        let along_ds = &along_p * off + &p * along_off;
        (
            (mixed(&along_ds, k) + mixed(&ds, tangent_k)) * scale,
            (spread(&along_ds, q) + spread(&ds, tangent_q)) * scale,
            spread(&along_p, grad) + spread(&p, tangent_grad),
        )
    }
}

/// INVARIANT: the kernels give arrays of the rank that they are given.
fn ranked<T: Element, D: Dimension>(array: ArrayD<T>) -> Array<T, D> {
    array.into_dimensionality().expect("the same rank")
}

fn scale<T: Element, D: Dimension>(q: &Tensor<T, D>, options: &AttentionOptions) -> T {
    options.scale(q.shape()[q.ndim() - 1])
}

/// The weights of values, as a tensor.
#[track_caller]
fn probabilities<T: Element, D: Dimension>(
    q: &Tensor<T, D>,
    k: &Tensor<T, D>,
    options: &AttentionOptions,
) -> Tensor<T, D> {
    let scores = scores(q, k) * scale(q, options);
    let (shape, last) = (scores.shape(), scores.ndim() - 1);
    let mut allowed = allowed(shape, options);
    // What is not allowed is −∞; but a query that attends to nothing has no softmax, and is left out below.
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

/// Which keys each query attends to.
fn allowed(shape: &[usize], options: &AttentionOptions) -> ArrayD<bool> {
    let mask = options.mask.as_deref();
    let mask = mask.and_then(|mask| mask.broadcast(shape));
    let mut allowed = mask.map_or_else(|| ArrayD::from_elem(shape, true), |mask| mask.to_owned());
    if options.causal {
        let rank = shape.len();
        for (place, allowed) in allowed.indexed_iter_mut() {
            *allowed &= place[rank - 1] <= place[rank - 2];
        }
    }
    allowed
}

/// The sum of each row.
#[track_caller]
fn row_sums<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let mut shape = x.shape().to_vec();
    shape[x.ndim() - 1] = 1;
    x.sum_to(&shape)
}

/// What a change of softmax's operand makes of it, and a gradient of it: the same.
#[track_caller]
fn through_softmax<T: Element, D: Dimension>(p: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
    SoftmaxBackward::apply(x, p, Axis(p.ndim() - 1))
}

#[track_caller]
fn along_probabilities<T: Element, D: Dimension>(
    p: &Tensor<T, D>,
    [tangent_q, tangent_k]: [Option<&Tensor<T, D>>; 2],
    [q, k]: [&Tensor<T, D>; 2],
    options: &AttentionOptions,
) -> Option<Tensor<T, D>> {
    let along_q = tangent_q.map(|tangent| scores(tangent, k));
    let along_k = tangent_k.map(|tangent| scores(q, tangent));
    let along_s = joined(along_q, along_k)? * scale(q, options);
    Some(through_softmax(p, &along_s))
}

/// x yᵀ of the last two axes.
#[track_caller]
fn scores<T: Element, D: Dimension>(x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
    let rank = x.ndim();
    product(
        x,
        y,
        [[0, 2], [1, 2], [0, 1]],
        [x.shape()[rank - 2], y.shape()[rank - 2]],
    )
}

/// p x of the last two axes.
#[track_caller]
fn mixed<T: Element, D: Dimension>(p: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
    let rank = x.ndim();
    product(
        p,
        x,
        [[0, 1], [1, 2], [0, 2]],
        [p.shape()[rank - 2], x.shape()[rank - 1]],
    )
}

/// pᵀ x of the last two axes.
#[track_caller]
fn spread<T: Element, D: Dimension>(p: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
    let rank = x.ndim();
    product(
        p,
        x,
        [[0, 1], [0, 2], [1, 2]],
        [p.shape()[rank - 1], x.shape()[rank - 1]],
    )
}

/// A contraction with those names for the last two axes, for each of the leading ones.
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
    /// Attention of queries of shape `[…, queries, m]`: the values, of shape `[…, keys, n]`, weighed for each
    /// query by how well it fits each key, of shape `[…, keys, m]`. softmax(q kᵀ · scale) v.
    ///
    /// [`Attention`](crate::ops::Attention) has the formula.
    ///
    /// The weights are computed for some queries at a time, and again in the backward pass: they are never
    /// kept.
    ///
    /// # Panics
    /// If the leading axes differ, the lengths do not fit, or the mask does not broadcast.
    ///
    /// ```
    /// use autograd_core::Tensor;
    /// use autograd_core::ops::AttentionOptions;
    /// use autograd_core::ndarray::array;
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
