//! How far off the derivatives were that a check found right.

use std::cell::Cell;

use crate::error::Derivative;

/// For each derivative, the largest difference between what was computed and what differences give.
#[derive(Debug, Default)]
pub(super) struct Largest([Cell<Option<f64>>; DERIVATIVES.len()]);

const DERIVATIVES: [Derivative; 4] = [
    Derivative::First,
    Derivative::Second,
    Derivative::Tangent,
    Derivative::SecondTangent,
];

impl Largest {
    /// Notes one difference.
    pub(super) fn note(&self, derivative: Derivative, difference: f64) {
        let largest = &self.0[derivative as usize];
        let so_far = largest.get().unwrap_or(0.0);
        largest.set(Some(so_far.max(difference.abs())));
    }

    /// The derivatives that were compared, each with its largest difference.
    #[cfg(feature = "catalogue")]
    pub(super) fn all(&self) -> impl Iterator<Item = (Derivative, f64)> {
        DERIVATIVES
            .into_iter()
            .zip(&self.0)
            .filter_map(|(derivative, largest)| Some((derivative, largest.get()?)))
    }
}
