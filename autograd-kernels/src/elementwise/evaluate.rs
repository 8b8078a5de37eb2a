//! Evaluation of a formula on whole arrays: inputs of any layout, cut into pieces for the loops.

use std::borrow::Cow;
use std::mem::{MaybeUninit, take};

use ndarray::{ArrayViewD, Axis};

use super::evaluation::{BLOCK, Evaluation, LANES, Loops, Wanted};
use super::faster::Choice;
use super::groups::{MOST_AT_ONCE, groups};
use super::interleaved::{put_together, take_apart};
use super::item::{Item, numbers};
use super::recorded::Replay;
use crate::checks::size;
use crate::element::Element;
use crate::loops::broadcast::{for_each_run, repeated, strides};
use crate::loops::lanes::rows;
use crate::loops::prefetch::prefetch;
use crate::memory;
use crate::parallel::{split_each_mut, worth};

/// An input of an evaluation.
enum Source<'a, T: Element> {
    /// One element for all results.
    Repeated(T),
    /// One row for all results.
    RepeatedRow(Vec<T>),
    /// One element for each result, or one row of this many numbers.
    Whole(Cow<'a, [T]>, usize),
    /// Fewer elements, or rows, which are broadcast; with their strides along the axes of the results, 0 where repeated.
    Stretched {
        elements: Cow<'a, [T]>,
        width: usize,
        strides: Vec<usize>,
    },
    /// Rows of which the loops read each number by itself; with the strides of broadcast ones.
    Rows {
        length: usize,
        elements: Cow<'a, [T]>,
        strides: Option<Vec<usize>>,
    },
}

impl<'a, T: Element> Source<'a, T> {
    fn new(input: &'a ArrayViewD<'_, T>, shape: &[usize]) -> Self {
        if let Some(element) = repeated(input) {
            return Self::Repeated(element);
        }
        let elements = rows(input);
        if input.shape() == shape {
            return Self::Whole(elements, 1);
        }
        let strides = strides(input.shape(), shape);
        Self::Stretched {
            elements,
            width: 1,
            strides,
        }
    }

    /// Adds the sources of an input. One that is missing is zeros.
    fn of(
        input: Option<&'a ArrayViewD<'_, T>>,
        (item, are_pairs): (Item, bool),
        shape: &[usize],
        sources: &mut Vec<Self>,
    ) {
        let is_apart = item.is_apart(are_pairs);
        let mut repeat = |numbers: Vec<T>| {
            if is_apart || item == Item::Number {
                sources.extend(numbers.into_iter().map(Self::Repeated));
            } else {
                sources.push(Self::RepeatedRow(numbers));
            }
        };
        let Some(input) = input else {
            return repeat(vec![T::zero(); item.numbers()]);
        };
        let Item::Row(length) = item else {
            return sources.push(Self::new(input, shape));
        };
        let last = Axis(input.ndim() - 1);
        assert_eq!(input.len_of(last), length, "the length of a row");
        let of_rows = &input.shape()[..last.0];
        // One row for all results.
        if !input.is_empty() && repeated(&input.index_axis(last, 0)).is_some() {
            let row = input.lanes(last).into_iter().next();
            return repeat(row.into_iter().flatten().copied().collect());
        }
        let elements = rows(input);
        let strides = (of_rows != shape).then(|| strides(of_rows, shape));
        sources.push(match strides {
            strides if is_apart => Self::Rows {
                length,
                elements,
                strides,
            },
            None => Self::Whole(elements, length),
            Some(strides) => Self::Stretched {
                elements,
                width: length,
                strides,
            },
        });
    }

    /// Returns the number of slices that the loops read of it.
    fn slices(&self) -> usize {
        match self {
            Self::Rows { length, .. } => *length,
            _ => 1,
        }
    }

    /// Returns the number of elements that have to be copied to a buffer for a loop over `length` results: a block, or
    /// the last elements up to a multiple of [`LANES`].
    fn room(&self, length: usize) -> usize {
        let block = length.next_multiple_of(LANES).min(BLOCK);
        match self {
            Self::Whole(..) if length.is_multiple_of(LANES) => 0,
            Self::Whole(_, width) => LANES * width,
            Self::Repeated(_) => block,
            Self::RepeatedRow(row) => block * row.len(),
            Self::Stretched { width, .. } => block * width,
            Self::Rows { length, .. } => length * BLOCK,
        }
    }

