//! Formulas with rows of numbers whose length is that of the tensors: slices.
//!
//! There are no loops that are compiled for such a formula: how many numbers it has is known when it is applied. It is
//! recorded and replayed, for all orders. A replay knows one component alone: those of an order are further numbers to it,
//! sorted by kind first, [states, steps, shared], by component then. A derivative that has the component W of the sum is
//! that with respect to the component ¬W of the input, and the gradient with the component W is that of the component ¬W
//! of the result; so backward has the components of inputs and results in opposite order.

use std::fmt;
use std::marker::PhantomData;

use super::backward::Backward;
use super::counts::ScanCounts;
use super::forward::Forward;
use super::loops::{ORDER, ScanLoops};
use super::replayed;
use super::source::Stream;
use crate::element::Element;
use crate::element::number::Number;
use crate::element::real::{Literal, Real};
use crate::elementwise::dual::Dual;
use crate::elementwise::groups::WIDEST;
use crate::elementwise::order::{First, Order, Second, Third};
use crate::elementwise::recorded::{Recorded, Replayed, Row, Trace, WIDTH};
use crate::elementwise::terms::Terms;
use crate::elementwise::{Item, SliceFormula};

/// Returns the item of a tensor of this shape whose rows have any length; without an axis it has rows of no numbers.
#[doc(hidden)]
#[must_use]
pub fn row_of(shape: &[usize]) -> Item {
    Item::Row(shape.last().copied().unwrap_or(0))
}

/// The formula of a scan with slices, of which its tensors have given the length.
#[doc(hidden)]
pub struct SliceScans<F> {
    formula: F,
    inputs: Vec<Item>,
    results: Vec<Item>,
    /// The number of states and steps, as items.
    items: (usize, usize),
    lengths: Vec<usize>,
    counts: ScanCounts,
}

impl<F> fmt::Debug for SliceScans<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SliceScans");
        shown
            .field("inputs", &self.inputs)
            .field("results", &self.results);
        shown.finish_non_exhaustive()
    }
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
            lengths: inputs.iter().map(|item| item.numbers()).collect(),
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
        let replayed = Step::<F, D>::new(self, None);
        let inputs = replayed.sorted(steps.inputs);
        let steps = Forward {
            inputs: &inputs,
            ..steps
        };
        replayed::forward(&replayed, replayed.counts(), steps);
    }

    fn backward_of<T: Element, D: Order>(&self, steps: Backward<'_, '_, T>) {
        let counts = Step::<F, D>::new(self, None).counts();
        let wanted = steps.wanted(counts);
        let replayed = Step::<F, D>::new(self, Some(&wanted));
        let (inputs, gradients) = (
            replayed.sorted(steps.inputs),
            replayed.outputs(steps.gradients),
        );
        let steps = Backward {
            inputs: &inputs,
            gradients: &gradients,
            ..steps
        };
        replayed::backward(&replayed, counts, &wanted, steps);
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

    fn is_replayed(&self, _order: usize) -> bool {
        true
    }

    fn order(&self) -> usize {
        ORDER
    }

    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize)) {
        self.formula.list_values(note);
    }

    fn forward(&self, order: usize, steps: Forward<'_, '_, T>) {
        match order {
            1 => self.forward_of::<T, First>(steps),
            2 => self.forward_of::<T, Second>(steps),
            3 => self.forward_of::<T, Third>(steps),
            order => unreachable!("order {order} of a scan of order {ORDER}"),
        }
    }

    fn backward(&self, order: usize, steps: Backward<'_, '_, T>) {
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
    /// Of a pass backward, the inputs whose derivatives are wanted.
    wanted: Option<&'a [bool]>,
    of: PhantomData<D>,
}

impl<'a, F: SliceFormula, D: Order> Step<'a, F, D> {
    fn new(scan: &'a SliceScans<F>, wanted: Option<&'a [bool]>) -> Self {
        Self {
            scan,
            wanted,
            of: PhantomData,
        }
    }

    /// Returns the counts of a replay, to which components are numbers.
    fn counts(&self) -> ScanCounts {
        let counts = self.scan.counts;
        ScanCounts {
            states: D::COUNT * counts.states,
            steps: D::COUNT * counts.steps,
            shared: D::COUNT * counts.shared,
            outputs: D::COUNT * counts.outputs,
        }
    }

    /// Returns the component of an input or a result that a replay has as this component.
    fn component(&self, component: usize) -> usize {
        match self.wanted {
            None => component,
            Some(_) => D::COUNT - 1 - component,
        }
    }

    /// Returns the places of the numbers in a replay: for each, its component and which number it is. They are sorted by
    /// kinds of so many numbers.
    fn places<const K: usize>(kinds: [usize; K]) -> impl Iterator<Item = (usize, usize)> {
        let mut places = Vec::new();
        let mut first = 0;
        for count in kinds {
            for component in 0..D::COUNT {
                places.extend((first..first + count).map(|number| (component, number)));
            }
            first += count;
        }
        places.into_iter()
    }

    fn inputs(&self) -> impl Iterator<Item = (usize, usize)> {
        let counts = self.scan.counts;
        Self::places([counts.states, counts.steps, counts.shared])
    }

