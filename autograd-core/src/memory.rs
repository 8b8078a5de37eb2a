//! The memory of large arrays, which is reused for the next ones of their size.
//!
//! Fresh memory costs more than most arithmetic on it: the system hands it out page by page, each zeroed, on first
//! touch. Tensors and built-in functions therefore take the memory of large arrays from what earlier ones left.
//!
//! Nothing has to be done for it. What is kept is bounded by [`set_limit`] and by what was in use at one time.
//! Small arrays are left to the allocator.
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
