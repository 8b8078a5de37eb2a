//! Systems of equations with triangular matrices.

use ndarray::{Array, ArrayView, ArrayView2, ArrayViewMut2, Axis, Dimension, s};

use super::tile::{self, SIZE, by_size};
use super::{solved, square};
use crate::element::Element;
use crate::loops::wide::{Loop, widest};
use crate::matrix::gemm::gemm;
use crate::parallel::{split_mut, worth};

/// The triangle of a matrix that a function reads.
///
/// ```
/// use pullback::kernels::{Triangle, solve_triangular};
/// use pullback::ndarray::array;
///
/// let (a, b) = (array![[2.0, 9.0], [1.0, 4.0]], array![2.0, 9.0]);
/// let x = solve_triangular(&a.view(), &b.view(), Triangle::Lower);
/// assert_eq!(x, array![1.0, 2.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// The elements on the diagonal and below.
    Lower,
    /// The elements on the diagonal and above.
    Upper,
}

impl Triangle {
    /// Returns the triangle that this one is after transposing.
    #[must_use]
    pub const fn transposed(self) -> Self {
        match self {
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }
}

/// Returns the X of AX = B, where A is a triangle of a matrix, and B a matrix or a vector. Where the diagonal is 0, X is
/// infinite or NaN.
///
/// # Panics
/// If A is not square, the number of rows of B is different, or B does not have one or two axes.
///
/// ```
/// use pullback::kernels::{Triangle, solve_triangular};
/// use pullback::ndarray::array;
///
/// let a = array![[2.0, 1.0], [0.0, 4.0]];
/// let x = solve_triangular(&a.view(), &array![[4.0], [8.0]].view(), Triangle::Upper);
/// assert_eq!(x, array![[1.0], [2.0]]);
/// ```
#[track_caller]
pub fn solve_triangular<T: Element, E: Dimension>(
    a: &ArrayView2<'_, T>,
    b: &ArrayView<'_, T, E>,
    triangle: Triangle,
) -> Array<T, E> {
    square(a);
    let a = Triangular::new(a.view(), triangle);
    solved(b, a.matrix.nrows(), |x| a.solve(x))
}

/// A triangle of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Triangular<'a, T> {
    matrix: ArrayView2<'a, T>,
    triangle: Triangle,
    /// Whether the diagonal counts as 1, instead of the matrix's.
    has_ones: bool,
}

/// The columns of a right side that are solved together.
const COLUMNS: usize = 128;

/// The columns of a wide tile, and of a narrow one.
const WIDE: usize = 32;
const NARROW: usize = 8;

impl<'a, T: Element> Triangular<'a, T> {
    pub(super) const fn new(matrix: ArrayView2<'a, T>, triangle: Triangle) -> Self {
        Self {
            matrix,
            triangle,
            has_ones: false,
        }
    }

    pub(super) const fn with_ones(self) -> Self {
        Self {
            has_ones: true,
            ..self
        }
    }

    pub(super) fn transposed(self) -> Self {
        Self {
            matrix: self.matrix.reversed_axes(),
            triangle: self.triangle.transposed(),
            ..self
        }
    }

    /// Replaces the right side by the solution. Columns are solved on several threads.
    pub(super) fn solve(self, mut x: ArrayViewMut2<'_, T>) {
        if x.ncols() <= COLUMNS {
            return self.solve_columns(x);
        }
        let size = x.nrows();
        let mut parts: Vec<_> = x.axis_chunks_iter_mut(Axis(1), COLUMNS).collect();
        let at_least = worth::GEMM.div_ceil((size * size * COLUMNS).max(1));
        split_mut(&mut parts, 1, at_least, |_, parts| {
            for part in parts {
                self.solve_columns(part.view_mut());
            }
        });
    }

    fn solve_columns(self, x: ArrayViewMut2<'_, T>) {
        let size = x.nrows();
        if size <= SIZE {
            return by_size!(size, solve_small(self, x));
        }
        let half = (size / 2).next_multiple_of(SIZE);
        let (mut first, mut second) = x.split_at(Axis(0), half);
        let minus_one = -T::one();
        match self.triangle {
            Triangle::Lower => {
                self.block(0, half).solve_columns(first.view_mut());
                let between = self.matrix.slice(s![half.., ..half]);
                gemm(minus_one, &between, &first.view(), T::one(), &mut second);
                self.block(half, size).solve_columns(second);
            }
            Triangle::Upper => {
                self.block(half, size).solve_columns(second.view_mut());
                let between = self.matrix.slice(s![..half, half..]);
                gemm(minus_one, &between, &second.view(), T::one(), &mut first);
                self.block(0, half).solve_columns(first);
            }
        }
    }

    /// Returns a block on the diagonal.
    fn block(self, from: usize, to: usize) -> Self {
        Self {
            matrix: self.matrix.slice_move(s![from..to, from..to]),
            ..self
        }
    }
}

