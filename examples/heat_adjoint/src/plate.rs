//! A plate of several materials, and its time steps.

use std::fmt;
use std::sync::Arc;

use pullback::ndarray::{Array2, ArrayView2};

use crate::kernels::{self, Coefficients, Language};

/// An insulated plate on which heat spreads for a number of steps. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Plate {
    coefficients: Arc<Coefficients>,
    pub steps: usize,
    pub language: Language,
}

/// The error for a step so long that errors would grow.
#[derive(Debug, PartialEq)]
pub struct Unstable {
    pub length: f64,
    /// The longest step that is stable.
    pub limit: f64,
}

impl fmt::Display for Unstable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, limit } = self;
        write!(
            f,
            "a time step of {length} is not stable: here it may be {limit:.4} at most"
        )
    }
}

impl std::error::Error for Unstable {}

impl Plate {
    /// Creates a plate of cells with sides of length 1, each with its conductivity and its heat capacity, for
    /// `steps` steps of equal length. Two cells conduct like two resistors in series.
    ///
    /// # Errors
    /// If a step would take more heat out of a cell than its difference from its neighbors holds: then
    /// an explicit step can oscillate and grow.
    ///
    /// # Panics
    /// If conductivity and capacity differ in shape.
    pub fn new(
        conductivity: &ArrayView2<f64>,
        capacity: &ArrayView2<f64>,
        steps: usize,
        length: f64,
        language: Language,
    ) -> Result<Self, Unstable> {
        let (rows, columns) = conductivity.dim();
        let between = |a: [usize; 2], b: [usize; 2]| {
            let (a, b) = (conductivity[a], conductivity[b]);
            2.0 * a * b / (a + b)
        };
        let mut east = Array2::zeros((rows, columns));
        let mut south = Array2::zeros((rows, columns));
        let mut leaving = Array2::<f64>::zeros((rows, columns));
        for row in 0..rows {
            for column in 0..columns {
                let cell = [row, column];
                for (conductance, next) in [
                    (&mut east, [row, column + 1]),
                    (&mut south, [row + 1, column]),
                ] {
                    if next[0] < rows && next[1] < columns {
                        conductance[cell] = between(cell, next);
                        leaving[cell] += conductance[cell];
                        leaving[next] += conductance[cell];
                    }
                }
            }
        }
        let limits = (capacity / &leaving).into_iter();
        let limit = limits.fold(f64::INFINITY, f64::min);
        if length > limit {
            return Err(Unstable { length, limit });
        }
        let share = capacity.mapv(|capacity| length / capacity);
        let [share, east, south] = [share, east, south].map(|field| field.into_iter().collect());
        let coefficients = Arc::new(Coefficients {
            rows,
            columns,
            share,
            east,
            south,
        });
        Ok(Self {
            coefficients,
            steps,
            language,
        })
    }

    /// Returns the temperatures after all steps.
    ///
    /// # Panics
    /// If the shapes of field and plate differ.
    #[track_caller]
    pub fn heat(&self, before: &ArrayView2<f64>) -> Array2<f64> {
        self.repeat(before, |from, to| {
            kernels::step(&self.coefficients, self.language, from, to);
        })
    }

    /// Applies the transpose of [`heat`](Self::heat), which is linear.
    ///
    /// # Panics
    /// If the shapes of field and plate differ.
    #[track_caller]
    pub fn heat_adjoint(&self, grad_after: &ArrayView2<f64>) -> Array2<f64> {
        self.repeat(grad_after, |from, to| {
            kernels::step_adjoint(&self.coefficients, from, to);
        })
    }

    #[track_caller]
    fn repeat(&self, field: &ArrayView2<f64>, step: impl Fn(&[f64], &mut [f64])) -> Array2<f64> {
        let shape = (self.coefficients.rows, self.coefficients.columns);
        assert!(
            field.dim() == shape,
            "a field of shape {:?} on a plate of shape {shape:?}",
            field.dim()
        );
        let mut now: Vec<f64> = field.iter().copied().collect();
        let mut next = vec![0.0; now.len()];
        for _ in 0..self.steps {
            step(&now, &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        // INVARIANT: the length is that of the field, which has this shape.
        Array2::from_shape_vec(shape, now).expect("a number for each cell")
    }
}

/// Returns a plate of three by four cells of different materials.
#[cfg(test)]
pub fn small(language: Language) -> Plate {
    let conductivity = Array2::from_shape_fn((3, 4), |(i, j)| 0.5 + 0.1 * (3 * i + 2 * j) as f64);
    let capacity = Array2::from_shape_fn((3, 4), |(i, j)| 1.0 + 0.3 * ((i + j) % 3) as f64);
    Plate::new(&conductivity.view(), &capacity.view(), 6, 0.2, language).expect("a stable step")
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn a_wave_decays_as_it_must() {
        let (rows, columns, steps, length) = (8, 12, 40, 0.2);
        let ones = Array2::ones((rows, columns));
        let plate = Plate::new(&ones.view(), &ones.view(), steps, length, Language::C).unwrap();
        let (kx, ky) = (3.0 * PI / columns as f64, 2.0 * PI / rows as f64);
        // Cosines at the centers of cells are eigenvectors of an insulated plate.
        let wave = Array2::from_shape_fn((rows, columns), |(i, j)| {
            (ky * (i as f64 + 0.5)).cos() * (kx * (j as f64 + 0.5)).cos()
        });
        let factor = 1.0 - 4.0 * length * ((0.5 * kx).sin().powi(2) + (0.5 * ky).sin().powi(2));
        let expected = &wave * factor.powi(40);
        let error = (plate.heat(&wave.view()) - expected).mapv(f64::abs);
        assert!(error.iter().all(|&error| error < 1e-14), "{error}");
    }

    #[test]
    fn heat_is_neither_made_nor_lost() {
        let capacity = Array2::from_shape_fn((3, 4), |(i, j)| 1.0 + 0.3 * ((i + j) % 3) as f64);
        let field = Array2::from_shape_fn((3, 4), |(i, j)| ((7 * i + 5 * j) % 6) as f64);
        let total = |field: &Array2<f64>| (field * &capacity).sum();
        let after = small(Language::C).heat(&field.view());
        assert!((total(&after) - total(&field)).abs() < 1e-12);
        assert!(after.iter().all(|&u| (0.0..=5.0).contains(&u)));
    }

    #[test]
    fn steps_that_are_too_long_are_refused() {
        let ones = Array2::ones((3, 3));
        let plate = |length| Plate::new(&ones.view(), &ones.view(), 1, length, Language::C);
        assert!(plate(0.25).is_ok());
        let error = plate(0.3).unwrap_err();
        assert_eq!(
            error,
            Unstable {
                length: 0.3,
                limit: 0.25
            }
        );
        assert_eq!(
            error.to_string(),
            "a time step of 0.3 is not stable: here it may be 0.2500 at most"
        );
    }

    #[test]
    #[should_panic(expected = "a field of shape (2, 4) on a plate of shape (3, 4)")]
    fn fields_of_another_shape_are_refused() {
        small(Language::C).heat(&Array2::zeros((2, 4)).view());
    }
}
