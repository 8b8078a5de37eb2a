//! The training loop.

use std::error::Error;

use indicatif::{ProgressBar, ProgressStyle};
use pullback::ndarray::Axis;
use pullback::prelude::*;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::data::{Images, with_noise};
use crate::functions::SoftmaxCrossEntropy;
use crate::model::{Perceptron, Step};
use crate::options::Options;
use crate::report::{Epoch, accuracy};

const BATCH: usize = 32;
const RATE: f32 = 2e-3;
const DECAY: f32 = 1e-2;

/// Trains from scratch. The history has an entry for each pass over the training images.
pub fn train(
    training: &Images,
    test: &Images,
    options: &Options,
) -> Result<(Perceptron, Vec<Epoch>), Box<dyn Error>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut model = Perceptron::new(&mut random);
    let mut history = Vec::with_capacity(options.epochs);
    let mut order: Vec<usize> = (0..training.len()).collect();
    let steps = options.epochs * training.len().div_ceil(BATCH);
    let bar = ProgressBar::new(options.epochs as u64).with_style(ProgressStyle::with_template(
        "{bar:40} epoch {pos}/{len} {elapsed} {msg}",
    )?);

    let mut number = 0;
    for _ in 0..options.epochs {
        order.shuffle(&mut random);
        let mut total = 0.0;
        for rows in order.chunks(BATCH) {
            let labels: Vec<usize> = rows.iter().map(|&row| training.labels[row]).collect();
            let pixels = with_noise(training.pixels.select(Axis(0), rows), &mut random);
            let logits = model.forward(&Tensor::from(pixels));
            let loss = SoftmaxCrossEntropy::apply(&logits, &labels);
            loss.backward()?;
            number += 1;
            model.step(&Step {
                number,
                rate: RATE * cosine(number, steps),
                decay: DECAY,
            });
            let weight = rows.len() as f32;
            total += loss.item() * weight;
        }
        let epoch = Epoch {
            loss: mean(total, training.len()),
            training: accuracy(&model.predict(&training.pixels), &training.labels),
            test: accuracy(&model.predict(&test.pixels), &test.labels),
        };
        let (loss, percent) = (epoch.loss, 100.0 * epoch.test);
        bar.set_message(format!("loss {loss:.4}, test accuracy {percent:.2} %"));
        bar.inc(1);
        history.push(epoch);
    }
    bar.finish();
    if let (true, Some(last)) = (bar.is_hidden(), history.last()) {
        println!("after {} epochs: loss {:.4}", options.epochs, last.loss);
    }
    Ok((model, history))
}

/// From 1 down to 0 along a half wave (Loshchilov and Hutter, 2017).
fn cosine(number: i32, steps: usize) -> f32 {
    let progress = number as f32 / steps as f32;
    0.5 * (1.0 + (std::f32::consts::PI * progress).cos())
}

fn mean(total: f32, count: usize) -> f32 {
    let count = count as f32;
    total / count
}
