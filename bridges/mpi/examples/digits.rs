//! Trains a perceptron on the UCI handwritten digits, each process on its part of every batch:
//!
//! ```sh
//! cargo build --release --example digits
//! mpirun -n 4 target/release/examples/digits
//! ```
//!
//! The losses are those of one process.

use pullback::ndarray::{Array2, Axis};
use pullback::nn::{Generator, Linear, Relu, Sequential};
use pullback::ops::Reduction;
use pullback::optim::AdamW;
use pullback::prelude::*;
use pullback_mpi::{Communicator, DataParallel, all_reduce_sum};
use rand::seq::SliceRandom;

const BATCH: usize = 32;
const EPOCHS: usize = 10;

/// Images as rows of 64 pixels between 0 and 1, each with its label.
struct Images {
    pixels: Array2<f64>,
    labels: Vec<usize>,
}

fn main() {
    pullback_mpi::run(|comm| {
        let (losses, accuracy) = train(comm, EPOCHS)?;
        if comm.rank() == 0 {
            for (epoch, loss) in losses.iter().enumerate() {
                println!("epoch {:2}  loss {loss:.12}", epoch + 1);
            }
            println!("test accuracy: {:.2} %", 100.0 * accuracy);
        }
        Ok::<(), pullback::Error>(())
    });
}

/// Returns the loss of each epoch, and the accuracy on the test images.
pub(crate) fn train(
    comm: &Communicator,
    epochs: usize,
) -> Result<(Vec<f64>, f64), pullback::Error> {
    // One seed, so that all processes split and shuffle in the same way.
    let mut random = Generator::seed(1);
    let (training, test) = split(&mut random);
    let layers = (
        Linear::<f64>::new(64, 64, &mut random),
        Relu,
        Linear::<f64>::new(64, 10, &mut random),
    );
    let mut model = DataParallel::new(Sequential::new(layers), comm);
    let mut optimizer = AdamW::new(2e-3);
    let mut rows: Vec<usize> = (0..training.labels.len()).collect();
    let mut losses = Vec::new();
    for _ in 0..epochs {
        rows.shuffle(&mut random);
        let mut total = 0.0;
        for batch in rows.chunks(BATCH) {
            let own = part(batch, comm);
            let Images { pixels, labels } = training.select(own);
            model.zero_grad();
            let scores = model.forward(&Tensor::from(pixels));
            let sum = scores.cross_entropy(&labels, Reduction::Sum);
            total += sum.item();
            // The mean of these over the processes is the mean over the batch. The last batch has 30 rows.
            model.backward(&(sum * (comm.size() as f64 / batch.len() as f64)))?;
            optimizer.step(&mut *model);
        }
        let total = all_reduce_sum(&Tensor::from(total), comm).item();
        losses.push(total / rows.len() as f64);
    }
    let scores = no_grad(|| model.forward(&Tensor::from(test.pixels)));
    let found = scores.argmax_axis(Axis(1));
    let right = found
        .iter()
        .zip(&test.labels)
        .filter(|(found, label)| found == label);
    Ok((losses, right.count() as f64 / test.labels.len() as f64))
}

/// Returns the rows of a batch for this process.
fn part<'a>(batch: &'a [usize], comm: &Communicator) -> &'a [usize] {
    let edge = |rank| batch.len() * rank / comm.size();
    &batch[edge(comm.rank())..edge(comm.rank() + 1)]
}

impl Images {
    fn select(&self, rows: &[usize]) -> Self {
        Self {
            pixels: self.pixels.select(Axis(0), rows),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
        }
    }
}

/// Returns four fifths of the images to train on, and one fifth to test on.
fn split(random: &mut Generator) -> (Images, Images) {
    let digits = smartcore::dataset::digits::load_dataset();
    let shape = (digits.num_samples, digits.num_features);
    let pixels = Array2::from_shape_vec(shape, digits.data).expect("a row for each image");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 9"
    )]
    let labels = digits.target.iter().map(|&label| label as usize).collect();
    let all = Images {
        pixels: pixels.mapv(|pixel| f64::from(pixel) / 16.0),
        labels,
    };
    let mut rows: Vec<usize> = (0..shape.0).collect();
    rows.shuffle(random);
    let (test, training) = rows.split_at(rows.len() / 5);
    (all.select(training), all.select(test))
}
