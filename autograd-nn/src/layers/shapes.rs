//! Arguments for each axis, and checks of inputs.

use std::fmt::Display;

use crate::module::Module;

/// A number for each of `N` axes. `3.into()` is 3 for all axes, `[3, 5].into()` has a number for each.
///
/// ```
/// use pullback::nn::PerAxis;
///
/// assert_eq!(PerAxis::<2>::from(3), PerAxis::from([3, 3]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerAxis<const N: usize>(pub [usize; N]);

impl<const N: usize> From<usize> for PerAxis<N> {
    fn from(number: usize) -> Self {
        Self([number; N])
    }
}

impl<const N: usize> From<[usize; N]> for PerAxis<N> {
    fn from(numbers: [usize; N]) -> Self {
        Self(numbers)
    }
}

impl From<(usize, usize)> for PerAxis<2> {
    fn from((rows, columns): (usize, usize)) -> Self {
        Self([rows, columns])
    }
}

/// Panics with the printed layer if an input does not fit. `wrong` is formatted only then, so most callers pass
/// `format_args!`.
#[track_caller]
pub(super) fn fits(layer: &dyn Module, shape: &[usize], fits: bool, wrong: impl Display) {
    assert!(
        fits,
        "{}({}) of a tensor of shape {shape:?}: {wrong}",
        layer.name(),
        layer.extra_repr()
    );
}

/// Panics if `eps` cannot be added to a variance.
#[track_caller]
pub(super) fn is_eps(layer: &str, eps: f64) {
    assert!(
        eps.is_finite() && eps >= 0.0,
        "{layer} with the eps {eps}: it must be finite and at least 0"
    );
}
