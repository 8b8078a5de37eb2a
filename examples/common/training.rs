//! The common parts of training loops: shuffled batches, a progress bar, accuracy, curves.

use indicatif::{ProgressBar, ProgressStyle};
use plotters::style::RGBColor;
use pullback::ndarray::Array1;
use pullback::nn::Generator;
use rand::seq::SliceRandom;

use crate::chart::Curve;

/// Returns the numbers below `count` in a new order, in batches of `size`. The last may be smaller.
pub fn batches(count: usize, size: usize, random: &mut Generator) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(random);
    order.chunks(size).map(<[usize]>::to_vec).collect()
}

/// Returns a progress bar that is full after `steps`. Without a terminal it is not shown.
pub fn bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len}, {eta} left {msg}");
    // INVARIANT: the template has the crate's own keys.
    ProgressBar::new(steps).with_style(style.expect("a right template"))
}

/// Returns the share of right answers.
pub fn accuracy(found: &Array1<usize>, labels: &[usize]) -> f64 {
    let both = found.iter().zip(labels);
    both.filter(|(found, label)| found == label).count() as f64 / labels.len() as f64
}

/// Returns a line through the values of the epochs 1, 2, ….
pub fn by_epoch(name: &str, color: RGBColor, values: &[f64]) -> Curve {
    let epochs = (1..).map(f64::from);
    Curve::line(name, color, epochs.zip(values.iter().copied()).collect())
}
