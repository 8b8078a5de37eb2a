//! The loss of a recurrent neural network transducer: of all ways to emit labels over the steps of a sequence.
//!
//! Graves, *Sequence transduction with recurrent neural networks*, 2012, equations 16 to 18: α(t, u) is the logarithm of
//! the probability to have emitted u labels in t steps, and a step emits any number of labels and then a blank. The
//! rows have a place for each number of labels: a sequence with fewer than others is read at the place after its last.

use pullback::ndarray::Array2;
#[cfg(test)]
use pullback::ndarray::s;
use pullback::prelude::*;

/// The logarithm of 0, of which differences and products with 0 are finite.
const IMPOSSIBLE: f64 = -1e30;

/// Returns α after the last step, of the logarithms of the probabilities of a blank and of the next label, `[steps, batch,
/// labels + 1]`. Forward begins where no label is emitted: [`begin`].
#[custom_function(
    scan,
    outputs(last),
    gradcheck(alpha = [2, 4], blank = [5, 2, 4], label = [5, 2, 4])
)]
pub fn transducer<T: Real>(#[state] alpha: &mut [T], #[step] blank: &[T], #[step] label: &[T]) {
    for place in 1..alpha.len() {
        let (stays, emits) = (alpha[place], alpha[place - 1] + label[place - 1]);
        let distance = (stays - emits).abs();
        alpha[place] = stays.max(emits) + (-distance).exp().ln_1p();
    }
    for (alpha, blank) in alpha.iter_mut().zip(blank) {
        *alpha += *blank;
    }
}

/// Returns α before the first step.
pub fn begin(batch: usize, labels: usize) -> Tensor2<f64> {
    Tensor::from(Array2::from_shape_fn((batch, labels + 1), |(_, place)| {
        if place == 0 { 0.0 } else { IMPOSSIBLE }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("transducer").check(|case| {
            let [blank, label]: [Tensor3<f64>; 2] = ["blank", "label"].map(|name| case.leaf(name));
            let (batch, labels) = (blank.shape()[1], blank.shape()[2] - 1);
            let last = transducer(&begin(batch, labels), &blank, &label);
            let loss = -last.slice(s![.., labels]);
            (loss.into_dyn(), vec![blank.into_dyn(), label.into_dyn()])
        });
    }
}
