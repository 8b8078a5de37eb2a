//! Recording mode: whether functions applied on a thread are recorded.

use std::cell::Cell;

use super::scoped::Scoped;

thread_local! {
    /// Whether functions are recorded.
    pub(crate) static RECORDING: Cell<bool> = const { Cell::new(true) };
}

/// Returns whether functions applied on this thread are recorded now.
///
/// ```
/// use pullback::{enable_grad, is_grad_enabled, no_grad};
///
/// assert!(is_grad_enabled());
/// assert!(!no_grad(is_grad_enabled));
/// assert!(no_grad(|| enable_grad(is_grad_enabled)));
/// ```
#[inline]
pub fn is_grad_enabled() -> bool {
    RECORDING.get()
}

/// Runs `body` without recording: functions applied in it save nothing, and their results have no `grad_fn`.
///
/// Nests with [`enable_grad`]; the former mode is set again when `body` returns or panics. Each thread has
/// its own mode.
///
/// ```
/// use pullback::{Tensor, no_grad};
/// use pullback::ndarray::array;
///
/// let w = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// assert!((&w * 2.0).requires_grad());
/// assert!(!no_grad(|| &w * 2.0).requires_grad());
/// ```
pub fn no_grad<R>(body: impl FnOnce() -> R) -> R {
    with_grad_mode(false, body)
}

/// Runs `body` with recording, inside [`no_grad`] too: see [`is_grad_enabled`].
pub fn enable_grad<R>(body: impl FnOnce() -> R) -> R {
    with_grad_mode(true, body)
}

/// Runs `body` with recording on or off.
pub(crate) fn with_grad_mode<R>(enabled: bool, body: impl FnOnce() -> R) -> R {
    let _scope = Scoped::set(&RECORDING, enabled);
    body()
}

/// Stops recording until the result is dropped, for generated code that runs a forward function.
#[doc(hidden)]
#[inline]
pub fn unrecorded() -> Scoped<bool> {
    Scoped::set(&RECORDING, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_nest_and_survive_a_panic() {
        no_grad(|| {
            assert!(!is_grad_enabled());
            enable_grad(|| assert!(is_grad_enabled()));
            let panic = std::panic::catch_unwind(|| enable_grad(|| panic!("inside")));
            assert!(panic.is_err());
            assert!(!is_grad_enabled());
            assert!(std::thread::spawn(is_grad_enabled).join().unwrap());
        });
        assert!(is_grad_enabled());
    }
}
