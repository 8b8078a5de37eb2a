//! How many numbers a formula has of each kind.

/// The number of inputs and results of each kind, as numbers.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ScanCounts {
    pub states: usize,
    pub steps: usize,
    pub shared: usize,
    /// The outputs of each step, without the new states.
    pub outputs: usize,
}

impl ScanCounts {
    /// Returns the number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.states + self.steps + self.shared
    }

    /// Returns the counts where each number is so many.
    pub(super) fn times(self, components: usize) -> Self {
        Self {
            states: components * self.states,
            steps: components * self.steps,
            shared: components * self.shared,
            outputs: components * self.outputs,
        }
    }
}
