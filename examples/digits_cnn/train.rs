//! Training: `AdamW` with one cycle of its learning rate, on images that are shifted by up to a pixel.

use pullback::ndarray::{Array2, Array4, Axis, s};
use pullback::nn::Generator;
use pullback::ops::{CrossEntropyOptions, Reduction};
use pullback::optim::schedule::{OneCycle, Schedule};
use pullback::optim::{AdamW, Optimizer};
use pullback::prelude::*;
use rand::RngExt;

use crate::data::Images;
use crate::model::Cnn;
use crate::training::{accuracy, bar, batches};

const BATCH: usize = 32;
const RATE: f64 = 4e-3;
const SIDE: usize = 8;

/// The options of the command line.
pub struct Plan {
    pub seed: u64,
    pub epochs: usize,
}

/// One value for each epoch; the accuracy is on the test set.
#[derive(Default)]
pub struct History {
    pub loss: Vec<f64>,
    pub accuracy: Vec<f64>,
}

/// Trains a model and returns it in evaluation mode.
pub fn train(
    model: &mut Cnn,
    training: &Images,
    test: &Images,
    plan: &Plan,
) -> Result<History, pullback::Error> {
    let mut random = Generator::seed(plan.seed);
    // Decay is for factors, not for offsets.
    let mut optimizer = AdamW::new(RATE).weight_decay(0.02).param_group(
        |path| path.ends_with("bias"),
        |group| group.weight_decay(0.0),
    );
    let smoothed = CrossEntropyOptions {
        label_smoothing: 0.05,
        ..CrossEntropyOptions::default()
    };
    let steps = (plan.epochs * training.len().div_ceil(BATCH)) as u64;
    let schedule = OneCycle::new(RATE, steps);
    let mut history = History::default();
    let bar = bar(steps);
    let mut step = 0;
    for _ in 0..plan.epochs {
        model.train();
        let mut total = 0.0;
        for rows in batches(training.len(), BATCH, &mut random) {
            let Images { pixels, labels } = training.select(&rows);
            let images = shifted(&shaped(&pixels), &mut random);
            optimizer.set_learning_rate(schedule.rate(step));
            model.zero_grad();
            let scores = model.forward(&Tensor::from(images));
            let loss = scores.cross_entropy_opts(&labels, Reduction::Mean, smoothed);
            loss.backward()?;
            optimizer.step(model);
            total += f64::from(loss.item()) * rows.len() as f64;
            step += 1;
            bar.inc(1);
        }
        model.eval();
        history.loss.push(total / training.len() as f64);
        history.accuracy.push(evaluate(model, test));
    }
    bar.finish_and_clear();
    Ok(history)
}

/// Returns the share of images that are recognized.
pub fn evaluate(model: &Cnn, images: &Images) -> f64 {
    let scores = no_grad(|| model.forward(&Tensor::from(shaped(&images.pixels))));
    accuracy(&scores.argmax_axis(Axis(1)), &images.labels)
}

/// Returns rows of pixels as images of one channel.
fn shaped(pixels: &Array2<f32>) -> Array4<f32> {
    let images = pixels.to_shape((pixels.nrows(), 1, SIDE, SIDE));
    images.expect("64 pixels in a row").into_owned()
}

/// Shifts each image by up to a pixel along each axis; new pixels are black.
fn shifted(images: &Array4<f32>, random: &mut Generator) -> Array4<f32> {
    let (count, channels, ..) = images.dim();
    let mut bordered = Array4::zeros((count, channels, SIDE + 2, SIDE + 2));
    let middle = s![.., .., 1..=SIDE, 1..=SIDE];
    bordered.slice_mut(middle).assign(images);
    let mut shifted = Array4::zeros(images.raw_dim());
    for (mut image, bordered) in shifted.outer_iter_mut().zip(bordered.outer_iter()) {
        let [down, right] = [(); 2].map(|()| random.random_range(0..=2_usize));
        let window = s![.., down..down + SIDE, right..right + SIDE];
        image.assign(&bordered.slice(window));
    }
    shifted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_bring_black_in() {
        let pixel = |(i, j): (usize, usize)| (10 * i + j + 1) as f32;
        let images = Array4::from_shape_fn((200, 1, SIDE, SIDE), |at| pixel((at.2, at.3)));
        let shifted = shifted(&images, &mut Generator::seed(1));
        let mut found = 0;
        for (down, right) in (0..3).flat_map(|down| (0..3).map(move |right| (down, right))) {
            let expected = Array2::from_shape_fn((SIDE, SIDE), |(i, j)| {
                let from = (i + down, j + right);
                let is_inside = [from.0, from.1].iter().all(|at| (1..=SIDE).contains(at));
                if is_inside {
                    pixel((from.0 - 1, from.1 - 1))
                } else {
                    0.0
                }
            });
            let images = shifted.outer_iter();
            let count = images
                .filter(|image| image.index_axis(Axis(0), 0) == expected)
                .count();
            assert!(count > 0, "never by {down}, {right}");
            found += count;
        }
        assert_eq!(found, 200);
    }
}
