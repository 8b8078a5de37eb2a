//! Trains perceptrons with weights of 1 to 5 bits on the UCI handwritten digits.
//!
//! Rounding weights to a few bits after training spoils them. Training with rounded weights needs a
//! gradient where there is none: `quantize.rs` has a custom function whose backward treats rounding as the
//! identity, the straight-through estimator. The program compares both ways on images of the test set.

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
mod quantize;
#[path = "../common/training.rs"]
mod training;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use chart::{Curve, Panel};
use data::Images;
use model::Plan;
use plotters::style::{BLACK, BLUE, CYAN, GREEN, MAGENTA, RED};
use program::{Arguments, below};
use quantize::MOST_BITS;
use training::by_epoch;

const USAGE: &str = "\
Usage: cargo run --release --example straight_through [-- OPTIONS]

  --bits N       the most bits of a weight, 2 to 5 (default 4)
  --epochs N     passes over the training images, 1 to 1000 (default 30)
  --repeats N    trainings to average, 1 to 100 (default 3)
  --seed N       the first seed of split, weights and order (default 1)
  --svg FILE     where to draw (default target/straight_through.svg)";

/// The accuracies in percent and the losses, as means over all trainings.
struct Outcome {
    weights: usize,
    full: f64,
    /// For 1, 2, … bits: trained with all bits and rounded, trained straight through.
    by_bits: Vec<(f64, f64)>,
    /// The losses of each epoch, with all bits and with 1, 2, ….
    losses: Vec<Vec<f64>>,
}

fn main() -> ExitCode {
    program::run("straight_through", USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let bits = arguments.take_within("bits", 4, 2..=MOST_BITS)?;
    let epochs = arguments.take_within("epochs", 30, 1..=1000)?;
    let repeats = arguments.take_within("repeats", 3, 1..=100)?;
    let seed: u64 = arguments.take("seed", 1)?;
    let svg = arguments.take("svg", PathBuf::from("target/straight_through.svg"))?;
    arguments.finish()?;
    let images = data::bundled();

    let seeds = (0..repeats).map(|number| seed.wrapping_add(number));
    let outcomes = seeds.map(|seed| compare(&images, bits, epochs, seed));
    let outcome = mean(&outcomes.collect::<Result<Vec<_>, _>>()?);
    report(&outcome);
    chart::draw(&svg, 2, &[accuracies(&outcome), losses(&outcome)])?;

    let (rounded, trained) = outcome.by_bits[1];
    let lost = outcome.full - trained;
    below(
        "2 bits trained straight through, accuracy lost in percent",
        lost,
        2.0,
    )?;
    let share = (100.0 - trained) / (100.0 - rounded);
    below("its errors as a share of those after rounding", share, 0.8)?;
    Ok(())
}

/// Trains with all bits and with each number of bits, on the same split.
fn compare(
    images: &Images,
    bits: usize,
    epochs: usize,
    seed: u64,
) -> Result<Outcome, Box<dyn Error>> {
    let (training, test) = data::split(images, seed);
    let train = |bits| model::train(&training, &Plan { bits, epochs, seed });
    let (full, losses) = train(None)?;
    let mut outcome = Outcome {
        weights: full.weights(),
        full: full.accuracy(&test, None),
        by_bits: Vec::new(),
        losses: vec![losses],
    };
    for bits in 1..=bits {
        let (model, losses) = train(Some(bits))?;
        let rounded = full.accuracy(&test, Some(bits));
        outcome
            .by_bits
            .push((rounded, model.accuracy(&test, Some(bits))));
        outcome.losses.push(losses);
    }
    Ok(outcome)
}

fn mean(outcomes: &[Outcome]) -> Outcome {
    let of = |value: &dyn Fn(&Outcome) -> f64| -> f64 {
        outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
    };
    let first = &outcomes[0];
    let bits = 0..first.by_bits.len();
    let curve = |number: usize| -> Vec<f64> {
        let epochs = 0..first.losses[number].len();
        epochs
            .map(|epoch| of(&|o| o.losses[number][epoch]))
            .collect()
    };
    Outcome {
        weights: first.weights,
        full: of(&|o| o.full),
        by_bits: bits
            .map(|i| (of(&|o| o.by_bits[i].0), of(&|o| o.by_bits[i].1)))
            .collect(),
        losses: (0..first.losses.len()).map(curve).collect(),
    }
}

fn report(outcome: &Outcome) {
    let bytes = |bits| outcome.weights * bits / 8;
    println!(
        "test accuracy, %\n{:>6}{:>8}{:>18}{:>20}",
        "bits", "bytes", "rounded after", "straight through"
    );
    for (bits, (rounded, trained)) in (1..).zip(&outcome.by_bits) {
        println!("{bits:>6}{:>8}{rounded:>18.2}{trained:>20.2}", bytes(bits));
    }
    println!("{:>6}{:>8}{:>18.2}\n", 32, bytes(32), outcome.full);
}

fn accuracies(outcome: &Outcome) -> Panel {
    let bits = || (1..=outcome.by_bits.len()).map(|bits| bits as f64);
    let both = || bits().zip(&outcome.by_bits);
    Panel {
        title: "test accuracy, %".to_owned(),
        x: "bits of a weight",
        y: "",
        logarithmic: false,
        curves: vec![
            Curve::line(
                "32 bits",
                BLACK,
                bits().map(|bits| (bits, outcome.full)).collect(),
            ),
            Curve::line(
                "rounded after",
                RED,
                both().map(|(bits, pair)| (bits, pair.0)).collect(),
            ),
            Curve::line(
                "straight through",
                BLUE,
                both().map(|(bits, pair)| (bits, pair.1)).collect(),
            ),
        ],
    }
}

fn losses(outcome: &Outcome) -> Panel {
    let colors = [BLACK, RED, MAGENTA, BLUE, GREEN, CYAN];
    let curves = outcome.losses.iter().zip(colors).enumerate();
    let curves = curves.map(|(bits, (losses, color))| {
        let name = if bits == 0 {
            "32 bits".to_owned()
        } else {
            format!("{bits} bit{}", if bits == 1 { "" } else { "s" })
        };
        by_epoch(&name, color, losses)
    });
    Panel {
        title: "training loss".to_owned(),
        x: "epoch",
        y: "",
        logarithmic: true,
        curves: curves.collect(),
    }
}
