//! Trains a small convolutional network, with batch normalization, on the UCI handwritten digits: 1,797
//! images of 8x8 pixels. It reports the results of a model that was saved to a file and loaded again.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    dead_code,
    reason = "a program has no public items, and uses a part of what the examples share"
)]

#[path = "../common/chart.rs"]
mod chart;
#[path = "../digits/data.rs"]
mod data;
mod model;
#[path = "../common/program.rs"]
mod program;
mod train;
#[path = "../common/training.rs"]
mod training;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chart::Panel;
use model::Cnn;
use plotters::style::{BLUE, RED};
use program::{Arguments, below};
use pullback::graph::Graph;
use pullback::ndarray::Array4;
use pullback::nn::Generator;
use pullback::prelude::*;
use train::{History, Plan, evaluate, train};
use training::by_epoch;

const USAGE: &str = "\
Usage: cargo run --release --example digits_cnn [-- OPTIONS]

  --seed N       the seed of split, weights, order and shifts (default 1)
  --epochs N     passes over the training images, 1 to 1000 (default 30)
  --svg FILE     where to draw the curves (default target/digits_cnn.svg)
  --graph FILE   where to draw the network's graph (default target/digits_cnn_graph.svg)
  --state FILE   where to save the model (default target/digits_cnn.safetensors)";

fn main() -> ExitCode {
    program::run("digits_cnn", USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let plan = Plan {
        seed: arguments.take("seed", 1)?,
        epochs: arguments.take_within("epochs", 30, 1..=1000)?,
    };
    let svg = arguments.take("svg", PathBuf::from("target/digits_cnn.svg"))?;
    let graph = arguments.take("graph", PathBuf::from("target/digits_cnn_graph.svg"))?;
    let file = arguments.take("state", PathBuf::from("target/digits_cnn.safetensors"))?;
    arguments.finish()?;
    let (training, test) = data::split(&data::bundled(), plan.seed);
    println!(
        "{} images to train on, {} to test on\n",
        training.len(),
        test.len()
    );

    let fresh = || Cnn::new(&mut Generator::seed(plan.seed));
    let mut trained = fresh();
    println!("{trained}\n");
    draw_graph(&trained, &graph)?;
    let history = train(&mut trained, &training, &test, &plan)?;
    chart::draw(&svg, 2, &panels(&history))?;

    trained.save_safetensors(&file)?;
    println!("model: {}", file.display());
    let mut model = fresh();
    model.load_safetensors(&file)?;
    model.eval();
    let accuracy = evaluate(&model, &test);
    println!(
        "test accuracy: {:.2} % (seed {})",
        100.0 * accuracy,
        plan.seed
    );
    below("share of wrong answers", 1.0 - accuracy, 0.03)?;
    Ok(())
}

/// Draws the graph of one image, with the names of the parameters.
fn draw_graph(model: &Cnn, path: &Path) -> Result<(), Box<dyn Error>> {
    let scores = model.forward(&Tensor::from(Array4::zeros((1, 1, 8, 8))));
    let graph = Graph::of(&scores)
        .name("scores", &scores)
        .names(model.named_parameters());
    program::make_folder_of(path)?;
    fs::write(path, graph.svg())
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("graph: {}", path.display());
    Ok(())
}

fn panels(history: &History) -> [Panel; 2] {
    let panel = |title: &str, logarithmic, curve| Panel {
        title: title.to_owned(),
        x: "epoch",
        y: "",
        logarithmic,
        curves: vec![curve],
    };
    [
        panel("loss", true, by_epoch("", BLUE, &history.loss)),
        panel("test accuracy", false, by_epoch("", RED, &history.accuracy)),
    ]
}
