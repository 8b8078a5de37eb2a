//! Evaluation of a formula on whole arrays: inputs of any layout, cut into pieces for the loops.

use std::borrow::Cow;
use std::mem::{MaybeUninit, take};

use ndarray::ArrayViewD;

use super::evaluation::{BLOCK, Evaluation, LANES, Loops, Wanted};
use crate::checks::size;
use crate::element::Element;
use crate::loops::broadcast::repeated;
use crate::loops::lanes::rows;
use crate::memory;
use crate::parallel::{split_each_mut, worth};

/// An input of an evaluation.
enum Source<'a, T: Element> {
    /// One element for all results.
    Repeated(T),
    /// One element for each result.
    Whole(Cow<'a, [T]>),
    /// Fewer elements, which are broadcast; with their strides along the axes of the results, 0 where repeated.
    Stretched {
        elements: Cow<'a, [T]>,
        strides: Vec<usize>,
    },
}

impl<'a, T: Element> Source<'a, T> {
    fn new(input: Option<&'a ArrayViewD<'_, T>>, shape: &[usize]) -> Self {
        let Some(input) = input else {
            return Self::Repeated(T::zero());
        };
        if let Some(element) = repeated(input) {
            return Self::Repeated(element);
        }
        let elements = rows(input);
        if input.shape() == shape {
            return Self::Whole(elements);
        }
        let mut stride = 1;
        let mut strides: Vec<usize> = input
            .shape()
            .iter()
            .rev()
            .map(|&length| {
                let own = if length == 1 { 0 } else { stride };
                stride *= length;
                own
            })
            .collect();
        strides.resize(shape.len(), 0);
        strides.reverse();
        Self::Stretched { elements, strides }
    }

    /// Returns the number of elements that have to be copied to a buffer for a loop over `length` results: a block, or
    /// the last elements up to a multiple of [`LANES`].
    fn room(&self, length: usize) -> usize {
        match self {
            Self::Whole(_) if length.is_multiple_of(LANES) => 0,
            Self::Whole(_) => LANES,
            Self::Repeated(_) | Self::Stretched { .. } => length.next_multiple_of(LANES).min(BLOCK),
        }
    }

    /// Returns buffers for these elements of all sources, one after the other.
    fn buffers(sources: &[Self], length: usize) -> Vec<T> {
        let rooms = sources.iter().map(|source| source.room(length));
        let mut buffers = Vec::with_capacity(rooms.sum());
        for source in sources {
            let element = match source {
                Self::Repeated(element) => *element,
                _ => T::zero(),
            };
            buffers.resize(buffers.len() + source.room(length), element);
        }
        buffers
    }

    /// Returns `length` elements from `start` on, up to a multiple of [`LANES`]. The last element is repeated there:
    /// the formula might panic with other numbers.
    fn elements<'b>(
        &'b self,
        start: usize,
        length: usize,
        shape: &[usize],
        buffer: &'b mut [T],
    ) -> &'b [T] {
        match self {
            Self::Repeated(_) => return buffer,
            Self::Whole(elements) if length.is_multiple_of(LANES) => {
                return &elements[start..][..length];
            }
            Self::Whole(elements) => {
                buffer[..length].copy_from_slice(&elements[start..][..length]);
            }
            Self::Stretched { .. } => self.gather(start, length, shape, buffer),
        }
        let padded = length.next_multiple_of(LANES);
        let last = buffer[length - 1];
        buffer[length..padded].fill(last);
        &buffer[..padded]
    }

    /// Writes the elements of a block that starts at `start`.
    fn gather(&self, start: usize, length: usize, shape: &[usize], buffer: &mut [T]) {
        let Self::Stretched { elements, strides } = self else {
            return;
        };
        let mut done = 0;
        while done < length {
            let mut place = start + done;
            let mut row = None;
            let mut first = 0;
            for (&length, &stride) in shape.iter().zip(strides).rev() {
                row.get_or_insert((length - place % length, stride));
                first += place % length * stride;
                place /= length;
            }
            let (rest, stride) = row.unwrap_or((1, 0));
            let to = &mut buffer[done..length.min(done + rest)];
            if stride == 0 {
                to.fill(elements[first]);
            } else {
                to.copy_from_slice(&elements[first..first + to.len()]);
            }
            done += to.len();
        }
    }
}

