//! Trains a perceptron with two hidden layers on the UCI handwritten digits, 1,797 images of 8x8
//! pixels. Its linear layer, its ReLU and its loss are custom functions: see `functions.rs`.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a program has no public items"
)]

#[path = "../common/chart.rs"]
mod chart;
mod data;
mod functions;
mod model;
#[path = "../common/program.rs"]
mod program;
mod train;
#[path = "../common/training.rs"]
mod training;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use chart::Panel;
use data::CLASSES;
use plotters::style::{BLUE, RED};
use program::{Arguments, below};
use pullback::ndarray::Array2;
use train::{History, Plan, train};
use training::by_epoch;

const USAGE: &str = "\
Usage: cargo run --release --example digits [-- OPTIONS]

  --seed N       the seed of split, weights, order and noise (default 1)
  --epochs N     passes over the training images, 1 to 1000 (default 60)
  --svg FILE     where to draw the curves (default target/digits.svg)";

fn main() -> ExitCode {
    program::run("digits", USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let plan = Plan {
        seed: arguments.take("seed", 1)?,
        epochs: arguments.take_within("epochs", 60, 1..=1000)?,
    };
    let svg = arguments.take("svg", PathBuf::from("target/digits.svg"))?;
    arguments.finish()?;
    functions::check()?;
    println!("gradcheck of Linear, Relu and SoftmaxCrossEntropy: passed");

    let (training, test) = data::split(&data::bundled(), plan.seed);
    println!(
        "{} images to train on, {} to test on",
        training.len(),
        test.len()
    );

    let (model, history) = train(&training, &test, &plan)?;
    let mut answers = Array2::<usize>::zeros((CLASSES, CLASSES));
    let found = model.predict(&test.pixels);
    for (&label, &found) in test.labels.iter().zip(&found) {
        answers[[label, found]] += 1;
    }
    println!("\nrows: digits, columns: answers\n{answers:3}");
    let accuracy = model.accuracy(&test);
    println!(
        "test accuracy: {:.2} % (seed {})",
        100.0 * accuracy,
        plan.seed
    );
    chart::draw(&svg, 2, &panels(&history))?;
    below("share of wrong answers", 1.0 - accuracy, 0.03)?;
    Ok(())
}

fn panels(history: &History) -> [Panel; 2] {
    let panel = |title: &str, logarithmic, curves| Panel {
        title: title.to_owned(),
        x: "epoch",
        y: "",
        logarithmic,
        curves,
    };
    let accuracies = vec![
        by_epoch("training", BLUE, &history.training),
        by_epoch("test", RED, &history.test),
    ];
    [
        panel("loss", true, vec![by_epoch("", BLUE, &history.loss)]),
        panel("accuracy", false, accuracies),
    ]
}
