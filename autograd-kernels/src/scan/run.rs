//! One pass through time, forward or backward, over lanes that are cut into blocks.

use std::iter::repeat_n;
use std::mem::{MaybeUninit, take};
use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut3, Axis, s};

use super::backward::{Backward, wanted};
use super::forward::Forward;
use super::lanes::{Lanes, Rows};
use super::recurrence::Recurrence;
use super::replays::Replays;
use super::segments::{CHUNK, CHUNK_OF_FEW, KEPT, LONGEST, chunks, segment, segments};
use super::source::{Source, Stream};
use crate::element::Element;
use crate::elementwise::Item;
use crate::elementwise::evaluation::{BLOCK, LANES};
use crate::elementwise::recorded::{Kept, Row, WIDTH, depth};
use crate::parallel::{each_part, shares, worth};

/// The results of a pass, in the order in which a part has them; all but the first two are those of backward. Each has
/// its number for each component, of the component's number in the recurrence.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    LastStates,
    Outputs,
    OfStates,
    OfSteps,
    OfShared,
}

/// A result of a pass: that of an item.
pub(super) struct Slot<T> {
    pub(super) has_steps: bool,
    pub(super) item: Item,
    /// The leading axes of lanes that the result keeps, if those of the others are summed as they are computed: it then has
    /// the sum of each [`WIDTH`] lanes, whose order does not depend on the number of threads.
    pub(super) kept: Option<usize>,
    pub(super) elements: Vec<T>,
}

/// Returns how many lanes, or sums of lanes, there are for some lanes.
pub(super) fn columns(lanes: usize, are_summed: bool) -> usize {
    if are_summed {
        lanes.div_ceil(WIDTH)
    } else {
        lanes
    }
}

/// What is computed.
pub(super) struct Pass<'a, T: Element> {
    pub(super) recurrence: Recurrence<'a, T>,
    pub(super) order: usize,
    pub(super) components: usize,
    /// The inputs, component after component.
    pub(super) inputs: Vec<Source<'a, T>>,
    /// The gradients of the results, component after component; none if the pass goes forward alone.
    pub(super) gradients: Vec<Source<'a, T>>,
    /// The states that forward has saved.
    pub(super) saved: Option<ArrayView2<'a, T>>,
    /// Whether a result needs the first pass, or only the states.
    pub(super) has_forward_results: bool,
    pub(super) wants_shared: bool,
    /// Whether a derivative with respect to an input is wanted.
    pub(super) goes_backward: bool,
}

/// A range of lanes, and the results there.
struct Part<'b, T> {
    lanes: Range<usize>,
    results: Vec<Option<Rows<'b, T>>>,
    checkpoints: Option<Rows<'b, T>>,
}

/// A block of lanes.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    length: usize,
    padded: usize,
}

impl Block {
    /// Returns the blocks of a range. Only the last one is not whole registers; a replay has whole rows before it.
    fn all(lanes: Range<usize>, is_replayed: bool) -> impl Iterator<Item = Self> {
        let mut start = lanes.start;
        std::iter::from_fn(move || {
            let length = match lanes.end - start {
                0 => return None,
                rest if is_replayed => rest.min(BLOCK),
                rest @ ..LANES => rest,
                rest => (rest - rest % LANES).min(BLOCK),
            };
            let block = Self {
                start,
                length,
                padded: match length {
                    // One or two are computed as they are: that takes less time than the lanes of registers do.
                    ..=2 => length,
                    _ => length.next_multiple_of(LANES),
                },
            };
            start += length;
            Some(block)
        })
    }

    /// Returns the steps that loops compute at a time. Of few lanes, many steps fit the cache.
    fn chunk(self) -> usize {
        if self.padded < LANES {
            CHUNK_OF_FEW
        } else {
            CHUNK
        }
    }

    fn size(self) -> [usize; 2] {
        [self.length, self.padded]
    }

    fn lanes(self) -> Lanes {
        Lanes {
            length: self.length,
            padded: self.padded,
        }
    }
}

/// Buffers, which all blocks of a part use.
struct Buffers<T> {
    inputs: Vec<Vec<T>>,
    gradients: Vec<Vec<T>>,
    trail: Vec<T>,
    checkpoints: Vec<T>,
    replays: Replays<T>,
}

