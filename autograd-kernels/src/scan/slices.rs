//! Formulas with rows of numbers whose length is that of the tensors: slices.
//!
//! There are no loops that are compiled for such a formula: how many numbers it has is known when it is applied. It is
//! recorded and replayed, for all orders. A replay knows one component alone: those of an order are further numbers to it,
//! sorted by kind first, [states, steps, shared], by component then. A derivative that has the component W of the sum is
//! that with respect to the component ¬W of the input, and the gradient with the component W is that of the component ¬W
//! of the result; so backward has the components of inputs and results in opposite order.

use std::marker::PhantomData;

use super::backward::{Backward, wanted};
use super::counts::ScanCounts;
use super::forward::Forward;
use super::loops::{ORDER, ScanLoops};
use super::replayed;
use super::source::Stream;
use crate::element::Element;
use crate::element::real::{Literal, Real};
use crate::elementwise::order::{First, Order, Second, Third};
use crate::elementwise::recorded::{Kept, Recorded, Replay, Replayed, Trace};
use crate::elementwise::{Item, SliceFormula};

/// Returns the item of a tensor of this shape whose rows have any length; without an axis it has rows of no numbers.
#[doc(hidden)]
#[must_use]
pub fn row_of(shape: &[usize]) -> Item {
    Item::Row(shape.last().copied().unwrap_or(0))
}

/// The formula of a scan with slices, of which its tensors have given the length.
#[doc(hidden)]
#[derive(Debug)]
pub struct SliceScans<F> {
    formula: F,
    inputs: Vec<Item>,
    results: Vec<Item>,
    /// The number of states and steps, as items.
    items: (usize, usize),
    counts: ScanCounts,
}

impl<F> SliceScans<F> {
    /// Returns a formula of these inputs, of which the first are states and the next are steps, and with these outputs after
    /// the new states.
    pub fn new(
        formula: F,
        inputs: &[Item],
        (states, steps): (usize, usize),
        outputs: &[Item],
    ) -> Self {
        let numbers = |items: &[Item]| items.iter().map(|item| item.numbers()).sum();
        Self {
            formula,
            inputs: inputs.to_vec(),
            results: [&inputs[..states], outputs].concat(),
            items: (states, steps),
            counts: ScanCounts {
                states: numbers(&inputs[..states]),
                steps: numbers(&inputs[states..states + steps]),
                shared: numbers(&inputs[states + steps..]),
                outputs: numbers(outputs),
            },
        }
    }
}

impl<F: SliceFormula> SliceScans<F> {
    fn forward_of<T: Element, D: Order>(&self, steps: Forward<'_, '_, T>) {
        let step = Step::<F, D>::new(self, false);
        let inputs = step.inputs(steps.inputs);
        let steps = Forward {
            inputs: &inputs,
            ..steps
        };
        replayed::forward(&step, self.counts.times(D::COUNT), steps);
    }

    fn backward_of<T: Element, D: Order>(&self, steps: Backward<'_, '_, T>) {
        let counts = self.counts.times(D::COUNT);
        let wanted = wanted(counts, steps.of_steps, steps.wants_shared);
        let step = Step::<F, D>::new(self, true);
        let (inputs, gradients) = (step.inputs(steps.inputs), step.gradients(steps.gradients));
        let steps = Backward {
            inputs: &inputs,
            gradients: &gradients,
            ..steps
        };
        replayed::backward(&step, counts, &wanted, steps);
    }
}

impl<T: Element, F: SliceFormula> ScanLoops<T> for SliceScans<F> {
    fn counts(&self) -> ScanCounts {
        self.counts
    }

    fn inputs(&self) -> &[Item] {
        &self.inputs
    }

    fn results(&self) -> &[Item] {
        &self.results
    }

    fn items(&self) -> (usize, usize) {
        self.items
    }

    fn are_replayed(&self) -> [bool; 2] {
        [true; 2]
    }