    /// Returns buffers for these elements of all sources, one after the other.
    fn buffers(sources: &[Self], length: usize) -> Vec<T> {
        let rooms = sources.iter().map(|source| source.room(length));
        let mut buffers = Vec::with_capacity(rooms.sum());
        for source in sources {
            let room = source.room(length);
            match source {
                Self::RepeatedRow(row) => buffers.extend(row.iter().cycle().take(room)),
                Self::Repeated(element) => buffers.resize(buffers.len() + room, *element),
                _ => buffers.resize(buffers.len() + room, T::zero()),
            }
        }
        buffers
    }

    /// Adds `length` elements from `start` on, up to a multiple of [`LANES`], or so many rows; of some rows, a slice for each
    /// number. The last element is repeated there: the formula might panic with other numbers.
    fn elements<'b>(
        &'b self,
        (start, length): (usize, usize),
        shape: &[usize],
        buffer: &'b mut [T],
        inputs: &mut Vec<&'b [T]>,
    ) {
        let padded = length.next_multiple_of(LANES);
        let width = match self {
            Self::Repeated(_) | Self::RepeatedRow(_) => return inputs.push(buffer),
            Self::Whole(elements, width) if length == padded => {
                return inputs.push(&elements[start * width..][..length * width]);
            }
            Self::Whole(elements, width) => {
                let own = &elements[start * width..][..length * width];
                buffer[..own.len()].copy_from_slice(own);
                *width
            }
            Self::Stretched {
                elements,
                width: 1,
                strides,
            } => {
                for_each_run((start, length), shape, strides, |to, (first, stride)| {
                    let to = &mut buffer[to];
                    if stride == 0 {
                        to.fill(elements[first]);
                    } else {
                        to.copy_from_slice(&elements[first..first + to.len()]);
                    }
                });
                1
            }
            Self::Stretched {
                elements,
                width,
                strides,
            } => {
                stretched((start, length), shape, *width, (elements, strides), buffer);
                *width
            }
            Self::Rows {
                length: numbers,
                elements,
                strides,
            } => {
                let (parts, _) = buffer.as_chunks_mut();
                apart(
                    (start, length),
                    shape,
                    *numbers,
                    (elements, strides.as_deref()),
                    parts,
                );
                for part in &mut *parts {
                    let last = part[length - 1];
                    part[length..padded].fill(last);
                }
                return inputs.extend(parts.iter().map(|part| &part[..padded]));
            }
        };
        for element in length * width..padded * width {
            buffer[element] = buffer[element - width];
        }
        inputs.push(&buffer[..padded * width]);
    }
}

/// Copies `length` rows from `start` on to a buffer, where they are broadcast.
fn stretched<T: Element>(
    (start, length): (usize, usize),
    shape: &[usize],
    width: usize,
    (elements, strides): (&[T], &[usize]),
    buffer: &mut [T],
) {
    for_each_run((start, length), shape, strides, |to, (first, stride)| {
        let own = &elements[first * width..];
        let to = &mut buffer[to.start * width..to.end * width];
        if stride == 0 {
            for row in to.chunks_exact_mut(width) {
                row.copy_from_slice(&own[..width]);
            }
        } else {
            to.copy_from_slice(&own[..to.len()]);
        }
    });
}

/// Takes `length` rows from `start` on apart.
fn apart<T: Element>(
    (start, length): (usize, usize),
    shape: &[usize],
    numbers: usize,
    (elements, strides): (&[T], Option<&[usize]>),
    parts: &mut [[T; BLOCK]],
) {
    let Some(strides) = strides else {
        let (block, rest) = elements[start * numbers..].split_at(length * numbers);
        take_apart(block, parts);
        prefetch(&rest[..rest.len().min(block.len())]);
        return;
    };
    // Broadcast rows are copied whole first, so that all of them are taken apart in one way.
    let mut rows = vec![T::zero(); length * numbers];
    let own = (elements, strides);
    stretched((start, length), shape, numbers, own, &mut rows);
    take_apart(&rows, parts);
}

