//! Steps of many numbers: the formula is recorded, and replayed for some lanes at a time, through all steps.

use std::ops::Range;

use super::backward::Backward;
use super::counts::ScanCounts;
use super::forward::Forward;
use super::lanes::{Rows, block, block_mut};
use super::source::Stream;
use super::sums::Sums;
use crate::element::Element;
use crate::elementwise::recorded::{Replay, Replayed, Row, WIDTH, Wanted};
use crate::loops::wide::{Loop, compiled};

/// Computes some steps.
pub(super) fn forward<T: Element>(
    formula: &dyn Replayed<T>,
    counts: ScanCounts,
    run: Forward<'_, '_, T>,
) {
    compiled(ForwardWork(formula, counts, run));
}

/// The loop of [`forward`].
struct ForwardWork<'r, 'a, 'b, T>(&'r dyn Replayed<T>, ScanCounts, Forward<'a, 'b, T>);

impl<T: Element> Loop for ForwardWork<'_, '_, '_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self(formula, counts, run) = self;
        let states = counts.states;
        let has_results = run.results.iter().any(Option::is_some);
        let replay = run.replays.forward[usize::from(!has_results)].get_or_insert_with(|| {
            let results = states + if has_results { counts.outputs } else { 0 };
            Replay::new(
                Wanted::Values(results),
                counts.inputs(),
                states + counts.outputs,
            )
        });
        let of_steps = states..states + counts.steps;
        for places in run.lanes.parts() {
            for input in of_steps.end..counts.inputs() {
                load(run.inputs[input], 0, &places, replay.input(input));
            }
            for state in 0..states {
                fill(
                    replay.input(state),
                    &block(run.states, state)[places.clone()],
                );
            }
            for (index, step) in run.steps.clone().enumerate() {
                if !run.trail.is_empty() {
                    let rows = run.trail.chunks_exact_mut(run.lanes.padded);
                    let rows = rows.skip(index * states).take(states);
                    for (state, row) in rows.enumerate() {
                        store(&mut row[places.clone()], replay.input(state));
                    }
                }
                for input in of_steps.clone() {
                    load(run.inputs[input], index, &places, replay.input(input));
                }
                replay.run(formula);
                let results = replay.results();
                for (output, rows) in run.results.iter_mut().enumerate() {
                    if let Some(rows) = rows {
                        write(rows, step, &places, results.lanes(states + output));
                    }
                }
                replay.carry(states, 0);
            }
            for state in 0..states {
                let to = &mut block_mut(run.states, state)[places.clone()];
                store(to, replay.input(state));
            }
        }
    }
}

/// Computes the adjoints before some steps, and the derivatives with respect to the other inputs that are `wanted`.
pub(super) fn backward<T: Element>(
    formula: &dyn Replayed<T>,
    counts: ScanCounts,
    wanted: &[bool],
    run: Backward<'_, '_, T>,
) {
    compiled(BackwardWork(formula, counts, wanted, run));
}

/// The loop of [`backward`].
struct BackwardWork<'r, 'a, 'b, T>(
    &'r dyn Replayed<T>,
    ScanCounts,
    &'r [bool],
    Backward<'a, 'b, T>,
);

impl<T: Element> Loop for BackwardWork<'_, '_, '_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self(formula, counts, wanted, run) = self;
        let (states, inputs) = (counts.states, counts.inputs());
        let results = states + counts.outputs;
        let of_steps = states..states + counts.steps;
        let (replay, mut again) = if let Some(kept) = &mut run.replays.kept {
            let again = Again {
                replay: &mut kept.forward,
                reads: &kept.reads,
                rows: &mut kept.rows,
                of_step: states + kept.count,
            };
            (&mut kept.backward, Some(again))
        } else {
            let replay = run.replays.backward.get_or_insert_with(|| {
                Replay::new(Wanted::Gradients(wanted.to_vec()), inputs + results, inputs)
            });
            (replay, None)
        };
        let mut sums_of_lanes = Sums::new(run.sums, run.of_steps, run.steps.len());
        let mut sums = vec![Row([T::zero(); WIDTH]); counts.shared];
        for places in run.lanes.parts() {
            let length = run.lanes.length.min(places.end) - places.start;
            for input in of_steps.end..inputs {
                load(run.inputs[input], 0, &places, replay.input(input));
            }
            for state in 0..states {
                let adjoint = &block(run.adjoints, state)[places.clone()];
                fill(replay.input(inputs + state), adjoint);
            }
            for sum in &mut sums {
                sum.0.fill(T::zero());
            }
            if let Some(again) = &mut again {
                let before = run.states;
                again.run(
                    formula,
                    counts,
                    (run.inputs, before),
                    run.steps.len(),
                    &places,
                );
            }
            for (index, step) in run.steps.clone().enumerate().rev() {
                for input in of_steps.clone() {
                    load(run.inputs[input], index, &places, replay.input(input));
                }
                if let Some(again) = &again {
                    let (before, kept) = again.step(index).split_at(states);
                    replay.write(0, before);
                    replay.write(inputs + results, kept);
                } else {
                    for state in 0..states {
                        load(run.inputs[state], index, &places, replay.input(state));
                    }
                }
                for result in states..results {
                    let gradient = replay.input(inputs + result);
                    load(run.gradients[result], index, &places, gradient);
                }
                replay.run(formula);
                let found = replay.results();
                for (number, rows) in run.of_steps.iter_mut().enumerate() {
                    if let (Some(rows), false) = (rows, run.sums[number]) {
                        write(rows, step, &places, found.lanes(states + number));
                    }
                }
                sums_of_lanes.take(
                    index,
                    length,
                    #[cfg_attr(optimized, inline(always))]
                    |number| found.lanes(states + number),
                );
                if run.wants_shared {
                    for (shared, sum) in sums.iter_mut().enumerate() {
                        // A copy: the compiler does not know that the sums are elsewhere.
                        let mut total = sum.0;
                        for (total, term) in
                            total.iter_mut().zip(found.lanes(of_steps.end + shared))
                        {
                            *total += *term;
                        }
                        sum.0 = total;
                    }
                }
                replay.carry(states, inputs);
            }
            sums_of_lanes.write(run.of_steps, &run.steps, places.start / WIDTH);
            for state in 0..states {
                let to = &mut block_mut(run.adjoints, state)[places.clone()];
                store(to, replay.input(inputs + state));
            }
            for (shared, sum) in sums.iter().enumerate() {
                let to = &mut block_mut(run.of_shared, shared)[places.clone()];
                for (to, sum) in to.iter_mut().zip(&sum.0) {
                    *to += *sum;
                }
            }
        }
    }
}

