//! Trains a small language model on a text, letter by letter, and lets it write: two blocks of causal
//! self-attention, on this project's own pages unless another file is given.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    dead_code,
    reason = "a program has no public items, and uses a part of what the examples share"
)]

#[path = "../common/chart.rs"]
mod chart;
mod model;
#[path = "../common/program.rs"]
mod program;
mod text;
#[path = "../common/training.rs"]
mod training;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use chart::{Curve, Panel};
use model::LanguageModel;
use plotters::style::{BLUE, RED};
use program::{Arguments, below};
use pullback::nn::Generator;
use pullback::ops::Reduction;
use pullback::optim::schedule::{Cosine, LinearWarmUp, Schedule};
use pullback::optim::{AdamW, Optimizer, clip_grad_norm};
use pullback::prelude::*;
use text::Text;
use training::bar;

const USAGE: &str = "\
Usage: cargo run --release --example char_lm [-- OPTIONS]

  --text FILE    the text to learn from (default: this project's README and the pages beside it)
  --steps N      steps of training, 1 to 100000 (default 600)
  --seed N       the seed of weights, batches and samples (default 1)
  --prompt TEXT  the beginning of the samples (default \"Write\")
  --letters N    the length of a sample, 1 to 10000 (default 300)
  --svg FILE     where to draw the loss (default target/char_lm.svg)";

/// The default text.
const PAGES: &str = concat!(
    include_str!("../../README.md"),
    include_str!("../../ARCHITECTURE.md"),
    include_str!("../../DESIGN.md"),
    include_str!("../../CONTRIBUTING.md"),
    include_str!("../../tests/README.md"),
);
/// After this number of steps, the test loss must be below its bound.
const ENOUGH: usize = 600;
/// Letters that the model sees at once.
const CONTEXT: usize = 64;
const BATCH: usize = 16;
const RATE: f64 = 3e-3;
const WARM_UP: u64 = 40;
/// The steps between two points of the curves.
const INTERVAL: usize = 20;

fn main() -> ExitCode {
    program::run("char_lm", USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let path = arguments.take("text", PathBuf::new())?;
    let steps = arguments.take_within("steps", ENOUGH, 1..=100_000)?;
    let seed = arguments.take("seed", 1)?;
    let prompt = arguments.take("prompt", "Write".to_owned())?;
    let letters = arguments.take_within("letters", 300, 1..=10_000)?;
    let svg = arguments.take("svg", PathBuf::from("target/char_lm.svg"))?;
    arguments.finish()?;

    let text = if path.as_os_str().is_empty() {
        Text::new(PAGES, CONTEXT)?
    } else {
        let shown = path.display();
        let read = fs::read_to_string(&path);
        let read = read.map_err(|error| format!("cannot read {shown}: {error}"))?;
        Text::new(&read, CONTEXT).map_err(|error| format!("{shown}: {error}"))?
    };
    let start = text.letters.encode(&prompt)?;
    let [training, test] = text.sizes();
    println!(
        "{training} letters to train on, {test} to test on, {} different ones\n",
        text.letters.count()
    );

    let random = &mut Generator::seed(seed);
    let mut model = LanguageModel::new(text.letters.count(), CONTEXT, random);
    println!("{model}\n");
    let losses = train(&mut model, &text, steps, random)?;
    chart::draw(&svg, 1, &[panel(losses)])?;

    let written = model.sample(&start, letters, 0.8, random);
    println!("\n{}\n", text.letters.decode(&written));
    let loss = test_loss(&model, &text);
    let guess = (text.letters.count() as f64).ln();
    println!("nats per letter: {loss:.3} in the test, {guess:.3} for a guess among all letters");
    if steps >= ENOUGH {
        below("test loss as a share of a guess's", loss / guess, 0.55)?;
    }
    Ok(())
}

/// The points of the training loss and of the test loss.
struct Losses {
    training: Vec<(f64, f64)>,
    test: Vec<(f64, f64)>,
}

fn train(
    model: &mut LanguageModel,
    text: &Text,
    steps: usize,
    random: &mut Generator,
) -> Result<Losses, Box<dyn Error>> {
    // Decay is for matrices, not for offsets and scales.
    let mut optimizer = AdamW::new(RATE).weight_decay(0.05).param_group(
        |path| path.ends_with("bias") || path.contains("norm"),
        |group| group.weight_decay(0.0),
    );
    let total = steps as u64;
    let schedule = LinearWarmUp::new(RATE, WARM_UP.min(total)).then(
        WARM_UP.min(total),
        Cosine::new(RATE, total.saturating_sub(WARM_UP).max(1)).min(RATE / 20.0),
    );
    let mut losses = Losses {
        training: Vec::new(),
        test: Vec::new(),
    };
    let bar = bar(total);
    let mut recent = Vec::new();
    for step in 0..steps {
        optimizer.set_learning_rate(schedule.rate(step as u64));
        let (inputs, labels) = text.batch(BATCH, random);
        model.zero_grad();
        let loss = model
            .forward(&inputs)
            .cross_entropy(&labels, Reduction::Mean);
        loss.backward()?;
        clip_grad_norm(model, 1.0);
        optimizer.step(model);
        recent.push(f64::from(loss.item()));
        if (step + 1) % INTERVAL == 0 || step + 1 == steps {
            let at = (step + 1) as f64;
            let mean = recent.iter().sum::<f64>() / recent.len() as f64;
            losses.training.push((at, mean));
            losses.test.push((at, test_loss(model, text)));
            bar.set_message(format!("loss {mean:.3}"));
            recent.clear();
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(losses)
}

/// Returns the mean loss over the whole windows of the test.
fn test_loss(model: &LanguageModel, text: &Text) -> f64 {
    let (inputs, labels) = text.test();
    let loss = no_grad(|| {
        model
            .forward(&inputs)
            .cross_entropy(&labels, Reduction::Mean)
    });
    f64::from(loss.item())
}

fn panel(losses: Losses) -> Panel {
    Panel {
        title: "nats per letter".to_owned(),
        x: "step",
        y: "loss",
        logarithmic: false,
        curves: vec![
            Curve::line("training", BLUE, losses.training),
            Curve::line("test", RED, losses.test),
        ],
    }
}
