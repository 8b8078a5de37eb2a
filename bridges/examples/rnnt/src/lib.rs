//! The loss of RNN transducers (Graves, 2012) on the CPU, with its gradient.

use std::marker::PhantomData;

use pullback::kernels::{exp, map_in_place, split_mut};
use pullback::ndarray::{
    Array1, Array3, Array4, ArrayView1, ArrayView2, ArrayView3, ArrayView4, Axis, s,
};
use pullback::prelude::*;

/// −log of the sum of the probabilities of all alignments of targets with frames.
#[derive(Debug)]
pub struct RnntLoss<T>(PhantomData<T>);

#[custom_function(
    shapes(logits = [batch, frames, places, labels], loss = [batch]),
    gradcheck(
        logits = [2, 3, 3, 4],
        targets = &Array1::from(vec![1, 2, 3]),
        frame_lengths = &Array1::from(vec![3, 2]),
        target_lengths = &Array1::from(vec![2, 1]),
        blank = 0,
    ),
)]
impl<T: Element> RnntLoss<T> {
    /// Returns the loss of each example, for logits [batch, frames, targets + 1, labels] before the softmax.
    ///
    /// `targets` has the labels of all examples one after the other, as many of each as `target_lengths` says;
    /// `frame_lengths` are the numbers of frames that count. At the place (t, u) a transducer writes the label u, or
    /// the blank, which goes on to the next frame.
    #[forward(outputs(loss), saves(normalizers, forwards))]
    pub fn forward(
        logits: ArrayView4<T>,
        targets: &Array1<usize>,
        frame_lengths: &Array1<usize>,
        target_lengths: &Array1<usize>,
        blank: usize,
    ) -> (Array1<T>, Array3<T>, Array3<T>) {
        let examples = examples(logits.dim(), targets, frame_lengths, target_lengths, blank);
        let (batch, frames, places, _) = logits.dim();
        let mut loss = Array1::zeros(batch);
        let mut normalizers = Array3::zeros((batch, frames, places));
        let mut forwards = Array3::zeros((batch, frames, places));
        let mut work: Vec<_> = examples
            .iter()
            .zip(&mut loss)
            .zip(normalizers.outer_iter_mut())
            .zip(forwards.outer_iter_mut())
            .collect();
        split_mut(&mut work, 1, 1, |first, work| {
            for (index, (((example, loss), normalizers), forwards)) in work.iter_mut().enumerate() {
                let logits = logits.index_axis(Axis(0), first + index);
                let mut numbers = Vec::new();
                for [t, u] in example.places() {
                    normalizers[[t, u]] = log_sum_exp(logits.slice(s![t, u, ..]), &mut numbers);
                }
                let log_probs = LogProbs {
                    example,
                    logits,
                    normalizers: normalizers.view(),
                };
                for [t, u] in example.places() {
                    let by_blank = if t > 0 {
                        forwards[[t - 1, u]] + log_probs.blank(t - 1, u)
                    } else {
                        T::neg_infinity()
                    };
                    let by_label = if u > 0 {
                        forwards[[t, u - 1]] + log_probs.label(t, u - 1)
                    } else {
                        T::neg_infinity()
                    };
                    if t + u > 0 {
                        forwards[[t, u]] = log_add(by_blank, by_label);
                    }
                }
                let [t, u] = example.last();
                **loss = -(forwards[[t, u]] + log_probs.blank(t, u));
            }
        });
        (loss, normalizers, forwards)
    }

