//! Products of large matrices, by a library: matrixmultiply, the crate gemm or the program's BLAS.

use super::product::Product;
use crate::registers::Lanes;

/// Element types that a library supports.
pub(crate) trait Library: Lanes {
    /// Computes a product of at least one row, column and summand.
    ///
    /// # Safety
    /// The conditions of [`Product`] must hold.
    unsafe fn product(product: &Product<Self>);
}

macro_rules! library {
    ($T:ty, $gemm:ident) => {
        impl Library for $T {
            unsafe fn product(product: &Product<Self>) {
                // SAFETY: passed on.
                unsafe {
                    #[cfg(feature = "blas")]
                    if by_blas(product) {
                        return;
                    }
                    #[cfg(feature = "gemm")]
                    by_gemm(product);
                    #[cfg(not(feature = "gemm"))]
                    by_matrixmultiply(product, matrixmultiply::$gemm);
                }
            }
        }
    };
}

library!(f32, sgemm);
library!(f64, dgemm);

/// m, k, n, α, A, its strides, B, its strides, β, C, its strides.
#[cfg(not(feature = "gemm"))]
type Routine<T> = unsafe fn(
    usize,
    usize,
    usize,
    T,
    *const T,
    isize,
    isize,
    *const T,
    isize,
    isize,
    T,
    *mut T,
    isize,
    isize,
);

#[cfg(not(feature = "gemm"))]
unsafe fn by_matrixmultiply<T: Library>(product: &Product<T>, gemm: Routine<T>) {
    let [m, k, n] = product.lengths;
    let (a, b) = (product.a, product.b);
    let [c_rows, c_columns] = product.c_strides;
    // SAFETY: as `Product` requires; with β = 0, C is not read.
    unsafe {
        gemm(
            m,
            k,
            n,
            product.alpha,
            a.start,
            a.strides[0],
            a.strides[1],
            b.start,
            b.strides[0],
            b.strides[1],
            product.beta,
            product.c,
            c_rows,
            c_columns,
        );
    }
}

#[cfg(feature = "gemm")]
unsafe fn by_gemm<T: Library>(product: &Product<T>) {
    let [m, k, n] = product.lengths;
    let (a, b) = (product.a, product.b);
    let [c_rows, c_columns] = product.c_strides;
    // Its α is our β, and its β our α; it takes column strides first.
    // SAFETY: as `Product` requires; without `read_dst`, C is not read.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            product.c,
            c_columns,
            c_rows,
            product.beta != T::zero(),
            a.start,
            a.strides[1],
            a.strides[0],
            b.start,
            b.strides[1],
            b.strides[0],
            product.beta,
            product.alpha,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Computes a product with the program's BLAS, by ndarray, and returns whether it did: ndarray's views of pointers
/// cannot have negative strides.
#[cfg(feature = "blas")]
unsafe fn by_blas<T: Library>(product: &Product<T>) -> bool {
    use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder, linalg::general_mat_mul};

    let [m, k, n] = product.lengths;
    let forwards = |[rows, columns]: [isize; 2]| -> Option<(usize, usize)> {
        Some((rows.try_into().ok()?, columns.try_into().ok()?))
    };
    let (Some(of_a), Some(of_b), Some(of_c)) = (
        forwards(product.a.strides),
        forwards(product.b.strides),
        forwards(product.c_strides),
    ) else {
        return false;
    };
    // SAFETY: as `Product` requires; with β = 0, C is not read.
    unsafe {
        let a = ArrayView2::from_shape_ptr((m, k).strides(of_a), product.a.start);
        let b = ArrayView2::from_shape_ptr((k, n).strides(of_b), product.b.start);
        let mut c = ArrayViewMut2::from_shape_ptr((m, n).strides(of_c), product.c);
        general_mat_mul(product.alpha, &a, &b, product.beta, &mut c);
    }
    true
}
