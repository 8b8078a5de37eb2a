//! Inputs of any layout, as rows of lanes for each step.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use ndarray::ArrayViewD;

use crate::element::Element;
use crate::elementwise::Item;
use crate::elementwise::evaluation::BLOCK;
use crate::loops::broadcast::{for_each_run, repeated, strides};
use crate::loops::lanes::rows;
use crate::loops::prefetch::prefetch;

/// The rows of some steps, as loops read them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream<'a, T> {
    elements: &'a [T],
    first: usize,
    stride: isize,
    is_repeated: bool,
}

impl<'a, T> Stream<'a, T> {
    /// Returns rows of a buffer, which are `stride` elements apart.
    pub(super) fn of(elements: &'a [T], stride: usize) -> Self {
        Self {
            elements,
            first: 0,
            stride: stride.cast_signed(),
            is_repeated: false,
        }
    }

    /// Returns the `length` elements of a row.
    #[cfg_attr(optimized, inline(always))]
    pub(super) fn row(self, index: usize, length: usize) -> &'a [T] {
        &self.elements[self.start(index)..][..length]
    }

    /// Asks for the `length` elements of a row that is read later, if there is one and it is not that of all steps.
    #[cfg_attr(optimized, inline(always))]
    pub(super) fn prefetch(self, index: usize, length: usize)
    where
        T: Copy,
    {
        let start = self.start(index);
        if self.stride != 0
            && let Some(row) = self.elements.get(start..start.wrapping_add(length))
        {
            prefetch(row);
        }
    }

    /// Returns the element of all lanes of a row, if it is repeated.
    #[cfg_attr(optimized, inline(always))]
    pub(super) fn repeated(self, index: usize) -> Option<T>
    where
        T: Copy,
    {
        self.is_repeated.then(|| self.elements[self.start(index)])
    }

    #[cfg_attr(optimized, inline(always))]
    fn start(self, index: usize) -> usize {
        let offset = self.stride * index.cast_signed();
        self.first.wrapping_add_signed(offset)
    }
}

/// The numbers of an input of a recurrence, which is broadcast to the lanes and, if it has no axis of steps, to all steps.
pub(super) enum Source<'a, T: Element> {
    /// One element for all lanes and steps.
    Repeated([T; BLOCK]),
    Array {
        /// Those of all numbers of an item.
        elements: Arc<Cow<'a, [T]>>,
        /// The first element of the step that is computed first.
        first: usize,
        /// The stride from a step to the next.
        step: isize,
        /// The strides along the axes of lanes, 0 where repeated; `None` if the lanes are contiguous.
        lanes: Option<Vec<usize>>,
    },
}

impl<'a, T: Element> Source<'a, T> {
    /// Makes a source for each number of an array whose first axis is that of steps, if it `has_steps`, and whose last one
    /// is that of rows, if it has such items; zeros where it is missing.
    pub(super) fn of(
        input: Option<&'a ArrayViewD<'_, T>>,
        (item, has_steps): (Item, bool),
        is_reversed: bool,
        lanes: &[usize],
        sources: &mut Vec<Self>,
    ) {
        let numbers = item.numbers();
        let repeated = match input {
            None => Some(T::zero()),
            Some(input) => repeated(input),
        };
        let (Some(input), None) = (input, repeated) else {
            let block = [repeated.unwrap_or(T::zero()); BLOCK];
            sources.extend((0..numbers).map(|_| Self::Repeated(block)));
            return;
        };
        let elements = Arc::new(rows(input));
        let own = &input.shape()[..input.ndim() - usize::from(item.row().is_some())];
        let (count, own) = match own {
            [count, own @ ..] if has_steps => (*count, own),
            own => (1, own),
        };
        let stride = numbers * own.iter().product::<usize>();
        let strides = strides(own, lanes).into_iter();
        let strides: Vec<usize> = strides.map(|stride| stride * numbers).collect();
        let step = if count == 1 { 0 } else { stride.cast_signed() };
        let (first, step) = if is_reversed && count > 0 {
            ((count - 1) * stride, -step)
        } else {
            (0, step)
        };
        let is_contiguous = numbers == 1 && own.iter().product::<usize>() == lanes.iter().product();
        sources.extend((0..numbers).map(|number| Self::Array {
            elements: Arc::clone(&elements),
            first: first + number,
            step,
            lanes: (!is_contiguous).then(|| strides.clone()),
        }));
    }