    #[backward(logits)]
    fn backward(
        grad_loss: ArrayView1<T>,
        logits: ArrayView4<T>,
        targets: &Array1<usize>,
        frame_lengths: &Array1<usize>,
        target_lengths: &Array1<usize>,
        blank: usize,
        loss: ArrayView1<T>,
        normalizers: ArrayView3<T>,
        forwards: ArrayView3<T>,
    ) -> Array4<T> {
        let examples = examples(logits.dim(), targets, frame_lengths, target_lengths, blank);
        let mut grad = Array4::zeros(logits.dim());
        let mut work: Vec<_> = examples.iter().zip(grad.outer_iter_mut()).collect();
        split_mut(&mut work, 1, 1, |first, work| {
            for (index, (example, grad)) in work.iter_mut().enumerate() {
                let of = Axis(0);
                let index = first + index;
                let log_probs = LogProbs {
                    example,
                    logits: logits.index_axis(of, index),
                    normalizers: normalizers.index_axis(of, index),
                };
                let forwards = forwards.index_axis(of, index);
                let (loss, grad_loss) = (loss[index], grad_loss[index]);
                let [frames, labels] = [example.frames, example.targets.len()];
                // The logarithm of the probability of all ways from a place to the end; of the next frame and this one.
                let mut next = vec![T::neg_infinity(); labels + 1];
                for t in (0..frames).rev() {
                    let mut this = vec![T::neg_infinity(); labels + 1];
                    for u in (0..=labels).rev() {
                        let end = t + 1 == frames && u == labels;
                        let by_blank =
                            log_probs.blank(t, u) + if end { T::zero() } else { next[u] };
                        let by_label = if u < labels {
                            log_probs.label(t, u) + this[u + 1]
                        } else {
                            T::neg_infinity()
                        };
                        this[u] = log_add(by_blank, by_label);
                        // The share of all ways that pass through the place, and of those that leave it by each.
                        let before = forwards[[t, u]] + loss;
                        let share = grad_loss * (before + this[u]).exp();
                        let mut grad = grad.slice_mut(s![t, u, ..]);
                        grad.assign(&log_probs.logits.slice(s![t, u, ..]));
                        let normalizer = log_probs.normalizers[[t, u]];
                        // INVARIANT: `grad` is in row-major order.
                        let numbers = grad.as_slice_mut().expect("contiguous memory");
                        map_in_place(numbers, |logit| exp(logit - normalizer) * share);
                        numbers[example.blank] -= grad_loss * (before + by_blank).exp();
                        if u < labels {
                            numbers[example.targets[u]] -= grad_loss * (before + by_label).exp();
                        }
                    }
                    next = this;
                }
            }
        });
        grad
    }
}

/// The part of an example that counts.
struct Example<'a> {
    frames: usize,
    targets: &'a [usize],
    blank: usize,
}

impl Example<'_> {
    /// Returns all places, each after those before it.
    fn places(&self) -> impl Iterator<Item = [usize; 2]> {
        let places = self.targets.len() + 1;
        (0..self.frames * places).map(move |place| [place / places, place % places])
    }

    fn last(&self) -> [usize; 2] {
        [self.frames - 1, self.targets.len()]
    }
}

/// The logarithms of probabilities of one example.
struct LogProbs<'a, T> {
    example: &'a Example<'a>,
    logits: ArrayView3<'a, T>,
    normalizers: ArrayView2<'a, T>,
}

impl<T: Element> LogProbs<'_, T> {
    fn blank(&self, t: usize, u: usize) -> T {
        self.logits[[t, u, self.example.blank]] - self.normalizers[[t, u]]
    }

    fn label(&self, t: usize, u: usize) -> T {
        self.logits[[t, u, self.example.targets[u]]] - self.normalizers[[t, u]]
    }
}

/// # Panics
/// If lengths and labels do not fit the logits.
fn examples<'a>(
    (batch, frames, places, labels): (usize, usize, usize, usize),
    targets: &'a Array1<usize>,
    frame_lengths: &Array1<usize>,
    target_lengths: &Array1<usize>,
    blank: usize,
) -> Vec<Example<'a>> {
    let lengths = [frame_lengths.len(), target_lengths.len()];
    assert!(
        lengths == [batch; 2],
        "{batch} examples, with {} lengths of frames and {} of targets",
        lengths[0],
        lengths[1]
    );
    assert!(blank < labels, "`blank` is {blank}, of {labels} labels");
    let sum = target_lengths.sum();
    assert!(
        sum == targets.len(),
        "`targets` has {} labels, for lengths with the sum {sum}",
        targets.len()
    );
    if let Some(label) = targets.iter().find(|label| **label >= labels) {
        panic!("`targets` has the label {label}, of {labels}");
    }
    // INVARIANT: an owned array of one axis is contiguous unless it was cut, and Python's never are.
    let mut rest = targets.as_slice().expect("contiguous memory");
    let mut examples = Vec::new();
    for (&frame_length, &target_length) in frame_lengths.iter().zip(target_lengths) {
        assert!(
            (1..=frames).contains(&frame_length) && target_length < places,
            "{frame_length} frames and {target_length} targets, for logits of {frames} frames and {places} places"
        );
        let (targets, after) = rest.split_at(target_length);
        rest = after;
        examples.push(Example {
            frames: frame_length,
            targets,
            blank,
        });
    }
    examples
}

fn log_sum_exp<T: Element>(logits: ArrayView1<T>, numbers: &mut Vec<T>) -> T {
    let most = logits.fold(T::neg_infinity(), |most, &logit| most.max(logit));
    numbers.clear();
    numbers.extend(logits);
    map_in_place(numbers, |logit| exp(logit - most));
    most + numbers.iter().copied().sum::<T>().ln()
}

fn log_add<T: Element>(x: T, y: T) -> T {
    let (less, more) = if x < y { (x, y) } else { (y, x) };
    if more == T::neg_infinity() {
        return more;
    }
    more + (less - more).exp().ln_1p()
}

pullback_python::module! { rnnt: RnntLoss }