    fn results(&self) -> impl Iterator<Item = (usize, usize)> {
        let counts = self.scan.counts;
        Self::places([counts.states, counts.outputs])
    }

    /// Returns the inputs in the order of a replay.
    fn sorted<'s, T: Copy>(&self, streams: &[Stream<'s, T>]) -> Vec<Stream<'s, T>> {
        let count = self.scan.counts.inputs();
        self.inputs()
            .map(|(component, number)| streams[self.component(component) * count + number])
            .collect()
    }

    /// Returns the gradients in the order of a replay.
    fn outputs<'s, T: Copy>(&self, streams: &[Stream<'s, T>]) -> Vec<Stream<'s, T>> {
        let count = self.scan.counts.states + self.scan.counts.outputs;
        self.results()
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
        D::step(&self.scan.formula, &self.scan.lengths, numbers, results)
    }

    /// Computes the results of a lane.
    fn values<T: Element>(&self, input: impl Fn(usize) -> T, mut result: impl FnMut(usize, T)) {
        let rows = self.rows();
        let computed = self.compute(|component, number| {
            let value = input(rows[component * self.scan.counts.inputs() + number]);
            Dual::<T::Number, 0>::constant(T::Number::of(value))
        });
        for (place, (component, number)) in self.results().enumerate() {
            result(place, computed[number].as_ref()[component].value.element());
        }
    }

    /// Computes the wanted gradients of a lane.
    fn gradients<T: Element>(
        &self,
        wanted: &[bool],
        [input, gradient]: [&dyn Fn(usize) -> T; 2],
        mut result: impl FnMut(usize, T),
    ) {
        let (rows, count) = (self.rows(), self.scan.counts.inputs());
        let results = self.scan.counts.states + self.scan.counts.outputs;
        let mut gradients = vec![T::Number::from(0.0); D::COUNT * results];
        for (place, (component, number)) in self.results().enumerate() {
            gradients[component * results + number] = T::Number::of(gradient(place));
        }
        for first in (0..count).step_by(WIDEST) {
            let variables = first..count.min(first + WIDEST);
            // The place of a derivative is that of the input with the same component.
            let places = |number: usize| {
                let rows = &rows;
                let own = (0..D::COUNT).map(move |component| {
                    (component, rows[self.component(component) * count + number])
                });
                own.filter(|(_, place)| wanted[*place])
            };
            if variables
                .clone()
                .all(|number| places(number).next().is_none())
            {
                continue;
            }
            let computed = self.compute(|component, number| {
                let value = T::Number::of(input(rows[component * count + number]));
                if component == 0 && variables.contains(&number) {
                    Dual::<_, WIDEST>::variable(value, number - first)
                } else {
                    Dual::constant(value)
                }
            });
            for number in variables {
                for (component, place) in places(number) {
                    let mut terms = Terms::none();
                    for (result, computed) in computed.iter().enumerate() {
                        for of_gradient in (0..D::COUNT).filter(|of| of & !component == 0) {
                            let slopes = &computed.as_ref()[component ^ of_gradient];
                            let gradient = gradients[of_gradient * results + result];
                            let product = gradient * slopes.signed(number - first);
                            // As in a recorded pass, a gradient of 0 passes nothing, whatever the slope.
                            let vanishes = gradient == 0.0;
                            let product = if vanishes { gradient } else { product };
                            terms.add(product, slopes.has(number - first));
                        }
                    }
                    result(place, terms.sum().element());
                }
            }
        }
    }

    /// Returns the place in a replay of each component of each number: of all inputs, component after component.
    fn rows(&self) -> Vec<usize> {
        let count = self.scan.counts.inputs();
        let mut rows = vec![0; D::COUNT * count];
        for (place, (component, number)) in self.inputs().enumerate() {
            rows[self.component(component) * count + number] = place;
        }
        rows
    }
}

impl<T: Element, F: SliceFormula, D: Order> Replayed<T> for Step<'_, F, D> {
    fn record(&self, inputs: &[T]) -> Option<Trace<T>> {
        let (rows, count) = (self.rows(), self.scan.counts.inputs());
        Trace::of(&inputs[..D::COUNT * count], || {
            let computed = self
                .compute(|component, number| Recorded::<T>::Node(rows[component * count + number]));
            let results = self.results();
            let result = |(component, number): (usize, usize)| {
                computed[number].as_ref()[self.component(component)]
            };
            results.map(result).collect::<Vec<_>>()
        })
    }

    fn apart(&self, inputs: &[Row<T>], results: &mut [Row<T>]) {
        let (inputs, gradients) = inputs.split_at(D::COUNT * self.scan.counts.inputs());
        for lane in 0..WIDTH {
            let input = |place: usize| inputs[place].0[lane];
            let result = |place: usize, value| results[place].0[lane] = value;
            match self.wanted {
                None => self.values(input, result),
                Some(wanted) => {
                    let gradient = |place: usize| gradients[place].0[lane];
                    self.gradients(wanted, [&input, &gradient], result);
                }
            }
        }
    }
}
