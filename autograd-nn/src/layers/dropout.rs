//! Dropout of random elements in training.

use rand_core::Rng;

use autograd_core::ndarray::Dimension;
use autograd_core::{Element, Tensor};

use crate::forward::Forward;
use crate::mode::Mode;
use crate::module::Module;
use crate::rng_state::RngState;

/// In training, multiplies each element by 0 with probability `p`, and by 1 / (1 − p) otherwise; in evaluation,
/// returns the input (Srivastava and others, 2014).
///
/// The dropped elements are determined by the layer's seed and by the number of its calls in training, so a run can
/// be repeated exactly, also with threads, if each has its own layer. Seed and number are not part of the
/// `state_dict`, whose names are PyTorch's, but of a [checkpoint](crate::nn::save_checkpoint), from which training
/// continues bit for bit.
///
/// When [`checkpoint`](autograd_core::checkpoint()) recomputes a call, it drops the same elements and is not counted.
///
/// ```
/// use pullback::ndarray::Array1;
/// use pullback::nn::{Dropout, Generator};
/// use pullback::prelude::*;
///
/// let mut dropout = Dropout::new(0.5, &mut Generator::seed(7));
/// let x = Tensor::from(Array1::<f32>::ones(1000));
/// let (first, second) = (dropout.forward(&x).to_array(), dropout.forward(&x).to_array());
/// assert!(first.iter().all(|&y| y == 0.0 || y == 2.0));
/// assert_ne!(first, second);
/// dropout.eval();
/// assert_eq!(dropout.forward(&x).to_array(), x.to_array());
/// ```
#[derive(Debug, Module)]
pub struct Dropout {
    /// In training, elements are dropped.
    pub mode: Mode,
    #[module(skip, show)]
    p: f64,
    /// The seed of each call, which determines the dropped elements.
    pub seeds: RngState,
}

impl Dropout {
    /// Creates a layer with a seed that the generator draws.
    ///
    /// # Panics
    /// If `p` is not between 0 and 1.
    #[track_caller]
    pub fn new(p: f64, generator: &mut impl Rng) -> Self {
        Self::seeded(p, generator.next_u64())
    }

    /// Creates a layer with this seed, which no other layer of the model should have.
    ///
    /// # Panics
    /// If `p` is not between 0 and 1.
    #[track_caller]
    pub fn seeded(p: f64, seed: u64) -> Self {
        assert!(
            (0.0..=1.0).contains(&p),
            "Dropout with the probability {p}: it must be between 0 and 1"
        );
        Self {
            mode: Mode::default(),
            p,
            seeds: RngState::new(seed),
        }
    }

    /// Returns the number of calls in training.
    pub fn calls(&self) -> u64 {
        self.seeds.calls()
    }

    /// Sets the number of calls in training.
    ///
    /// ```
    /// use pullback::ndarray::Array1;
    /// use pullback::nn::Dropout;
    /// use pullback::prelude::*;
    ///
    /// let dropout = Dropout::seeded(0.5, 7);
    /// let x = Tensor::from(Array1::<f32>::ones(100));
    /// let first = dropout.forward(&x);
    /// dropout.set_calls(0);
    /// assert_eq!(dropout.forward(&x).to_array(), first.to_array());
    /// ```
    pub fn set_calls(&self, calls: u64) {
        self.seeds.set_calls(calls);
    }
}

impl<T: Element, D: Dimension> Forward<&Tensor<T, D>> for Dropout {
    type Output = Tensor<T, D>;

    #[track_caller]
    fn forward(&self, input: &Tensor<T, D>) -> Tensor<T, D> {
        if !self.mode.is_training() || self.p == 0.0 {
            return input.clone();
        }
        input.dropout(self.p, self.seeds.draw())
    }
}
