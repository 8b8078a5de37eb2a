//! Draws fields as pictures, side by side in an SVG file.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;
use pullback::ndarray::Array2;

use crate::program;

/// The width of a picture in pixels.
const WIDTH: u32 = 320;
const TITLE: u32 = 28;

/// Draws fields of temperatures from 0, black, to 1, white, each under its title.
pub fn draw(path: &Path, fields: &[(String, &Array2<f64>)]) -> Result<(), Box<dyn Error>> {
    program::make_folder_of(path)?;
    let size = (WIDTH * u32::try_from(fields.len())?, WIDTH + TITLE);
    let canvas = SVGBackend::new(path, size).into_drawing_area();
    canvas.fill(&WHITE)?;
    let areas = canvas.split_evenly((1, fields.len()));
    for (area, (title, field)) in areas.iter().zip(fields) {
        let area = area.titled(title, ("sans-serif", 16))?.margin(0, 8, 8, 8);
        for (area, &temperature) in area.split_evenly(field.dim()).iter().zip(*field) {
            area.fill(&heat(temperature))?;
        }
    }
    canvas
        .present()
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("picture: {}", path.display());
    Ok(())
}

/// Returns a color from black through red and yellow to white.
fn heat(temperature: f64) -> RGBColor {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a byte's range"
    )]
    let third = |from: f64| ((temperature - from) * 3.0 * 255.0).clamp(0.0, 255.0) as u8;
    RGBColor(third(0.0), third(1.0 / 3.0), third(2.0 / 3.0))
}
