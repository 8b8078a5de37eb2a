//! The picture that explains what was observed, and has few edges.

use pullback::ndarray::{Array1, Array2, s};
use pullback::prelude::*;

use crate::functions::Heat;
use crate::lbfgs::{Minimum, minimise};
use crate::plate::Plate;

/// The slope below which an edge counts as none, so that the penalty is smooth.
const ROUNDING: f64 = 0.01;

/// An observation after the plate's steps.
pub struct Observation {
    pub plate: Plate,
    pub after: Tensor2<f64>,
    /// Standard deviation of each of its numbers.
    pub noise: f64,
    /// What an edge of height 1 costs for each cell of its length, in logarithms of probability.
    pub edges: f64,
}

impl Observation {
    /// Minus the logarithm of the probability of a picture, up to a constant.
    pub fn loss(&self, before: &Tensor2<f64>) -> Tensor0<f64> {
        let misfit = (Heat::apply(before, &self.plate) - &self.after) / self.noise;
        misfit.square().sum() * 0.5 + total_variation(before) * self.edges
    }

    /// The most probable picture.
    pub fn reconstruct(
        &self,
        steps: usize,
        tolerance: f64,
    ) -> Result<(Array2<f64>, Minimum), pullback::Error> {
        let shape = self.after.view().raw_dim();
        let start: Array1<f64> = self.after.to_array().into_iter().collect();
        let minimum = minimise(start, steps, tolerance, |at| {
            let at = Tensor::from(at).reshape(shape).set_requires_grad(true);
            let loss = self.loss(&at);
            let (gradient,) = grad(&loss, (&at,))?;
            let gradient = gradient.reshape(at.len()).into_array();
            Ok::<_, pullback::Error>((loss.item(), gradient))
        })?;
        let found = Tensor::from(minimum.at.view()).reshape(shape).into_array();
        Ok((found, minimum))
    }
}

/// The length of a picture's edges times their heights (Rudin, Osher and Fatemi, 1992), rounded where the
/// picture is flat. Cells of the last row and column have one neighbour less to differ from.
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
        let (found, minimum) = observation.reconstruct(2000, 1e-9).unwrap();
        assert!(minimum.converged, "{:?}", minimum.values.last());
        for ((i, j), temperature) in found.indexed_iter() {
            let expected = f64::from(u8::from(i + j > 3));
            assert!((temperature - expected).abs() < 1e-2, "{found}");
        }
    }
}
