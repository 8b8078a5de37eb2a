//! Saving and loading: the state of a model, as tensors under names.
//!
//! Read first:
//!
//! - [`Stateful`]: `state_dict`, `load_state_dict`, `save_safetensors` and `load_safetensors` of every module,
//!   and of every other [`Field`](crate::nn::Field).
//! - [`StateDict`]: the tensors under their dotted paths, in memory.
//! - [`StateFile`]: a file that is looked at before anything is read, or read in part.
//! - [`save_checkpoint`], [`load_checkpoint`], [`load_checkpoint_with`]: model, seeds, optimizer and counters in one
//!   file, so that training continues bit for bit.
//! - [`StateError`]: everything that did not fit, named in one error.
//!
//! Files are safetensors files, which Python's `safetensors` reads and writes too.

mod checkpoint;
pub(crate) mod dict;
pub(crate) mod error;
mod file;
mod load;
mod random;
mod stateful;

pub use checkpoint::{Checkpoint, load_checkpoint, load_checkpoint_with, save_checkpoint};
pub use dict::StateDict;
pub use error::{Difference, StateError, TensorSpec};
pub use file::StateFile;
pub use load::IncompatibleKeys;
pub use stateful::Stateful;