/// Steps that run again, and room for the states before each and what the replay keeps of it.
struct Again<'a, T> {
    replay: &'a mut Replay<T>,
    reads: &'a [bool],
    rows: &'a mut [Row<T>],
    /// The number of rows of a step.
    of_step: usize,
}

impl<T: Element> Again<'_, T> {
    fn step(&self, index: usize) -> &[Row<T>] {
        &self.rows[index * self.of_step..][..self.of_step]
    }

    /// Runs the steps, of these inputs and the states before the first.
    #[cfg_attr(optimized, inline(always))]
    fn run(
        &mut self,
        formula: &dyn Replayed<T>,
        counts: ScanCounts,
        (inputs, before): (&[Stream<'_, T>], &[T]),
        steps: usize,
        places: &Range<usize>,
    ) {
        let (replay, states) = (&mut *self.replay, counts.states);
        let of_steps = states..states + counts.steps;
        for input in of_steps.end..counts.inputs() {
            load(inputs[input], 0, places, replay.input(input));
        }
        for state in 0..states {
            fill(replay.input(state), &block(before, state)[places.clone()]);
        }
        let of_steps: Vec<usize> = of_steps.filter(|input| self.reads[*input]).collect();
        let rows = self.rows.chunks_exact_mut(self.of_step).take(steps);
        for (index, rows) in rows.enumerate() {
            for &input in &of_steps {
                load(inputs[input], index, places, replay.input(input));
            }
            let (before, kept) = rows.split_at_mut(states);
            before.copy_from_slice(replay.inputs(states));
            replay.run(formula);
            let results = replay.results();
            for (number, row) in kept.iter_mut().enumerate() {
                row.0 = *results.lanes(states + number);
            }
            replay.carry(states, 0);
        }
    }
}

/// Reads some lanes of a row. After the last lane it is repeated, which takes the branches that it takes.
#[cfg_attr(optimized, inline(always))]
fn load<T: Element>(
    stream: Stream<'_, T>,
    index: usize,
    places: &Range<usize>,
    to: &mut [T; WIDTH],
) {
    match stream.repeated(index) {
        // Of a length that the compiler knows.
        Some(element) => *to = [element; WIDTH],
        None => fill(to, &stream.row(index, places.end)[places.start..]),
    }
}

#[cfg_attr(optimized, inline(always))]
fn fill<T: Element>(to: &mut [T; WIDTH], lanes: &[T]) {
    if let Some(whole) = lanes.first_chunk() {
        *to = *whole;
    } else {
        fill_some(to, lanes);
    }
}

/// Not inlined: the compiler would make one loop of this and of what fills whole rows, of a length that it does not know.
#[inline(never)]
fn fill_some<T: Element>(to: &mut [T; WIDTH], lanes: &[T]) {
    let (first, rest) = to.split_at_mut(lanes.len());
    first.copy_from_slice(lanes);
    rest.fill(lanes[lanes.len() - 1]);
}

/// Copies the first lanes, as many as there is room for.
#[cfg_attr(optimized, inline(always))]
fn store<T: Element>(to: &mut [T], lanes: &[T; WIDTH]) {
    if let Some(whole) = to.first_chunk_mut() {
        // Of a length that the compiler knows.
        *whole = *lanes;
    } else {
        store_some(to, lanes);
    }
}

/// Not inlined, as [`fill_some`].
#[inline(never)]
fn store_some<T: Element>(to: &mut [T], lanes: &[T; WIDTH]) {
    to.copy_from_slice(&lanes[..to.len()]);
}

/// Writes the lanes of a row that there are.
#[cfg_attr(optimized, inline(always))]
fn write<T: Element>(
    rows: &mut Rows<'_, T>,
    step: usize,
    places: &Range<usize>,
    lanes: &[T; WIDTH],
) {
    let mut row = rows.row_mut(step);
    let places = places.start..row.len().min(places.end);
    if let Some(row) = row.as_slice_mut() {
        let row = &mut row[places];
        if let Some(whole) = row.first_chunk_mut::<WIDTH>() {
            // Of a length that the compiler knows.
            for (element, lane) in whole.iter_mut().zip(lanes) {
                element.write(*lane);
            }
            return;
        }
        for (element, lane) in row.iter_mut().zip(lanes) {
            element.write(*lane);
        }
        return;
    }
    for (element, lane) in row
        .iter_mut()
        .skip(places.start)
        .zip(&lanes[..places.len()])
    {
        element.write(*lane);
    }
}
