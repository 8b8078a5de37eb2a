//! Finds the picture that explains the observation and has few edges.

use lbfgs::Lbfgs;
use pullback::ndarray::{Array2, ArrayView, s};
use pullback::prelude::*;

use crate::functions::Heat;
use crate::norm::largest;
use crate::plate::Plate;

/// Slopes below this do not count as edges, so that the penalty is smooth.
const ROUNDING: f64 = 0.01;
/// The largest number of steps of L-BFGS.
const MOST_STEPS: usize = 3000;
/// The number of past steps from which L-BFGS estimates the curvature.
const HISTORY: usize = 12;
/// The decrease of the loss that ends a line search, relative to that of a linear function.
const DECREASE: f64 = 1e-4;
/// The shortest step of a line search; shorter ones change the loss by rounding only.
const SHORTEST: f64 = 1e-9;

/// An observation after the plate's steps.
pub struct Observation {
    pub plate: Plate,
    pub after: Tensor2<f64>,
    /// The standard deviation of the noise in each cell.
    pub noise: f64,
    /// The cost of an edge of height 1 for each cell of its length, in logarithms of probability.
    pub edges: f64,
}

/// The result of a search.
pub struct Minimum {
    pub picture: Array2<f64>,
    /// The loss of each picture that was tried.
    pub losses: Vec<f64>,
    pub converged: bool,
}

impl Observation {
    /// Returns minus the logarithm of the probability of a picture, up to a constant.
    pub fn loss(&self, before: &Tensor2<f64>) -> Tensor0<f64> {
        let misfit = (Heat::apply(before, &self.plate) - &self.after) / self.noise;
        misfit.square().sum() * 0.5 + total_variation(before) * self.edges
    }

    /// Finds the most probable picture by L-BFGS. If it converges, no element of the gradient is above `flat` times
    /// the largest at the start.
    pub fn reconstruct(&self, flat: f64) -> Result<Minimum, pullback::Error> {
        let mut cells: Vec<f64> = self.after.view().iter().copied().collect();
        let (mut loss, mut slope) = self.loss_and_gradient(&cells)?;
        let enough = flat * largest(&slope);
        let mut losses = vec![loss];
        let mut curvature = Lbfgs::new(cells.len(), HISTORY);
        for step in 0..MOST_STEPS {
            if largest(&slope) <= enough {
                break;
            }
            curvature.update_hessian(&slope, &cells);
            let mut direction = slope.clone();
            curvature.apply_hessian(&mut direction);
            let descent: f64 = direction.iter().zip(&slope).map(|(d, g)| d * g).sum();
            // Without an estimate of the curvature, the first step is scaled to change no cell by more than 1.
            let mut length = if step == 0 {
                1.0 / largest(&slope)
            } else {
                1.0
            };
            loop {
                let next = cells.iter().zip(&direction).map(|(x, d)| x - length * d);
                let next: Vec<f64> = next.collect();
                let (next_loss, next_slope) = self.loss_and_gradient(&next)?;
                losses.push(next_loss);
                if next_loss <= loss - DECREASE * length * descent || length < SHORTEST {
                    (cells, loss, slope) = (next, next_loss, next_slope);
                    break;
                }
                length /= 2.0;
            }
        }
        Ok(Minimum {
            converged: largest(&slope) <= enough,
            picture: self.picture(&cells),
            losses,
        })
    }

    fn picture(&self, cells: &[f64]) -> Array2<f64> {
        // INVARIANT: the search does not change the number of cells.
        ArrayView::from_shape(self.after.view().raw_dim(), cells)
            .expect("a number for each cell")
            .to_owned()
    }

    fn loss_and_gradient(&self, cells: &[f64]) -> Result<(f64, Vec<f64>), pullback::Error> {
        let picture = Tensor::from(self.picture(cells)).set_requires_grad(true);
        let loss = self.loss(&picture);
        let (gradient,) = grad(&loss, (&picture,))?;
        Ok((loss.item(), gradient.view().iter().copied().collect()))
    }
}

/// Returns the length of a picture's edges times their heights (Rudin, Osher and Fatemi, 1992), rounded
/// where the picture is flat. Cells of the last row and column have one neighbor less to differ from.
fn total_variation(picture: &Tensor2<f64>) -> Tensor0<f64> {
    let right = picture.slice(s![.., 1..]) - picture.slice(s![.., ..-1]);
    let down = picture.slice(s![1.., ..]) - picture.slice(s![..-1, ..]);
    let (right, down) = (right.square() + ROUNDING * ROUNDING, down.square());
    let both = right.slice(s![..-1, ..]) + down.slice(s![.., ..-1]);
    let last_row = right.slice(s![-1, ..]);
    let last_column = down.slice(s![.., -1]) + ROUNDING * ROUNDING;
    both.sqrt().sum() + last_row.sqrt().sum() + last_column.sqrt().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Language;
    use crate::plate::small;

    fn observation() -> Observation {
        let picture = Array2::from_shape_fn((3, 4), |(i, j)| f64::from(u8::from(i + j > 3)));
        let plate = small(Language::C);
        let after = Tensor::from(plate.heat(&picture.view()));
        Observation {
            plate,
            after,
            noise: 1e-3,
            edges: 1e-3,
        }
    }

    #[test]
    fn the_loss_has_the_gradient_and_the_curvature_that_it_should() {
        let at = Array2::from_shape_fn((3, 4), |(i, j)| (3.1 * i as f64 + 1.7 * j as f64).sin());
        let at = Tensor::from(at).set_requires_grad(true);
        let observation = Observation {
            noise: 1.0,
            edges: 0.3,
            ..observation()
        };
        Gradcheck::new()
            .second_order()
            .run(|(x,)| observation.loss(x), (&at,))
            .unwrap();
    }

    #[test]
    fn without_noise_the_picture_is_found() {
        let observation = observation();
        let minimum = observation.reconstruct(1e-9).unwrap();
        let found = &minimum.picture;
        assert!(minimum.converged, "{:?}", minimum.losses.last());
        for ((i, j), temperature) in found.indexed_iter() {
            let expected = f64::from(u8::from(i + j > 3));
            assert!((temperature - expected).abs() < 1e-2, "{found}");
        }
    }
}
