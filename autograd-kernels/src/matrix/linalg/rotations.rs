//! Rotations of the rows of a matrix, many of them at a time.
//!
//! An iteration for eigenvalues or singular values rotates neighboring rows, from the first to the last or back, again and
//! again. The rotations are collected, and applied to a few columns at a time, which stay in the nearest cache.

use ndarray::{Array2, ArrayView2, Axis};

use super::tile;
use crate::element::Element;
use crate::loops::movement::full;
use crate::loops::wide::{Loop, widest};
use crate::parallel::{split_mut, worth};

/// The columns that are rotated together.
const WIDTH: usize = 32;

/// The number of rotations that are collected.
const MOST: usize = 1 << 14;

/// The rows of a matrix, and rotations that are still to be applied to them.
pub(super) struct Rows<T> {
    /// All rows of the first columns, then those of the next ones.
    panels: Vec<[T; WIDTH]>,
    shape: (usize, usize),
    /// Cosines and sines.
    rotations: Vec<[T; 2]>,
    sweeps: Vec<Sweep>,
}

/// Rotations of each row from `first` on with the next one, or with the one before it.
#[derive(Clone, Copy)]
struct Sweep {
    first: usize,
    is_upward: bool,
    count: usize,
}

impl<T: Element> Rows<T> {
    pub(super) fn new(matrix: &ArrayView2<'_, T>) -> Self {
        let (rows, columns) = matrix.dim();
        let mut panels = vec![[T::zero(); WIDTH]; columns.div_ceil(WIDTH) * rows];
        if rows > 0 {
            let blocks = matrix.axis_chunks_iter(Axis(1), WIDTH);
            for (block, panel) in blocks.zip(panels.chunks_exact_mut(rows)) {
                tile::load(&block, panel);
            }
        }
        Self {
            panels,
            shape: (rows, columns),
            rotations: Vec::with_capacity(MOST),
            sweeps: Vec::new(),
        }
    }

    /// Rotates the rows x and y, the row `first` and the next one, to c·x + s·y and c·y − s·x; then the second and the third
    /// of these rows with the next cosine and sine, and so on. If `is_upward`, the next row is the one before.
    pub(super) fn rotate(&mut self, first: usize, is_upward: bool, rotations: &[[f64; 2]]) {
        self.rotations
            .extend(rotations.iter().map(|pair| pair.map(T::from_f64)));
        self.sweeps.push(Sweep {
            first,
            is_upward,
            count: rotations.len(),
        });
        if self.rotations.len() >= MOST {
            self.apply();
        }
    }

    fn apply(&mut self) {
        let Self {
            panels,
            shape: (rows, _),
            rotations,
            sweeps,
        } = self;
        if *rows > 0 {
            let at_least = worth::GEMM.div_ceil(rotations.len() * WIDTH + 1);
            split_mut(panels, *rows, at_least, |_, panels| {
                for panel in panels.chunks_exact_mut(*rows) {
                    widest(Panel {
                        rows: panel,
                        rotations,
                        sweeps,
                    });
                }
            });
        }
        rotations.clear();
        sweeps.clear();
    }

    /// Returns the rows in another order.
    pub(super) fn into_rows(mut self, order: &[usize]) -> Array2<T> {
        self.apply();
        let (rows, columns) = self.shape;
        let mut sorted = full(&[order.len(), columns], T::zero());
        for (mut row, &from) in sorted.rows_mut().into_iter().zip(order) {
            for (mut part, panel) in row
                .axis_chunks_iter_mut(Axis(0), WIDTH)
                .zip(self.panels.chunks_exact(rows))
            {
                for (to, &x) in part.iter_mut().zip(&panel[from]) {
                    *to = x;
                }
            }
        }
        sorted
    }
}

/// A few columns of all rows, and what is to be applied to them.
struct Panel<'a, T> {
    rows: &'a mut [[T; WIDTH]],
    rotations: &'a [[T; 2]],
    sweeps: &'a [Sweep],
}

impl<T: Element> Loop for Panel<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self {
            rows,
            mut rotations,
            sweeps,
        } = self;
        for sweep in sweeps {
            let (own, rest) = rotations.split_at(sweep.count);
            rotations = rest;
            let mut row = sweep.first;
            let mut x = rows[row];
            for &[cosine, sine] in own {
                let next = if sweep.is_upward { row - 1 } else { row + 1 };
                let y = rows[next];
                let mut rotated = [T::zero(); WIDTH];
                for lane in 0..WIDTH {
                    rotated[lane] = cosine * x[lane] + sine * y[lane];
                }
                for lane in 0..WIDTH {
                    x[lane] = cosine * y[lane] - sine * x[lane];
                }
                rows[row] = rotated;
                row = next;
            }
            rows[row] = x;
        }
    }
}

/// Multiplies each row, and the row of `other` at its index, by −1 where needed for a sign that does not depend on how the
/// rows were computed: the first element whose magnitude is within 1 % of the largest is positive.
pub(super) fn fix_signs<T: Element>(rows: &mut Array2<T>, mut other: Option<&mut Array2<T>>) {
    let almost = T::from_f64(0.99);
    for (i, mut row) in rows.rows_mut().into_iter().enumerate() {
        let largest = row
            .iter()
            .fold(T::zero(), |largest, x| largest.max(x.abs()));
        let first = row.iter().find(|x| x.abs() >= almost * largest);
        if first.is_some_and(|x| *x < T::zero()) {
            row.mapv_inplace(|x| -x);
            if let Some(other) = &mut other {
                other.row_mut(i).mapv_inplace(|x| -x);
            }
        }
    }
}
