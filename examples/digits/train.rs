//! Training: `AdamW` with a rate that falls along half a cosine wave, on images with noise.

use pullback::nn::Generator;
use pullback::optim::schedule::{Cosine, Schedule};
use pullback::optim::{AdamW, Optimizer};
use pullback::prelude::*;

use crate::data::{Images, with_noise};
use crate::functions::SoftmaxCrossEntropy;
use crate::model::Perceptron;
use crate::training::{bar, batches};

const BATCH: usize = 32;
const RATE: f64 = 2e-3;

/// The options of the command line.
pub struct Plan {
    pub seed: u64,
    pub epochs: usize,
}

/// One value for each epoch.
#[derive(Default)]
pub struct History {
    pub loss: Vec<f64>,
    /// The share of images that are recognized.
    pub training: Vec<f64>,
    pub test: Vec<f64>,
}

/// Trains a new model.
pub fn train(
    training: &Images,
    test: &Images,
    plan: &Plan,
) -> Result<(Perceptron, History), pullback::Error> {
    let mut random = Generator::seed(plan.seed);
    let mut model = Perceptron::new(&mut random);
    // Decay is for factors, not for offsets.
    let mut optimizer = AdamW::new(RATE).weight_decay(0.01).param_group(
        |path| path.ends_with("bias"),
        |group| group.weight_decay(0.0),
    );
    let steps = (plan.epochs * training.len().div_ceil(BATCH)) as u64;
    let schedule = Cosine::new(RATE, steps);
    let mut history = History::default();
    let bar = bar(steps);
    let mut step = 0;
    for _ in 0..plan.epochs {
        let mut total = 0.0;
        for rows in batches(training.len(), BATCH, &mut random) {
            let Images { pixels, labels } = training.select(&rows);
            let pixels = with_noise(pixels, &mut random);
            optimizer.set_learning_rate(schedule.rate(step));
            model.zero_grad();
            let scores = model.forward(&Tensor::from(pixels));
            let loss = SoftmaxCrossEntropy::apply(&scores, &labels);
            loss.backward()?;
            optimizer.step(&mut model);
            total += f64::from(loss.item()) * rows.len() as f64;
            step += 1;
            bar.inc(1);
        }
        history.loss.push(total / training.len() as f64);
        history.training.push(model.accuracy(training));
        history.test.push(model.accuracy(test));
    }
    bar.finish_and_clear();
    Ok((model, history))
}
