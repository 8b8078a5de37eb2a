//! Training or evaluation.

/// Whether a module is being trained or evaluated: a field of modules that behave differently, such as
/// dropout. [`Module::train`](crate::nn::Module::train) and [`Module::eval`](crate::nn::Module::eval) set it in a
/// whole tree. A new one is in training.
///
/// ```
/// use pullback::nn::{Mode, Module};
///
/// #[derive(pullback::Module)]
/// struct Noisy {
///     mode: Mode,
/// }
///
/// let mut noisy = Noisy { mode: Mode::default() };
/// assert!(noisy.mode.is_training());
/// noisy.eval();
/// assert!(!noisy.mode.is_training());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    training: bool,
}

impl Default for Mode {
    fn default() -> Self {
        Self { training: true }
    }
}

impl Mode {
    /// Returns whether the module is being trained.
    pub fn is_training(self) -> bool {
        self.training
    }

    /// Sets whether the module is being trained, for this field alone.
    pub fn set_training(&mut self, training: bool) {
        self.training = training;
    }
}
