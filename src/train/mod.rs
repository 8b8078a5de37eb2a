//! What a training loop needs around its few lines of arithmetic.
//!
//! Read first [`Trainer`], with the example below, or, to keep a loop of your own, the part that it lacks. Each
//! part works alone, in a loop of one's own:
//!
//! - [`Mean`], [`Accuracy`], [`ConfusionMatrix`], [`Mae`], [`Rmse`], [`R2`]: numbers over the batches of an
//!   epoch;
//! - [`Progress`]: a bar in a terminal, a line now and then in a file;
//! - [`EarlyStopping`]: has a metric stopped to get better?
//! - [`Checkpoints`]: which epochs to save, which to keep, written whole or not at all;
//! - [`History`]: the metrics of all epochs, as CSV too;
//!
//! and [`Trainer`] ties them together:
//!
//! ```
//! use pullback::data::{ArrayDataset, DataLoader};
//! use pullback::ndarray::{Array1, array};
//! use pullback::prelude::*;
//! use pullback::train::{EarlyStopping, Mode, Output, Trainer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let data = ArrayDataset::new(array![[0.0], [1.0], [2.0], [3.0]], vec![1.0, 3.0, 5.0, 7.0]);
//! let loader = DataLoader::new(data).batch_size(2).shuffle(1);
//! let mut model = [array![[0.0]], array![[0.0]]]; // y = x·w + b
//!
//! let mut trainer = Trainer::new(500)
//!     .output(Output::silent())
//!     .stop_early("loss", EarlyStopping::new(Mode::Min, 5).min_delta(1e-9));
//! trainer.fit(
//!     &mut model,
//!     |epoch| loader.epoch(epoch),
//!     |model, (x, y): (_, Array1<f64>)| {
//!         let [w, b] = model.each_ref().map(|p| Tensor::from(p.clone()).set_requires_grad(true));
//!         let count = y.len();
//!         let y = Tensor::from(y.into_shape_with_order((count, 1))?);
//!         let loss = (&(&Tensor::from(x).matmul(&w) + &b) - &y).square().mean();
//!         loss.backward()?;
//!         for (p, tensor) in model.iter_mut().zip([&w, &b]) {
//!             p.scaled_add(-0.1, &tensor.grad().ok_or("no gradient")?);
//!         }
//!         Ok((loss.item(), count))
//!     },
//! )?;
//! assert!((model[0][[0, 0]] - 2.0).abs() < 1e-3);
//! assert!(trainer.history().last("loss").unwrap() < 1e-6);
//! # Ok(())
//! # }
//! ```

mod checkpoints;
mod epoch;
mod history;
mod metrics;
mod progress;
mod stopping;
mod trainer;

pub use checkpoints::{CheckpointError, Checkpoints};
pub use epoch::{Batch, Epoch, Loss};
pub use history::{CsvError, History};
pub use metrics::{Accuracy, ConfusionMatrix, Mae, Mean, Metric, R2, Rmse};
pub use progress::{Output, Over, Progress};
pub use stopping::{Best, EarlyStopping, Mode, Verdict};
pub use trainer::{Ended, TrainError, Trainer};
