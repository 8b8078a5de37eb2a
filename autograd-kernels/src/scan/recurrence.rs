//! A recurrence on arrays, forward and backward.

use std::fmt;
use std::iter::repeat_n;
use std::ops::Range;

use ndarray::{ArrayD, ArrayViewD, Axis};

use super::loops::ScanLoops;
use super::run::{Kind, Pass, Slot, columns};
use super::segments::{Checkpoints, segment};
use super::source::Source;
use crate::checks::size;
use crate::element::Element;
use crate::elementwise::Item;
use crate::elementwise::recorded::WIDTH;
use crate::memory;

/// A formula that is computed step after step.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Recurrence<'a, T: Element> {
    pub loops: &'a dyn ScanLoops<T>,
    /// The number of steps.
    pub steps: usize,
    /// The shape of the lanes.
    pub lanes: &'a [usize],
    /// Whether the last step is the first to be computed.
    pub is_reversed: bool,
}

impl<T: Element> fmt::Debug for Recurrence<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Recurrence");
        shown
            .field("steps", &self.steps)
            .field("lanes", &self.lanes);
        shown.finish_non_exhaustive()
    }
}

impl<T: Element> Recurrence<'_, T> {
    /// Computes the results that are wanted: the components of each last state, then of each output, of an order. With
    /// `saves`, the checkpoints for a backward pass of order 1 too.
    ///
    /// The inputs are broadcast to the lanes, and along the axis of steps; a missing one is zeros.
    #[must_use]
    pub fn forward(
        &self,
        order: usize,
        inputs: &[Option<ArrayViewD<'_, T>>],
        wanted: &[bool],
        saves: bool,
    ) -> (Vec<Option<ArrayD<T>>>, Option<Checkpoints<T>>) {
        let (states, _) = self.loops.items();
        let components = 1 << (order - 1);
        let (results, own) = (self.loops.results().len(), self.loops.inputs().len());
        let place = |kind, component, index| match kind {
            Kind::LastStates => Some(component * results + index),
            Kind::Outputs => Some(component * results + states + index),
            _ => None,
        };
        let (mut slots, places) = self.slots(components, wanted, place, |_| None);
        let pass = Pass {
            recurrence: *self,
            order,
            components,
            inputs: self.sources(inputs, components, own, 0..own),
            gradients: Vec::new(),
            saved: None,
            has_forward_results: true,
            wants_shared: false,
            goes_backward: false,
        };
        let rows = self.saved();
        let mut saved = (saves && order == 1).then(|| Slot {
            has_steps: false,
            item: Item::Number,
            kept: None,
            elements: memory::take(rows * self.width()),
        });
        pass.run(&mut slots, saved.as_mut().map(|saved| (saved, rows)));
        let saved = saved.map(|saved| Checkpoints {
            elements: saved.elements,
            lanes: self.width(),
        });
        (self.arrays(slots, &places, wanted.len()), saved)
    }

    /// Computes the derivatives of the pairing of an order that are wanted, with respect to inputs and gradients at their
    /// places. Checkpoints are those of forward with the same inputs, if it saved them.
    ///
    /// A derivative has all lanes, also where its input is broadcast to them; or it is summed along the last axes of lanes,
    /// which then have length 1.
    ///
    /// # Panics
    /// If a derivative with respect to the last direction of a gradient is wanted: it is the recurrence itself.
    #[must_use]
    pub fn backward(
        &self,
        order: usize,
        inputs: &[Option<ArrayViewD<'_, T>>],
        wanted: &[bool],
        checkpoints: Option<&Checkpoints<T>>,
    ) -> Vec<Option<ArrayD<T>>> {
        let (states, steps) = self.loops.items();
        let components: usize = 1 << (order - 1);
        let own = self.loops.inputs().len();
        let width = own + self.loops.results().len();
        assert!(
            wanted.len() == width * components
                && !wanted[(components - 1) * width + own..].contains(&true),
            "a derivative with respect to the last direction of a gradient is the recurrence itself"
        );
        let place = |kind, component: usize, index| {
            let first = (components - 1 - component) * width;
            Some(match kind {
                Kind::LastStates => first + own + index,
                Kind::Outputs => first + own + states + index,
                Kind::OfStates => first + index,
                Kind::OfSteps => first + states + index,
                Kind::OfShared => first + states + steps + index,
            })
        };
        let kept = |place: usize| {
            let [_, is_replayed] = self.loops.are_replayed();
            if !is_replayed {
                return None;
            }
            let shape = inputs[place].as_ref()?.shape();
            self.kept(shape, self.loops.input(place % width).0)
        };
        let (mut slots, places) = self.slots(components, wanted, place, kept);
        let are_wanted = |kinds: &[Kind]| {
            let mut found = places.iter().filter(|(kind, _)| kinds.contains(kind));
            found.any(|(_, place)| wanted[*place])
        };
        let pass = Pass {
            recurrence: *self,
            order,
            components,
            inputs: self.sources(inputs, components, width, 0..own),
            gradients: self.sources(inputs, components, width, own..width),
            saved: checkpoints
                .filter(|saved| order == 1 && saved.elements.len() == self.saved() * self.width())
                .map(Checkpoints::view),
            has_forward_results: are_wanted(&[Kind::LastStates, Kind::Outputs]),
            wants_shared: are_wanted(&[Kind::OfShared]),
            goes_backward: are_wanted(&[Kind::OfStates, Kind::OfSteps, Kind::OfShared]),
        };
        pass.run(&mut slots, None);
        self.arrays(slots, &places, wanted.len())
    }

    /// Returns the number of rows of the states that are saved.
    fn saved(&self) -> usize {
        let segments = self.steps.div_ceil(segment(self.steps));
        self.loops.counts().states * segments.saturating_sub(1)
    }

    /// Returns the number of lanes.
    pub(super) fn width(&self) -> usize {
        let Some(width) = size(self.lanes).filter(|width| width.checked_mul(self.steps).is_some())
        else {
            panic!(
                "{} steps of shape {:?} have more elements than there is memory for",
                self.steps, self.lanes
            );
        };
        width
    }

    /// Returns the slots for all results, with their kinds and places; those that are not wanted are `None`.
    #[expect(clippy::type_complexity, reason = "two lists")]
    fn slots(
        &self,
        components: usize,
        wanted: &[bool],
        place: impl Fn(Kind, usize, usize) -> Option<usize>,
        kept: impl Fn(usize) -> Option<usize>,
    ) -> (Vec<(Option<Slot<T>>, Item)>, Vec<(Kind, usize)>) {
        let (states, steps) = self.loops.items();
        let (inputs, results) = (self.loops.inputs(), self.loops.results());
        let (of_states, others) = inputs.split_at(states);
        let (of_steps, of_shared) = others.split_at(steps);
        let (last_states, outputs) = results.split_at(states);
        let kinds = [
            (Kind::LastStates, last_states),
            (Kind::Outputs, outputs),
            (Kind::OfStates, of_states),
            (Kind::OfSteps, of_steps),
            (Kind::OfShared, of_shared),
        ];
        let (mut slots, mut places) = (Vec::new(), Vec::new());
        for (kind, items) in kinds {
            for number in 0..components * items.len() {
                let (component, index) = (number / items.len(), number % items.len());
                let Some(place) = place(kind, component, index) else {
                    continue;
                };
                let item = items[index];
                let has_steps = matches!(kind, Kind::Outputs | Kind::OfSteps);
                let slot = wanted[place].then(|| {
                    let kept = if kind == Kind::OfSteps {
                        kept(place)
                    } else {
                        None
                    };
                    Slot {
                        has_steps,
                        item,
                        kept,
                        elements: memory::take(self.size(has_steps, item, kept.is_some())),
                    }
                });
                slots.push((slot, item));
                places.push((kind, place));
            }
        }
        (slots, places)
    }

    /// Returns the number of the first axes of lanes that the derivative with respect to a step keeps, if a replay sums the
    /// others: the input is broadcast along these, and each row of lanes has the same elements of the input.
    fn kept(&self, input: &[usize], item: Item) -> Option<usize> {
        let own = &input[1..input.len() - usize::from(item.row().is_some())];
        let mut own = own.iter().rev();
        let is_repeated = |_: &&usize| own.next().is_none_or(|length| *length == 1);
        let repeated = self.lanes.iter().rev().take_while(is_repeated).count();
        let kept = self.lanes.len() - repeated;
        let summed: usize = self.lanes[kept..].iter().product();
        let are_whole = summed.is_multiple_of(WIDTH) || summed == self.width();
        (summed > 1 && are_whole).then_some(kept)
    }

    /// Returns the number of elements of a result.
    fn size(&self, has_steps: bool, item: Item, are_summed: bool) -> usize {
        let rows = if has_steps { self.steps } else { 1 };
        let columns = columns(self.width(), are_summed);
        let size = (rows * columns).checked_mul(item.numbers());
        // As large as none can be, so that there is a panic with the number.
        size.unwrap_or(usize::MAX)
    }

    /// Returns the results, each at its place.
    fn arrays(
        &self,
        slots: Vec<(Option<Slot<T>>, Item)>,
        places: &[(Kind, usize)],
        count: usize,
    ) -> Vec<Option<ArrayD<T>>> {
        let mut arrays = Vec::new();
        arrays.resize_with(count, || None);
        for ((slot, item), (_, place)) in slots.into_iter().zip(places) {
            arrays[*place] = slot.map(|slot| {
                let steps = slot.has_steps.then_some(self.steps);
                let kept = slot.kept.unwrap_or(self.lanes.len());
                let (lanes, summed) = self.lanes.split_at(kept);
                let sums = slot.kept.map(|_| columns(summed.iter().product(), true));
                let lanes = lanes.iter().copied();
                let own = steps.into_iter().chain(lanes.clone());
                let shape: Vec<usize> = own.clone().chain(sums).chain(item.row()).collect();
                // INVARIANT: `run` has filled it.
                let array = ArrayD::from_shape_vec(shape, slot.elements);
                let array = array.expect("an element for each");
                if sums.is_none() {
                    return array;
                }
                let axis = steps.iter().count() + kept;
                let shape = own.chain(repeat_n(1, summed.len())).chain(item.row());
                let shape: Vec<usize> = shape.collect();
                // INVARIANT: axes of length 1 are added.
                let sums = array.sum_axis(Axis(axis)).into_shape_with_order(shape);
                sums.expect("as many elements")
            });
        }
        arrays
    }

    /// Returns the sources of the numbers of some inputs, of each component.
    fn sources<'a>(
        &self,
        inputs: &'a [Option<ArrayViewD<'_, T>>],
        components: usize,
        width: usize,
        of: Range<usize>,
    ) -> Vec<Source<'a, T>> {
        let mut sources = Vec::new();
        for component in 0..components {
            for place in of.clone() {
                let input = inputs[component * width + place].as_ref();
                let item = match place.checked_sub(self.loops.inputs().len()) {
                    None => self.loops.input(place),
                    Some(result) => self.loops.result(result),
                };
                Source::of(input, item, self.is_reversed, self.lanes, &mut sources);
            }
        }
        sources
    }
}
