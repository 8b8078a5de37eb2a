//! The loops of a formula as a trait object.

use super::backward::{AllOf, Backward, BackwardWork};
use super::counts::ScanCounts;
use super::forward::{Forward, ForwardWork};
use super::slices::SliceScans;
use crate::element::Element;
use crate::element::real::{Literal, Real};
use crate::elementwise::entries::{ONE, Place};
use crate::elementwise::formula::compiled_for;
use crate::elementwise::groups::MOST_AT_ONCE;
use crate::elementwise::order::{First, Second, Third};
use crate::elementwise::recorded::Kept;
use crate::elementwise::{Formula, Item, SliceFormula};

/// The highest order of derivatives that there are loops for.
pub(super) const ORDER: usize = 2;

/// The most numbers of a step whose derivatives are computed by dual numbers: with more, the loop over lanes is not vector
/// code any more.
const MOST_DUAL: usize = 8;

/// The formula of a scan with its loops: of `I` numbers, of which `S` are states and `X` are those of a step, with `O` results.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Scans<F, const I: usize, const O: usize, const S: usize, const X: usize>(pub F);

/// The loops of some formula over steps.
#[doc(hidden)]
pub trait ScanLoops<T: Element>: Send + Sync + sealed::Sealed {
    /// Returns the number of inputs and results of each kind, as numbers.
    fn counts(&self) -> ScanCounts;

    /// Returns the items of the input tensors: states, steps and shared ones.
    fn inputs(&self) -> &[Item];

    /// Returns the items of the new states and the outputs.
    fn results(&self) -> &[Item];

    /// Returns whether forward and backward record the formula and replay it: it has many numbers.
    fn are_replayed(&self) -> [bool; 2];

    /// Returns the number of states and that of steps, as items.
    fn items(&self) -> (usize, usize) {
        let counts = self.counts();
        let states = leading(self.results(), counts.states);
        (states, leading(&self.inputs()[states..], counts.steps))
    }

    /// Returns the item of an input, and whether it has an axis of steps.
    fn input(&self, index: usize) -> (Item, bool) {
        let (states, steps) = self.items();
        let is_step = index >= states && index < states + steps;
        (self.inputs()[index], is_step)
    }

    /// Returns the item of a result, and whether it has an axis of steps.
    fn result(&self, index: usize) -> (Item, bool) {
        let (states, _) = self.items();
        (self.results()[index], index >= states)
    }

    /// Returns how many times the formula can be differentiated.
    fn order(&self) -> usize;

    /// Calls `note` with the type and the size of each value that the formula holds.
    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize));

    /// Returns the replays of a segment that runs again, and backward, for the derivatives of the first order that are
    /// wanted, if the formula has such replays. `numbers` are those of a lane.
    fn kept(&self, depth: usize, numbers: &[T], wanted: &[bool]) -> Option<Kept<T>>;

    /// Computes some steps, of numbers with the components of an order. Writes all elements of the results that there
    /// are.
    fn forward_steps(&self, order: usize, steps: Forward<'_, '_, T>);

    /// Computes the adjoints before some steps, of numbers with the components of an order, and the derivatives with
    /// respect to the numbers of each step and to the shared ones. Writes all elements of the results that there are.
    fn backward_steps(&self, order: usize, steps: Backward<'_, '_, T>);
}

/// Returns how many items have so many numbers.
fn leading(items: &[Item], mut numbers: usize) -> usize {
    let is_part = |item: &&Item| {
        let is_part = numbers > 0;
        numbers = numbers.saturating_sub(item.numbers());
        is_part
    };
    items.iter().take_while(is_part).count()
}

pub(super) mod sealed {
    /// `run` trusts, in unsafe code, that the loops have written all results. Other types cannot promise that.
    pub trait Sealed {}
}

impl<F> sealed::Sealed for SliceScans<F> {}

impl<F, const I: usize, const O: usize, const S: usize, const X: usize> sealed::Sealed
    for Scans<F, I, O, S, X>
{
}

/// A step of many numbers, as one of slices whose length is known.
struct Fixed<'a, F, const I: usize, const O: usize, const S: usize>(&'a F);

impl<F, const I: usize, const O: usize, const S: usize> SliceFormula for Fixed<'_, F, I, O, S>
where
    F: Formula<I, O>,
{
    fn at<R: Real>(&self, _items: &[Item], numbers: &mut [R], outputs: &mut [R])
    where
        f64: Literal<R>,
    {
        let mut inputs = [R::from(0.0); I];
        inputs.copy_from_slice(numbers);
        let results = self.0.at(&self.0.entries(ONE), Place(0), inputs);
        let (states, of_outputs) = results.split_at(S);
        numbers[..S].copy_from_slice(states);
        outputs.copy_from_slice(of_outputs);
    }
}

