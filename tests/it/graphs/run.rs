//! Running a program on tensors.

use std::fmt::Write as _;

use pullback::ndarray::{Dimension, arr0};
use pullback::prelude::*;

use super::program::{Program, Step, arbitrary};

pub type Dyn = TensorD<f64>;

/// Values that no derivative goes through: detached ones, and what was computed inside `no_grad`. A run
/// at other leaves has to take them as they were, or finite differences would see through the cut; in the
/// same memory, or sums over them would be rounded in another order.
#[derive(Default)]
pub struct Cuts {
    seen: Vec<Dyn>,
    replayed: Option<usize>,
}

impl Cuts {
    /// Returns these cuts for another run.
    pub fn replay(&self) -> Self {
        Self {
            seen: self.seen.clone(),
            replayed: Some(0),
        }
    }

    pub fn cut(&mut self, tensor: Dyn) -> Dyn {
        let Some(place) = &mut self.replayed else {
            assert!(
                !tensor.requires_grad(),
                "a value that is cut off has a history"
            );
            self.seen.push(tensor.clone());
            return tensor;
        };
        *place += 1;
        self.seen[*place - 1].clone()
    }
}

/// An intermediate value, and a bound of its elements for all leaves.
#[derive(Clone)]
pub struct Value {
    pub tensor: Dyn,
    pub bound: f64,
}

/// The bound that every value is brought to.
const TAME: f64 = 1.5;

pub struct Run<'c> {
    pub values: Vec<Value>,
    pub cuts: &'c mut Cuts,
    through: fn(Dyn) -> Dyn,
    /// The steps that have run, a line for each.
    pub listing: String,
}

/// The results of a step: new values with their bounds, and values that replace others.
#[derive(Default)]
pub struct Results {
    new: Vec<(Dyn, f64)>,
    written: Vec<(usize, Dyn, f64)>,
}

impl Results {
    pub fn of<D: Dimension>(tensor: Tensor<f64, D>, bound: f64) -> Self {
        Self::default().and(tensor, bound)
    }

    pub fn and<D: Dimension>(mut self, tensor: Tensor<f64, D>, bound: f64) -> Self {
        self.new.push((tensor.into_dyn(), bound));
        self
    }

    pub fn written<D: Dimension>(
        mut self,
        place: usize,
        tensor: Tensor<f64, D>,
        bound: f64,
    ) -> Self {
        self.written.push((place, tensor.into_dyn(), bound));
        self
    }
}

impl Program {
    /// The loss at these leaves: the sum of some of the program's values, each element with a weight of
    /// its own.
    pub fn loss(&self, leaves: &[Dyn], cuts: &mut Cuts) -> Tensor0<f64> {
        self.loss_through(|value| value, leaves, cuts)
    }

    /// Like `loss`, with a function applied to every intermediate value.
    pub fn loss_through(
        &self,
        through: fn(Dyn) -> Dyn,
        leaves: &[Dyn],
        cuts: &mut Cuts,
    ) -> Tensor0<f64> {
        let mut run = Run::new(leaves, cuts);
        run.through = through;
        for step in &self.steps {
            run.step(*step);
        }
        let values: Vec<Dyn> = run.values.into_iter().map(|value| value.tensor).collect();
        self.loss_of(&values)
    }

    /// The loss of these values.
    pub fn loss_of(&self, values: &[Dyn]) -> Tensor0<f64> {
        let last = values.len() - 1;
        let picked = self.outputs.iter().map(|pick| picked(*pick, values.len()));
        picked
            .chain([last])
            .enumerate()
            .fold(Tensor::from(arr0(0.0)), |loss, (place, output)| {
                let output = &values[output];
                let weights = arbitrary(output.shape(), place as f64 * 7.3) + 0.5;
                loss + (output * Tensor::from(weights)).sum()
            })
    }
}

impl<'c> Run<'c> {
    pub fn new(leaves: &[Dyn], cuts: &'c mut Cuts) -> Self {
        let values = leaves.iter().map(|leaf| Value {
            tensor: leaf.clone(),
            bound: 1.25,
        });
        Self {
            values: values.collect(),
            cuts,
            through: |value| value,
            listing: String::new(),
        }
    }

    pub fn step(&mut self, step: Step) {
        let before = self.values.len();
        let mut results = if step.no_grad {
            no_grad(|| self.results(step))
        } else {
            self.results(step)
        };
        if step.no_grad {
            let new = results.new.iter_mut().map(|(tensor, _)| tensor);
            let written = results.written.iter_mut().map(|(_, tensor, _)| tensor);
            new.chain(written)
                .for_each(|tensor| *tensor = self.cuts.cut(tensor.clone()));
            self.note(" inside no_grad");
        }
        for (place, tensor, bound) in results.written {
            self.values[place] = tamed((self.through)(tensor), bound);
        }
        for (tensor, bound) in results.new {
            self.values.push(tamed((self.through)(tensor), bound));
        }
        let new: Vec<String> = (before..self.values.len())
            .map(|place| format!("v{place}: {:?}", self.values[place].tensor.shape()))
            .collect();
        if !new.is_empty() {
            self.note(&format!(" -> {}", new.join(", ")));
        }
        self.note("\n");
    }

    pub fn note(&mut self, text: &str) {
        self.listing.push_str(text);
    }

    fn results(&mut self, step: Step) -> Results {
        let place = picked(step.picks[0], self.values.len());
        write!(self.listing, "    {:?}(v{place}", step.kind).expect("a string");
        let results = self
            .built_in(step, place)
            .unwrap_or_else(|| self.custom(step, place));
        self.note(")");
        results
    }

    /// Another value that `fits`; `from` if none does, which has to.
    pub fn other(&mut self, pick: u8, from: usize, fits: impl Fn(&Dyn) -> bool) -> Value {
        let fitting: Vec<usize> = (0..self.values.len())
            .filter(|place| fits(&self.values[*place].tensor))
            .collect();
        let place = match fitting.len() {
            0 => from,
            count => fitting[picked(pick, count)],
        };
        self.note(&format!(", v{place}"));
        self.values[place].clone()
    }
}

/// Picks one of `count` things, counted from the last: a step then keeps its operands when one before them
/// is taken away.
fn picked(pick: u8, count: usize) -> usize {
    count - 1 - usize::from(pick) % count
}

/// Brings a value to the common bound by a factor that depends on the program alone.
fn tamed(tensor: Dyn, bound: f64) -> Value {
    if bound <= TAME {
        return Value { tensor, bound };
    }
    Value {
        tensor: tensor * (TAME / bound),
        bound: TAME,
    }
}
