//! Large systems of linear equations, by products with the matrix alone.

use ndarray::aview1;

/// The basis vectors that are kept before the method starts again from the solution so far. Where that is too slow, the
/// number is doubled.
const RESTART: usize = 60;
/// The most numbers in the basis vectors, but for those of `RESTART` vectors.
const MOST_NUMBERS: usize = 1 << 24;
/// The most products for each unknown, and in addition.
const MOST_PRODUCTS: (usize, usize) = (10, 100);

/// What the method may use.
pub(super) struct Limits {
    /// The most products.
    pub(super) products: usize,
    /// The most basis vectors.
    pub(super) basis: usize,
}

impl Limits {
    /// Returns the limits where nothing else solves the equations.
    #[inline]
    pub(super) fn alone(size: usize) -> Self {
        Self {
            products: MOST_PRODUCTS.0 * size + MOST_PRODUCTS.1,
            basis: size.min(MOST_NUMBERS / size.max(1)),
        }
    }

    /// Returns the limits where `size` products give the matrix, which can be factored then.
    #[inline]
    pub(super) fn before_factors(size: usize) -> Self {
        Self {
            products: size,
            basis: (4 * RESTART).min(size),
        }
    }
}

/// A right side that was not reached.
#[derive(Debug)]
pub(super) struct NotSolved {
    pub(super) products: usize,
    /// The norm of what remains, relative to that of the right side.
    pub(super) remains: f64,
}

/// Returns the x of Ax = b by GMRES (Saad and Schultz, 1986) with restarts. `product` returns Ax, to the relative error
/// `epsilon`, and `E` is its error.
///
/// The method stops where the remaining r = b − Ax is what rounding in one product leaves: ‖r‖ ≤ 16 ε (‖A‖‖x‖ + ‖b‖).
/// The norm ‖A‖ is the largest ‖Av‖ that was seen for a v of norm 1. If rounding inside of the products is larger, r
/// stops shrinking: then ε^⅔ in place of 16 ε is accepted. Anything else is not solved, nor is a system that must be
/// singular, because ‖A‖‖x‖ > ‖b‖ / (n ε), nor one for which the basis is as long as it may be and which would take more
/// products than `limits` allow, if it went on as in the last cycle.
pub(super) fn gmres<E>(
    mut product: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
    b: &[f64],
    epsilon: f64,
    limits: &Limits,
) -> Result<Result<Vec<f64>, NotSolved>, E> {
    let (size, of_b) = (b.len(), norm(b));
    let mut x = vec![0.0; size];
    if of_b == 0.0 {
        return Ok(Ok(x));
    }
    let mut products = 0;
    let mut of_matrix = 0.0_f64;
    let mut length = RESTART.min(size);
    let (mut r, mut remains) = (b.to_vec(), of_b);
    loop {
        let size_of_terms = |of_matrix: f64, x: &[f64]| of_matrix * norm(x) + of_b;
        let enough = 16.0 * epsilon * size_of_terms(of_matrix, &x);
        let mut cycle = Cycle::new(&r, remains);
        while cycle.basis.len() <= length && cycle.remains > enough / 2.0 {
            let image = product(cycle.last())?;
            products += 1;
            of_matrix = of_matrix.max(norm(&image));
            if !cycle.extend(image) {
                break;
            }
        }
        cycle.add_to(&mut x);
        let image = product(&x)?;
        products += 1;
        let former = remains;
        r = b.iter().zip(&image).map(|(b, image)| b - image).collect();
        remains = norm(&r);
        let terms = size_of_terms(of_matrix, &x);
        let not_solved = || NotSolved {
            products,
            remains: remains / of_b,
        };
        if of_matrix * norm(&x) > of_b / (size as f64 * epsilon) {
            return Ok(Err(not_solved()));
        }
        if remains <= 16.0 * epsilon * terms {
            return Ok(Ok(x));
        }
        let longer = (2 * length).min(limits.basis);
        let is_longest = longer <= length;
        let shrinks = remains < 0.5 * former;
        if !shrinks {
            if remains <= epsilon.powf(2.0 / 3.0) * terms && is_longest {
                return Ok(Ok(x));
            }
            // Not a number, too.
            let stands = remains.is_nan() || remains >= 0.99 * former;
            if stands && is_longest {
                return Ok(Err(not_solved()));
            }
            length = length.max(longer);
        }
        let cycles = (enough / remains).ln() / (remains / former).ln();
        let needed = if is_longest {
            cycles * length as f64
        } else {
            0.0
        };
        if products as f64 + needed >= limits.products as f64 {
            return Ok(Err(not_solved()));
        }
    }
}

