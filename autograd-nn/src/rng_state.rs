//! The random state of a module that draws when it is called.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use rand_core::Rng;

use autograd_core::replayed;

/// A seed for each call of a module that draws at random, such as [`Dropout`](crate::nn::Dropout): a field of it.
///
/// The seeds are the first one plus the number of calls so far. [`save_checkpoint`](crate::nn::save_checkpoint) saves
/// both, so that a resumed run draws what it would have drawn. They are not part of a
/// [`state_dict`](crate::nn::Stateful::state_dict), as a model in use does not need them;
/// [`random_state`](crate::nn::Stateful::random_state) returns them alone.
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
    /// Creates seeds that begin with this one.
    pub fn new(first: u64) -> Self {
        Self::after(first, 0)
    }

    /// Creates seeds that begin with a number that the generator draws.
    pub fn of(generator: &mut impl Rng) -> Self {
        Self::new(generator.next_u64())
    }

    /// Creates seeds that continue after this number of calls.
    pub(super) fn after(first: u64, calls: u64) -> Self {
        let calls = AtomicU64::new(calls);
        Self { first, calls }
    }

    /// Returns the seed of one more call. Threads never get the same one. The second call of a function within
    /// [`checkpoint`](autograd_core::checkpoint()) gets the seed of the first, and is not counted.
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

    /// Returns the number of calls.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Continues as after this number of calls.
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
