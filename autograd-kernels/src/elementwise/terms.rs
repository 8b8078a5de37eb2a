//! Sums of terms that may be absent.

use crate::element::real::Real;

/// A sum of terms that may be absent: 0 without any, and a single term as it is.
///
/// Whether a term is there may depend on the numbers, as in a maximum. So it is chosen without a branch: a loop with one is
/// not vector code in every profile.
#[derive(Clone, Copy)]
pub(crate) struct Terms<R> {
    sum: R,
    has_any: bool,
}

impl<R: Real> Terms<R> {
    /// Returns the sum of no terms.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn none() -> Self {
        Self {
            sum: R::from(0.0),
            has_any: false,
        }
    }

    /// Adds a term, if it is there.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn add(&mut self, term: R, is_there: bool) {
        let more = if self.has_any { self.sum + term } else { term };
        self.sum = if is_there { more } else { self.sum };
        self.has_any |= is_there;
    }

    /// Returns the sum.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn sum(self) -> R {
        self.sum
    }
}
