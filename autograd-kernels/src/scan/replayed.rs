//! Steps of many numbers: the formula is recorded, and replayed for some lanes at a time, through all steps.

use std::ops::Range;

use super::backward::Backward;
use super::counts::ScanCounts;
use super::forward::Forward;
use super::lanes::{Rows, block, block_mut};
use super::source::Stream;
use super::sums::Sums;
use crate::element::Element;
use crate::elementwise::recorded::{OfReplays, Replay, Replayed, Row, WIDTH, Wanted, of_depth};

/// Computes some steps.
pub(super) fn forward<T: Element>(
    formula: &dyn Replayed<T>,
    counts: ScanCounts,
    run: Forward<'_, '_, T>,
) {
    of_depth(run.replays.depth, ForwardWork(formula, counts, run));
}

/// The loop of [`forward`].
struct ForwardWork<'r, 'a, 'b, T>(&'r dyn Replayed<T>, ScanCounts, Forward<'a, 'b, T>);

impl<T: Element> OfReplays for ForwardWork<'_, '_, '_, T> {
    type Element = T;

    #[cfg_attr(optimized, inline(always))]
    fn run<const DEPTH: usize>(self) {
        let Self(formula, counts, run) = self;
        let states = counts.states;
        let has_results = run.results.iter().any(Option::is_some);
        let replay = run.replays.forward[usize::from(!has_results)].get_or_insert_with(|| {
            let results = states + if has_results { counts.outputs } else { 0 };
            Replay::new(
                Wanted::Values(results),
                DEPTH,
                counts.inputs(),
                states + counts.outputs,
            )
        });
        let of_steps = states..states + counts.steps;
        for places in run.lanes.parts(replay.lanes()) {
            for input in of_steps.end..counts.inputs() {
                load(run.inputs[input], 0, &places, replay.input::<DEPTH>(input));
            }
            for state in 0..states {
                fill(
                    replay.input::<DEPTH>(state),
                    &block(run.states, state)[places.clone()],
                );
            }
            for (index, step) in run.steps.clone().enumerate() {
                if !run.trail.is_empty() {
                    let rows = run.trail.chunks_exact_mut(run.lanes.padded);
                    let rows = rows.skip(index * states).take(states);
                    for (state, row) in rows.enumerate() {
                        store(&mut row[places.clone()], replay.input::<DEPTH>(state));
                    }
                }
                for input in of_steps.clone() {
                    load(
                        run.inputs[input],
                        index,
                        &places,
                        replay.input::<DEPTH>(input),
                    );
                }
                replay.run(formula);
                let results = replay.results();
                for (output, rows) in run.results.iter_mut().enumerate() {
                    if let Some(rows) = rows {
                        write(rows, step, &places, results.rows::<DEPTH>(states + output));
                    }
                }
                replay.carry::<DEPTH>(states, 0);
            }
            for state in 0..states {
                let to = &mut block_mut(run.states, state)[places.clone()];
                store(to, replay.input::<DEPTH>(state));
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
    let depth = run.replays.depth;
    of_depth(depth, BackwardWork(formula, counts, wanted, run));
}

/// The loop of [`backward`].
struct BackwardWork<'r, 'a, 'b, T>(
    &'r dyn Replayed<T>,
    ScanCounts,
    &'r [bool],
    Backward<'a, 'b, T>,
);

impl<T: Element> OfReplays for BackwardWork<'_, '_, '_, T> {
    type Element = T;

    #[cfg_attr(optimized, inline(always))]
    fn run<const DEPTH: usize>(self) {
        let Self(formula, counts, wanted, run) = self;
        let (states, inputs) = (counts.states, counts.inputs());
        let results = states + counts.outputs;
        let of_steps = states..states + counts.steps;
        let (replay, mut again) = if let Some(kept) = &mut run.replays.kept {
            let again = Again::<_, DEPTH> {
                replay: &mut kept.forward,
                reads: &kept.reads,
                rows: kept.rows.as_chunks_mut().0,
                of_step: states + kept.count,
            };
            (&mut kept.backward, Some(again))
        } else {
            let replay = run.replays.backward.get_or_insert_with(|| {
                let wanted = Wanted::Gradients(wanted.to_vec());
                Replay::new(wanted, DEPTH, inputs + results, inputs)
            });
            (replay, None)
        };
        let mut sums_of_lanes = Sums::<_, DEPTH>::new(run.sums, run.of_steps, run.steps.len());
        let zeros = [Row([T::zero(); WIDTH]); DEPTH];
        let mut sums = vec![zeros; counts.shared];
        for places in run.lanes.parts(replay.lanes()) {
            let length = run.lanes.length.min(places.end) - places.start;
            for input in of_steps.end..inputs {
                load(run.inputs[input], 0, &places, replay.input::<DEPTH>(input));
            }
            for state in 0..states {
                let adjoint = &block(run.adjoints, state)[places.clone()];
                fill(replay.input::<DEPTH>(inputs + state), adjoint);
            }
            sums.fill(zeros);
            if let Some(again) = &mut again {
                let (read, steps) = ((run.inputs, run.states), run.steps.len());
                again.run(formula, counts, read, steps, &places);
            }
            for (index, step) in run.steps.clone().enumerate().rev() {
                for input in of_steps.clone() {
                    let to = replay.input::<DEPTH>(input);
                    load(run.inputs[input], index, &places, to);
                }
                if let Some(again) = &again {
                    let (before, kept) = again.step(index).split_at(states);
                    replay.write(0, before);
                    replay.write(inputs + results, kept);
                } else {
                    for state in 0..states {
                        let to = replay.input::<DEPTH>(state);
                        load(run.inputs[state], index, &places, to);
                    }
                }
                for result in states..results {
                    let gradient = replay.input::<DEPTH>(inputs + result);
                    load(run.gradients[result], index, &places, gradient);
                }
                replay.run(formula);
                let found = replay.results();
                for (number, rows) in run.of_steps.iter_mut().enumerate() {
                    if let (Some(rows), false) = (rows, run.sums[number]) {
                        write(rows, step, &places, found.rows::<DEPTH>(states + number));
                    }
                }
                sums_of_lanes.take(
                    index,
                    length,
                    #[cfg_attr(optimized, inline(always))]
                    |number| found.rows(states + number),
                );
                if run.wants_shared {
                    for (shared, sums) in sums.iter_mut().enumerate() {
                        let terms = found.rows::<DEPTH>(of_steps.end + shared);
                        for (sum, terms) in sums.iter_mut().zip(terms) {
                            sum.add_lanes(terms);
                        }
                    }
                }
                replay.carry::<DEPTH>(states, inputs);
            }
            sums_of_lanes.write(run.of_steps, &run.steps, places.start / WIDTH);
            for state in 0..states {
                let to = &mut block_mut(run.adjoints, state)[places.clone()];
                store(to, replay.input::<DEPTH>(inputs + state));
            }
            for (shared, sums) in sums.iter().enumerate() {
                let to = &mut block_mut(run.of_shared, shared)[places.clone()];
                for (to, sum) in to.iter_mut().zip(sums.iter().flat_map(|sums| &sums.0)) {
                    *to += *sum;
                }
            }
        }
    }
}

