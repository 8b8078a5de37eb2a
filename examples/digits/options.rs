//! What can be said on the command line.

use std::path::PathBuf;

pub const USAGE: &str = "\
Trains a perceptron on handwritten digits.

Usage: cargo run --release --example digits [-- OPTIONS]

  --csv FILE     train on this file instead: 64 pixels and a label (0 to 9) in each row
  --seed N       the seed of split, weights and order (default 1)
  --epochs N     passes over the training images (default 60)
  --svg FILE     where to draw the curves (default target/digits.svg)";

pub struct Options {
    pub csv: Option<PathBuf>,
    pub seed: u64,
    pub epochs: usize,
    pub svg: PathBuf,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            csv: None,
            seed: 1,
            epochs: 60,
            svg: PathBuf::from("target/digits.svg"),
        };
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| format!("{name} needs a value"))
            };
            match name.as_str() {
                "--csv" => options.csv = Some(PathBuf::from(value()?)),
                "--svg" => options.svg = PathBuf::from(value()?),
                "--seed" => options.seed = number(name, value()?)?,
                "--epochs" => options.epochs = number(name, value()?)?,
                _ => return Err(format!("unknown option {name}\n\n{USAGE}")),
            }
        }
        if options.epochs == 0 {
            return Err("--epochs must be at least 1".to_owned());
        }
        Ok(options)
    }
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, String> {
    value
        .parse()
        .map_err(|_| format!("{name} needs a whole number, found `{value}`"))
}