    /// Returns the rows of all steps, if each has one element for all lanes, and one at least is there.
    pub(super) fn repeated(&self, step: usize) -> Option<Stream<'_, T>> {
        match self {
            Self::Repeated(block) => Some(Stream {
                is_repeated: true,
                ..Stream::of(block, 0)
            }),
            Self::Array {
                elements,
                first,
                step: stride,
                lanes: Some(lanes),
            } if lanes.iter().all(|stride| *stride == 0) => Some(Stream {
                elements,
                first: first.wrapping_add_signed(*stride * step.cast_signed()),
                stride: *stride,
                is_repeated: true,
            }),
            Self::Array { .. } => None,
        }
    }

    /// Returns whether the rows of lanes have to be copied to a buffer, or are where that is `wanted`.
    fn is_copied(&self, [length, padded]: [usize; 2], is_wanted: bool) -> bool {
        match self {
            Self::Repeated(_) => false,
            Self::Array { lanes, .. } => lanes.is_some() || length < padded || is_wanted,
        }
    }

    /// Returns the elements of a buffer for rows of `steps` steps, which are copied if that is `wanted`.
    pub(super) fn room(&self, steps: usize, size: [usize; 2], is_wanted: bool) -> usize {
        match self {
            Self::Array { step, .. } if self.is_copied(size, is_wanted) => {
                let [_, padded] = size;
                if *step == 0 { padded } else { steps * padded }
            }
            _ => 0,
        }
    }

    /// Returns the rows of some steps, of `length` lanes from `start` on, in the buffer if it has room. After the last lane
    /// it is repeated up to `padded`: the formula might panic with other numbers.
    pub(super) fn rows<'b>(
        &'b self,
        steps: Range<usize>,
        start: usize,
        [length, padded]: [usize; 2],
        lanes: &[usize],
        buffer: &'b mut [T],
    ) -> Stream<'b, T> {
        let (elements, first, stride) = match self {
            Self::Repeated(block) => return Stream::of(block, 0),
            Self::Array {
                elements,
                first,
                step: stride,
                ..
            } => {
                let first = first.wrapping_add_signed(*stride * steps.start.cast_signed());
                (&***elements, first, *stride)
            }
        };
        if buffer.is_empty() {
            return Stream {
                elements,
                first: first + start,
                stride,
                is_repeated: false,
            };
        }
        let count = if stride == 0 { 1 } else { steps.len() };
        for (index, row) in buffer.chunks_exact_mut(padded).take(count).enumerate() {
            let first = first.wrapping_add_signed(stride * index.cast_signed());
            self.gather(&elements[first..], start, length, lanes, row);
            let last = row[length - 1];
            row[length..].fill(last);
        }
        Stream::of(buffer, if stride == 0 { 0 } else { padded })
    }

    /// Writes the elements of the lanes from `start` on.
    fn gather(&self, elements: &[T], start: usize, length: usize, lanes: &[usize], row: &mut [T]) {
        let Self::Array {
            lanes: Some(strides),
            ..
        } = self
        else {
            row[..length].copy_from_slice(&elements[start..][..length]);
            return;
        };
        for_each_run((start, length), lanes, strides, |to, (first, stride)| {
            let to = &mut row[to];
            match stride {
                0 => to.fill(elements[first]),
                1 => to.copy_from_slice(&elements[first..first + to.len()]),
                _ => {
                    for (to, element) in to.iter_mut().zip(elements[first..].iter().step_by(stride))
                    {
                        *to = *element;
                    }
                }
            }
        });
    }
}