/// The steps between two restarts: an orthonormal basis of the spaces of Krylov, and the least squares problem in it, whose
/// matrix is kept triangular by rotations.
struct Cycle {
    basis: Vec<Vec<f64>>,
    /// The columns of the triangular matrix.
    columns: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
    /// The rotated right side.
    right: Vec<f64>,
    /// The norm of what remains, as the rotations give it.
    remains: f64,
}

impl Cycle {
    #[inline]
    fn new(r: &[f64], remains: f64) -> Self {
        Self {
            basis: vec![r.iter().map(|x| x / remains).collect()],
            columns: Vec::new(),
            rotations: Vec::new(),
            right: vec![remains],
            remains,
        }
    }

    #[inline]
    fn last(&self) -> &[f64] {
        &self.basis[self.basis.len() - 1]
    }

    /// Adds the image of the last basis vector; returns whether there is a new basis vector.
    #[inline]
    fn extend(&mut self, mut image: Vec<f64>) -> bool {
        let mut column = vec![0.0; self.basis.len()];
        let before = norm(&image);
        // Twice is enough: the basis is then orthogonal to rounding.
        for _ in 0..2 {
            for (entry, vector) in column.iter_mut().zip(&self.basis) {
                let part = dot(vector, &image);
                *entry += part;
                for (x, v) in image.iter_mut().zip(vector) {
                    *x -= part * v;
                }
            }
        }
        let mut beyond = norm(&image);
        let is_new = beyond > f64::EPSILON * before;
        if !is_new {
            beyond = 0.0;
        }
        for (row, &(cos, sin)) in self.rotations.iter().enumerate() {
            let (above, below) = (column[row], column[row + 1]);
            column[row] = cos * above + sin * below;
            column[row + 1] = cos * below - sin * above;
        }
        let row = column.len() - 1;
        let radius = column[row].hypot(beyond);
        if radius == 0.0 {
            // The matrix is singular, and the vector leads nowhere.
            return false;
        }
        let (cos, sin) = (column[row] / radius, beyond / radius);
        column[row] = radius;
        self.rotations.push((cos, sin));
        self.columns.push(column);
        let above = self.right[row];
        self.right[row] = cos * above;
        self.right.push(-sin * above);
        self.remains = (sin * above).abs();
        if is_new {
            self.basis.push(image.iter().map(|x| x / beyond).collect());
        }
        is_new
    }

    /// Adds the solution of the least squares problem.
    #[inline]
    fn add_to(&self, x: &mut [f64]) {
        let mut weights = self.right[..self.columns.len()].to_vec();
        for row in (0..weights.len()).rev() {
            let later = row + 1..weights.len();
            let known: f64 = later.map(|j| self.columns[j][row] * weights[j]).sum();
            weights[row] = (weights[row] - known) / self.columns[row][row];
        }
        for (weight, vector) in weights.iter().zip(&self.basis) {
            for (x, v) in x.iter_mut().zip(vector) {
                *x += weight * v;
            }
        }
    }
}

#[inline]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    aview1(x).dot(&aview1(y))
}

