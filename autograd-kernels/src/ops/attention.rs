//! Attention, for some queries at a time: the matrix of weights is never in memory as a whole.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::{ArrayD, ArrayView2, ArrayViewD, ArrayViewMut2, Axis, CowArray, IxDyn};

use crate::element::Element;
use crate::loops::movement::full;
use crate::loops::softmax::softmax;
use crate::matrix::gemm::gemm;
use crate::parallel::{split, split_mut, worth};

/// Options of attention: the mask and the scale.
///
/// ```
/// use pullback::kernels::AttentionOptions;
///
/// let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
/// assert!(causal.mask.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct AttentionOptions {
    /// The keys that each query attends to, of a shape that broadcasts to `[…, queries, keys]`; without a mask, all.
    /// The output of a query that attends to no key is 0.
    pub mask: Option<Arc<ArrayD<bool>>>,
    /// Whether a query attends only to keys whose index is not larger than its own.
    pub causal: bool,
    /// The factor of the products of queries and keys; by default, 1 over the square root of their length.
    pub scale: Option<f64>,
}

impl AttentionOptions {
    /// Returns the factor for queries of a length.
    pub fn scale<T: Element>(&self, length: usize) -> T {
        T::from_f64(self.scale.unwrap_or_else(|| 1.0 / (length as f64).sqrt()))
    }
}

/// The number of queries that are computed at once.
const BLOCK: usize = 64;

/// Queries, keys and values, all in row-major order.
struct Operands<'a, T> {
    arrays: [CowArray<'a, T, IxDyn>; 3],
    batch: usize,
    queries: usize,
    keys: usize,
    length: usize,
    values: usize,
    scale: T,
    causal: bool,
    mask: Option<ArrayViewD<'a, bool>>,
}

/// Returns softmax(q kᵀ · scale) v, for queries q of shape `[…, queries, m]`, keys k of shape `[…, keys, m]` and
/// values v of shape `[…, keys, n]`.
///
/// # Panics
/// If the shapes do not fit.
#[track_caller]
pub fn attention<T: Element>(
    q: &ArrayViewD<'_, T>,
    k: &ArrayViewD<'_, T>,
    v: &ArrayViewD<'_, T>,
    options: &AttentionOptions,
) -> ArrayD<T> {
    let operands = Operands::new([q, k, v], options);
    let mut shape = q.shape().to_vec();
    shape[q.ndim() - 1] = operands.values;
    let mut weighed = full(&shape, T::zero());
    let at_least = worth::ATTENTION.div_ceil(operands.work());
    split_mut(
        slice_mut(&mut weighed),
        operands.values,
        at_least,
        |first, rows| {
            let mut scores = Vec::new();
            let count = rows.len().checked_div(operands.values).unwrap_or(0);
            let mut done = 0;
            while done < count {
                let (batch, query) = operands.position(first + done);
                let block = BLOCK.min(operands.queries - query).min(count - done);
                let probabilities =
                    operands.probabilities(batch, query..query + block, &mut scores);
                let values = operands.part(2, batch, 0..probabilities.ncols());
                let rows = &mut rows[done * operands.values..][..block * operands.values];
                let mut rows = matrix_mut(rows, block, operands.values);
                gemm(T::one(), &probabilities, &values, T::zero(), &mut rows);
                done += block;
            }
        },
    );
    weighed
}

/// Returns the gradients of queries, keys and values, where `grad` is the gradient of the output of [`attention`].
/// The weights are computed again.
///
/// # Panics
/// If the shapes do not fit.
#[track_caller]
pub fn attention_gradients<T: Element>(
    q: &ArrayViewD<'_, T>,
    k: &ArrayViewD<'_, T>,
    v: &ArrayViewD<'_, T>,
    grad: &ArrayViewD<'_, T>,
    options: &AttentionOptions,
) -> [ArrayD<T>; 3] {
    let operands = Operands::new([q, k, v], options);
    let mut expected = q.shape().to_vec();
    expected[q.ndim() - 1] = operands.values;
    assert!(
        grad.shape() == expected,
        "attention of shapes {:?}, {:?} and {:?} cannot have a gradient of shape {:?}",
        q.shape(),
        k.shape(),
        v.shape(),
        grad.shape()
    );
    let grad = grad.as_standard_layout();
    let mut gradients = [q, k, v].map(|array| full(array.shape(), T::zero()));
    let all = gradients.each_mut().map(slice_mut);
    let [of_q, of_k, of_v] = all.map(|all| pieces(all, operands.batch));
    let parts: Vec<_> = of_q
        .into_iter()
        .zip(of_k)
        .zip(of_v)
        .map(Mutex::new)
        .collect();
    let at_least =
        worth::ATTENTION.div_ceil(operands.work().saturating_mul(operands.queries).max(1));
    split(parts.len(), at_least, |batches| {
        for batch in batches {
            // Each part is locked once: the lock passes it to the thread that computes it.
            let mut part = parts[batch].lock().unwrap_or_else(PoisonError::into_inner);
            let ((of_q, of_k), of_v) = &mut *part;
            let grad = operands.slice(&grad, operands.queries * operands.values, batch);
            operands.gradients(batch, grad, [of_q, of_k, of_v]);
        }
    });
    drop(parts);
    gradients
}

