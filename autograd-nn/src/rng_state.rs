//! The random state of a module that draws random numbers in `forward`.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use rand_core::Rng;

use autograd_core::replayed;

/// A seed for each call of a module that draws random numbers, such as [`Dropout`](crate::nn::Dropout).
///
/// The seed of a call is the first seed plus the number of calls before it.
/// [`save_checkpoint`](crate::nn::save_checkpoint) saves both numbers, so that a resumed run draws the same numbers.
/// A [`state_dict`](crate::nn::Stateful::state_dict) has neither, because inference does not need them;
/// [`random_state`](crate::nn::Stateful::random_state) returns them.
///
/// ```
/// use pullback::ndarray::Ix1;
/// use pullback::nn::{Generator, Mode, RngState, init};
/// use pullback::prelude::*;
///
/// /// Adds noise in training.
/// #[derive(Module)]
/// struct Noise {
///     mode: Mode,
///     seeds: RngState,
/// }
///
/// impl Forward<&Tensor1<f32>> for Noise {
///     type Output = Tensor1<f32>;
///
///     fn forward(&self, x: &Tensor1<f32>) -> Tensor1<f32> {
///         if !self.mode.is_training() {
///             return x.clone();
///         }
///         let mut generator = Generator::seed(self.seeds.draw());
///         x + Tensor::from(init::normal(x.len(), 0.0, 0.1, &mut generator))
///     }
/// }
///
/// let noise = Noise { mode: Mode::default(), seeds: RngState::new(7) };
/// let x = Tensor::from(pullback::ndarray::Array1::zeros(3));
/// let (first, second) = (noise.forward(&x).to_array(), noise.forward(&x).to_array());
/// assert_ne!(first, second);
/// noise.seeds.set_calls(0);
/// assert_eq!(noise.forward(&x).to_array(), first);
/// ```
pub struct RngState {
    first: u64,
    calls: AtomicU64,
}

impl RngState {
    /// Creates the state whose first seed is `first`.
    pub fn new(first: u64) -> Self {
        Self::after(first, 0)
    }

    /// Creates a state whose first seed is drawn from the generator.
    pub fn of(generator: &mut impl Rng) -> Self {
        Self::new(generator.next_u64())
    }

    /// Creates the state after `calls` calls.
    pub(super) fn after(first: u64, calls: u64) -> Self {
        let calls = AtomicU64::new(calls);
        Self { first, calls }
    }

    /// Counts one more call and returns its seed. No two threads get the same seed. When
    /// [`checkpoint`](autograd_core::checkpoint()) recomputes a function, the call gets the same seed again and is
    /// not counted.
    pub fn draw(&self) -> u64 {
        replayed(|| {
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            self.first.wrapping_add(call)
        })
    }

    /// Returns the seed of the first call.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Sets the number of calls so far.
    pub fn set_calls(&self, calls: u64) {
        self.calls.store(calls, Ordering::Relaxed);
    }
}

impl fmt::Debug for RngState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RngState")
            .field("first", &self.first)
            .field("calls", &self.calls())
            .finish()
    }
}
