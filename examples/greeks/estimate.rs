//! Means of simulated paths, with their errors.

use pullback::ndarray::{Array1, ArrayView1, Axis};

/// A mean with its standard error.
#[derive(Clone, Copy)]
pub struct Estimate {
    pub mean: f64,
    pub error: f64,
}

impl Estimate {
    /// Returns that of independent samples.
    pub fn of(samples: &Array1<f64>) -> Self {
        let count = samples.len() as f64;
        Self {
            mean: samples.sum() / count,
            error: samples.std(1.0) / count.sqrt(),
        }
    }

    /// Returns the distance to an exact value, in standard errors.
    pub fn distance(self, exact: f64) -> f64 {
        (self.mean - exact).abs() / self.error
    }

    /// Returns the distance between two estimates, in standard errors.
    pub fn apart(self, other: Self) -> f64 {
        (self.mean - other.mean).abs() / self.error.hypot(other.error)
    }
}

/// Returns the mean of each path and its mirror image: these are independent.
pub fn of_pairs(values: &ArrayView1<'_, f64>) -> Array1<f64> {
    let (paths, mirrored) = values.split_at(Axis(0), values.len() / 2);
    (&paths + &mirrored) * 0.5
}
