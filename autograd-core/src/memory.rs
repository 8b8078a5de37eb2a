//! The cache of memory for large arrays.
//!
//! New memory costs more than most arithmetic on it: the system zeroes each page at its first use. Tensors and built-in
//! functions therefore reuse the memory of earlier large arrays of the same size.
//!
//! This needs no calls. The cache is limited by [`set_limit`], and by the memory that was in use at one time. Small
//! arrays are not cached.
//!
//! ```
//! use pullback::ndarray::Array1;
//! use pullback::{Tensor, memory};
//!
//! let x = Tensor::from(Array1::<f32>::ones(1 << 20));
//! drop(&x * 2.0);
//! assert!(memory::reserved() >= 4 << 20);
//! memory::empty_cache();
//! assert_eq!(memory::reserved(), 0);
//! ```

#[doc(inline)]
pub use autograd_kernels::memory::{empty_cache, reserved, set_limit};