/// The results of a block, of each kind.
struct Results<'b, T> {
    last_states: Vec<Option<Rows<'b, T>>>,
    outputs: Vec<Option<Rows<'b, T>>>,
    of_states: Vec<Option<Rows<'b, T>>>,
    of_steps: Vec<Option<Rows<'b, T>>>,
    of_shared: Vec<Option<Rows<'b, T>>>,
}

impl<T: Element> Pass<'_, T> {
    /// Fills all results, and the rows of saved states.
    pub(super) fn run(
        &self,
        slots: &mut [(Option<Slot<T>>, Item)],
        saved: Option<(&mut Slot<T>, usize)>,
    ) {
        let (width, steps) = (self.recurrence.width(), self.recurrence.steps);
        let (mut filled, mut is_there) = (Vec::new(), Vec::new());
        // Of all numbers.
        let mut are_summed = Vec::new();
        for (slot, item) in slots {
            let is_summed = slot.as_ref().is_some_and(|slot| slot.kept.is_some());
            is_there.extend(repeat_n(slot.is_some(), item.numbers()));
            are_summed.extend(repeat_n(is_summed, item.numbers()));
            if let Some(slot) = slot {
                let rows = if slot.has_steps { steps } else { 1 };
                filled.push((slot, rows));
            }
        }
        is_there.push(saved.is_some());
        are_summed.push(false);
        filled.extend(saved);
        let views = filled.iter_mut().flat_map(|(slot, rows)| {
            let columns = columns(width, slot.kept.is_some());
            let shape = [*rows, columns, slot.item.numbers()];
            let room = &mut slot.elements.spare_capacity_mut()[..shape.iter().product()];
            // INVARIANT: an element for each.
            let mut view = ArrayViewMut3::from_shape(shape, room).expect("an element for each");
            if slot.has_steps && self.recurrence.is_reversed {
                view.invert_axis(Axis(0));
            }
            numbers_of(view)
        });
        let mut rest: Vec<Rows<'_, T>> = views.collect();
        // Which lanes are replayed together, and so computed alike, must not depend on the number of threads.
        let unit = if self.is_replayed() {
            WIDTH * self.depth()
        } else {
            LANES
        };
        let at_least = worth::FORMULA / unit / steps.max(1);
        let parts: Vec<Part<'_, T>> = shares(width, unit, at_least)
            .into_iter()
            .map(|lanes| {
                let mut wholes = take(&mut rest).into_iter();
                let of = |(&is_there, &is_summed)| {
                    let whole = if is_there { wholes.next()? } else { None? };
                    let (piece, after) = whole.split_at(Axis(1), columns(lanes.len(), is_summed));
                    rest.push(after);
                    Some(piece)
                };
                let mut results: Vec<_> = is_there.iter().zip(&are_summed).map(of).collect();
                let checkpoints = results.pop().flatten();
                Part {
                    lanes,
                    results,
                    checkpoints,
                }
            })
            .collect();
        drop(rest);
        each_part(parts, |part| self.part(part, &are_summed));
        for (slot, rows) in filled {
            let columns = columns(width, slot.kept.is_some());
            // SAFETY: the parts have written to all elements: the loops all rows of outputs and of derivatives with
            // respect to steps, since they have computed all steps, and the blocks all other rows.
            #[expect(unsafe_code, reason = "see above")]
            unsafe {
                slot.elements.set_len(rows * columns * slot.item.numbers());
            }
        }
    }

    /// Fills the results of some lanes.
    fn part(&self, mut part: Part<'_, T>, are_summed: &[bool]) {
        let empty = |count| {
            let mut buffers = Vec::new();
            buffers.resize_with(count, Vec::new);
            buffers
        };
        let mut buffers = Buffers {
            inputs: empty(self.inputs.len()),
            gradients: empty(self.gradients.len()),
            trail: Vec::new(),
            checkpoints: Vec::new(),
            replays: Replays::new(self.depth()),
        };
        let (counts, first) = (self.recurrence.loops.counts(), part.lanes.start);
        let before = 2 * counts.states + counts.outputs;
        let of_steps = before * self.components..(before + counts.steps) * self.components;
        let sums = are_summed.get(of_steps).unwrap_or(&[]);
        for block in Block::all(part.lanes.clone(), self.is_replayed()) {
            let lanes = block.start - first..block.start - first + block.length;
            let all = part.results.iter_mut().zip(are_summed);
            let mut slices = all.map(|(rows, &is_summed)| {
                let start = columns(lanes.start, is_summed);
                let end = start + columns(lanes.len(), is_summed);
                Some(rows.as_mut()?.slice_mut(s![.., start..end]))
            });
            let mut next = |count| slices.by_ref().take(self.components * count).collect();
            let mut results = Results {
                last_states: next(counts.states),
                outputs: next(counts.outputs),
                of_states: next(counts.states),
                of_steps: next(counts.steps),
                of_shared: next(counts.shared),
            };
            if self.gradients.is_empty() {
                let mut row = 0;
                self.forward(block, &mut buffers, &mut results, |state| {
                    if let Some(saved) = &mut part.checkpoints {
                        let mut saved = saved.slice_mut(s![row, lanes.clone()]);
                        for (element, computed) in saved.iter_mut().zip(state) {
                            *element = MaybeUninit::new(*computed);
                        }
                        row += 1;
                    }
                });
            } else {
                self.backward(block, &mut buffers, &mut results, sums);
            }
        }
    }

    /// Returns whether the formula is recorded and replayed, in one direction at least.
    fn is_replayed(&self) -> bool {
        let [forward, backward] = self.recurrence.loops.are_replayed();
        forward || self.goes_backward && backward
    }

    /// Returns how many rows each number of a replay has: as many in each part.
    fn depth(&self) -> usize {
        depth::<T>(self.recurrence.width())
    }

    /// Returns the number of states of all components.
    fn states(&self) -> usize {
        self.components * self.recurrence.loops.counts().states
    }

    /// Returns the elements of lanes of some inputs, a block for each, of the inputs whose number is in a range.
    fn loaded(&self, sources: &[Source<'_, T>], of: Range<usize>, block: Block) -> Vec<T> {
        let width = sources.len() / self.components;
        let mut loaded = vec![T::zero(); self.components * of.len() * BLOCK];
        let numbers = (0..self.components)
            .flat_map(|component| of.clone().map(move |number| component * width + number));
        for (number, to) in numbers.zip(loaded.chunks_exact_mut(BLOCK)) {
            let source = &sources[number];
            let mut buffer = vec![T::zero(); source.room(1, block.size(), false)];
            let lanes = self.recurrence.lanes;
            let stream = source.rows(0..1, block.start, block.size(), lanes, &mut buffer);
            to[..block.padded].copy_from_slice(stream.row(0, block.padded));
        }
        loaded
    }

    /// Returns the rows of some steps of the inputs or gradients that are not of states. They are read by a replay, or by
    /// a compiled loop.
    fn streams<'b>(
        &self,
        sources: &'b [Source<'_, T>],
        steps: &Range<usize>,
        block: Block,
        buffers: &'b mut [Vec<T>],
        is_replayed: bool,
    ) -> Vec<Stream<'b, T>> {
        let width = sources.len() / self.components;
        let states = self.recurrence.loops.counts().states;
        let of = |(index, (source, buffer)): (usize, (&'b Source<'_, T>, &'b mut Vec<T>))| {
            if index % width < states {
                return Stream::of(&[], 0);
            }
            if is_replayed && let Some(stream) = source.repeated(steps.start) {
                return stream;
            }
            // A replay reads a few lanes of all steps, and then the next: of rows that are far apart, the processor does not
            // expect that.
            let room = source.room(
                block.chunk().min(self.recurrence.steps).max(steps.len()),
                block.size(),
                is_replayed,
            );
            buffer.resize(room, T::zero());
            let lanes = self.recurrence.lanes;
            source.rows(steps.clone(), block.start, block.size(), lanes, buffer)
        };
        sources.iter().zip(buffers).enumerate().map(of).collect()
    }

    /// Runs forward, with the results that are wanted of it, and calls `save` with each state before each segment but the
    /// first one.
    fn forward(
        &self,
        block: Block,
        buffers: &mut Buffers<T>,
        results: &mut Results<'_, T>,
        mut save: impl FnMut(&[T]),
    ) {
        let counts = self.recurrence.loops.counts();
        let [is_replayed, _] = self.recurrence.loops.are_replayed();
        let mut states = self.loaded(&self.inputs, 0..counts.states, block);
        for steps in segments(self.recurrence.steps) {
            if steps.start > 0 {
                for state in states.chunks_exact(BLOCK) {
                    save(&state[..block.padded]);
                }
            }
            for steps in chunks(&steps, block.chunk()) {
                let inputs = &mut buffers.inputs;
                let inputs = self.streams(&self.inputs, &steps, block, inputs, is_replayed);
                let steps = Forward {
                    lanes: block.lanes(),
                    steps,
                    inputs: &inputs,
                    states: &mut states,
                    trail: &mut [],
                    results: &mut results.outputs,
                    replays: &mut buffers.replays,
                };
                self.recurrence.loops.forward_steps(self.order, steps);
            }
        }
        write(&states, &mut results.last_states);
    }

    /// Computes the derivatives; of those with respect to steps, some are `sums` of lanes.
    fn backward(
        &self,
        block: Block,
        buffers: &mut Buffers<T>,
        results: &mut Results<'_, T>,
        sums: &[bool],
    ) {
        let counts = self.recurrence.loops.counts();
        let steps = self.recurrence.steps;
        let [_, is_replayed] = self.recurrence.loops.are_replayed();
        let is_known = self.saved.is_some() || steps <= segment(steps);
        let mut checkpoints = take(&mut buffers.checkpoints);
        checkpoints.clear();
        if self.has_forward_results || !is_known {
            self.forward(block, buffers, results, |state| {
                checkpoints.extend_from_slice(state);
            });
        }
        if !self.goes_backward {
            return;
        }
        let mut adjoints = self.loaded(&self.gradients, 0..counts.states, block);
        let mut of_shared = vec![T::zero(); self.components * counts.shared * BLOCK];
        let mut of_segment = of_shared.clone();
        let mut of_chunk = of_shared.clone();
        for (index, steps) in segments(steps).enumerate().rev() {
            let mut states = if index == 0 {
                self.loaded(&self.inputs, 0..counts.states, block)
            } else {
                self.restored(index - 1, block, &checkpoints)
            };
            if is_replayed && !buffers.replays.is_kept_known {
                let inputs = &mut buffers.inputs;
                buffers.replays.kept = self.kept(&steps, block, inputs, &states, &results.of_steps);
                buffers.replays.is_kept_known = true;
            }
            let is_kept = buffers.replays.kept.is_some();
            if !is_kept {
                self.again(&steps, block, buffers, &mut states);
            }
            let chunk_length = if is_kept { steps.len() } else { block.chunk() };
            of_segment.fill(T::zero());
            for chunk in chunks(&steps, chunk_length).rev() {
                of_chunk.fill(T::zero());
                let inputs = &mut buffers.inputs;
                let mut inputs = self.streams(&self.inputs, &chunk, block, inputs, is_replayed);
                if !is_kept {
                    let row = self.states() * block.padded;
                    let trail = &buffers.trail[(chunk.start - steps.start) * row..];
                    for state in 0..self.states() {
                        let number = state % counts.states;
                        let place = state / counts.states * counts.inputs() + number;
                        inputs[place] = Stream::of(&trail[state * block.padded..], row);
                    }
                }
                let gradients = &mut buffers.gradients;
                let gradients =
                    self.streams(&self.gradients, &chunk, block, gradients, is_replayed);
                let steps = Backward {
                    lanes: block.lanes(),
                    steps: chunk,
                    inputs: &inputs,
                    states: if is_kept { &states } else { &[] },
                    gradients: &gradients,
                    adjoints: &mut adjoints,
                    of_steps: &mut results.of_steps,
                    sums,
                    wants_shared: self.wants_shared,
                    of_shared: &mut of_chunk,
                    replays: &mut buffers.replays,
                };
                self.recurrence.loops.backward_steps(self.order, steps);
                add(&mut of_segment, &of_chunk, block.padded);
            }
            add(&mut of_shared, &of_segment, block.padded);
        }
        write(&adjoints, &mut results.of_states);
        write(&of_shared, &mut results.of_shared);
        buffers.checkpoints = checkpoints;
    }

    /// Returns the replays that run a segment again and then backward, if they are faster: the formula has functions, and
    /// what is kept stays in the cache.
    fn kept(
        &self,
        steps: &Range<usize>,
        block: Block,
        inputs: &mut [Vec<T>],
        states: &[T],
        of_steps: &[Option<Rows<'_, T>>],
    ) -> Option<Kept<T>> {
        // At others, forward and backward have the components in opposite order.
        let length = segment(self.recurrence.steps);
        if self.order > 1 || length > LONGEST {
            return None;
        }
        let counts = self.recurrence.loops.counts();
        let wanted = wanted(counts, of_steps, self.wants_shared);
        let first = steps.start..steps.start + 1;
        let inputs = self.streams(&self.inputs, &first, block, inputs, true);
        let number = |(index, stream): (usize, &Stream<'_, T>)| match states.get(index * BLOCK) {
            Some(state) => *state,
            None => stream.row(0, 1)[0],
        };
        let numbers: Vec<T> = inputs.iter().enumerate().map(number).collect();
        let depth = self.depth();
        let mut kept = self.recurrence.loops.kept(depth, &numbers, &wanted)?;
        let rows = length * (counts.states + kept.count);
        if rows * size_of::<Row<T>>() > KEPT {
            return None;
        }
        let zeros = Row([T::zero(); WIDTH]);
        kept.rows.resize(rows * depth, zeros);
        Some(kept)
    }

    /// Runs a segment again, and keeps the states before each step.
    fn again(
        &self,
        steps: &Range<usize>,
        block: Block,
        buffers: &mut Buffers<T>,
        states: &mut [T],
    ) {
        let row = self.states() * block.padded;
        let room = steps.len() * row;
        if buffers.trail.len() < room {
            buffers.trail.resize(room, T::zero());
        }
        let counts = self.recurrence.loops.counts();
        let [is_replayed, _] = self.recurrence.loops.are_replayed();
        let mut results = Vec::new();
        results.resize_with(self.components * counts.outputs, || None);
        for chunk in chunks(steps, block.chunk()) {
            let inputs = &mut buffers.inputs;
            let inputs = self.streams(&self.inputs, &chunk, block, inputs, is_replayed);
            let trail = &mut buffers.trail[(chunk.start - steps.start) * row..];
            let steps = Forward {
                lanes: block.lanes(),
                trail: &mut trail[..chunk.len() * row],
                steps: chunk,
                inputs: &inputs,
                states: &mut *states,
                results: &mut results,
                replays: &mut buffers.replays,
            };
            self.recurrence.loops.forward_steps(self.order, steps);
        }
    }

    /// Returns the states before a segment, which are those of a row of checkpoints.
    fn restored(&self, index: usize, block: Block, checkpoints: &[T]) -> Vec<T> {
        let count = self.states();
        let mut states = vec![T::zero(); count * BLOCK];
        for (state, to) in states.chunks_exact_mut(BLOCK).enumerate() {
            let row = index * count + state;
            if let Some(saved) = &self.saved {
                let saved = saved.slice(s![row, block.start..block.start + block.length]);
                // INVARIANT: checkpoints are in row-major order.
                let saved = saved.to_slice().expect("a part of a row");
                to[..block.length].copy_from_slice(saved);
                let last = to[block.length - 1];
                to[block.length..block.padded].fill(last);
            } else {
                let saved = &checkpoints[row * block.padded..][..block.padded];
                to[..block.padded].copy_from_slice(saved);
            }
        }
        states
    }
}

/// Returns the rows of each number of items.
fn numbers_of<T>(mut items: ArrayViewMut3<'_, MaybeUninit<T>>) -> Vec<Rows<'_, T>> {
    let mut numbers = Vec::new();
    while items.len_of(Axis(2)) > 0 {
        let (number, rest) = items.split_at(Axis(2), 1);
        numbers.push(number.index_axis_move(Axis(2), 0));
        items = rest;
    }
    numbers
}

/// Writes blocks to the only rows of results.
fn write<T: Copy>(blocks: &[T], results: &mut [Option<Rows<'_, T>>]) {
    for (block, rows) in blocks.chunks_exact(BLOCK).zip(results) {
        for (element, computed) in rows.iter_mut().flatten().zip(block) {
            *element = MaybeUninit::new(*computed);
        }
    }
}

/// Adds the first lanes of blocks.
fn add<T: Element>(sums: &mut [T], terms: &[T], lanes: usize) {
    let blocks = sums.chunks_exact_mut(BLOCK).zip(terms.chunks_exact(BLOCK));
    for (sums, terms) in blocks {
        for (sum, term) in sums[..lanes].iter_mut().zip(&terms[..lanes]) {
            *sum += *term;
        }
    }
}