/// Steps that run again, and room for the states before each and what the replay keeps of it.
struct Again<'a, T, const DEPTH: usize> {
    replay: &'a mut Replay<T>,
    reads: &'a [bool],
    rows: &'a mut [[Row<T>; DEPTH]],
    /// The number of these of a step.
    of_step: usize,
}

impl<T: Element, const DEPTH: usize> Again<'_, T, DEPTH> {
    fn step(&self, index: usize) -> &[[Row<T>; DEPTH]] {
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
            load(inputs[input], 0, places, replay.input::<DEPTH>(input));
        }
        for state in 0..states {
            fill(
                replay.input::<DEPTH>(state),
                &block(before, state)[places.clone()],
            );
        }
        let of_steps: Vec<usize> = of_steps.filter(|input| self.reads[*input]).collect();
        let rows = self.rows.chunks_exact_mut(self.of_step).take(steps);
        for (index, rows) in rows.enumerate() {
            for &input in &of_steps {
                load(inputs[input], index, places, replay.input::<DEPTH>(input));
            }
            let (before, kept) = rows.split_at_mut(states);
            before.copy_from_slice(replay.inputs(states));
            replay.run(formula);
            let results = replay.results();
            for (number, rows) in kept.iter_mut().enumerate() {
                *rows = *results.rows(states + number);
            }
            replay.carry::<DEPTH>(states, 0);
        }
    }
}

/// Reads some lanes of a row. After the last lane it is repeated, which takes the branches that it takes.
#[cfg_attr(optimized, inline(always))]
fn load<T: Element, const DEPTH: usize>(
    stream: Stream<'_, T>,
    index: usize,
    places: &Range<usize>,
    to: &mut [Row<T>; DEPTH],
) {
    match stream.repeated(index) {
        // Of a length that the compiler knows.
        Some(element) => *to = [Row([element; WIDTH]); DEPTH],
        None => fill(to, &stream.row(index, places.end)[places.start..]),
    }
}

#[cfg_attr(optimized, inline(always))]
fn fill<T: Element, const DEPTH: usize>(to: &mut [Row<T>; DEPTH], mut lanes: &[T]) {
    for row in to {
        match lanes.first_chunk() {
            Some(whole) => row.0 = *whole,
            None => fill_some(&mut row.0, lanes),
        }
        lanes = &lanes[WIDTH.min(lanes.len() - 1)..];
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
fn store<T: Element, const DEPTH: usize>(to: &mut [T], rows: &[Row<T>; DEPTH]) {
    // Of a length that the compiler knows.
    let (whole, rest) = to.as_chunks_mut();
    let last = rows.get(whole.len());
    for (to, row) in whole.iter_mut().zip(rows) {
        *to = row.0;
    }
    if let Some(row) = last {
        store_some(rest, &row.0);
    }
}

/// Not inlined, as [`fill_some`].
#[inline(never)]
fn store_some<T: Element>(to: &mut [T], lanes: &[T; WIDTH]) {
    to.copy_from_slice(&lanes[..to.len()]);
}

/// Writes the lanes of a row that there are.
#[cfg_attr(optimized, inline(always))]
fn write<T: Element, const DEPTH: usize>(
    rows: &mut Rows<'_, T>,
    step: usize,
    places: &Range<usize>,
    found: &[Row<T>; DEPTH],
) {
    let mut row = rows.row_mut(step);
    let places = places.start..row.len().min(places.end);
    let Some(row) = row.as_slice_mut() else {
        let found = found.iter().flat_map(|found| &found.0);
        for (element, lane) in row
            .iter_mut()
            .skip(places.start)
            .take(places.len())
            .zip(found)
        {
            element.write(*lane);
        }
        return;
    };
    // Of a length that the compiler knows.
    let (whole, rest) = row[places].as_chunks_mut::<WIDTH>();
    let last = found.get(whole.len());
    for (to, found) in whole.iter_mut().zip(found) {
        for (element, lane) in to.iter_mut().zip(&found.0) {
            element.write(*lane);
        }
    }
    for (element, lane) in rest.iter_mut().zip(last.iter().flat_map(|row| &row.0)) {
        element.write(*lane);
    }
}