    fn order(&self) -> usize {
        ORDER
    }

    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize)) {
        self.formula.list_values(note);
    }

    fn kept(&self, depth: usize, numbers: &[T], wanted: &[bool]) -> Option<Kept<T>> {
        let trace = Step::<F, First>::new(self, true).record(numbers);
        Replay::of_kept(&trace, depth, self.counts.states, wanted)
    }

    fn forward_steps(&self, order: usize, steps: Forward<'_, '_, T>) {
        match order {
            1 => self.forward_of::<T, First>(steps),
            2 => self.forward_of::<T, Second>(steps),
            3 => self.forward_of::<T, Third>(steps),
            order => unreachable!("order {order} of a scan of order {ORDER}"),
        }
    }

    fn backward_steps(&self, order: usize, steps: Backward<'_, '_, T>) {
        match order {
            1 => self.backward_of::<T, First>(steps),
            2 => self.backward_of::<T, Second>(steps),
            order => unreachable!("order {order} of a scan of order {ORDER}"),
        }
    }
}

/// A step, as a replay computes it at an order.
struct Step<'a, F, D> {
    scan: &'a SliceScans<F>,
    goes_backward: bool,
    /// The place in a replay of each component of each input: of all inputs, component after component.
    places: Vec<usize>,
    /// The component and the number of each result of a replay.
    results: Vec<(usize, usize)>,
    of: PhantomData<D>,
}

impl<'a, F: SliceFormula, D: Order> Step<'a, F, D> {
    fn new(scan: &'a SliceScans<F>, goes_backward: bool) -> Self {
        let counts = scan.counts;
        let mut step = Self {
            scan,
            goes_backward,
            places: vec![0; D::COUNT * counts.inputs()],
            results: Self::sorted(&[counts.states, counts.outputs]),
            of: PhantomData,
        };
        let inputs = Self::sorted(&[counts.states, counts.steps, counts.shared]);
        for (place, (component, number)) in inputs.into_iter().enumerate() {
            let index = step.component(component) * counts.inputs() + number;
            step.places[index] = place;
        }
        step
    }

    /// Returns the component and the number of each place of a replay, whose kinds have so many numbers.
    fn sorted(kinds: &[usize]) -> Vec<(usize, usize)> {
        let (mut sorted, mut first) = (Vec::new(), 0);
        for count in kinds {
            for component in 0..D::COUNT {
                sorted.extend((first..first + count).map(|number| (component, number)));
            }
            first += count;
        }
        sorted
    }

    /// Returns the component of an input or a result that a replay has as this component.
    fn component(&self, component: usize) -> usize {
        if self.goes_backward {
            D::COUNT - 1 - component
        } else {
            component
        }
    }

    /// Returns the place in a replay of a component of an input.
    fn place(&self, component: usize, number: usize) -> usize {
        self.places[component * self.scan.counts.inputs() + number]
    }

    /// Returns the inputs in the order of a replay.
    fn inputs<'s, T: Copy>(&self, streams: &[Stream<'s, T>]) -> Vec<Stream<'s, T>> {
        let mut sorted = streams.to_vec();
        for (&place, stream) in self.places.iter().zip(streams) {
            sorted[place] = *stream;
        }
        sorted
    }

    /// Returns the gradients in the order of a replay.
    fn gradients<'s, T: Copy>(&self, streams: &[Stream<'s, T>]) -> Vec<Stream<'s, T>> {
        let count = self.results.len() / D::COUNT;
        let results = self.results.iter();
        results
            .map(|(component, number)| streams[component * count + number])
            .collect()
    }

    /// Computes the new states and the outputs. `input` returns a component of a number.
    fn compute<R: Real>(&self, input: impl Fn(usize, usize) -> R) -> Vec<D::Of<R>>
    where
        f64: Literal<R>,
    {
        let counts = self.scan.counts;
        let number = |number| {
            let mut components = D::filled(R::from(0.0));
            for (component, of) in components.as_mut().iter_mut().enumerate() {
                *of = input(component, number);
            }
            components
        };
        let numbers = (0..counts.inputs()).map(number).collect();
        let results = [counts.states, counts.outputs];
        D::step(&self.scan.formula, &self.scan.inputs, numbers, results)
    }
}

impl<T: Element, F: SliceFormula, D: Order> Replayed<T> for Step<'_, F, D> {
    fn record(&self, inputs: &[T]) -> Trace<T> {
        Trace::of(&inputs[..self.places.len()], || {
            let node = |component, number| Recorded::<T>::Node(self.place(component, number));
            let computed = self.compute(node);
            let result = |&(component, number): &(usize, usize)| {
                computed[number].as_ref()[self.component(component)]
            };
            self.results.iter().map(result).collect::<Vec<_>>()
        })
    }
}