impl<F: Formula<I, O>, const I: usize, const O: usize, const S: usize, const X: usize>
    Scans<F, I, O, S, X>
{
    const IS_FORWARD_REPLAYED: bool = I > MOST_AT_ONCE && !F::IS_REVERSED;
    const IS_BACKWARD_REPLAYED: bool = I > MOST_DUAL && !F::IS_REVERSED;

    fn as_slices(&self) -> SliceScans<Fixed<'_, F, I, O, S>> {
        let states = leading(F::OUTPUTS, S);
        let items = (states, leading(&F::INPUTS[states..], X));
        SliceScans::new(Fixed(&self.0), F::INPUTS, items, &F::OUTPUTS[states..])
    }
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize, const S: usize, const X: usize>
    ScanLoops<T> for Scans<F, I, O, S, X>
{
    fn counts(&self) -> ScanCounts {
        ScanCounts {
            states: S,
            steps: X,
            shared: I - S - X,
            outputs: O - S,
        }
    }

    fn inputs(&self) -> &[Item] {
        F::INPUTS
    }

    fn results(&self) -> &[Item] {
        F::OUTPUTS
    }

    fn are_replayed(&self) -> [bool; 2] {
        [Self::IS_FORWARD_REPLAYED, Self::IS_BACKWARD_REPLAYED]
    }

    fn order(&self) -> usize {
        ORDER
    }

    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize)) {
        self.0.list_values(note);
    }

    fn kept(&self, depth: usize, numbers: &[T], wanted: &[bool]) -> Option<Kept<T>> {
        if const { Self::IS_FORWARD_REPLAYED && Self::IS_BACKWARD_REPLAYED } {
            return self.as_slices().kept(depth, numbers, wanted);
        }
        None
    }

    fn forward_steps(&self, order: usize, steps: Forward<'_, '_, T>) {
        if const { Self::IS_FORWARD_REPLAYED } {
            return self.as_slices().forward_steps(order, steps);
        }
        let formula = &self.0;
        let has_results = steps.results.iter().any(Option::is_some);
        match order {
            // Outputs that are not asked for are not computed.
            1 if !has_results => {
                compiled_for::<F, I, O>(ForwardWork::<_, _, First, I, O, S, false>::new(
                    formula, steps,
                ));
            }
            1 => compiled_for::<F, I, O>(ForwardWork::<_, _, First, I, O, S, true>::new(
                formula, steps,
            )),
            2 => compiled_for::<F, I, O>(ForwardWork::<_, _, Second, I, O, S, true>::new(
                formula, steps,
            )),
            3 => compiled_for::<F, I, O>(ForwardWork::<_, _, Third, I, O, S, true>::new(
                formula, steps,
            )),
            order => unreachable!("order {order} of a scan of order {ORDER}"),
        }
    }

    fn backward_steps(&self, order: usize, steps: Backward<'_, '_, T>) {
        if const { Self::IS_BACKWARD_REPLAYED } {
            return self.as_slices().backward_steps(order, steps);
        }
        let formula = &self.0;
        let of_steps = steps.of_steps.iter().any(Option::is_some);
        let of_shared = steps.wants_shared;
        match order {
            1 if !of_shared && const { I > S + X } => {
                compiled_for::<F, I, O>(BackwardWork::<
                    _,
                    _,
                    First,
                    AllOf<S, X, true, false>,
                    I,
                    O,
                    S,
                    X,
                >::new(formula, steps));
            }
            1 if !of_steps => {
                compiled_for::<F, I, O>(BackwardWork::<
                    _,
                    _,
                    First,
                    AllOf<S, X, false, true>,
                    I,
                    O,
                    S,
                    X,
                >::new(formula, steps));
            }
            1 => {
                compiled_for::<F, I, O>(BackwardWork::<
                    _,
                    _,
                    First,
                    AllOf<S, X, true, true>,
                    I,
                    O,
                    S,
                    X,
                >::new(formula, steps));
            }
            2 => {
                compiled_for::<F, I, O>(BackwardWork::<
                    _,
                    _,
                    Second,
                    AllOf<S, X, true, true>,
                    I,
                    O,
                    S,
                    X,
                >::new(formula, steps));
            }
            order => unreachable!("order {order} of a scan of order {ORDER}"),
        }
    }
}
