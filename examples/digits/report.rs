//! What was learnt: in the terminal and as curves.

use std::error::Error;
use std::fs;
use std::path::Path;

use plotters::prelude::*;

use crate::data::CLASSES;

/// One pass over the training images.
pub struct Epoch {
    pub loss: f32,
    pub training: f32,
    pub test: f32,
}

/// The share of predictions that are right.
pub fn accuracy(predictions: &[usize], labels: &[usize]) -> f32 {
    let right = predictions
        .iter()
        .zip(labels)
        .filter(|(a, b)| a == b)
        .count();
    right as f32 / labels.len() as f32
}

/// Prints how often each digit was taken for which.
pub fn confusion(predictions: &[usize], labels: &[usize]) {
    let mut counts = [[0_usize; CLASSES]; CLASSES];
    for (&prediction, &label) in predictions.iter().zip(labels) {
        counts[label][prediction] += 1;
    }
    let digits: Vec<String> = (0..CLASSES).map(|digit| format!("{digit:>5}")).collect();
    let digits = digits.concat();
    println!("\n{:>14}\n digit{digits}", "taken for");
    for (digit, row) in counts.iter().enumerate() {
        let cells = row.iter().map(|&count| match count {
            0 => format!("{:>5}", "."),
            _ => format!("{count:>5}"),
        });
        println!("{digit:>6}{}", cells.collect::<String>());
    }
    println!();
}

/// Draws loss and accuracy over the epochs, one above the other.
pub fn draw(history: &[Epoch], path: &Path) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let losses: Vec<f32> = history.iter().map(|epoch| epoch.loss).collect();
    let training: Vec<f32> = history.iter().map(|epoch| 100.0 * epoch.training).collect();
    let test: Vec<f32> = history.iter().map(|epoch| 100.0 * epoch.test).collect();

    let canvas = SVGBackend::new(path, (800, 700)).into_drawing_area();
    canvas.fill(&WHITE)?;
    let (upper, lower) = canvas.split_vertically(350);
    curves(&upper, "training loss", &[("training", BLUE, &losses)])?;
    let accuracies: [Curve<'_>; 2] = [("training", BLUE, &training), ("test", RED, &test)];
    curves(&lower, "accuracy, %", &accuracies)?;
    canvas
        .present()
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(())
}

/// A curve's name, colour and values.
type Curve<'a> = (&'a str, RGBColor, &'a [f32]);

fn curves(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    curves: &[Curve<'_>],
) -> Result<(), Box<dyn Error>> {
    let values = || {
        curves
            .iter()
            .flat_map(|(_, _, values)| values.iter().copied())
    };
    let (low, high) = values().fold((f32::MAX, f32::MIN), |(a, b), y| (a.min(y), b.max(y)));
    let margin = 0.05 * (high - low).max(1e-3);
    let epochs = 1..curves
        .iter()
        .map(|(_, _, values)| values.len())
        .max()
        .unwrap_or(1)
        .max(2);

    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(epochs, low - margin..high + margin)?;
    chart
        .configure_mesh()
        .x_desc("epoch")
        .light_line_style(WHITE)
        .draw()?;
    for &(name, colour, values) in curves {
        let points = (1..).zip(values.iter().copied());
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .border_style(BLACK)
        .background_style(WHITE)
        .draw()?;
    Ok(())
}
