//! Anomaly detection: finds the function that computes a gradient which is not a number.

use std::cell::Cell;

use crate::error::{Error, ErrorKind};
use crate::tape::{AnyGradient, Node};
use crate::thread::Scoped;

thread_local! {
    /// Whether passes check each gradient.
    pub(super) static WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body`, in which a backward pass fails if a gradient is NaN; the error names the function that computed the
/// gradient. An infinite gradient, such as that of `sqrt` at 0, is not an error. Outside, NaN passes through silently.
///
/// Of a scan, the error has the number of the step.
///
/// Every gradient is read, which takes time: use it to find a fault. Errors have the line of `apply` in any case.
///
/// ```
/// use pullback::{Tensor, detect_anomaly};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![0.0]).set_requires_grad(true);
/// // The derivative of ln at 0 is infinite, that of x² is 0: their product is not a number.
/// let loss = x.powi(2).ln().sum();
/// let error = detect_anomaly(|| loss.backward()).unwrap_err();
/// assert!(error.to_string().starts_with(
///     "backward of `Powi` gave a gradient for `x` that is not a number at entry [0]"
/// ));
/// ```
pub fn detect_anomaly<R>(body: impl FnOnce() -> R) -> R {
    let _scope = Scoped::set(&WATCHING, true);
    body()
}

/// Returns whether passes that start on this thread now check each gradient.
pub(crate) fn is_watching() -> bool {
    WATCHING.get()
}

/// Returns an error if an entry of the gradient is not a number.
pub(super) fn check(node: &Node, input: usize, grad: &AnyGradient) -> Result<(), Error> {
    match grad.first_not_a_number() {
        None => Ok(()),
        Some(entry) => Err(node.error(ErrorKind::NotANumber {
            input: node.0.input_name(input),
            entry,
        })),
    }
}
