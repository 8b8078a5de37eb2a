//! Trains a perceptron with two hidden layers on the UCI handwritten digits, 1,797 images of 8x8
//! pixels. Its linear layer, its ReLU and its loss are custom functions: see `functions.rs`.
//!
//! ```text
//! cargo run --release --example digits [-- OPTIONS]
//!
//!   --csv FILE     train on this file instead: 64 pixels and a label (0 to 9) in each row
//!   --seed N       the seed of split, weights and order (default 1)
//!   --epochs N     passes over the training images (default 60)
//!   --svg FILE     where to draw the curves (default target/digits.svg)
//! ```

#![allow(
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    reason = "a program has no public items"
)]

mod data;
mod functions;
mod model;
mod options;
mod report;
mod train;

use std::error::Error;
use std::process::ExitCode;

use options::Options;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .iter()
        .any(|argument| argument == "--help" || argument == "-h")
    {
        println!("{}", options::USAGE);
        return ExitCode::SUCCESS;
    }
    match Options::parse(&arguments)
        .map_err(Into::into)
        .and_then(|options| run(&options))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digits: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    functions::check()?;
    println!("gradcheck of Linear, Relu and SoftmaxCrossEntropy: right");

    let images = match &options.csv {
        Some(path) => data::read_csv(path)?,
        None => data::bundled(),
    };
    let (training, test) =
        data::split(&images, options.seed).map_err(|error| match &options.csv {
            Some(path) => format!("{}: {error}", path.display()),
            None => error,
        })?;
    println!(
        "{} images to train on, {} to test on",
        training.len(),
        test.len()
    );

    let (model, history) = train::train(&training, &test, options)?;
    let predictions = model.predict(&test.pixels);
    report::confusion(&predictions, &test.labels);
    let accuracy = report::accuracy(&predictions, &test.labels);
    println!(
        "test accuracy: {:.2} % (seed {})",
        100.0 * accuracy,
        options.seed
    );
    report::draw(&history, &options.svg)?;
    println!("curves of loss and accuracy: {}", options.svg.display());
    Ok(())
}
