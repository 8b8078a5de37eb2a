//! Training: `AdamW` with a rate that falls along a half wave, on images with noise.

use std::error::Error;

use pullback::data::{ArrayDataset, DataLoader};
use pullback::ndarray::Array2;
use pullback::nn::Generator;
use pullback::optim::schedule::{Cosine, Schedule};
use pullback::optim::{AdamW, Optimizer};
use pullback::prelude::*;
use pullback::train::{Accuracy, History, Metric, Trainer};

use crate::data::{Images, with_noise};
use crate::functions::SoftmaxCrossEntropy;
use crate::model::Perceptron;

const BATCH: usize = 32;
const RATE: f64 = 2e-3;

/// What the command line says.
pub struct Plan {
    pub seed: u64,
    pub epochs: usize,
}

/// A model and what trains it.
pub struct Run {
    pub model: Perceptron,
    optimizer: AdamW,
    random: Generator,
    steps: u64,
}

impl Run {
    pub fn new(plan: &Plan) -> Self {
        let mut random = Generator::seed(plan.seed);
        Self {
            model: Perceptron::new(&mut random),
            // Decay is for what multiplies, not for offsets.
            optimizer: AdamW::new(RATE).weight_decay(0.01).group(
                |path| path.ends_with("bias"),
                |group| group.weight_decay(0.0),
            ),
            random,
            steps: 0,
        }
    }

    /// The history has `loss`, and the accuracies on `training` and `test` images, of each epoch.
    pub fn fit(
        &mut self,
        training: &Images,
        test: &Images,
        plan: &Plan,
    ) -> Result<History, Box<dyn Error>> {
        let images = ArrayDataset::new(training.pixels.clone(), training.labels.clone());
        let loader = DataLoader::new(images).batch_size(BATCH).shuffle(plan.seed);
        let schedule = Cosine::new(RATE, (plan.epochs * loader.len()) as u64);
        let mut trainer = Trainer::new(plan.epochs).after_epoch(|run: &mut Self, epoch| {
            epoch.record("training", run.accuracy(training));
            epoch.record("test", run.accuracy(test));
            Ok(())
        });
        trainer.fit(
            self,
            |epoch| loader.epoch(epoch),
            |run, (pixels, labels): (Array2<f32>, Vec<usize>)| {
                run.optimizer.set_learning_rate(schedule.rate(run.steps));
                run.steps += 1;
                Ok((run.step(pixels, &labels)?, labels.len()))
            },
        )?;
        Ok(trainer.history().clone())
    }

    fn step(&mut self, pixels: Array2<f32>, labels: &[usize]) -> Result<f32, pullback::Error> {
        self.model.zero_grad();
        let pixels = with_noise(pixels, &mut self.random);
        let scores = self.model.forward(&Tensor::from(pixels));
        let loss = SoftmaxCrossEntropy::apply(&scores, labels);
        loss.backward()?;
        self.optimizer.step(&mut self.model);
        Ok(loss.item())
    }

    /// The share of images that are recognised.
    fn accuracy(&self, images: &Images) -> f64 {
        let mut accuracy = Accuracy::new();
        accuracy.add(&self.model.predict(&images.pixels), &images.labels);
        accuracy.value()
    }
}
