//! A small system of linear equations, factored.

use ndarray::{Array1, Array2, Axis};

use autograd_kernels::{FactorError, Lu};

/// The LU factors of a matrix whose rows and columns are scaled first.
///
/// The unknowns and the equations of a residual have units of their own, which say nothing about how well it can be
/// solved. So each row, then each column, is multiplied by the power of two that brings its largest element between 1/2
/// and 1; the condition is that of the scaled matrix.
#[derive(Debug)]
pub(super) struct Factors {
    lu: Lu<f64>,
    rows: Array1<f64>,
    columns: Array1<f64>,
    /// The largest magnitude of an element, before scaling.
    largest: f64,
}

/// A matrix that is singular, or nearly so.
#[derive(Debug)]
pub(super) struct Singular {
    /// Infinite for one that is singular, not a number if an element is not finite.
    pub(super) condition: f64,
    pub(super) place: Option<Place>,
}

/// What makes a matrix singular.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// A row of zeros.
    Row(usize),
    /// A column of zeros.
    Column(usize),
    /// A column that, nearly, is a combination of others.
    Combined(usize),
}

impl Factors {
    /// Factors a matrix whose elements are known up to the relative error `epsilon`, or returns its condition: if that
    /// is above 1/(n·epsilon), or not a number because an element is not finite. It is infinite for a singular matrix.
    #[inline]
    pub(super) fn new(mut matrix: Array2<f64>, epsilon: f64) -> Result<Self, Singular> {
        if matrix.iter().any(|element| !element.is_finite()) {
            return Err(Singular {
                condition: f64::NAN,
                place: None,
            });
        }
        let largest = matrix.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let zeros = |axis| {
            let mut lanes = matrix.axis_iter(axis);
            lanes.position(|lane| lane.iter().all(|element| *element == 0.0))
        };
        let zeros = zeros(Axis(1))
            .map(Place::Column)
            .or_else(|| zeros(Axis(0)).map(Place::Row));
        if zeros.is_some() {
            return Err(Singular {
                condition: f64::INFINITY,
                place: zeros,
            });
        }
        let rows = scale(&mut matrix, Axis(0));
        let columns = scale(&mut matrix, Axis(1));
        let singular = |condition, column: Option<usize>| Singular {
            condition,
            place: column.map(Place::Combined),
        };
        let lu = Lu::new(&matrix.view()).map_err(|error| {
            let column = match error {
                FactorError::Singular { pivot } => Some(pivot),
                _ => None,
            };
            singular(f64::INFINITY, column)
        })?;
        let (inverse, column) = norm_of_inverse(&lu, matrix.nrows());
        let condition = norm(&matrix) * inverse;
        let limit = (matrix.nrows() as f64 * epsilon).recip();
        if condition > limit || condition.is_nan() {
            return Err(singular(condition, column));
        }
        Ok(Self {
            lu,
            rows,
            columns,
            largest,
        })
    }

    /// Returns the largest magnitude of an element of the matrix.
    #[inline]
    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    /// Returns the x of Jx = b, or of `Jᵀx = b` if `transposed`.
    #[inline]
    pub(super) fn solve(&self, b: Vec<f64>, transposed: bool) -> Vec<f64> {
        let b = Array1::from(b);
        let x = if transposed {
            let b = b * &self.columns;
            self.lu.solve_transposed(&b.view()) * &self.rows
        } else {
            let b = b * &self.rows;
            self.lu.solve(&b.view()) * &self.columns
        };
        x.into_raw_vec_and_offset().0
    }
}

/// Scales the lanes of a matrix that are indexed by `axis`, and returns their factors; that of zeros is 1.
#[inline]
fn scale(matrix: &mut Array2<f64>, axis: Axis) -> Array1<f64> {
    let factors: Array1<f64> = matrix
        .axis_iter(axis)
        .map(|lane| power_of_two(lane.iter().fold(0.0, |most, x| x.abs().max(most))))
        .collect();
    for (mut lane, factor) in matrix.axis_iter_mut(axis).zip(&factors) {
        lane *= *factor;
    }
    factors
}

/// Returns the power of two that brings a number between 1/2 and 1, as far as it is a finite number; 1 for 0.
#[inline]
fn power_of_two(most: f64) -> f64 {
    if most == 0.0 {
        return 1.0;
    }
    // The factor itself must not overflow where `most` is subnormal.
    (-most.log2().ceil()).min(1000.0).exp2()
}

/// Returns the largest sum of magnitudes of a column.
#[inline]
fn norm(matrix: &Array2<f64>) -> f64 {
    let sums = matrix.columns().into_iter();
    sums.map(|column| magnitude(&column.to_owned()))
        .fold(0.0, f64::max)
}

#[inline]
fn magnitude(vector: &Array1<f64>) -> f64 {
    vector.iter().map(|x| x.abs()).sum()
}

