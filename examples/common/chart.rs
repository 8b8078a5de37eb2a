//! Draws panels of curves in an SVG file.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::program;

/// The width and height of a panel in pixels.
const SIZE: (usize, usize) = (460, 340);

/// One picture of several: curves over the same axes.
pub struct Panel {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    /// Whether the vertical axis is logarithmic; numbers that are not positive are left out.
    pub logarithmic: bool,
    pub curves: Vec<Curve>,
}

/// Points that belong together. Without a name it is not in the legend.
pub struct Curve {
    pub name: String,
    pub color: RGBColor,
    pub dots: bool,
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    pub fn line(name: &str, color: RGBColor, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            color,
            dots: false,
            points,
        }
    }
}

/// Draws panels row by row, and prints the file's path.
pub fn draw(path: &Path, columns: usize, panels: &[Panel]) -> Result<(), Box<dyn Error>> {
    program::make_folder_of(path)?;
    let rows = panels.len().div_ceil(columns);
    let size = (
        u32::try_from(SIZE.0 * columns)?,
        u32::try_from(SIZE.1 * rows)?,
    );
    let canvas = SVGBackend::new(path, size).into_drawing_area();
    canvas.fill(&WHITE)?;
    for (area, panel) in canvas.split_evenly((rows, columns)).iter().zip(panels) {
        draw_panel(area, panel)?;
    }
    canvas
        .present()
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("picture: {}", path.display());
    Ok(())
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Panel,
) -> Result<(), Box<dyn Error>> {
    let curves: Vec<Vec<(f64, f64)>> = panel.curves.iter().map(|c| placed(panel, c)).collect();
    let all = || curves.iter().flatten();
    let (left, right) = range(all().map(|point| point.0), 0.0);
    let (low, high) = range(all().map(|point| point.1), 0.05);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 17))
        .margin(10)
        .margin_right(22)
        .x_label_area_size(34)
        .y_label_area_size(58)
        .build_cartesian_2d(left..right, low..high)?;
    let power = |y: &f64| format!("{:.0e}", 10.0_f64.powf(*y));
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(panel.x).y_desc(panel.y).light_line_style(WHITE);
    if panel.logarithmic {
        mesh.y_label_formatter(&power);
    }
    mesh.draw()?;
    for (curve, points) in panel.curves.iter().zip(curves) {
        let style = curve.color.stroke_width(2);
        let series = if curve.dots {
            let dots = points
                .iter()
                .map(|&at| Circle::new(at, 3, curve.color.filled()));
            chart.draw_series(dots)?
        } else {
            chart.draw_series(LineSeries::new(points, style))?
        };
        if !curve.name.is_empty() {
            series
                .label(&curve.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        }
    }
    if panel.curves.iter().any(|curve| !curve.name.is_empty()) {
        let mut legend = chart.configure_series_labels();
        legend.background_style(WHITE.mix(0.6)).draw()?;
    }
    Ok(())
}

/// Returns a curve's points on the panel's axes.
fn placed(panel: &Panel, curve: &Curve) -> Vec<(f64, f64)> {
    let points = curve.points.iter().copied();
    if panel.logarithmic {
        let positive = points.filter(|&(_, y)| y > 0.0);
        positive.map(|(x, y)| (x, y.log10())).collect()
    } else {
        points.collect()
    }
}

/// Returns the range of the values, with a margin on both sides.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low > high {
        return (0.0, 1.0);
    }
    let margin = margin * (high - low);
    if high - low > 0.0 {
        (low - margin, high + margin)
    } else {
        (low - 0.5, high + 0.5)
    }
}
