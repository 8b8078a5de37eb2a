//! `C = αAB + βC`, whatever the strides.
//!
//! `vector` computes the product of a matrix and a vector, reading the matrix once; `small` that of small matrices, on
//! which a library spends more on packing than on arithmetic; `backend` calls a library for the others.

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    reason = "a loop is compiled for a processor's instructions if it is inlined into a function that is"
)]

mod backend;
mod product;
#[cfg(target_arch = "x86_64")]
mod small;
mod vector;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2};

use crate::checks::{self, counted};
use crate::element::{Any, Element, Family};
use crate::memory;
use crate::parallel::{split_evenly, threads, worth};
pub(crate) use product::{Operand, Product};

/// Returns the product of two matrices. Transposed operands are read without a copy.
///
/// # Panics
/// If the columns of `a` are not as many as the rows of `b`, or the product has too many elements.
///
/// ```
/// use pullback::kernels::matmul;
/// use pullback::ndarray::array;
///
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(matmul(&a.view(), &a.t()), array![[5.0, 11.0], [11.0, 25.0]]);
/// ```
#[track_caller]
pub fn matmul<T: Element>(a: &ArrayView2<'_, T>, b: &ArrayView2<'_, T>) -> Array2<T> {
    let lengths = lengths(a, b);
    let [rows, _, columns] = lengths;
    let size = size::<T>(rows, columns);
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

/// Replaces `c` by α·a·b + β·c. The old elements of `c` are not read if β is 0.
///
/// # Panics
/// If the shapes do not fit.
///
/// ```
/// use pullback::kernels::gemm;
/// use pullback::ndarray::array;
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
        "a product of shapes {:?} and {:?} does not fit into shape {:?}",
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
    // SAFETY: the operands are views of these lengths, and so is `c`, which is borrowed mutably.
    unsafe { product.run() }
}

/// Returns `x`·`weight` + `bias`, with the same bias for each row.
///
/// # Panics
/// If the shapes do not fit, or the result has too many elements.
///
/// ```
/// use pullback::kernels::affine;
/// use pullback::ndarray::array;
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
    let mut elements = memory::take(size::<T>(rows, columns));
    // A row at once: element by element would take a tenth of the product's time.
    let bias = bias.to_vec();
    for _ in 0..rows {
        elements.extend_from_slice(&bias);
    }
    let sums = Array2::from_shape_vec((rows, columns), elements);
    // INVARIANT: each row has as many elements as the bias.
    let mut sums = sums.expect("one element for each");
    gemm(T::one(), x, weight, T::one(), &mut sums.view_mut());
    sums
}

/// Returns the number of elements of a product.
#[track_caller]
fn size<T>(rows: usize, columns: usize) -> usize {
    match checks::size(&[rows, columns]) {
        Some(size) if memory::has_room::<T>(size) => size,
        _ => panic!("a product of {rows} rows and {columns} columns: there is no memory for it"),
    }
}

/// Returns the rows, summands and columns of a product.
#[track_caller]
fn lengths<T>(a: &ArrayView2<'_, T>, b: &ArrayView2<'_, T>) -> [usize; 3] {
    assert!(
        a.ncols() == b.nrows(),
        "a product of shapes {:?} and {:?}: the inner lengths differ",
        a.shape(),
        b.shape()
    );
    [a.nrows(), a.ncols(), b.ncols()]
}

/// Products of all element types.
struct Products;

impl Family for Products {
    type Of<T: Element> = Product<T>;
}

impl<T: Element> Product<T> {
    /// Computes the product.
    ///
    /// # Safety
    /// The conditions of [`Product`] must hold.
    pub(crate) unsafe fn run(self) {
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
}

impl<T: backend::Library> Product<T> {
    /// Computes the product in the fastest way for its size. `LANES` elements are 64 bytes.
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

    /// Computes a large product on several threads. Each has some rows of C, or columns if these are more.
    unsafe fn on_threads(&self) {
        let [m, k, n] = self.lengths;
        let by_rows = m >= n;
        let blocks = m.max(n).div_ceil(BLOCK);
        // As many parts as threads: each reads all of the other operand.
        let work = BLOCK.saturating_mul(k).saturating_mul(m.min(n));
        let at_least = (blocks / threads()).max(worth::GEMM.div_ceil(work));
        split_evenly(blocks, at_least, |range| {
            let part = range.start * BLOCK..m.max(n).min(range.end * BLOCK);
            // SAFETY: the rows or columns of a part, which no other part has.
            unsafe { T::product(&self.part(part, by_rows)) };
        });
    }
}

/// The rows or columns of a part, which one thread computes.
const BLOCK: usize = 32;

#[cfg(test)]
mod tests;
