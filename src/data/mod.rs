//! Data sets, and loaders that make batches of them.
//!
//! A [`Dataset`] has a length and gives the item at an index. [`ArrayDataset`] holds arrays,
//! [`from_fn`] reads items from wherever they are; [`Dataset::map`], [`Dataset::augment`] and
//! [`Dataset::random_split`] make new ones. A [`DataLoader`] cuts an epoch, one pass over the data,
//! into batches:
//!
//! ```
//! use pullback::data::{ArrayDataset, DataLoader};
//! use pullback::ndarray::Array2;
//! use pullback::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let images = Array2::<f32>::zeros((100, 64));
//! let labels: Vec<usize> = (0..100).map(|row| row % 10).collect();
//! let (training, test) = ArrayDataset::new(images, labels).split(0.8, 1);
//! assert_eq!((training.rows().nrows(), test.rows().nrows()), (80, 20));
//!
//! let loader = DataLoader::new(training).batch_size(32).shuffle(1).prefetch(2);
//! for epoch in 1..=3 {
//!     for batch in loader.epoch(epoch) {
//!         let (pixels, labels) = batch?;
//!         let logits = Tensor::from(pixels);
//!         assert_eq!(logits.shape(), [labels.len(), 64]);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Read first [`ArrayDataset`], if the data fits into memory, or [`from_fn`], and then [`DataLoader`]: its options
//! say what an epoch is. [`Collate`] is for items that cannot be stacked.
//!
//! Nothing here has a hidden generator of random numbers. The order of epoch `k` follows from the seed
//! and `k` alone, what [`Dataset::augment`] does to an item from its seed, `k` and the item's index: a run
//! that is resumed after epoch `k` continues as if it had never stopped, and batches are the same however
//! many threads make them.

mod adapters;
mod arrays;
mod batches;
mod collate;
mod dataset;
mod error;
mod loader;
mod order;
mod prefetch;

pub use adapters::{Augment, Map, Subset, TryMap};
pub use arrays::ArrayDataset;
pub use batches::Batches;
pub use collate::{Collate, Stack, Stacked};
pub use dataset::{Dataset, FromFn, from_fn};
pub use error::{BoxError, DataError, Panicked};
pub use loader::DataLoader;
#[doc(no_inline)]
pub use rand_xoshiro::Xoshiro256PlusPlus;
