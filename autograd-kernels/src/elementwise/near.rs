//! Whether angles are near, and take less time.

use crate::element::Element;
use crate::math::near::NEAR;

/// Returns whether all numbers are [near](NEAR).
#[cfg_attr(optimized, inline(always))]
pub(super) fn are_near<T: Element>(x: &[T]) -> bool {
    let near = T::from_f64(NEAR);
    x.iter().fold(true, |all, x| all & (x.abs() <= near))
}