impl<'a, T: Element> Operands<'a, T> {
    #[track_caller]
    fn new(arrays: [&'a ArrayViewD<'_, T>; 3], options: &'a AttentionOptions) -> Self {
        let [q, k, v] = arrays.map(|array| (**array).shape());
        let lead = q.len().saturating_sub(2);
        let fits = q.len() >= 2
            && [k, v]
                .iter()
                .all(|shape| shape.len() == q.len() && shape[..lead] == q[..lead])
            && (q[lead + 1], k[lead]) == (k[lead + 1], v[lead]);
        assert!(
            fits,
            "scaled_dot_product_attention of tensors of shapes {q:?}, {k:?} and {v:?}: they do not fit"
        );
        let mut scores = q.to_vec();
        scores[lead + 1] = k[lead];
        let mask = options.mask.as_deref().map(|mask| {
            let Some(mask) = mask.broadcast(&scores[..]) else {
                panic!(
                    "scaled_dot_product_attention with a mask of shape {:?} for {scores:?}: it does \
                     not broadcast",
                    mask.shape()
                )
            };
            mask
        });
        Self {
            arrays: arrays.map(|array| array.as_standard_layout()),
            batch: q[..lead].iter().product(),
            queries: q[lead],
            keys: k[lead],
            length: q[lead + 1],
            values: v[lead + 1],
            scale: options.scale(q[lead + 1]),
            causal: options.causal,
            mask,
        }
    }

    /// Returns the number of products of elements for one query; at least 1.
    fn work(&self) -> usize {
        self.keys.saturating_mul(self.length + self.values).max(1)
    }

    /// Returns the batch of a query, and its index in it, given its index among all queries.
    fn position(&self, query: usize) -> (usize, usize) {
        (query / self.queries, query % self.queries)
    }

