//! The fast check: the Jacobian along one direction of each input, weighted over each output. This is a number for each
//! pair of an input and an output, from two calls of the function for each input and a backward pass for each output.
//!
//! # Note [Noise]
//! The numbers must agree as closely as central differences are exact, which is much closer than the tolerances: one
//! wrong entry must be visible among many right ones. A disagreement is not an error yet: the entries are then compared
//! one by one, and the tolerances decide.

use super::check::{CHANGED, Check, Mode};
use crate::erased::AnyTensor;
use crate::error::Error;
use crate::thread::no_grad;

impl Check<'_> {
    /// Returns whether the derivatives along one direction of each input agree with central differences.
    #[inline]
    pub(super) fn agrees(&self, mode: Mode) -> Result<bool, Error> {
        let gradients = match mode {
            Mode::Backward => self.weighted_gradients()?,
            Mode::Forward => Vec::new(),
        };
        for input in 0..self.inputs.len() {
            let moved = Moved::new(self, input);
            let numerical = moved.differences(self)?;
            let analytical: Vec<f64> = match mode {
                Mode::Backward => {
                    let direction = moved.direction.values();
                    let along = |grad: &AnyTensor| dot(&grad.values(), &direction);
                    let rows = gradients.iter();
                    rows.map(|row| row[input].as_ref().map_or(0.0, along))
                        .collect()
                }
                Mode::Forward => {
                    let tangents = self.tangents(input, moved.direction)?;
                    let weighted = |(place, tangent): (usize, &AnyTensor)| {
                        dot(&tangent.values(), &weights(tangent, place).values())
                    };
                    tangents.iter().enumerate().map(weighted).collect()
                }
            };
            let mut pairs = numerical.iter().zip(analytical);
            if !pairs.all(|(numerical, analytical)| numerical.is_near(analytical)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns, for each output, the gradients of the inputs when the output's gradient is its weights and the other
    /// outputs have none.
    #[inline]
    fn weighted_gradients(&self) -> Result<Vec<Vec<Option<AnyTensor>>>, Error> {
        let outputs = &self.recorded.outputs;
        let gradients = outputs.iter().enumerate().map(|(place, output)| {
            let mut seeds = vec![None; outputs.len()];
            seeds[place] = Some(weights(output, place));
            self.recorded.vjp(seeds, false)
        });
        gradients.collect()
    }
}

/// Returns the weights of an output's entries.
#[inline]
fn weights(output: &AnyTensor, place: usize) -> AnyTensor {
    output.direction(seed(2 * place + 1))
}

/// Returns the seed of an output's weights: no input's direction has it.
#[inline]
fn seed(place: usize) -> u32 {
    // INVARIANT: there are no more than a few inputs and outputs.
    u32::try_from(place).expect("the place of an input or output")
}

#[inline]
fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[inline]
fn length(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// A weighted difference, and the bound of its error.
struct Difference {
    value: f64,
    noise: f64,
}

impl Difference {
    /// Returns the difference between an output at both ends of a move of an input.
    #[inline]
    fn new(above: &AnyTensor, below: &AnyTensor, place: usize, moved: &Moved) -> Self {
        let rounding = match above {
            AnyTensor::F32(_) => f64::from(f32::EPSILON),
            AnyTensor::F64(_) => f64::EPSILON,
        };
        let weights = weights(above, place).values();
        let weighted = |of: &AnyTensor| -> Vec<f64> {
            let pairs = of.values().into_iter().zip(&weights);
            pairs.map(|(value, weight)| value * weight).collect()
        };
        let (above, below) = (weighted(above), weighted(below));
        let pairs = above.iter().zip(&below);
        let changes: Vec<f64> = pairs.map(|(above, below)| above - below).collect();
        let total: f64 = changes.iter().map(|change| change.abs()).sum();
        // Of the difference, the third derivative is neglected; and each value is rounded, in steps that
        // are as often up as down.
        let neglected = 1e3 * moved.eps * moved.eps * total;
        let rounded = 16.0 * rounding * (length(&above) + length(&below));
        let per_step = 0.5 / moved.step;
        Self {
            value: changes.iter().sum::<f64>() * per_step,
            noise: (neglected + rounded) * per_step,
        }
    }

    /// Returns whether a derivative is within the bound; NaN never is.
    #[inline]
    fn is_near(&self, analytical: f64) -> bool {
        (analytical - self.value).abs() <= self.noise
    }
}

/// An input moved to both sides along its direction.
struct Moved {
    input: usize,
    above: AnyTensor,
    below: AnyTensor,
    /// The direction of the move, for a step of 1.
    direction: AnyTensor,
    step: f64,
    eps: f64,
}

impl Moved {
    #[inline]
    fn new(check: &Check<'_>, input: usize) -> Self {
        let eps = check.tolerances.eps;
        let center = &check.inputs[input];
        let direction = center.direction(seed(2 * input));
        // However many entries there are, the input moves by `eps`.
        let step = eps / length(&direction.values()).max(1.0);
        let above = center.moved(&direction, step);
        let below = center.moved(&direction, -step);
        // What was moved is what `f32` made of it.
        let between = above.moved(&below, -1.0);
        let direction = center.zeros().moved(&between, 0.5 / step);
        Self {
            input,
            above,
            below,
            direction,
            step,
            eps,
        }
    }

    /// Returns the weighted difference of every output along the direction.
    #[inline]
    fn differences(&self, check: &Check<'_>) -> Result<Vec<Difference>, Error> {
        let at = |moved: &AnyTensor| {
            let mut inputs = check.inputs.clone();
            inputs[self.input] = moved.clone();
            no_grad(|| (check.function)(&inputs))
        };
        let (above, below) = (at(&self.above)?, at(&self.below)?);
        let pairs = above.iter().zip(&below).enumerate();
        let differences = pairs.map(|(place, (above, below))| {
            assert_eq!(above.len(), below.len(), "{CHANGED}");
            Difference::new(above, below, place, self)
        });
        Ok(differences.collect())
    }
}
