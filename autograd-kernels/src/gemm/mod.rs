//! `C = αAB + βC`, whatever the strides.
//!
//! A vector beside a matrix goes to `vector`, which reads the matrix once; small matrices to `small`, for
//! which a general kernel spends more on packing than on arithmetic; the rest to a library, `backend`.

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    reason = "what is compiled for a processor's instructions must not be a function of its own"
)]

mod backend;
#[cfg(target_arch = "x86_64")]
mod small;
mod vector;

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2};

use super::checks;
use super::parallel::{split, threads};
use crate::counted;
use crate::element::{Any, Element, Family};
use crate::memory;

/// The product of two matrices. Transposed operands are read as they lie in memory.
///
/// # Panics
/// If `a` has not as many columns as `b` has rows, or the product has more elements than can be counted.
///
/// ```
/// use autograd_kernels::matmul;
/// use autograd_kernels::ndarray::array;
///
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(matmul(&a.view(), &a.t()), array![[5.0, 11.0], [11.0, 25.0]]);
/// ```
#[track_caller]
pub fn matmul<T: Element>(a: &ArrayView2<'_, T>, b: &ArrayView2<'_, T>) -> Array2<T> {
    let lengths = lengths(a, b);
    let [rows, _, columns] = lengths;
    let size = size(rows, columns);
    let mut elements = memory::take(size);
    let product = Product {
        lengths,
        alpha: T::one(),
        a: Operand::new(a),
        b: Operand::new(b),
        beta: T::zero(),
        c: elements.as_mut_ptr(),
        // A length is never more than `isize::MAX`.
        c_strides: [columns.cast_signed(), 1],
    };
    // SAFETY: the operands are views of these lengths; there is room for `size` elements, which the product
    // writes all of, as `beta` is 0, and reads none of; they are then the elements of a row-major matrix.
    unsafe {
        product.run();
        elements.set_len(size);
        Array2::from_shape_vec_unchecked((rows, columns), elements)
    }
}

/// Puts α·a·b + β·c in place of `c`. What `c` holds is not read if β is 0.
///
/// # Panics
/// If the shapes do not fit.
///
/// ```
/// use autograd_kernels::gemm;
/// use autograd_kernels::ndarray::array;
///
/// let (a, b) = (array![[1.0, 2.0]], array![[3.0], [4.0]]);
/// let mut c = array![[100.0]];
/// gemm(2.0, &a.view(), &b.view(), 1.0, &mut c.view_mut());
/// assert_eq!(c, array![[122.0]]);
/// ```
#[track_caller]
pub fn gemm<T: Element>(
    alpha: T,
    a: &ArrayView2<'_, T>,
    b: &ArrayView2<'_, T>,
    beta: T,
    c: &mut ArrayViewMut2<'_, T>,
) {
    let lengths = lengths(a, b);
    assert!(
        c.dim() == (lengths[0], lengths[2]),
        "a product of shapes {:?} and {:?} does not go into shape {:?}",
        a.shape(),
        b.shape(),
        c.shape()
    );
    let c_strides = [c.strides()[0], c.strides()[1]];
    let product = Product {
        lengths,
        alpha,
        a: Operand::new(a),
        b: Operand::new(b),
        beta,
        c: c.as_mut_ptr(),
        c_strides,
    };
    // SAFETY: the operands are views of these lengths, and so is `c`, which nobody else sees.
    unsafe { product.run() }
}

/// `x`·`weight` + `bias`, the same bias for each row.
///
/// # Panics
/// If the shapes do not fit, or the result has more elements than can be counted.
///
/// ```
/// use autograd_kernels::affine;
/// use autograd_kernels::ndarray::array;
///
/// let (x, weight) = (array![[1.0], [2.0]], array![[10.0, 100.0]]);
/// let rows = affine(&x.view(), &weight.view(), Some(&array![3.0, 4.0].view()));
/// assert_eq!(rows, array![[13.0, 104.0], [23.0, 204.0]]);
/// ```
#[track_caller]
pub fn affine<T: Element>(
    x: &ArrayView2<'_, T>,
    weight: &ArrayView2<'_, T>,
    bias: Option<&ArrayView1<'_, T>>,
) -> Array2<T> {
    let Some(bias) = bias else {
        return matmul(x, weight);
    };
    let [rows, _, columns] = lengths(x, weight);
    assert!(
        bias.len() == columns,
        "a bias of shape {:?} for {}",
        bias.shape(),
        counted(columns, "column", "columns")
    );
    let mut elements = memory::take(size(rows, columns));
    for _ in 0..rows {
        elements.extend(bias);
    }
    let sums = Array2::from_shape_vec((rows, columns), elements);
    // INVARIANT: each row has as many elements as the bias.
    let mut sums = sums.expect("one element for each");
    gemm(T::one(), x, weight, T::one(), &mut sums.view_mut());
    sums
}

/// How many elements a product has.
#[track_caller]
fn size(rows: usize, columns: usize) -> usize {
    let Some(size) = checks::size(&[rows, columns]) else {
        panic!("a product of {rows} rows and {columns} columns has too many elements")
    };
    size
}

/// Rows, summands and columns of a product.
#[track_caller]
fn lengths<T>(a: &ArrayView2<'_, T>, b: &ArrayView2<'_, T>) -> [usize; 3] {
    assert!(
        a.ncols() == b.nrows(),
        "a product of shapes {:?} and {:?}: the columns of the first are not the rows of the second",
        a.shape(),
        b.shape()
    );
    [a.nrows(), a.ncols(), b.ncols()]
}

