//! The state of L-BFGS as named tensors, and back.

use std::collections::VecDeque;

use autograd_core::AnyTensor;
use autograd_core::ndarray::Array2;

use crate::optim::lbfgs::Lbfgs;
use crate::optim::lbfgs::flat::Layout;
use crate::optim::lbfgs::memory::{Memory, Pair};
use crate::optim::state::{LEARNING_RATE, Reader, list, number};
use crate::state::dict::StateDict;
use crate::state::error::StateError;
use crate::visit::Field;

const ITERATIONS: &str = "iterations";
const DIRECTION: &str = "direction";
const GRADIENT: &str = "gradient";
const LENGTH: &str = "length";
const SCALE: &str = "scale";
const STEPS: &str = "history.step";
const CHANGES: &str = "history.change";

impl Lbfgs {
    /// Returns a copy of the state, to save, in `f64`: `learning_rate`, `iterations`, and after a step `direction`,
    /// `gradient`, `length` and `scale` of the last iteration and `history.step` and `history.change`, with a row
    /// for each that the curvature is estimated from. All trained parameters are one vector, in the order of the visit.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// let state = Lbfgs::new(1.0).state_dict();
    /// assert_eq!(state.names().collect::<Vec<_>>(), ["iterations", "learning_rate"]);
    /// ```
    pub fn state_dict(&self) -> StateDict {
        let memory = &self.memory;
        let mut state = vec![
            (LEARNING_RATE, number(self.rate)),
            (ITERATIONS, number(memory.iterations as f64)),
        ];
        if memory.iterations > 0 {
            let columns = memory.direction.len();
            state.extend([
                (DIRECTION, list(&memory.direction)),
                (GRADIENT, list(&memory.gradient)),
                (LENGTH, number(memory.length)),
                (SCALE, number(memory.scale)),
                (
                    STEPS,
                    rows(columns, memory.pairs.iter().map(|pair| &pair.step)),
                ),
                (
                    CHANGES,
                    rows(columns, memory.pairs.iter().map(|pair| &pair.change)),
                ),
            ]);
        }
        let named = state.into_iter();
        named
            .map(|(name, tensor)| (name.to_owned(), tensor))
            .collect()
    }

    /// Loads a state that was saved, with a model with the same trained parameters.
    ///
    /// # Errors
    /// [`StateError::Keys`] with everything that does not fit. Then nothing is changed.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Parameter;
    /// use pullback::optim::Lbfgs;
    ///
    /// let mut w = Parameter::new(array![5.0]);
    /// let mut optimizer = Lbfgs::new(1.0).iterations(1);
    /// optimizer.step(&mut w, |w| Ok((&**w - 3.0).square().sum()))?;
    /// let mut resumed = Lbfgs::new(1.0).iterations(1);
    /// resumed.load_state_dict(&w, &optimizer.state_dict())?;
    /// resumed.step(&mut w, |w| Ok((&**w - 3.0).square().sum()))?;
    /// assert!((w.item() - 3.0_f64).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_state_dict(
        &mut self,
        model: &(impl Field + ?Sized),
        state: &StateDict,
    ) -> Result<(), StateError> {
        let layout = Layout::of(model);
        let mut reader = Reader::new(state);
        let rate = reader.at_least_zero(LEARNING_RATE);
        let iterations = reader.count(ITERATIONS);
        let mut memory = Memory::default();
        if iterations > 0 {
            let shape = [layout.length];
            let pairs = reader.shape(STEPS).or_else(|| reader.shape(CHANGES));
            let pairs = pairs.and_then(|shape| shape.first());
            let rows = [pairs.copied().unwrap_or_default(), layout.length];
            memory = Memory {
                iterations,
                direction: reader.elements(DIRECTION, &shape),
                gradient: reader.elements(GRADIENT, &shape),
                length: reader.number(LENGTH),
                scale: reader.number(SCALE),
                pairs: pairs_of(
                    &reader.elements(STEPS, &rows),
                    &reader.elements(CHANGES, &rows),
                    layout.length,
                ),
            };
        }
        reader.finish()?;
        let first = memory.pairs.len().saturating_sub(self.history);
        memory.pairs.drain(..first);
        (self.rate, self.memory, self.layout) = (rate, memory, Some(layout));
        Ok(())
    }
}

fn rows<'a>(columns: usize, rows: impl Iterator<Item = &'a Vec<f64>>) -> AnyTensor {
    let elements: Vec<f64> = rows.flatten().copied().collect();
    let count = elements.len().checked_div(columns).unwrap_or(0);
    // INVARIANT: each row has a column for each element of the parameters.
    let array = Array2::from_shape_vec((count, columns), elements).expect("whole rows");
    array.into()
}

fn pairs_of(steps: &[f64], changes: &[f64], columns: usize) -> VecDeque<Pair> {
    let rows = steps
        .chunks(columns.max(1))
        .zip(changes.chunks(columns.max(1)));
    let pair = |(step, change): (&[f64], &[f64])| Pair {
        step: step.to_vec(),
        change: change.to_vec(),
    };
    rows.map(pair).collect()
}
