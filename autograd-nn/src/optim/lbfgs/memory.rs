//! The curvature, estimated from the last steps.

use std::collections::VecDeque;

use autograd_kernels::{dot_slices, zip_in_place};

/// The state between steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Memory {
    /// The number of iterations.
    pub(super) iterations: u64,
    /// The last iteration's direction, how far along it the parameters went, and the gradient before.
    pub(super) direction: Vec<f64>,
    pub(super) length: f64,
    pub(super) gradient: Vec<f64>,
    /// The latest is last.
    pub(super) pairs: VecDeque<Pair>,
    /// The inverse of the curvature where the pairs give no information.
    pub(super) scale: f64,
}

/// A step, and how it changed the gradient.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) step: Vec<f64>,
    pub(super) change: Vec<f64>,
}

impl Pair {
    /// Of the direction in which the step was made.
    fn curvature(&self) -> f64 {
        dot_slices(&self.change, &self.step)
    }
}

impl Memory {
    /// Adds the last step and returns the next direction for this gradient: two loops
    /// over the pairs, Algorithm 7.4 in Nocedal and Wright, *Numerical Optimization* (2006).
    pub(super) fn next_direction(&mut self, gradient: &[f64], history: usize) {
        self.iterations += 1;
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        if self.iterations == 1 {
            self.scale = 1.0;
        } else {
            self.note_last_step(gradient, history);
            let mut shares = Vec::with_capacity(self.pairs.len());
            for pair in self.pairs.iter().rev() {
                let share = dot_slices(&pair.step, &q) / pair.curvature();
                add(&mut q, -share, &pair.change);
                shares.push(share);
            }
            for q in &mut q {
                *q *= self.scale;
            }
            for (pair, share) in self.pairs.iter().zip(shares.into_iter().rev()) {
                let other = dot_slices(&pair.change, &q) / pair.curvature();
                add(&mut q, share - other, &pair.step);
            }
        }
        self.direction = q;
        self.gradient = gradient.to_vec();
    }

    fn note_last_step(&mut self, gradient: &[f64], history: usize) {
        let before = gradient.iter().zip(&self.gradient);
        let pair = Pair {
            step: self.direction.iter().map(|d| d * self.length).collect(),
            change: before.map(|(now, before)| now - before).collect(),
        };
        let curvature = pair.curvature();
        // As in PyTorch, a step without curvature gives no information.
        if curvature > 1e-10 {
            if self.pairs.len() == history {
                self.pairs.pop_front();
            }
            self.scale = curvature / dot_slices(&pair.change, &pair.change);
            self.pairs.push_back(pair);
        }
    }
}

/// x + factor · y, in the place of x.
pub(super) fn add(x: &mut [f64], factor: f64, y: &[f64]) {
    zip_in_place(x, y, move |x, y| x + factor * y);
}