    /// Returns some rows of a batch of the operand number `operand`.
    fn part(&self, operand: usize, batch: usize, rows: Range<usize>) -> ArrayView2<'_, T> {
        let (count, columns) = [
            (self.queries, self.length),
            (self.keys, self.length),
            (self.keys, self.values),
        ][operand];
        let elements = self.slice(&self.arrays[operand], count * columns, batch);
        let elements = &elements[rows.start * columns..rows.end * columns];
        matrix(elements, rows.len(), columns)
    }

    fn slice<'b>(&self, array: &'b CowArray<'_, T, IxDyn>, size: usize, batch: usize) -> &'b [T] {
        debug_assert!(batch < self.batch);
        // INVARIANT: it was given the standard layout.
        let elements = array.as_slice().expect("one piece");
        &elements[batch * size..][..size]
    }

    /// Returns the weights of values for some queries of a batch, without the last keys if none of the queries
    /// attends to them.
    fn probabilities<'b>(
        &self,
        batch: usize,
        queries: Range<usize>,
        scores: &'b mut Vec<T>,
    ) -> ArrayView2<'b, T> {
        let end = if self.causal { queries.end } else { self.keys };
        let keys = self.keys.min(end);
        scores.clear();
        scores.resize(queries.len() * keys, T::zero());
        let (q, k) = (
            self.part(0, batch, queries.clone()),
            self.part(1, batch, 0..keys),
        );
        let mut matrix_of_scores = matrix_mut(scores, queries.len(), keys);
        gemm(self.scale, &q, &k.t(), T::zero(), &mut matrix_of_scores);
        let mask = self.mask.as_ref();
        for (query, row) in queries.clone().zip(scores.chunks_exact_mut(keys.max(1))) {
            if self.causal {
                let ahead = row.iter_mut().skip(query + 1);
                ahead.for_each(|score| *score = T::neg_infinity());
            }
            if let Some(mask) = mask {
                let allowed = row_of(mask, batch * self.queries + query);
                for (score, &allowed) in row.iter_mut().zip(&allowed) {
                    if !allowed {
                        *score = T::neg_infinity();
                    }
                }
            }
            softmax_or_zeros(row);
        }
        matrix(scores, queries.len(), keys)
    }

    /// Adds the gradients of one batch.
    fn gradients(&self, batch: usize, grad: &[T], [of_q, of_k, of_v]: [&mut [T]; 3]) {
        let (mut scores, mut buffer) = (Vec::new(), Vec::new());
        for first in (0..self.queries).step_by(BLOCK) {
            let queries = first..self.queries.min(first + BLOCK);
            let rows = queries.len();
            let grad = &grad[queries.start * self.values..queries.end * self.values];
            let grad = matrix(grad, rows, self.values);
            let probabilities = self.probabilities(batch, queries.clone(), &mut scores);
            let keys = probabilities.ncols();
            let (k, v) = (self.part(1, batch, 0..keys), self.part(2, batch, 0..keys));
            let q = self.part(0, batch, queries.clone());

            let mut of_v = matrix_mut(&mut of_v[..keys * self.values], keys, self.values);
            gemm(T::one(), &probabilities.t(), &grad, T::one(), &mut of_v);

            buffer.clear();
            buffer.resize(rows * keys, T::zero());
            gemm(
                T::one(),
                &grad,
                &v.t(),
                T::zero(),
                &mut matrix_mut(&mut buffer, rows, keys),
            );
            let of_probabilities = buffer.chunks_exact_mut(keys.max(1));
            for (p, of_p) in scores.chunks_exact(keys.max(1)).zip(of_probabilities) {
                let mean: T = p.iter().zip(&*of_p).map(|(&p, &of_p)| p * of_p).sum();
                for (of_score, &p) in of_p.iter_mut().zip(p) {
                    *of_score = p * (*of_score - mean);
                }
            }
            let of_scores = matrix(&buffer, rows, keys);
            let of_q = &mut of_q[queries.start * self.length..queries.end * self.length];
            let mut of_q = matrix_mut(of_q, rows, self.length);
            gemm(self.scale, &of_scores, &k, T::zero(), &mut of_q);
            let mut of_k = matrix_mut(&mut of_k[..keys * self.length], keys, self.length);
            gemm(self.scale, &of_scores.t(), &q, T::one(), &mut of_k);
        }
    }
}

/// Returns the row of the last axis with this index among all rows.
fn row_of<'a>(mask: &ArrayViewD<'a, bool>, mut index: usize) -> ArrayViewD<'a, bool> {
    let mut rest = mask.clone();
    for axis in (0..mask.ndim() - 1).rev() {
        let length = rest.len_of(Axis(axis));
        rest = rest.index_axis_move(Axis(axis), index % length);
        index /= length;
    }
    rest
}

/// Computes softmax in place; 0 if all elements are −∞.
fn softmax_or_zeros<T: Element>(row: &mut [T]) {
    if row.iter().all(|&x| x == T::neg_infinity()) {
        row.fill(T::zero());
    } else {
        softmax(row);
    }
}

/// Cuts a slice into `count` pieces of one length.
fn pieces<T>(mut rest: &mut [T], count: usize) -> Vec<&mut [T]> {
    let length = rest.len().checked_div(count).unwrap_or(0);
    let piece = |_| {
        let (piece, after) = std::mem::take(&mut rest).split_at_mut(length);
        rest = after;
        piece
    };
    (0..count).map(piece).collect()
}

fn slice_mut<T>(array: &mut ArrayD<T>) -> &mut [T] {
    // INVARIANT: it was just made.
    array.as_slice_mut().expect("a new array is one piece")
}

// INVARIANT: elements and shapes were counted together, here and below.
fn matrix<T>(elements: &[T], rows: usize, columns: usize) -> ArrayView2<'_, T> {
    ArrayView2::from_shape((rows, columns), elements).expect("as many elements")
}

fn matrix_mut<T>(elements: &mut [T], rows: usize, columns: usize) -> ArrayViewMut2<'_, T> {
    ArrayViewMut2::from_shape((rows, columns), elements).expect("as many elements")
}