/// Returns the items of the inputs and of the results of an evaluation, which repeat: of each component, the inputs and
/// outputs, or the inputs or outputs alone.
pub(super) fn items<T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
) -> [[&'static [Item]; 2]; 2] {
    let (inputs, outputs) = (function.inputs(), function.outputs());
    match evaluation {
        Evaluation::Partials { .. } => [[inputs, outputs]; 2],
        Evaluation::Values | Evaluation::Tangents => [[inputs, &[]], [&[], outputs]],
    }
}

/// Returns the items, over and over.
pub(super) fn cycled(items: [&'static [Item]; 2]) -> impl Iterator<Item = Item> + Clone {
    items.into_iter().flatten().copied().cycle()
}

/// Returns the results that each run of the loops computes: one run for all, or one for each group of inputs that are
/// wanted. A loop for all is faster than several, since one more derivative costs less than the formula again; in reverse, it
/// is faster than two.
pub(super) fn runs<T: Element, X>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<X>],
    wanted: &[bool],
) -> Cow<'static, [Wanted]> {
    let Evaluation::Partials { order } = evaluation else {
        return Cow::Borrowed(&[Wanted::All]);
    };
    let (own, outputs) = (function.inputs(), function.outputs());
    let (count, width) = (own.len(), own.len() + outputs.len());
    let is_wanted = |input: &usize| {
        let mut components = wanted[*input..].iter().step_by(width);
        components.any(|is_wanted| *is_wanted)
    };
    let all = numbers(own);
    let few = (0..count)
        .filter(is_wanted)
        .map(|input| own[input].numbers());
    let are_few = few.sum::<usize>() * 2 <= all && all > 1;
    let has_rows = || own.iter().any(|item| item.row().is_some());
    if all > MOST_AT_ONCE || are_few && (order == 1 || has_rows()) {
        let of_inputs = (0..count).filter(is_wanted);
        let mut groups: Vec<usize> = of_inputs.flat_map(|input| groups(own, input)).collect();
        // The derivatives with respect to gradients are the first group's.
        let mut of_gradients = (count..wanted.len()).filter(|place| place % width >= count);
        if of_gradients.any(|place| wanted[place]) && groups.first() != Some(&0) {
            groups.insert(0, 0);
        }
        if groups.len() <= function.most_groups(order) {
            return groups.into_iter().map(Wanted::Group).collect();
        }
    }
    let is_of_inputs = order == 2
        && !wanted[count..].contains(&true)
        && inputs[width + count..].iter().all(Option::is_none);
    Cow::Borrowed(if is_of_inputs {
        &[Wanted::Inputs]
    } else {
        &[Wanted::All]
    })
}

/// Checks that the loops write what is wanted.
///
/// # Panics
/// If they do not.
pub(super) fn check_wanted<T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    wanted: &[bool],
) {
    if let Evaluation::Partials { order } = evaluation {
        let (count, outputs) = (function.inputs().len(), function.outputs().len());
        let components = 1 << (order - 1);
        let of_last = (components - 1) * (count + outputs) + count;
        // The loops do not write these, and all that is wanted counts as written below.
        assert!(
            wanted.len() == (count + outputs) * components && !wanted[of_last..].contains(&true),
            "a derivative with respect to the last direction of a gradient is the formula itself"
        );
    } else {
        assert_eq!(
            wanted.len(),
            function.outputs().len(),
            "one for each output"
        );
    }
}

/// Evaluates a formula on arrays that are broadcast to `shape`, where a missing one is zeros. Those of rows, and the
/// results that are rows, have a last axis more. Returns the results that are wanted, in row-major order.
#[doc(hidden)]
pub fn evaluate<T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<ArrayViewD<'_, T>>],
    shape: &[usize],
    wanted: &[bool],
) -> Vec<Option<Vec<T>>> {
    let [of_inputs, of_results] = items(function, evaluation);
    check_wanted(function, evaluation, wanted);
    let of_each: Vec<(Item, bool)> = cycled(of_results).zip(wanted.iter().copied()).collect();
    let numbers = of_each.iter().map(|(item, _)| item.numbers());
    let largest = numbers.max().unwrap_or(1);
    let Some(length) = size(shape).filter(|length| length.checked_mul(largest).is_some()) else {
        panic!("an array of shape {shape:?} has more elements than there is memory for");
    };
    let mut results: Vec<Option<Vec<T>>> = of_each
        .iter()
        .map(|&(item, is_wanted)| is_wanted.then(|| memory::take(length * item.numbers())))
        .collect();
    let are_pairs = !function.sides().is_empty();
    let mut sources: Vec<Source<'_, T>> = Vec::with_capacity(inputs.len());
    for (input, item) in inputs.iter().zip(cycled(of_inputs)) {
        Source::of(input.as_ref(), (item, are_pairs), shape, &mut sources);
    }
    let is_wanted_row = |&(item, is_wanted): &(Item, bool)| is_wanted && item.is_apart(are_pairs);
    let is_in_blocks =
        |source: &Source<'_, T>| matches!(source, Source::Stretched { .. } | Source::Rows { .. });
    let longest = if sources.iter().any(is_in_blocks) || of_each.iter().any(is_wanted_row) {
        BLOCK
    } else {
        length
    };
    let runs = runs(function, evaluation, inputs, wanted);
    let widths = of_each.iter().map(|(item, _)| item.numbers());
    let computed = results.iter_mut().zip(widths.clone());
    let computed = computed.filter_map(|(result, row)| Some((result.as_mut()?, row)));
    let mut slices: Vec<(&mut [MaybeUninit<T>], usize)> = computed
        .map(|(result, row)| (&mut result.spare_capacity_mut()[..length * row], row))
        .collect();
    split_each_mut(
        &mut slices,
        worth::FORMULA / largest.max(1),
        &|first, pieces| {
            Piece {
                function,
                evaluation,
                runs: &runs,
                sources: &sources,
                results: &of_each,
                shape,
                first,
            }
            .run(longest, pieces);
        },
    );
    for (result, row) in results.iter_mut().zip(widths) {
        if let Some(result) = result {
            // SAFETY: the loops have written to all elements of what is wanted, `length` of each, or so many rows.
            #[expect(unsafe_code, reason = "see above")]
            unsafe {
                result.set_len(length * row);
            }
        }
    }
    results
}

