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

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use chart::{Curve, Panel};
use data::CLASSES;
use plotters::style::{BLUE, RED, RGBColor};
use program::{Arguments, below};
use pullback::train::{ConfusionMatrix, History, Metric};
use train::{Plan, Run};

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
    println!("gradcheck of Linear, Relu and SoftmaxCrossEntropy: right");

    let (training, test) = data::split(&data::bundled(), plan.seed);
    println!(
        "{} images to train on, {} to test on",
        training.len(),
        test.len()
    );

    let mut trained = Run::new(&plan);
    let history = trained.fit(&training, &test, &plan)?;
    let mut confusion = ConfusionMatrix::new(CLASSES);
    confusion.add(&trained.model.predict(&test.pixels), &test.labels);
    println!("\nwhich digit was taken for which:\n{confusion}");
    let accuracy = confusion.value();
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
    let curve = |metric: &str, colour: RGBColor, scale: f64| Curve {
        name: metric.to_owned(),
        colour,
        dots: false,
        points: history
            .values(metric)
            .map(|(epoch, value)| (epoch as f64, scale * value))
            .collect(),
    };
    let panel = |title: &str, logarithmic, curves| Panel {
        title: title.to_owned(),
        x: "epoch",
        y: "",
        logarithmic,
        curves,
    };
    let accuracies = vec![curve("training", BLUE, 100.0), curve("test", RED, 100.0)];
    [
        panel("loss", true, vec![curve("loss", BLUE, 1.0)]),
        panel("accuracy, %", false, accuracies),
    ]
}
