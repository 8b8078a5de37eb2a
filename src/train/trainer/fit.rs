//! Running the epochs.

use std::time::Instant;

use super::{Ended, Saving, TrainError, Trainer};
use crate::data::BoxError;
use crate::train::epoch::{Batch, Epoch, Loss};
use crate::train::metrics::{Mean, Metric};
use crate::train::progress::Progress;
use crate::train::stopping::{EarlyStopping, Verdict};

impl<S> Trainer<'_, S> {
    /// Trains until all epochs are done, or something ends it. `batches` gives those of an epoch, from its
    /// number; `step` trains on one and gives its [`Loss`]. The epoch's mean is recorded as `loss`.
    ///
    /// Called again after an error, it goes on after the last complete epoch, with the state as the error left
    /// it.
    ///
    /// # Errors
    /// Whatever a batch, the step, a callback, a checkpoint or the history's file fails with; a loss that is
    /// infinite or not a number; an epoch without batches; a metric to be judged by that was not recorded.
    ///
    /// ```
    /// use pullback::data::{DataLoader, from_fn};
    /// use pullback::train::{Ended, Output, Trainer};
    ///
    /// // Learns that all numbers are 3.
    /// let loader = DataLoader::new(from_fn(8, |_| Ok(3.0_f64))).batch_size(4);
    /// let mut model = 0.0;
    /// let mut trainer = Trainer::new(20).output(Output::silent());
    /// let ended = trainer.fit(&mut model, |epoch| loader.epoch(epoch), |model, batch| {
    ///     let errors = batch - *model;
    ///     *model += 0.5 * errors.mean().ok_or("an empty batch")?;
    ///     Ok((errors.pow2().sum() / 4.0, 4))
    /// });
    /// assert_eq!(ended.unwrap(), Ended::AllEpochs);
    /// assert!((model - 3.0).abs() < 1e-6);
    /// ```
    pub fn fit<B, E, I, L>(
        &mut self,
        state: &mut S,
        mut batches: impl FnMut(u64) -> I,
        mut step: impl FnMut(&mut S, B) -> Result<L, BoxError>,
    ) -> Result<Ended, TrainError>
    where
        I: IntoIterator<Item = Result<B, E>>,
        E: Into<BoxError>,
        L: Into<Loss>,
    {
        self.replay();
        let last = self.history.last_epoch().unwrap_or(0);
        let mut stopping = self.stopping.iter().map(|(_, stopping)| stopping);
        if stopping.any(EarlyStopping::should_stop) {
            return Ok(Ended::Early { epoch: last });
        }
        for number in last + 1..=self.epochs {
            let label = format!("epoch {number}/{}", self.epochs);
            let progress = Progress::on(&self.output, label, None);
            let batches = batches(number as u64);
            let mut epoch = self.run(number, state, batches, &mut step, &progress)?;
            let is_over = self.finish(state, &mut epoch);
            let is_over = is_over.map_err(|source| TrainError::new(number, None, source))?;
            for (name, value) in epoch.metrics() {
                progress.set(name, *value);
            }
            progress.finish();
            if is_over {
                return Ok(Ended::Early { epoch: number });
            }
            if epoch.stop {
                return Ok(Ended::Asked { epoch: number });
            }
        }
        Ok(Ended::AllEpochs)
    }

    /// One pass over the batches.
    fn run<B, E: Into<BoxError>, L: Into<Loss>>(
        &mut self,
        number: usize,
        state: &mut S,
        batches: impl IntoIterator<Item = Result<B, E>>,
        step: &mut impl FnMut(&mut S, B) -> Result<L, BoxError>,
        progress: &Progress,
    ) -> Result<Epoch, TrainError> {
        let start = Instant::now();
        let mut mean = Mean::new();
        let mut count = 0;
        for (index, batch) in progress.over(batches).enumerate() {
            let failed = |source| TrainError::new(number, Some(index), source);
            let batch = batch.map_err(|error| failed(error.into()))?;
            let loss: Loss = step(state, batch).map_err(failed)?.into();
            if !loss.mean.is_finite() {
                return Err(failed(format!("the loss is {}", loss.mean).into()));
            }
            mean.add_batch(loss.mean, loss.count);
            progress.set("loss", mean.value());
            let batch = Batch {
                epoch: number,
                index,
                loss,
            };
            for f in &mut self.after_batch {
                f(state, &batch).map_err(failed)?;
            }
            count += 1;
        }
        if mean.count() == 0 {
            let source = "there are no batches, or none with a sample".into();
            return Err(TrainError::new(number, None, source));
        }
        Ok(Epoch {
            number,
            batches: count,
            elapsed: start.elapsed(),
            metrics: vec![("loss".to_owned(), mean.value())],
            stop: false,
        })
    }

    /// What comes after an epoch. Gives whether patience is at its end.
    fn finish(&mut self, state: &mut S, epoch: &mut Epoch) -> Result<bool, BoxError> {
        for f in &mut self.after_epoch {
            f(state, epoch)?;
        }
        let metrics = self.stopping.iter().map(|(metric, _)| metric);
        for metric in metrics.chain(self.checkpoints.iter().map(|saving| &saving.metric)) {
            recorded(epoch, metric)?;
        }
        let metrics = epoch.metrics.iter().map(|(name, value)| (name, *value));
        self.history.push(epoch.number, metrics);
        self.seen = Some(epoch.number);
        let mut is_over = false;
        for (metric, stopping) in &mut self.stopping {
            is_over |= stopping.update(epoch.number, recorded(epoch, metric)?) == Verdict::Stop;
        }
        // Before the checkpoints: whoever goes on from one finds its epoch in the file, and can cut off what
        // comes after it.
        if let Some(path) = &self.csv {
            let written = self.history.write_csv(path);
            written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        for saving in &mut self.checkpoints {
            let value = recorded(epoch, &saving.metric)?;
            let write = &mut saving.write;
            let checkpoints = &mut saving.checkpoints;
            checkpoints.save(epoch.number, value, |path| write(state, path))?;
        }
        Ok(is_over)
    }

    /// Tells the policies of epochs that were not run here.
    fn replay(&mut self) {
        let is_new = |(epoch, _): &(usize, f64)| self.seen.is_none_or(|seen| *epoch > seen);
        for (metric, stopping) in &mut self.stopping {
            for (epoch, value) in self.history.values(metric).filter(is_new) {
                stopping.update(epoch, value);
            }
        }
        for Saving {
            metric,
            checkpoints,
            ..
        } in &mut self.checkpoints
        {
            for (epoch, value) in self.history.values(metric).filter(is_new) {
                checkpoints.replay(epoch, value);
            }
        }
        self.seen = self.history.last_epoch();
    }
}

fn recorded(epoch: &Epoch, metric: &str) -> Result<f64, BoxError> {
    epoch.get(metric).ok_or_else(|| {
        let names: Vec<&str> = epoch
            .metrics
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        format!("no metric `{metric}` was recorded; there are {names:?}").into()
    })
}
