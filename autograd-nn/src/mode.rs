//! The mode of a module: training or evaluation.

/// Whether a module is in training or in evaluation, as a field of modules that depend on it, such as dropout.
/// [`Module::train`](crate::nn::Module::train) and [`Module::eval`](crate::nn::Module::eval) set it in a whole tree.
/// The default is training.
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
    /// Returns whether the module is in training.
    pub fn is_training(self) -> bool {
        self.training
    }

    /// Sets whether the module is in training, for this field alone.
    pub fn set_training(&mut self, training: bool) {
        self.training = training;
    }
}
