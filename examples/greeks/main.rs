//! Computes prices of options and their sensitivities, the Greeks, by gradients of gradients.
//!
//! The Black–Scholes price is a custom function whose gradients are written on tensors. So gamma, vanna,
//! volga and charm, and the third derivative speed, come from the tape, and are compared with their
//! formulas. Calls on averages have no formulas: they are simulated with all their Greeks, and so are calls on a
//! price with a variance of its own, whose paths are a scan. Implied volatilities are found by Newton's method
//! with the vega from the tape.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a program has no public items"
)]

mod asian;
#[path = "../common/chart.rs"]
mod chart;
mod closed;
mod estimate;
mod functions;
mod heston;
mod implied;
#[path = "../common/norm.rs"]
mod norm;
#[path = "../common/program.rs"]
mod program;
mod sensitivities;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use chart::{Curve, Panel};
use estimate::Estimate;
use functions::Kind;
use norm::largest;
use plotters::style::{BLUE, GREEN, RED};
use program::{Arguments, below};
use pullback::ndarray::Array1;
use pullback::nn::Generator;
use sensitivities::NAMES;

const USAGE: &str = "\
Usage: cargo run --release --example greeks [-- OPTIONS]

  --pairs N      pairs of mirrored paths, 100 to 100000 (default 10000)
  --seed N       the seed of the paths (default 1)
  --svg FILE     where to draw the Greeks against the spot (default target/greeks.svg)";

/// The limit in standard errors: one normal number in 16,000 is further out.
const STANDARD_ERRORS: f64 = 4.0;

fn main() -> ExitCode {
    program::run("greeks", USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let pairs = arguments.take_within("pairs", 10_000, 100..=100_000)?;
    let seed = arguments.take("seed", 1)?;
    let svg = arguments.take("svg", PathBuf::from("target/greeks.svg"))?;
    arguments.finish()?;

    println!("European options: the tape's Greeks against their formulas");
    for (name, error) in NAMES.iter().zip(closed::errors()?) {
        below(&format!("  {name}"), error, 1e-10)?;
    }
    for maturity in closed::MATURITIES {
        let (error, steps) = implied::smile(maturity)?;
        let what = format!("implied volatility, {maturity} years, {steps} steps");
        below(&what, error, 1e-10)?;
    }
    let panels = ["delta", "gamma", "vega", "vanna", "volga", "theta"].map(against_spot);
    let panels = panels.into_iter().collect::<Result<Vec<_>, _>>()?;
    chart::draw(&svg, 3, &panels)?;
    averages(pairs, seed)?;
    moving_variance(pairs, seed)
}

/// Simulates calls where the variance moves and compares them with the integral.
fn moving_variance(pairs: usize, seed: u64) -> Result<(), Box<dyn Error>> {
    let found = heston::simulate(pairs, &mut Generator::seed(seed))?;
    println!("\nCalls with a variance that moves, {pairs} pairs of paths");
    println!(
        "{:>12}{:>13}{:>11}{:>13}",
        "", "simulated", "error", "exact"
    );
    for (name, (estimate, exact)) in ["price"].iter().chain(&heston::NAMES).zip(&found) {
        let Estimate { mean, error } = estimate;
        println!("{name:>12}{mean:>13.6}{error:>11.1e}{exact:>13.6}");
    }
    println!();
    let distances = found.map(|(estimate, exact)| estimate.distance(exact));
    let what = "simulated from exact, in standard errors";
    below(what, largest(&distances), STANDARD_ERRORS)?;
    Ok(())
}

/// Simulates options on averages and compares them with known values.
fn averages(pairs: usize, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Generator::seed(seed);
    let simulation = asian::simulate(pairs, &mut random)?;
    println!("\nCalls on averages, {pairs} pairs of paths");
    println!(
        "{:>8}{:>13}{:>13}{:>11}{:>16}{:>11}",
        "", "geometric", "exact", "error", "arithmetic", "error"
    );
    let rows = NAMES
        .iter()
        .zip(&simulation.geometric)
        .zip(&simulation.arithmetic);
    for ((name, (geometric, exact)), arithmetic) in rows {
        println!(
            "{name:>8}{:>13.6}{exact:>13.6}{:>11.1e}{:>16.6}{:>11.1e}",
            geometric.mean, geometric.error, arithmetic.mean, arithmetic.error
        );
    }
    println!();
    let distances = simulation.geometric.iter();
    let distances: Vec<f64> = distances
        .map(|(estimate, exact)| estimate.distance(*exact))
        .collect();
    let furthest = largest(&distances);
    below(
        "geometric from exact, in standard errors",
        furthest,
        STANDARD_ERRORS,
    )?;
    let plain = asian::plain(20 * pairs, &mut random);
    for ((name, estimate), plain) in NAMES.iter().zip(&simulation.arithmetic).zip(plain) {
        let what = format!("arithmetic {name} from plain simulation, in standard errors");
        below(&what, estimate.apart(plain), STANDARD_ERRORS)?;
    }
    Ok(())
}

/// Returns a panel with a Greek of calls against the spot, for each maturity.
fn against_spot(name: &'static str) -> Result<Panel, pullback::Error> {
    let place = NAMES.iter().position(|other| *other == name);
    // INVARIANT: it is asked for names from that list.
    let place = place.expect("a Greek's name");
    let spots = Array1::linspace(60.0, 150.0, 181);
    let curves = closed::MATURITIES.iter().zip([RED, GREEN, BLUE]);
    let curves = curves.map(|(&maturity, color)| {
        let greeks = closed::greeks(&spots, 0.25, maturity, Kind::Call)?;
        let values = greeks.all[place].to_array();
        let points = spots.iter().copied().zip(values).collect();
        Ok(Curve::line(&format!("{maturity} years"), color, points))
    });
    Ok(Panel {
        title: format!("{name} of a call"),
        x: "spot",
        y: "",
        logarithmic: false,
        curves: curves.collect::<Result<_, _>>()?,
    })
}