/// The evaluation on a piece of the arrays.
struct Piece<'a, 'b, T: Element> {
    function: &'a dyn Loops<T>,
    evaluation: Evaluation,
    runs: &'a [Wanted],
    sources: &'a [Source<'b, T>],
    /// The item of each result, and whether it is wanted.
    results: &'a [(Item, bool)],
    shape: &'a [usize],
    /// The index of its first element among all.
    first: usize,
}

impl<T: Element> Piece<'_, '_, T> {
    /// Runs the loops over at most `longest` elements at a time.
    fn run(&self, longest: usize, pieces: &mut [(&mut [MaybeUninit<T>], usize)]) {
        let count = pieces.first().map_or(0, |(piece, row)| piece.len() / row);
        let mut buffers = Source::buffers(self.sources, count);
        let are_pairs = !self.function.sides().is_empty();
        let wanted = self.results.iter().filter(|(_, is_wanted)| *is_wanted);
        let rows = wanted.clone().filter(|(item, _)| item.is_apart(are_pairs));
        let rows = rows.map(|(item, _)| item.numbers());
        let mut parts = vec![MaybeUninit::uninit(); rows.sum::<usize>() * BLOCK];
        let slices = self.sources.iter().map(Source::slices).sum();
        let mut kept = None;
        let mut choice = Choice::of(self.function, self.evaluation, count);
        let mut start = 0;
        while start < count {
            let length = match count - start {
                rest @ ..LANES => rest,
                rest => (rest - rest % LANES).min(longest).min(choice.longest()),
            };
            let mut rest = &mut buffers[..];
            let mut inputs = Vec::with_capacity(slices);
            for source in self.sources {
                let buffer;
                (buffer, rest) = take(&mut rest).split_at_mut(source.room(count));
                let range = (self.first + start, length);
                source.elements(range, self.shape, buffer, &mut inputs);
            }
            let mut written: Vec<&mut [MaybeUninit<T>]> = Vec::new();
            let (mut rest, mut left) = (&mut parts[..], pieces.iter_mut());
            for &(item, is_wanted) in self.results {
                if !is_wanted {
                    written.extend((0..item.slices(are_pairs)).map(|_| Default::default()));
                    continue;
                }
                let Some((piece, row)) = left.next() else {
                    break;
                };
                if !item.is_apart(are_pairs) {
                    written.push(&mut piece[start * *row..][..length * *row]);
                    continue;
                }
                // While they are computed, the memory that they are put together in is on its way.
                prefetch(&piece[start * *row..][..length * *row]);
                for _ in 0..item.numbers() {
                    let part;
                    (part, rest) = take(&mut rest).split_at_mut(BLOCK);
                    written.push(&mut part[..length]);
                }
            }
            for &run in self.runs {
                choice.run(run, |run| {
                    let (evaluation, first) = (self.evaluation, self.first + start);
                    self.function
                        .run(evaluation, run, first, &inputs, &mut written, &mut kept);
                    kept.as_ref().is_none_or(Replay::has_programs)
                });
            }
            let are_apart = wanted.clone().map(|(item, _)| item.is_apart(are_pairs));
            together(are_apart, (start, length), &mut parts, pieces);
            start += length;
        }
    }
}

/// Puts the rows of the results that are apart together.
fn together<T: Element>(
    are_apart: impl Iterator<Item = bool>,
    (start, length): (usize, usize),
    parts: &mut [MaybeUninit<T>],
    pieces: &mut [(&mut [MaybeUninit<T>], usize)],
) {
    let rows = are_apart.zip(pieces).filter(|(is_apart, _)| *is_apart);
    let mut parts = parts
        .chunks_exact_mut(BLOCK)
        .map(|part| &mut part[..length]);
    for (_, (piece, row)) in rows {
        let parts: Vec<_> = parts.by_ref().take(*row).collect();
        put_together(&parts, &mut piece[start * *row..][..length * *row]);
    }
}