/// A matrix to read.
#[derive(Debug)]
pub(super) struct Operand<T> {
    pub(super) start: *const T,
    pub(super) strides: [isize; 2],
}

impl<T> Clone for Operand<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Operand<T> {}

impl<T> Operand<T> {
    fn new(view: &ArrayView2<'_, T>) -> Self {
        Self {
            start: view.as_ptr(),
            strides: [view.strides()[0], view.strides()[1]],
        }
    }

    pub(super) fn transposed(self) -> Self {
        let [rows, columns] = self.strides;
        Self {
            strides: [columns, rows],
            ..self
        }
    }
}

/// `C = αAB + βC`, as pointers.
///
/// It can be [`run`](Self::run) while, for `lengths` of m, k and n, `a` is a readable matrix of m rows and
/// k columns, `b` one of k rows and n columns, and `c` a matrix of m rows and n columns that nobody else
/// reads or writes, of distinct elements, which need only be initialized if `beta` is not 0.
#[derive(Debug)]
pub(super) struct Product<T> {
    pub(super) lengths: [usize; 3],
    pub(super) alpha: T,
    pub(super) a: Operand<T>,
    pub(super) b: Operand<T>,
    pub(super) beta: T,
    pub(super) c: *mut T,
    pub(super) c_strides: [isize; 2],
}

/// Products of all element types.
struct Products;

impl Family for Products {
    type Of<T: Element> = Product<T>;
}

impl<T: Element> Product<T> {
    /// Computes it.
    ///
    /// # Safety
    /// What the type says must hold.
    pub(super) unsafe fn run(self) {
        let [m, k, n] = self.lengths;
        if m == 0 || n == 0 {
            return;
        }
        // SAFETY: passed on.
        unsafe {
            if k == 0 {
                return self.without_summands();
            }
            match T::into_any::<Products>(self.upright()) {
                Any::F32(product) => product.by_size::<16>(),
                Any::F64(product) => product.by_size::<8>(),
            }
        }
    }

    /// The same product with the rows of C side by side rather than its columns: `Cᵀ = BᵀAᵀ`.
    fn upright(self) -> Self {
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

    /// `C = βC`.
    unsafe fn without_summands(self) {
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
}

impl<T: backend::Library> Product<T> {
    /// `LANES` elements are 64 bytes.
    unsafe fn by_size<const LANES: usize>(self) {
        // SAFETY: passed on; `small` fits only processors with AVX-512.
        unsafe {
            if self.lengths[2] == 1 && vector::fits(&self) {
                return vector::product::<T, LANES>(&self);
            }
            #[cfg(target_arch = "x86_64")]
            if small::fits(self.lengths) {
                return small::product(&self);
            }
            self.on_threads();
        }
    }

    /// A large product on several threads, each of which has some rows of C, or columns if these are more.
    unsafe fn on_threads(&self) {
        let [m, k, n] = self.lengths;
        let by_rows = m >= n;
        let blocks = m.max(n).div_ceil(BLOCK);
        // As many parts as threads: each reads all of the other operand.
        let work = BLOCK.saturating_mul(k).saturating_mul(m.min(n));
        let at_least = blocks.div_ceil(threads()).max(AT_LEAST.div_ceil(work));
        let shared = Shared(self);
        let shared = &shared;
        split(blocks, at_least, |range| {
            let part = range.start * BLOCK..m.max(n).min(range.end * BLOCK);
            // SAFETY: the rows or columns of a part, which no other part has.
            unsafe { T::product(&shared.part(part, by_rows)) };
        });
    }
}

/// The rows or columns that stay together on one thread.
const BLOCK: usize = 32;

/// How many products of elements are worth a thread.
const AT_LEAST: usize = 1 << 21;

/// A product that several threads compute, each its own part.
struct Shared<'a, T>(&'a Product<T>);

// SAFETY: operands are only read, and parts of C are disjoint.
unsafe impl<T: Sync> Sync for Shared<'_, T> {}

impl<T: Element> Shared<'_, T> {
    /// The same for some rows, or columns, of C.
    ///
    /// # Safety
    /// There must be such rows or columns.
    unsafe fn part(&self, part: Range<usize>, by_rows: bool) -> Product<T> {
        let whole = self.0;
        let [m, k, n] = whole.lengths;
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
        // SAFETY: within the matrices, as the caller says.
        unsafe {
            Product {
                lengths: [m, k, n],
                alpha: whole.alpha,
                a: Operand {
                    start: at(whole.a.start, row, 0, whole.a.strides),
                    ..whole.a
                },
                b: Operand {
                    start: at(whole.b.start, 0, column, whole.b.strides),
                    ..whole.b
                },
                beta: whole.beta,
                c: at_mut(whole.c, row, column, whole.c_strides),
                c_strides: whole.c_strides,
            }
        }
    }
}

/// The element in a row and a column.
///
/// # Safety
/// There must be one.
#[inline(always)]
unsafe fn at<T>(start: *const T, i: usize, j: usize, [rows, columns]: [isize; 2]) -> *const T {
    // SAFETY: within the matrix, whose offsets all fit.
    unsafe { start.offset(i.cast_signed() * rows + j.cast_signed() * columns) }
}

/// The same to write to.
///
/// # Safety
/// There must be one.
#[inline(always)]
unsafe fn at_mut<T>(start: *mut T, i: usize, j: usize, [rows, columns]: [isize; 2]) -> *mut T {
    // SAFETY: within the matrix, whose offsets all fit.
    unsafe { start.offset(i.cast_signed() * rows + j.cast_signed() * columns) }
}

#[cfg(test)]
mod tests;
