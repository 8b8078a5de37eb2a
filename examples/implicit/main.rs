//! Finds the roughness of the pipes of a water network from heads measured at its junctions.
//!
//! The heads are an equilibrium: Newton's method finds those at which every junction receives its
//! demand. `functions.rs` makes that a custom function. Its backward solves one linear system instead of
//! going back through Newton's steps. The program compares both ways. Then it fits the roughness with
//! gradients and Hessians, and compares it with the truth.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a program has no public items"
)]

#[path = "../common/chart.rs"]
mod chart;
mod compare;
mod fit;
mod functions;
mod network;
#[path = "../common/norm.rs"]
mod norm;
#[path = "../common/program.rs"]
mod program;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use chart::{Curve, Panel};
use fit::{Fit, Problem};
use network::Network;
use plotters::style::{BLACK, BLUE, RED};
use program::{Arguments, below};
use pullback::nn::Generator;

const USAGE: &str = "\
Usage: cargo run --release --example implicit [-- OPTIONS]

  --side N       junctions along a side of the town, 2 to 6 (default 5)
  --hours N      hours at which all heads are measured, 6 to 100 (default 24)
  --noise M      standard deviation of a measurement in meters, up to 0.05 (default 0.005)
  --seed N       the seed of pipes, demands and noise (default 1)
  --svg FILE     where to draw (default target/implicit.svg)";

fn main() -> ExitCode {
    program::run("implicit", USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let side = arguments.take_within("side", 5, 2..=6)?;
    let hours = arguments.take_within("hours", 24, 6..=100)?;
    let noise = arguments.take_within("noise", 0.005, 1e-4..=0.05)?;
    let seed = arguments.take("seed", 1)?;
    let svg = arguments.take("svg", PathBuf::from("target/implicit.svg"))?;
    arguments.finish()?;

    let mut random = Generator::seed(seed);
    let town = Network::town(side, &mut random);
    println!(
        "{} junctions, {} pipes, {hours} hours",
        town.junctions(),
        town.pipes()
    );
    let problem = Problem::simulate(town, hours, noise, &mut random)?;

    let difference = compare::both_ways(&problem)?;
    below(
        "gradients of both ways, relative difference",
        difference,
        1e-9,
    )?;

    let fit = problem.fit()?;
    let (first, last) = (fit.losses[0], fit.losses[fit.losses.len() - 1]);
    println!(
        "loss from {first:.1} to {last:.1} in {} steps",
        fit.losses.len() - 1
    );
    let panels = [compare::by_steps(&problem)?, recovered(&problem, &fit)];
    chart::draw(&svg, 2, &panels)?;
    // The error of a mean grows with the noise and falls with the root of the number of measurements. In a
    // larger town, less water flows through each pipe.
    let bound = 0.02 + 3.0 * noise * side as f64 * (24.0 / hours as f64).sqrt();
    report(&problem, &fit, bound)
}

fn report(problem: &Problem, fit: &Fit, bound: f64) -> Result<(), Box<dyn Error>> {
    let error = &fit.log_roughness - &problem.truth;
    let scaled = rms((&error / &fit.deviation).iter());
    below("error in its own standard deviations, rms", scaled, 1.6)?;
    let relative = rms(error.mapv(f64::exp_m1).iter());
    below("recovered roughness, relative error, rms", relative, bound)?;
    Ok(())
}

fn rms<'a>(values: impl ExactSizeIterator<Item = &'a f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(|value| value * value).sum::<f64>() / count).sqrt()
}

/// Returns a panel with the roughness that was found, with a bar of two standard deviations, beside the truth.
fn recovered(problem: &Problem, fit: &Fit) -> Panel {
    let truth = || problem.truth.iter().map(|x| x.exp());
    let found = truth().zip(fit.log_roughness.iter().map(|x| x.exp()));
    let bars = truth().zip(fit.log_roughness.iter().zip(&fit.deviation));
    let mut curves = vec![Curve::line("", BLACK, vec![(65.0, 65.0), (145.0, 145.0)])];
    curves.extend(bars.map(|(at, (middle, deviation))| {
        let bar = [-2.0, 2.0].map(|times| (at, (middle + times * deviation).exp()));
        Curve::line("", BLUE, bar.to_vec())
    }));
    curves.push(Curve {
        dots: true,
        ..Curve::line("", RED, found.collect())
    });
    Panel {
        title: "roughness C of each pipe".to_owned(),
        x: "truth",
        y: "found",
        logarithmic: false,
        curves,
    }
}
