//! The state of an optimiser as named tensors, and back.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use super::slot::{Kept, Slot};
use crate::ndarray::{Array0, Array1, ArrayD};
use crate::{AnyTensor, Element, Tensor};

pub(super) const LEARNING_RATE: &str = "learning_rate";
const STEP: &str = "step";

/// What in a state does not fit the optimiser that was to load it.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use pullback::nn::Parameter;
/// use pullback::ndarray::array;
/// use pullback::optim::{Adam, Optimizer};
///
/// let model = Parameter::new(array![1.0]);
/// let error = Adam::new(0.1).load_state(&model, &BTreeMap::new()).unwrap_err();
/// assert_eq!(error.problems(), ["`learning_rate` is missing"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateError {
    problems: Vec<String>,
}

impl StateError {
    /// Each thing that does not fit.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use pullback::optim::schedule::Plateau;
    ///
    /// let error = Plateau::new().load_state(&BTreeMap::new()).unwrap_err();
    /// assert_eq!(error.problems().len(), 3);
    /// ```
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the state does not fit: {}", self.problems.join("; "))
    }
}

impl std::error::Error for StateError {}

pub(super) fn number(value: f64) -> AnyTensor {
    Tensor::from(Array0::from_elem((), value)).into()
}

pub(super) fn list(values: &[f64]) -> AnyTensor {
    Tensor::from(Array1::from(values.to_vec())).into()
}

fn name(path: &str, kind: &str) -> String {
    if path.is_empty() {
        return kind.to_owned();
    }
    format!("{path}.{kind}")
}

/// Adds what is kept of one parameter.
pub(super) fn write(
    state: &mut BTreeMap<String, AnyTensor>,
    slot: &Slot,
    kinds: [Option<&'static str>; 3],
) {
    fn tensor<T: Element>(shape: &[usize], elements: &[T]) -> AnyTensor {
        let array = ArrayD::from_shape_vec(shape, elements.to_vec());
        // INVARIANT: what is kept has the parameter's shape.
        Tensor::from(array.expect("one element for each")).into()
    }
    for (place, kind) in kinds.iter().enumerate() {
        let Some(kind) = kind else { continue };
        let kept = match &slot.kept {
            Kept::F32(kept) => tensor(&slot.shape, &kept[place]),
            Kept::F64(kept) => tensor(&slot.shape, &kept[place]),
        };
        state.insert(name(&slot.path, kind), kept);
    }
    state.insert(name(&slot.path, STEP), number(slot.steps as f64));
}

/// Reads a state and notes what does not fit.
pub(super) struct Reader<'a> {
    state: &'a BTreeMap<String, AnyTensor>,
    used: HashSet<String>,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(state: &'a BTreeMap<String, AnyTensor>) -> Self {
        Self {
            state,
            used: HashSet::new(),
            problems: vec![],
        }
    }

    /// Whether there is such a tensor.
    pub(super) fn has(&self, name: &str) -> bool {
        self.state.contains_key(name)
    }

    /// The shape of a tensor, if it is there.
    pub(super) fn shape(&self, name: &str) -> Option<&'a [usize]> {
        Some(self.state.get(name)?.shape())
    }

    pub(super) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    /// What is kept of a parameter, if it was updated before the state was saved.
    pub(super) fn read(&mut self, slot: &mut Slot, kinds: [Option<&'static str>; 3]) {
        let names = kinds.map(|kind| kind.map(|kind| name(&slot.path, kind)));
        let step = name(&slot.path, STEP);
        let kept = names.iter().flatten().any(|name| self.has(name));
        if !kept && !self.has(&step) {
            return;
        }
        slot.steps = self.count(&step);
        match &mut slot.kept {
            Kept::F32(kept) => self.arrays(&names, &slot.shape, kept),
            Kept::F64(kept) => self.arrays(&names, &slot.shape, kept),
        }
    }

    fn arrays<T: Element>(
        &mut self,
        names: &[Option<String>; 3],
        shape: &[usize],
        kept: &mut [Vec<T>; 3],
    ) {
        for (name, kept) in names.iter().zip(kept) {
            if let Some(name) = name {
                *kept = self.elements(name, Some(shape));
            }
        }
    }

    /// The elements of a tensor in row-major order, of any shape if none is given; none if there is a problem.
    pub(super) fn elements<T: Element>(&mut self, name: &str, shape: Option<&[usize]>) -> Vec<T> {
        self.used.insert(name.to_owned());
        let problem = match self.state.get(name) {
            None => format!("`{name}` is missing"),
            Some(tensor) => match (tensor.to_tensor::<T>(), shape) {
                (None, _) => format!(
                    "`{name}` has another element type than `{}`",
                    std::any::type_name::<T>()
                ),
                (Some(tensor), Some(shape)) if tensor.shape() != shape => {
                    let found = tensor.shape();
                    format!("`{name}` has the shape {found:?} where {shape:?} is needed")
                }
                (Some(tensor), _) => return tensor.view().iter().copied().collect(),
            },
        };
        self.problem(problem);
        vec![]
    }

    /// A number; 0 if there is a problem.
    pub(super) fn number(&mut self, name: &str) -> f64 {
        let number = self.elements(name, Some(&[]));
        number.first().copied().unwrap_or_default()
    }

    /// A number that is finite and not negative.
    pub(super) fn at_least_zero(&mut self, name: &str) -> f64 {
        let number = self.number(name);
        if !(number >= 0.0 && number.is_finite()) {
            self.problem(format!(
                "`{name}` is {number}, which is no finite number of at least 0"
            ));
        }
        number
    }

    /// A number that counts something.
    pub(super) fn count(&mut self, name: &str) -> u64 {
        /// Above it not all whole numbers are floats.
        const LARGEST: f64 = 9_007_199_254_740_992.0;
        let number = self.number(name);
        if number.fract() != 0.0 || !(0.0..=LARGEST).contains(&number) {
            self.problem(format!("`{name}` is {number}, which counts nothing"));
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

    /// The problems, if there are any, with what nobody has read.
    pub(super) fn finish(mut self) -> Result<(), StateError> {
        let unused = self.state.keys().filter(|name| !self.used.contains(*name));
        let unused = unused.map(|name| format!("`{name}` belongs to nothing"));
        self.problems.extend(unused);
        if self.problems.is_empty() {
            return Ok(());
        }
        Err(StateError {
            problems: self.problems,
        })
    }
}
