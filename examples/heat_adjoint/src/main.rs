//! Finds the earlier temperatures of a plate from the later ones.
//!
//! A kernel in C spreads the heat. Its adjoint, in C too, computes the gradient: `functions.rs` makes
//! them two custom functions, each the other's gradient. The program checks the adjoint with products.
//! Then L-BFGS finds the picture from an observation with noise, with a penalty on edges.

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a program has no public items"
)]

mod functions;
mod inverse;
mod kernels;
#[path = "../../common/norm.rs"]
mod norm;
mod picture;
mod plate;
#[path = "../../common/program.rs"]
mod program;
mod scene;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use inverse::Observation;
use kernels::Language;
use program::{Arguments, below};
use pullback::ndarray::Array2;
use pullback::nn::Generator;
use pullback::prelude::*;

const USAGE: &str = "\
Usage: cargo run --release -p heat_adjoint [-- OPTIONS]

  --size N       cells along a side, 32 to 128 (default 48)
  --steps N      time steps between the picture and the observation, 1 to 200 (default 15)
  --noise X      standard deviation of the observation, 0.0001 to 0.1 (default 0.01)
  --edges X      the cost of an edge of height 1 for each cell of its length, 0.1 to 1000 (default 4)
  --kernel NAME  the forward kernel, c or cpp (default c)
  --seed N       the seed of the noise (default 1)
  --svg FILE     where to draw (default target/heat_adjoint.svg)";

/// The largest element of the gradient at the end of the search, relative to that at the start.
const FLAT: f64 = 1e-5;

fn main() -> ExitCode {
    program::run("heat_adjoint", USAGE, run)
}

fn run(mut arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let size = arguments.take_within("size", 48, 32..=128)?;
    let steps = arguments.take_within("steps", 15, 1..=200)?;
    let noise = arguments.take_within("noise", 0.01, 1e-4..=0.1)?;
    let edges = arguments.take_within("edges", 4.0, 0.1..=1e3)?;
    let language = arguments.take("kernel", Language::C)?;
    let seed = arguments.take("seed", 1)?;
    let svg = arguments.take("svg", PathBuf::from("target/heat_adjoint.svg"))?;
    arguments.finish()?;

    let mut random = Generator::seed(seed);
    let plate = scene::plate(size, steps, language)?;
    let [u, v] = [0; 2].map(|_| scene::noise(size, &mut random));
    let error = functions::adjoint_error(&plate, &u.view(), &v.view());
    below("adjoint, difference of products", error, 1e-11)?;

    let truth = scene::picture(size);
    let after = plate.heat(&truth.view()) + scene::noise(size, &mut random) * noise;
    let observation = Observation {
        plate,
        after: Tensor::from(after.view()),
        noise,
        edges,
    };
    let begin = Instant::now();
    let minimum = observation.reconstruct(FLAT)?;
    let tried = minimum.losses.len();
    println!(
        "{size} x {size} cells, {steps} steps by the kernel in {language}: loss from {:.1} to {:.1} by {tried} \
         pictures, {:.1} s",
        minimum.losses[0],
        minimum.losses[tried - 1],
        begin.elapsed().as_secs_f64()
    );
    if !minimum.converged {
        return Err("L-BFGS did not converge".into());
    }
    let (blurred, sharp) = (relative(&after, &truth), relative(&minimum.picture, &truth));
    let titled = [
        ("before".to_owned(), &truth),
        (format!("observed, {:.0} % off", 100.0 * blurred), &after),
        (
            format!("found, {:.0} % off", 100.0 * sharp),
            &minimum.picture,
        ),
    ];
    picture::draw(&svg, &titled)?;
    println!("observation, relative error: {blurred:.3}");
    below("found, relative error", sharp, 0.65 * blurred)?;
    Ok(())
}

/// Returns the root of the mean square error, relative to the truth's.
fn relative(field: &Array2<f64>, truth: &Array2<f64>) -> f64 {
    let square = |field: &Array2<f64>| field.iter().map(|x| x * x).sum::<f64>();
    (square(&(field - truth)) / square(truth)).sqrt()
}