/// Returns the results that each run of the loops computes: one run for all, or one for each input that is wanted. A
/// loop for all is faster than several, since one more derivative costs less than the formula again.
pub(super) fn runs<'a, T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<ArrayViewD<'_, T>>],
    wanted: &'a [bool],
) -> impl Iterator<Item = Wanted> + use<'a, T> {
    let (count, width) = (function.inputs(), function.inputs() + function.outputs());
    let of_inputs = wanted[..count.min(wanted.len())].iter();
    let is_few = of_inputs.filter(|is_wanted| **is_wanted).count() * 2 <= count;
    let are_alone = evaluation == (Evaluation::Partials { order: 1 }) && is_few;
    let whole = match evaluation {
        Evaluation::Partials { order: 2 }
            if !wanted[count..].contains(&true)
                && inputs[width + count..].iter().all(Option::is_none) =>
        {
            Wanted::Inputs
        }
        _ => Wanted::All,
    };
    let alone = (0..count).filter(move |&input| are_alone && wanted[input]);
    alone
        .map(Wanted::Input)
        .chain((!are_alone).then_some(whole))
}

/// Evaluates a formula on arrays that are broadcast to `shape`, where a missing one is zeros. Returns the results that
/// are wanted, in row-major order.
#[doc(hidden)]
pub fn evaluate<T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<ArrayViewD<'_, T>>],
    shape: &[usize],
    wanted: &[bool],
) -> Vec<Option<Vec<T>>> {
    if let Evaluation::Partials { order } = evaluation {
        let width = function.inputs() + function.outputs();
        let components = 1 << (order - 1);
        let of_last = (components - 1) * width + function.inputs();
        // The loops do not write these, and all that is wanted counts as written below.
        assert!(
            wanted.len() == width * components && !wanted[of_last..].contains(&true),
            "a derivative with respect to the last direction of a gradient is the formula itself"
        );
    } else {
        assert_eq!(wanted.len(), function.outputs(), "one for each output");
    }
    let Some(length) = size(shape) else {
        panic!("an array of shape {shape:?} has more elements than there is memory for");
    };
    let mut results: Vec<Option<Vec<T>>> = wanted
        .iter()
        .map(|&is_wanted| is_wanted.then(|| memory::take(length)))
        .collect();
    let sources: Vec<Source<'_, T>> = inputs
        .iter()
        .map(|input| Source::new(input.as_ref(), shape))
        .collect();
    let is_stretched = |source: &Source<'_, T>| matches!(source, Source::Stretched { .. });
    let longest = if sources.iter().any(is_stretched) {
        BLOCK
    } else {
        length
    };
    for run in runs(function, evaluation, inputs, wanted) {
        let is_computed = |&index: &usize| match run {
            Wanted::Input(only) => index == only,
            Wanted::All | Wanted::Inputs => wanted[index],
        };
        let mut slices: Vec<&mut [MaybeUninit<T>]> = results
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| is_computed(index))
            .filter_map(|(_, result)| Some(&mut result.as_mut()?.spare_capacity_mut()[..length]))
            .collect();
        split_each_mut(&mut slices, 1, worth::FORMULA, |first, pieces| {
            let count = pieces.first().map_or(0, |piece| piece.len());
            let mut buffers = Source::buffers(&sources, count);
            let mut written: Vec<&mut [MaybeUninit<T>]> = Vec::new();
            written.resize_with(wanted.len(), Default::default);
            let mut start = 0;
            while start < count {
                let length = match count - start {
                    rest @ ..LANES => rest,
                    rest => (rest - rest % LANES).min(longest),
                };
                let mut rest = &mut buffers[..];
                let inputs: Vec<&[T]> = sources
                    .iter()
                    .map(|source| {
                        let buffer;
                        (buffer, rest) = take(&mut rest).split_at_mut(source.room(count));
                        source.elements(first + start, length, shape, buffer)
                    })
                    .collect();
                for (index, piece) in (0..wanted.len()).filter(is_computed).zip(&mut *pieces) {
                    (written[index], *piece) = take(piece).split_at_mut(length);
                }
                function.run(evaluation, run, first + start, &inputs, &mut written);
                start += length;
            }
        });
    }
    for result in results.iter_mut().flatten() {
        // SAFETY: the loops have written to all elements of what is wanted, `length` of each.
        #[expect(unsafe_code, reason = "see above")]
        unsafe {
            result.set_len(length);
        }
    }
    results
}
