//! Training: `AdamW` with one cycle of its learning rate, on images that are shifted by up to a pixel.

use std::error::Error;

use pullback::data::{ArrayDataset, DataLoader, Dataset};
use pullback::ndarray::{Array2, Array3, Array4, s};
use pullback::nn::Generator;
use pullback::ops::{CrossEntropyOptions, Reduction};
use pullback::optim::schedule::{OneCycle, Schedule};
use pullback::optim::{AdamW, Optimizer};
use pullback::prelude::*;
use pullback::train::{Accuracy, History, Metric, Trainer};
use rand::RngExt;

use crate::data::Images;
use crate::model::Cnn;

const BATCH: usize = 32;
const RATE: f64 = 4e-3;
const SIDE: usize = 8;

/// What the command line says.
pub struct Plan {
    pub seed: u64,
    pub epochs: usize,
}

/// A model and what trains it.
pub struct Run {
    pub model: Cnn,
    optimizer: AdamW,
    steps: u64,
}

impl Run {
    pub fn new(plan: &Plan) -> Self {
        Self {
            model: Cnn::new(&mut Generator::seed(plan.seed)),
            // Decay is for what multiplies, not for offsets.
            optimizer: AdamW::new(RATE).weight_decay(0.02).group(
                |path| path.ends_with("bias"),
                |group| group.weight_decay(0.0),
            ),
            steps: 0,
        }
    }

    /// Trains; the model comes back ready for evaluation.
    pub fn fit(
        &mut self,
        training: Images,
        test: &Images,
        plan: &Plan,
    ) -> Result<History, Box<dyn Error>> {
        let images = ArrayDataset::new(shaped(&training.pixels), training.labels);
        let shifted = images.augment(plan.seed, |(image, label): (Array3<f32>, usize), random| {
            let by = [(); 2].map(|()| random.random_range(-1..=1_i32));
            (shift(&image, by), label)
        });
        let loader = DataLoader::new(shifted)
            .batch_size(BATCH)
            .shuffle(plan.seed)
            .prefetch(2);
        let schedule = OneCycle::new(RATE, (plan.epochs * loader.len()) as u64);
        let mut trainer = Trainer::new(plan.epochs).after_epoch(|run: &mut Self, epoch| {
            run.model.eval();
            epoch.record("accuracy", evaluate(&run.model, test));
            run.model.train();
            Ok(())
        });
        trainer.fit(
            self,
            |epoch| loader.epoch(epoch),
            |run, (images, labels): (Array4<f32>, Vec<usize>)| {
                run.optimizer.set_learning_rate(schedule.rate(run.steps));
                run.steps += 1;
                Ok((run.step(images, &labels)?, labels.len()))
            },
        )?;
        let history = trainer.history().clone();
        drop(trainer);
        self.model.eval();
        Ok(history)
    }

    fn step(&mut self, images: Array4<f32>, labels: &[usize]) -> Result<f64, pullback::Error> {
        self.model.zero_grad();
        let smoothed = CrossEntropyOptions {
            label_smoothing: 0.05,
            ..CrossEntropyOptions::default()
        };
        let scores = self.model.forward(&Tensor::from(images));
        let loss = scores.cross_entropy_opts(labels, Reduction::Mean, smoothed);
        loss.backward()?;
        self.optimizer.step(&mut self.model);
        Ok(f64::from(loss.item()))
    }
}

/// The share of images that are recognised.
pub fn evaluate(model: &Cnn, images: &Images) -> f64 {
    let scores = no_grad(|| model.forward(&Tensor::from(shaped(&images.pixels))));
    let mut accuracy = Accuracy::new();
    accuracy.add_scores(&scores.view(), &images.labels);
    accuracy.value()
}

/// Rows of pixels as images of one channel.
fn shaped(pixels: &Array2<f32>) -> Array4<f32> {
    let images = pixels.to_shape((pixels.nrows(), 1, SIDE, SIDE));
    images.expect("64 pixels in a row").into_owned()
}

/// The image moved by up to a pixel along each axis; what comes in is black.
fn shift(image: &Array3<f32>, [down, right]: [i32; 2]) -> Array3<f32> {
    // What an axis keeps: where it goes and where it was.
    let kept = |by: i32| match by {
        ..0 => (0..SIDE - 1, 1..SIDE),
        0 => (0..SIDE, 0..SIDE),
        1.. => (1..SIDE, 0..SIDE - 1),
    };
    let ((rows, from_rows), (columns, from_columns)) = (kept(down), kept(right));
    let mut shifted = Array3::zeros(image.raw_dim());
    shifted
        .slice_mut(s![.., rows, columns])
        .assign(&image.slice(s![.., from_rows, from_columns]));
    shifted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_bring_black_in() {
        let image = Array3::from_shape_fn((1, SIDE, SIDE), |(_, i, j)| (10 * i + j + 1) as f32);
        assert_eq!(shift(&image, [0, 0]), image);
        let moved = shift(&image, [1, -1]);
        assert_eq!(moved[[0, 1, 0]], image[[0, 0, 1]]);
        assert!(moved.slice(s![0, 0, ..]).iter().all(|&pixel| pixel == 0.0));
        assert!(moved.slice(s![0, .., 7]).iter().all(|&pixel| pixel == 0.0));
        assert_eq!(shift(&image, [-1, 1])[[0, 6, 7]], image[[0, 7, 6]]);
    }
}
