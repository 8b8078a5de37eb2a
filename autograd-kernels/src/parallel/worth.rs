//! The least work that is worth waking a thread, for each kind of work.
//!
//! A part of this size takes 60 to 200 microseconds. Waking a thread costs the caller some 20, and the thread starts
//! after another 30. While a thread is awake, an eighth of this size is worth it. Measured on two processors without
//! AVX-512, in microseconds: on one thread, on two while the second is awake, on two when it has to be woken.
//!
//! | work | 1 | awake | asleep |
//! |---|---|---|---|
//! | product of matrices, 128³ | 62 | 34 | 96 |
//! | 224³ | 292 | 185 | 254 |
//! | x·(x > 0), 2^16 elements | 8.6 | 6.1 | 39 |
//! | exp x, 2^16 elements | 68 | 36 | 82 |
//! | 2^18 elements | 272 | 140 | 203 |
//! | formula x·σ(x)·e^(−x²), 2^16 | 484 | 240 | 383 |
//! | 2^17 | 970 | 483 | 588 |
//! | convolution, 2^20 products of elements | 111 | 76 | 142 |
//! | 2^22 | 419 | 231 | 352 |
//! | attention, 2^21 | 209 | 110 | 188 |
//! | means over windows of 3 by 3, 2^15 | 431 | 222 | 407 |
//! | 2^16 | 852 | 451 | 515 |
//! | contraction, 2^20 | 42 | 28 | 83 |
//! | 2^23 | 273 | 152 | 256 |

/// Products of elements in a product of matrices.
pub(crate) const GEMM: usize = 1 << 22;

/// Elements of a loop over one operation, which may be as cheap as moving them.
pub(crate) const LOOP: usize = 1 << 18;

/// Elements of a loop over a formula.
pub(crate) const FORMULA: usize = 1 << 15;

/// Products of elements in a convolution.
#[cfg(feature = "ops")]
pub(crate) const CONV: usize = 1 << 21;

/// Products of elements in attention, with the exponentials that go with them.
#[cfg(feature = "ops")]
pub(crate) const ATTENTION: usize = 1 << 20;

/// Products of elements in a contraction.
#[cfg(feature = "ops")]
pub(crate) const CONTRACTION: usize = 1 << 22;

/// Elements that windows of images are moved over.
#[cfg(feature = "ops")]
pub(crate) const POOLING: usize = 1 << 13;