/// Returns the length of a vector, without overflow.
#[inline]
fn norm(x: &[f64]) -> f64 {
    let most = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if most == 0.0 || !most.is_finite() {
        return dot(x, x).sqrt();
    }
    let scaled = &aview1(x) / most;
    most * scaled.dot(&scaled).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Element;
    use ndarray::{Array1, Array2};
    use std::convert::Infallible;

    fn solve(matrix: &Array2<f64>, b: &Array1<f64>) -> Result<Vec<f64>, NotSolved> {
        let product = |x: &[f64]| {
            let x = Array1::from(x.to_vec());
            Ok::<_, Infallible>(matrix.dot(&x).to_vec())
        };
        let slice = b.as_slice().unwrap();
        gmres(product, slice, f64::EPSILON, &Limits::alone(b.len())).unwrap()
    }

    fn matrix(size: usize, element: impl Fn(usize, usize) -> f64) -> Array2<f64> {
        Array2::from_shape_fn((size, size), |(i, j)| element(i, j))
    }

    fn distance(x: &[f64], y: &Array1<f64>) -> f64 {
        x.iter()
            .zip(y)
            .fold(0.0, |most, (x, y)| most.max((x - y).abs()))
    }

    #[test]
    fn solutions_are_as_exact_as_products() {
        for size in [1, 2, 7, 60, 61, 200] {
            let wave = matrix(size, |i, j| {
                let diagonal = if i == j { 4.0 + i as f64 } else { 0.0 };
                diagonal + ((i * 7 + j * 3) as f64).sin()
            });
            let x = Array1::from_shape_fn(size, |i| (i as f64).cos());
            let found = solve(&wave, &wave.dot(&x)).unwrap();
            let error = distance(&found, &x);
            assert!(error < 1e-11, "{size}: {error}");
        }
    }

    #[test]
    fn a_shift_needs_all_of_its_space() {
        // Restarts alone do not help: nothing is found before the last step.
        let shift = matrix(150, |i, j| f64::from(u8::from((i + 1) % 150 == j)));
        let mut b = Array1::zeros(150);
        b[0] = 1.0;
        let found = solve(&shift, &b).unwrap();
        assert!((found[1] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn rounding_inside_of_products_is_allowed() {
        let wave = matrix(130, |i, j| {
            let diagonal = if i == j { 6.0 + (i as f64).cos() } else { 0.0 };
            diagonal + ((i * 7 + j * 3) as f64).sin() / 10.0
        });
        let x = Array1::from_shape_fn(130, |i| (i as f64).cos());
        let b = wave.dot(&x);
        for unit in [1.0, 40.0] {
            // As if the sums in it were of numbers `unit` times as large.
            let product = |x: &[f64]| {
                let rounded = |x: &f64| f64::from(f32::from_f64(x + unit)) - unit;
                let image = wave.dot(&Array1::from(x.to_vec()));
                Ok::<_, Infallible>(image.iter().map(rounded).collect())
            };
            let epsilon = f64::from(f32::EPSILON);
            let found =
                gmres(product, b.as_slice().unwrap(), epsilon, &Limits::alone(130)).unwrap();
            assert!(distance(&found.unwrap(), &x) < 1e-5 * unit);
        }
    }

    #[test]
    fn what_would_take_too_many_products_is_left_early() {
        // The second derivative on a line of 300 points: information moves by one point with each product.
        let line = matrix(300, |i, j| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        });
        let product = |x: &[f64]| Ok::<_, Infallible>(line.dot(&Array1::from(x.to_vec())).to_vec());
        let b = vec![1.0; 300];
        let found = gmres(product, &b, f64::EPSILON, &Limits::before_factors(300));
        let products = found.unwrap().unwrap_err().products;
        assert!(products <= 300 + 4 * RESTART, "{products}");
    }

    #[test]
    fn what_is_singular_is_not_solved() {
        let singular = matrix(90, |i, j| if i == j && i > 0 { i as f64 } else { 0.0 });
        let error = solve(&singular, &Array1::ones(90)).unwrap_err();
        assert!(error.products < 1100, "{error:?}");
    }

    #[test]
    fn numbers_that_are_none_are_not_solved() {
        let nan = matrix(5, |i, j| if i == j { f64::NAN } else { 0.0 });
        assert!(solve(&nan, &Array1::ones(5)).is_err());
        let huge = matrix(3, |i, j| if i == j { 1e200 } else { 0.0 });
        let found = solve(&huge, &Array1::from_elem(3, 1e190)).unwrap();
        assert!((found[0] * 1e10 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn zeros_take_no_product() {
        let product = |_: &[f64]| Err::<Vec<f64>, _>("a product");
        let solved = gmres(product, &[0.0, 0.0], f64::EPSILON, &Limits::alone(2));
        let solved = solved.unwrap().unwrap();
        assert_eq!(solved, [0.0, 0.0]);
    }
}
