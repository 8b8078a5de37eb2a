//! Whether what a thread computes is recorded.

use std::cell::Cell;

use crate::former::Former;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
}

/// Returns whether functions applied on this thread are recorded now.
///
/// ```
/// use pullback::{is_grad_enabled, no_grad};
///
/// assert!(is_grad_enabled());
/// assert!(!no_grad(is_grad_enabled));
/// ```
#[inline]
pub fn is_grad_enabled() -> bool {
    ENABLED.get()
}

/// Runs `body` without recording: what it computes has no `grad_fn` and saves nothing.
///
/// Nests with [`enable_grad`]; the former mode is back when `body` returns or panics. Each thread has
/// a mode of its own.
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

/// Runs `body` with recording, inside [`no_grad`] too.
///
/// ```
/// use pullback::{enable_grad, is_grad_enabled, no_grad};
///
/// assert!(no_grad(|| enable_grad(is_grad_enabled)));
/// ```
pub fn enable_grad<R>(body: impl FnOnce() -> R) -> R {
    with_grad_mode(true, body)
}

/// Runs `body` in the given mode.
pub(crate) fn with_grad_mode<R>(enabled: bool, body: impl FnOnce() -> R) -> R {
    let _former = Former::of(&ENABLED, enabled);
    body()
}

/// Stops recording until this is dropped: how generated code runs a forward function.
#[doc(hidden)]
#[inline]
pub fn unrecorded() -> Former<bool> {
    Former::of(&ENABLED, false)
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