/// Solves in tiles. The rows of an upper triangle, and of the right side, are taken from the last to the first, which
/// makes it a lower one.
fn solve_small<T: Element, const ROWS: usize>(a: Triangular<'_, T>, mut x: ArrayViewMut2<'_, T>) {
    let mut matrix = a.matrix;
    if a.triangle == Triangle::Upper {
        matrix.invert_axis(Axis(0));
        matrix.invert_axis(Axis(1));
        x.invert_axis(Axis(0));
    }
    let mut lower = [[T::zero(); ROWS]; ROWS];
    tile::load(&matrix, &mut lower);
    if x.ncols() <= NARROW {
        return solve_tile::<T, ROWS, NARROW>(&lower, a.has_ones, x);
    }
    for x in x.axis_chunks_iter_mut(Axis(1), WIDE) {
        solve_tile::<T, ROWS, WIDE>(&lower, a.has_ones, x);
    }
}

fn solve_tile<T: Element, const ROWS: usize, const WIDTH: usize>(
    lower: &[[T; ROWS]; ROWS],
    has_ones: bool,
    block: ArrayViewMut2<'_, T>,
) {
    let mut x = [[T::zero(); WIDTH]; ROWS];
    tile::load(&block.view(), &mut x);
    widest(Substitution(lower, &mut x[..block.nrows()], has_ones));
    tile::store(&x, block);
}

/// Forward substitution: the lower triangle, the right sides, and whether the diagonal counts as 1.
struct Substitution<'a, T, const ROWS: usize, const WIDTH: usize>(
    &'a [[T; ROWS]; ROWS],
    &'a mut [[T; WIDTH]],
    bool,
);

impl<T: Element, const ROWS: usize, const WIDTH: usize> Loop for Substitution<'_, T, ROWS, WIDTH> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self(lower, x, has_ones) = self;
        for row in 0..x.len() {
            let (solved, rest) = x.split_at_mut(row);
            let mut sums = rest[0];
            for (solved, &factor) in solved.iter().zip(&lower[row]) {
                for lane in 0..WIDTH {
                    sums[lane] -= factor * solved[lane];
                }
            }
            if !has_ones {
                let diagonal = lower[row][row];
                for sum in &mut sums {
                    *sum /= diagonal;
                }
            }
            rest[0] = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::matrix::gemm::matmul;
    use crate::testing::numbers;

    #[test]
    fn solutions_of_every_size_and_layout_solve() {
        for size in [0, 1, 2, 5, 16, 17, 40, 70, 150] {
            let a: Array2<f64> = numbers((size, size), 0.0) + Array2::<f64>::eye(size) * 4.0;
            for columns in [0, 1, 3, 9, 33, 140] {
                let b = numbers((columns, size), 0.3);
                let row_major = b.t().as_standard_layout().into_owned();
                for triangle in [Triangle::Lower, Triangle::Upper] {
                    let is_there = |(i, j)| match triangle {
                        Triangle::Lower => i >= j,
                        Triangle::Upper => i <= j,
                    };
                    let plain =
                        Array2::from_shape_fn(
                            (size, size),
                            |at| if is_there(at) { a[at] } else { 0.0 },
                        );
                    let x = solve_triangular(&a.view(), &b.t(), triangle);
                    let off = matmul(&plain.view(), &x.view()) - &row_major;
                    assert!(off.iter().all(|off| off.abs() < 1e-12), "{size}, {columns}");
                    let transposed = a.t().as_standard_layout().into_owned();
                    for other in [
                        solve_triangular(&transposed.t(), &row_major.view(), triangle),
                        {
                            let mut x = b.clone();
                            Triangular::new(a.view(), triangle).solve(x.view_mut().reversed_axes());
                            x.reversed_axes()
                        },
                    ] {
                        let off = &other - &x;
                        assert!(off.iter().all(|off| off.abs() < 1e-13), "{size}, {columns}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_zero_on_the_diagonal_is_infinite_or_nan() {
        let a = array![[0.0, 7.0], [1.0, 2.0]];
        let x = solve_triangular(&a.view(), &array![1.0, 1.0].view(), Triangle::Lower);
        assert_eq!(x, array![f64::INFINITY, f64::NEG_INFINITY]);
        let x = solve_triangular(&a.view(), &array![0.0, 1.0].view(), Triangle::Lower);
        assert!(x.iter().all(|x| x.is_nan()));
    }

    #[test]
    #[should_panic(expected = "a system of 2 rows with a right side of shape [3]")]
    fn a_right_side_that_does_not_fit_is_refused() {
        let a = Array2::<f64>::eye(2);
        drop(solve_triangular(
            &a.view(),
            &array![1.0, 2.0, 3.0].view(),
            Triangle::Lower,
        ));
    }
}
