//! The scene to find: a hot picture on a plate of two materials.

use pullback::ndarray::Array2;
use pullback::nn::{Generator, init};

use crate::kernels::Language;
use crate::plate::{Plate, Unstable};

/// The time step; a cell of conductivity and capacity 1 allows a quarter.
const LENGTH: f64 = 0.2;

/// Returns a picture with sharp edges, of temperatures from 0 to 1: a disc, a frame and a bar.
pub fn picture(size: usize) -> Array2<f64> {
    Array2::from_shape_fn((size, size), |cell| {
        let (y, x) = place(cell, size);
        let from_middle = (x - 0.68).abs().max((y - 0.3).abs());
        if (x - 0.27).hypot(y - 0.3) < 0.16 {
            1.0
        } else if (0.1..0.18).contains(&from_middle) {
            0.8
        } else if (0.15..0.85).contains(&x) && (0.68..0.8).contains(&y) {
            0.4 + 0.4 * f64::from(x > 0.5)
        } else {
            0.0
        }
    })
}

/// Returns a plate that conducts badly at its right side and has more heat capacity at its lower edge.
pub fn plate(size: usize, steps: usize, language: Language) -> Result<Plate, Unstable> {
    let field = |inside: fn(f64, f64) -> bool, there: f64| {
        Array2::from_shape_fn((size, size), |cell| {
            let (y, x) = place(cell, size);
            if inside(x, y) { there } else { 1.0 }
        })
    };
    let conductivity = field(|x, _| x > 0.75, 0.4);
    let capacity = field(|_, y| y > 0.6, 1.6);
    Plate::new(
        &conductivity.view(),
        &capacity.view(),
        steps,
        LENGTH,
        language,
    )
}

/// Returns a picture of normally distributed numbers.
pub fn noise(size: usize, random: &mut Generator) -> Array2<f64> {
    init::normal((size, size), 0.0, 1.0, random)
}

/// Returns the center of a cell, in units of the plate's side, downwards and to the right.
fn place((row, column): (usize, usize), size: usize) -> (f64, f64) {
    let middle = |cell: usize| (cell as f64 + 0.5) / size as f64;
    (middle(row), middle(column))
}
