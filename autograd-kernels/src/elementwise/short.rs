//! Evaluation of a formula on short arrays. What [`evaluate`](super::evaluate()) does for arrays of any layout and for
//! threads takes more time than the arithmetic of a few numbers.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::borrow::Cow;
use std::mem::MaybeUninit;

use super::evaluate::{check_wanted, items, runs};
use super::evaluation::{BLOCK, Evaluation, LANES, Loops, Wanted};
use super::faster::{Choice, LEAST};
use super::item::Item;
use super::recorded::Replay;
use crate::element::Element;
use crate::memory;

/// The most inputs of [`evaluate_short`], and the most results.
#[doc(hidden)]
pub const MOST_SHORT: usize = 8;

/// The most numbers that are copied for the loops, and the most of all results, without an allocation.
const ROOM: usize = 4 * LANES;

/// Where results are written to.
type Results<'a, T> = [&'a mut [MaybeUninit<T>]; MOST_SHORT];

/// An input, in row-major order.
#[derive(Clone, Copy)]
enum Source<'a, T> {
    /// An item for each result.
    Whole(&'a [T]),
    /// One for all results, or none, which is zeros.
    Repeated(&'a [T]),
}

/// Evaluates a formula like [`evaluate`](super::evaluate()), on a few arrays in row-major order that have an item for each of
/// `length` results, or one for all of them; and calls `give` with the index and the numbers of each result that is wanted.
/// Returns whether it has done so: not for other arrays, for long ones, and for rows that the loops do not read where they
/// are.
#[doc(hidden)]
#[must_use]
pub fn evaluate_short<T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<&[T]>],
    length: usize,
    wanted: &[bool],
    give: &mut dyn FnMut(usize, Cow<'_, [T]>),
) -> bool {
    let mut items = function.inputs().iter().chain(function.outputs());
    let is_short = (1..LEAST).contains(&length)
        && inputs.len().max(wanted.len()) <= MOST_SHORT
        && function.sides().is_empty()
        && !items.any(|item: &Item| item.is_apart(false));
    if !is_short {
        return false;
    }
    check_wanted(function, evaluation, wanted);
    let Some(sources) = sources(function, evaluation, inputs, length) else {
        return false;
    };
    let mut short = Short {
        function,
        evaluation,
        sources: &sources[..inputs.len()],
        copies: [&[]; MOST_SHORT],
        widths: &widths(function, evaluation, wanted)[..wanted.len()],
        ways: &runs(function, evaluation, inputs, wanted),
        // The last results are computed of copies: loops read whole registers of elements.
        whole: length - length % LANES,
        length,
    };
    let copied = short.sources.iter().map(|source| short.room(source)).sum();
    let (mut stack, mut heap) = ([T::zero(); ROOM], Vec::new());
    let copies = if copied <= ROOM {
        &mut stack[..copied]
    } else {
        heap.resize(copied, T::zero());
        &mut heap[..]
    };
    short.copy(copies);
    if short.widths.iter().sum::<usize>() * length <= ROOM {
        short.compute_few(give);
    } else {
        short.compute(give);
    }
    true
}

/// Returns the inputs with the numbers of their items; `None` if one has other elements than short arrays have.
fn sources<'a, T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<&'a [T]>],
    length: usize,
) -> Option<[(Source<'a, T>, usize); MOST_SHORT]> {
    let [of_inputs, _] = items(function, evaluation);
    let mut sources = [(Source::Repeated(&[][..]), 0); MOST_SHORT];
    for (index, (source, input)) in sources.iter_mut().zip(inputs).enumerate() {
        let width = width(of_inputs, index);
        let elements = input.unwrap_or_default();
        *source = if elements.len() == length * width && length > 1 {
            (Source::Whole(elements), width)
        } else if input.is_none() || elements.len() == width {
            (Source::Repeated(elements), width)
        } else {
            return None;
        };
    }
    Some(sources)
}

/// Returns the numbers of each result for an element, 0 of those that are not wanted.
fn widths<T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    wanted: &[bool],
) -> [usize; MOST_SHORT] {
    let [_, of_results] = items(function, evaluation);
    let mut widths = [0; MOST_SHORT];
    for (index, is_wanted) in wanted.iter().enumerate() {
        if *is_wanted {
            widths[index] = width(of_results, index);
        }
    }
    widths
}

/// Returns the numbers of an item, of those that repeat.
fn width([first, second]: [&'static [Item]; 2], index: usize) -> usize {
    let index = index % (first.len() + second.len());
    let item = first.get(index);
    item.unwrap_or_else(|| &second[index - first.len()])
        .numbers()
}

/// An evaluation of short arrays.
struct Short<'a, T: Element> {
    function: &'a dyn Loops<T>,
    evaluation: Evaluation,
    /// The inputs, with the numbers of their items.
    sources: &'a [(Source<'a, T>, usize)],
    /// Of each input what is read of a copy: the elements for the results from `whole` on or, of one that is repeated, a
    /// block.
    copies: [&'a [T]; MOST_SHORT],
    /// The numbers of each result for an element, 0 of those that are not wanted.
    widths: &'a [usize],
    ways: &'a [Wanted],
    /// The number of results up to a multiple of [`LANES`].
    whole: usize,
    length: usize,
}

