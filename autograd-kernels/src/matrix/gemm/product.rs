//! A product of matrices, as pointers.

use std::ops::Range;

use ndarray::ArrayView2;

use crate::element::Element;

/// A matrix to read.
#[derive(Debug)]
pub(crate) struct Operand<T> {
    pub(crate) start: *const T,
    pub(crate) strides: [isize; 2],
}

impl<T> Clone for Operand<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Operand<T> {}

impl<T> Operand<T> {
    pub(super) fn new(view: &ArrayView2<'_, T>) -> Self {
        Self {
            start: view.as_ptr(),
            strides: [view.strides()[0], view.strides()[1]],
        }
    }

    pub(crate) fn transposed(self) -> Self {
        let [rows, columns] = self.strides;
        Self {
            strides: [columns, rows],
            ..self
        }
    }
}

/// `C = αAB + βC`, as pointers.
///
/// It can be run while, for `lengths` of m, k and n, `a` is a readable matrix of m rows and
/// k columns, `b` one of k rows and n columns, and `c` a matrix of m rows and n columns that no other code
/// reads or writes, of distinct elements, which need only be initialized if `beta` is not 0.
#[derive(Debug)]
pub(crate) struct Product<T> {
    pub(crate) lengths: [usize; 3],
    pub(crate) alpha: T,
    pub(crate) a: Operand<T>,
    pub(crate) b: Operand<T>,
    pub(crate) beta: T,
    pub(crate) c: *mut T,
    pub(crate) c_strides: [isize; 2],
}

// SAFETY: operands are only read, and each thread writes to a part of C that no other thread has.
unsafe impl<T: Sync> Sync for Product<T> {}

impl<T: Element> Product<T> {
    /// Returns the same product with the rows of C contiguous rather than its columns: `Cᵀ = BᵀAᵀ`.
    pub(super) fn upright(self) -> Self {
        let [m, k, n] = self.lengths;
        let [rows, columns] = self.c_strides;
        if n == 1 || (m > 1 && columns.unsigned_abs() <= rows.unsigned_abs()) {
            return self;
        }
        Self {
            lengths: [n, k, m],
            a: self.b.transposed(),
            b: self.a.transposed(),
            c_strides: [columns, rows],
            ..self
        }
    }

    /// Computes `C = βC`.
    pub(super) unsafe fn without_summands(self) {
        let [m, _, n] = self.lengths;
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            // SAFETY: an element of C, which is read only if it is initialized.
            unsafe {
                let c = at_mut(self.c, i, j, self.c_strides);
                *c = if self.beta == T::zero() {
                    T::zero()
                } else {
                    self.beta * *c
                };
            }
        }
    }

    /// Returns the product for some rows, or columns, of C.
    ///
    /// # Safety
    /// There must be such rows or columns.
    pub(super) unsafe fn part(&self, part: Range<usize>, by_rows: bool) -> Self {
        let [m, k, n] = self.lengths;
        let (row, column) = if by_rows {
            (part.start, 0)
        } else {
            (0, part.start)
        };
        let (m, n) = if by_rows {
            (part.len(), n)
        } else {
            (m, part.len())
        };
        // SAFETY: within the matrices, as the caller guarantees.
        unsafe {
            Self {
                lengths: [m, k, n],
                alpha: self.alpha,
                a: Operand {
                    start: at(self.a.start, row, 0, self.a.strides),
                    ..self.a
                },
                b: Operand {
                    start: at(self.b.start, 0, column, self.b.strides),
                    ..self.b
                },
                beta: self.beta,
                c: at_mut(self.c, row, column, self.c_strides),
                c_strides: self.c_strides,
            }
        }
    }
}

/// Returns a pointer to the element in a row and a column.
///
/// # Safety
/// There must be one.
#[cfg_attr(optimized, inline(always))]
pub(super) unsafe fn at<T>(
    start: *const T,
    i: usize,
    j: usize,
    [rows, columns]: [isize; 2],
) -> *const T {
    // SAFETY: within the matrix, whose offsets all fit.
    unsafe { start.offset(i.cast_signed() * rows + j.cast_signed() * columns) }
}

/// Returns a pointer to write to.
///
/// # Safety
/// There must be one.
#[cfg_attr(optimized, inline(always))]
pub(super) unsafe fn at_mut<T>(
    start: *mut T,
    i: usize,
    j: usize,
    [rows, columns]: [isize; 2],
) -> *mut T {
    // SAFETY: within the matrix, whose offsets all fit.
    unsafe { start.offset(i.cast_signed() * rows + j.cast_signed() * columns) }
}
