//! Polynomials.

use crate::element::Element;

/// Returns c₀ + c₁x + c₂x² + …
#[inline(always)]
pub(super) fn polynomial<T: Element, const N: usize>(x: T, coefficients: [T; N]) -> T {
    let highest = coefficients[N - 1];
    let lower = coefficients[..N - 1].iter().rev();
    lower.fold(highest, |sum, &coefficient| sum * x + coefficient)
}
