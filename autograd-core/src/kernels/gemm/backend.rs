//! Products of large matrices, by a library: matrixmultiply, the crate gemm or the program's BLAS.

use super::Product;
#[cfg(not(target_arch = "x86_64"))]
use crate::element::Element as Lanes;

#[cfg(target_arch = "x86_64")]
use super::small::Lanes;

/// Element types that a library knows.
pub(in crate::kernels) trait Library: Lanes {
    /// Computes a product of at least one row, column and summand.
    ///
    /// # Safety
    /// What [`Product`] says must hold.
    unsafe fn product(product: &Product<Self>);
}

macro_rules! library {
    ($T:ty, $gemm:ident) => {
        impl Library for $T {
            unsafe fn product(product: &Product<Self>) {
                // SAFETY: passed on.
                unsafe {
                    #[cfg(feature = "blas")]
                    if super::blas::product(product) {
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
    // SAFETY: as the type of the product says; with β = 0, C is not read.
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
    // SAFETY: as the type of the product says; without `read_dst`, C is not read.
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
