//! Connectionist temporal classification: the loss of a sequence of labels whose positions in time are unknown.
//!
//! Graves et al., 2006. With blanks between the labels, αₜₛ and βₜₛ are the logarithms of the probabilities of all ways
//! to place s at time t, before and after it; the gradient with respect to the logarithms of the probabilities is
//! minus the share of all ways that pass through each.

use pullback::ndarray::{Array0, Array2, ArrayView0, ArrayView2, arr0};
use pullback::prelude::*;

pub struct Ctc;

#[custom_function(gradcheck(log_probs = [5, 4] in -2.0..-0.5, labels = &[1, 2, 2]))]
impl Ctc {
    /// Computes the loss of `labels`, for the logarithms of the probabilities of each label at each time; 0 is the
    /// blank.
    #[forward(outputs(loss), saves(alpha))]
    pub fn forward(log_probs: ArrayView2<f64>, labels: &[usize]) -> (Array0<f64>, Array2<f64>) {
        let extended = extended(labels);
        let (times, places) = (log_probs.nrows(), extended.len());
        let mut alpha = Array2::from_elem((times, places), f64::NEG_INFINITY);
        for (t, s) in cells(times, places) {
            let before = match t {
                0 if s < 2 => 0.0,
                0 => f64::NEG_INFINITY,
                _ => log_sum(steps(&extended, s).map(|k| alpha[[t - 1, s - k]])),
            };
            alpha[[t, s]] = before + log_probs[[t, extended[s]]];
        }
        let ends = (0..2.min(places)).map(|k| alpha[[times - 1, places - 1 - k]]);
        (arr0(-log_sum(ends)), alpha)
    }

    #[backward(log_probs)]
    fn backward(
        grad_loss: ArrayView0<f64>,
        log_probs: ArrayView2<f64>,
        labels: &[usize],
        alpha: ArrayView2<f64>,
        loss: ArrayView0<f64>,
    ) -> Array2<f64> {
        let extended = extended(labels);
        let (times, places) = alpha.dim();
        // Without the probability of its own cell, which α has.
        let mut beta = Array2::from_elem((times, places), f64::NEG_INFINITY);
        let mut grad = Array2::zeros(log_probs.dim());
        for (t, s) in cells(times, places).rev() {
            beta[[t, s]] = match t + 1 {
                next if next < times => log_sum((0..3).filter_map(|k| {
                    let after = (s + k < places).then_some(s + k)?;
                    let reached = steps(&extended, after).any(|step| step == k);
                    reached.then(|| beta[[next, after]] + log_probs[[next, extended[after]]])
                })),
                _ if s + 2 >= places => 0.0,
                _ => f64::NEG_INFINITY,
            };
            grad[[t, extended[s]]] -=
                grad_loss[()] * (alpha[[t, s]] + beta[[t, s]] + loss[()]).exp();
        }
        grad
    }
}

fn cells(times: usize, places: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    (0..times * places).map(move |cell| (cell / places, cell % places))
}

/// Returns the labels with a blank before, between and after them.
fn extended(labels: &[usize]) -> Vec<usize> {
    let pairs = labels.iter().flat_map(|label| [0, *label]);
    pairs.chain([0]).collect()
}

/// Returns the possible steps back from `s`: a blank between two different labels can be left out.
fn steps(extended: &[usize], s: usize) -> impl Iterator<Item = usize> {
    let may_skip = s > 1 && extended[s] != 0 && extended[s] != extended[s - 2];
    (0..=s.min(1)).chain(may_skip.then_some(2))
}

fn log_sum(terms: impl Iterator<Item = f64>) -> f64 {
    terms.fold(f64::NEG_INFINITY, |sum, term| {
        let (low, high) = if sum < term { (sum, term) } else { (term, sum) };
        if low == f64::NEG_INFINITY {
            high
        } else {
            high + (low - high).exp().ln_1p()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("ctc").check(|case| {
            let x: Tensor2<f64> = case.leaf("x");
            let log_probs = x.log_softmax(pullback::ndarray::Axis(1));
            (
                Ctc::apply(&log_probs, &[1, 2, 2, 3]).into_dyn(),
                vec![x.into_dyn()],
            )
        });
    }
}