impl<'a, T: Element> Short<'a, T> {
    /// Returns the number of numbers that are read of a copy.
    fn room(&self, (source, width): &(Source<'_, T>, usize)) -> usize {
        match source {
            Source::Whole(_) if self.whole == self.length => 0,
            Source::Whole(_) => LANES * width,
            Source::Repeated(_) => self.length.next_multiple_of(LANES).min(BLOCK) * width,
        }
    }

    /// Makes the copies, in memory that has room for them.
    fn copy(&mut self, mut rest: &'a mut [T]) {
        for (index, source) in self.sources.iter().enumerate() {
            let copy;
            (copy, rest) = rest.split_at_mut(self.room(source));
            let (last, width) = match *source {
                (Source::Whole(elements), width) => (&elements[self.whole * width..], width),
                (Source::Repeated(elements), width) => (elements, width),
            };
            if !last.is_empty() {
                fill(copy, last, width);
            }
            self.copies[index] = copy;
        }
    }

    /// Computes the results on the stack, which has room for them.
    fn compute_few(&self, give: &mut dyn FnMut(usize, Cow<'_, [T]>)) {
        let mut stack = [const { MaybeUninit::uninit() }; ROOM];
        let mut results = Results::default();
        let mut rest = &mut stack[..];
        for (result, width) in results.iter_mut().zip(self.widths) {
            (*result, rest) = rest.split_at_mut(width * self.length);
        }
        self.run(&mut results);
        for (index, (result, width)) in results.iter().zip(self.widths).enumerate() {
            if *width > 0 {
                let result: *const [MaybeUninit<T>] = &raw const **result;
                // SAFETY: the loops have written to all numbers of what is wanted, which are laid out as `T`.
                give(index, Cow::Borrowed(unsafe { &*(result as *const [T]) }));
            }
        }
    }

    /// Computes the results, each in memory of its own.
    fn compute(&self, give: &mut dyn FnMut(usize, Cow<'_, [T]>)) {
        let computed = self
            .widths
            .iter()
            .map(|width| memory::take(width * self.length));
        let mut computed: Vec<Vec<T>> = computed.collect();
        let mut results = Results::default();
        for ((result, computed), width) in results.iter_mut().zip(&mut computed).zip(self.widths) {
            *result = &mut computed.spare_capacity_mut()[..width * self.length];
        }
        self.run(&mut results);
        for (index, (mut computed, width)) in computed.into_iter().zip(self.widths).enumerate() {
            if *width > 0 {
                // SAFETY: the loops have written to all numbers of what is wanted.
                unsafe { computed.set_len(width * self.length) };
                give(index, Cow::Owned(computed));
            }
        }
    }

    /// Writes all elements of what is wanted.
    fn run(&self, results: &mut Results<'_, T>) {
        let mut choice = Choice::of(self.function, self.evaluation, self.length);
        let mut kept = None;
        if self.whole == 0 || self.whole == self.length {
            return self.run_part((0, self.length), results, &mut choice, &mut kept);
        }
        let (mut firsts, mut lasts) = (Results::default(), Results::default());
        let parts = firsts.iter_mut().zip(&mut lasts);
        for ((result, width), (first, last)) in results.iter_mut().zip(self.widths).zip(parts) {
            (*first, *last) = result.split_at_mut(self.whole * width);
        }
        self.run_part((0, self.whole), &mut firsts, &mut choice, &mut kept);
        let last = (self.whole, self.length);
        self.run_part(last, &mut lasts, &mut choice, &mut kept);
    }

    /// Writes the elements of a part: those before `whole`, or those from there on.
    fn run_part(
        &self,
        (start, end): (usize, usize),
        results: &mut Results<'_, T>,
        choice: &mut Choice,
        kept: &mut Option<Replay<T>>,
    ) {
        let mut read: [&[T]; MOST_SHORT] = [&[]; MOST_SHORT];
        for ((read, copy), source) in read.iter_mut().zip(&self.copies).zip(self.sources) {
            *read = match source {
                (Source::Whole(elements), width) if end == self.whole => &elements[..end * width],
                _ => copy,
            };
        }
        let (read, results) = (
            &read[..self.sources.len()],
            &mut results[..self.widths.len()],
        );
        for &way in self.ways {
            choice.run(way, |way| {
                let (function, evaluation) = (self.function, self.evaluation);
                function.run(evaluation, way, start, read, results, kept);
                true
            });
        }
    }
}

/// Writes items of some width to a copy, and repeats the last one: the formula might panic with other numbers.
fn fill<T: Copy>(copy: &mut [T], items: &[T], width: usize) {
    if let ([item], 1) = (items, width) {
        return copy.fill(*item);
    }
    let (own, rest) = copy.split_at_mut(items.len());
    own.copy_from_slice(items);
    for item in rest.chunks_exact_mut(width) {
        item.copy_from_slice(&items[items.len() - width..]);
    }
}
