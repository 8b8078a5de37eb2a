//! Conversion between the state of an optimizer and named tensors.

use std::collections::HashSet;

use autograd_core::ndarray::{ArrayD, arr0};
use autograd_core::{AnyTensor, Element, Tensor};
use autograd_kernels::Any;

use crate::optim::slot::Slot;
use crate::state::dict::StateDict;
use crate::state::error::{Difference, StateError, TensorSpec};

pub(super) const LEARNING_RATE: &str = "learning_rate";
const STEP: &str = "step";

pub(super) fn number(value: f64) -> AnyTensor {
    arr0(value).into()
}

fn name(path: &str, kind: &str) -> String {
    if path.is_empty() {
        return kind.to_owned();
    }
    format!("{path}.{kind}")
}

/// Adds the state of one parameter.
pub(super) fn write(state: &mut StateDict, slot: &Slot, kinds: [Option<&'static str>; 3]) {
    fn tensor<T: Element>(shape: &[usize], elements: &[T]) -> AnyTensor {
        let array = ArrayD::from_shape_vec(shape, elements.to_vec());
        // INVARIANT: saved arrays have the parameter's shape.
        Tensor::from(array.expect("one element for each")).into()
    }
    for (place, kind) in kinds.iter().enumerate() {
        let Some(kind) = kind else { continue };
        let saved = match &slot.saved {
            Any::F32(saved) => tensor(&slot.shape, &saved[place]),
            Any::F64(saved) => tensor(&slot.shape, &saved[place]),
        };
        state.insert(name(&slot.path, kind), saved);
    }
    state.insert(name(&slot.path, STEP), number(slot.steps as f64));
}

/// A reader of a saved state, which collects everything that does not fit.
pub(super) struct Reader<'a> {
    state: &'a StateDict,
    used: HashSet<String>,
    differences: Vec<Difference>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(state: &'a StateDict) -> Self {
        Self {
            state,
            used: HashSet::new(),
            differences: vec![],
        }
    }

    /// Reads the state of a parameter, if it was updated before the state was saved.
    pub(super) fn read(&mut self, slot: &mut Slot, kinds: [Option<&'static str>; 3]) {
        let names = kinds.map(|kind| kind.map(|kind| name(&slot.path, kind)));
        let step = name(&slot.path, STEP);
        let saved = names.iter().flatten().any(|name| self.state.contains(name));
        if !saved && !self.state.contains(&step) {
            return;
        }
        slot.steps = self.count(&step);
        match &mut slot.saved {
            Any::F32(saved) => self.arrays(&names, &slot.shape, saved),
            Any::F64(saved) => self.arrays(&names, &slot.shape, saved),
        }
    }

    fn arrays<T: Element>(
        &mut self,
        names: &[Option<String>; 3],
        shape: &[usize],
        saved: &mut [Vec<T>; 3],
    ) {
        for (name, saved) in names.iter().zip(saved) {
            if let Some(name) = name {
                *saved = self.elements(name, shape);
            }
        }
    }

    /// Returns the elements of a tensor in row-major order, or none if the tensor does not have this shape and type.
    pub(super) fn elements<T: Element>(&mut self, name: &str, shape: &[usize]) -> Vec<T> {
        self.used.insert(name.to_owned());
        let key = name.to_owned();
        let expected = TensorSpec {
            dtype: T::TYPE.to_string(),
            shape: shape.to_vec(),
        };
        self.differences.push(match self.state.get(name) {
            None => Difference::Missing { key, expected },
            Some(tensor) => match tensor.to_tensor::<T>() {
                Some(tensor) if tensor.shape() == shape => {
                    return tensor.view().iter().copied().collect();
                }
                _ => Difference::Mismatched {
                    key,
                    expected,
                    found: TensorSpec::of(tensor),
                },
            },
        });
        vec![]
    }

    /// Returns a number, or 0 if it does not fit.
    pub(super) fn number(&mut self, name: &str) -> f64 {
        let number = self.elements(name, &[]);
        number.first().copied().unwrap_or_default()
    }

    fn invalid(&mut self, name: &str, found: f64, expected: &str) {
        self.differences.push(Difference::Invalid {
            key: name.to_owned(),
            found,
            expected: expected.to_owned(),
        });
    }

    /// Reads a number and checks that it is finite and not negative.
    pub(super) fn at_least_zero(&mut self, name: &str) -> f64 {
        let number = self.number(name);
        if !(number >= 0.0 && number.is_finite()) {
            self.invalid(name, number, "a finite number of at least 0");
        }
        number
    }

    /// Reads a count.
    pub(super) fn count(&mut self, name: &str) -> u64 {
        /// The largest integer up to which every integer is an `f64`.
        const LARGEST: f64 = 9_007_199_254_740_992.0;
        let number = self.number(name);
        if number.fract() != 0.0 || !(0.0..=LARGEST).contains(&number) {
            self.invalid(name, number, "a whole number of at least 0");
            return 0;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was just seen to be a whole number that fits"
        )]
        let count = number as u64;
        count
    }

    /// Returns an error if anything did not fit, or was not read.
    pub(super) fn finish(mut self) -> Result<(), StateError> {
        for (name, tensor) in self.state {
            if !self.used.contains(name) {
                self.differences.push(Difference::Unexpected {
                    key: name.clone(),
                    found: TensorSpec::of(tensor),
                });
            }
        }
        if self.differences.is_empty() {
            return Ok(());
        }
        Err(StateError::Keys {
            path: None,
            differences: self.differences,
        })
    }
}