/// Returns an estimate of the 1-norm of the inverse from below, by Hager's method with Higham's second vector (LAPACK's
/// `gecon`). It is seldom less than a third of the norm. For a matrix that is nearly singular, the index returned beside
/// it is that of the largest element of a vector that the matrix takes nearly to zero.
#[inline]
fn norm_of_inverse(lu: &Lu<f64>, size: usize) -> (f64, Option<usize>) {
    const MOST_STEPS: usize = 5;
    if size == 0 {
        return (0.0, None);
    }
    let largest_of =
        |x: &Array1<f64>| (0..size).reduce(|i, j| if x[j].abs() > x[i].abs() { j } else { i });
    let mut x = Array1::from_elem(size, (size as f64).recip());
    let mut most = 0.0;
    let (mut former, mut place) = (None, None);
    for _ in 0..MOST_STEPS {
        let y = lu.solve(&x.view());
        let found = magnitude(&y);
        if found.is_nan() {
            return (f64::INFINITY, None);
        }
        if found <= most {
            break;
        }
        most = found;
        place = largest_of(&y);
        let z = lu.solve_transposed(&y.mapv(|y| if y < 0.0 { -1.0 } else { 1.0 }).view());
        let largest = largest_of(&z);
        if largest == former {
            break;
        }
        former = largest;
        x = Array1::from_shape_fn(size, |i| if Some(i) == largest { 1.0 } else { 0.0 });
    }
    let growing = Array1::from_shape_fn(size, |i| {
        let magnitude = 1.0 + i as f64 / (size - 1).max(1) as f64;
        if i % 2 == 0 { magnitude } else { -magnitude }
    });
    let other = 2.0 * magnitude(&lu.solve(&growing.view())) / (3.0 * size as f64);
    (most.max(other), place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Returns numbers between -1 and 1, from a linear congruential generator.
    fn random(size: usize, mut seed: u64) -> Array2<f64> {
        Array2::from_shape_simple_fn((size, size), || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
        })
    }

    #[test]
    fn the_estimate_is_near_the_condition() {
        for (size, seed) in (1..40).zip(7..) {
            let matrix = random(size, seed);
            let lu = Lu::new(&matrix.view()).unwrap();
            let (exact, (found, _)) = (norm(&lu.inverse()), norm_of_inverse(&lu, size));
            assert!(found <= exact * 1.000_001, "{size}: {found} of {exact}");
            assert!(found >= exact / 3.0, "{size}: {found} of {exact}");
        }
    }

    #[test]
    fn units_do_not_count() {
        let units = array![1e-100, 3.0, 1e90, 7e-9];
        let plain = random(4, 3);
        let scaled = &plain * &units * &units.view().insert_axis(Axis(1)).mapv(f64::recip);
        let factors = Factors::new(scaled.clone(), f64::EPSILON).unwrap();
        let x = array![1.0, -2.0, 3.0, 0.5] / &units;
        let b = scaled.dot(&x);
        let found = Array1::from(factors.solve(b.to_vec(), false));
        assert!(((found - &x) / x).iter().all(|error| error.abs() < 1e-12));
    }

    #[test]
    fn solutions_of_both_kinds() {
        let matrix = random(9, 5);
        let factors = Factors::new(matrix.clone(), f64::EPSILON).unwrap();
        let x = Array1::linspace(-1.0, 2.0, 9);
        for (transposed, b) in [(false, matrix.dot(&x)), (true, matrix.t().dot(&x))] {
            let found = Array1::from(factors.solve(b.to_vec(), transposed));
            assert!((found - &x).iter().all(|error| error.abs() < 1e-12));
        }
    }

    #[test]
    fn singular_matrices_are_refused_with_their_condition() {
        let of = |matrix| Factors::new(matrix, f64::EPSILON).unwrap_err();
        let zeros = of(array![[1.0, 2.0], [0.0, 0.0]]);
        assert_eq!(
            (zeros.condition, zeros.place),
            (f64::INFINITY, Some(Place::Row(1)))
        );
        let zeros = of(array![[1.0, 0.0], [1.0, 0.0]]);
        assert_eq!(zeros.place, Some(Place::Column(1)));
        let combined = of(array![[1.0, 2.0, 5.0], [0.0, 1.0, 2.0], [1.0, 3.0, 7.0]]);
        assert_eq!(combined.place, Some(Place::Combined(2)));
        let nearly = of(array![[1.0, 1.0], [1.0, 1.0 + 1e-15]]);
        assert!(nearly.condition > 1e15 && nearly.place.is_some());
        assert!(of(array![[1.0, f64::NAN], [1.0, 1.0]]).condition.is_nan());
        assert!(Factors::new(array![[1.0, 1.0], [1.0, 1.0 + 1e-15]], 1e-17).is_ok());
    }

    #[test]
    fn no_unknowns_are_solved() {
        let factors = Factors::new(Array2::zeros((0, 0)), f64::EPSILON).unwrap();
        assert_eq!(factors.solve(Vec::new(), true), []);
    }
}
