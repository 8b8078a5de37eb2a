//! Copies of parts of images, with the padding around them, in which all that neighboring outputs see under one element
//! of the kernel is contiguous.

use std::ops::Range;

use super::along::Copies;
use crate::registers::{Kernel, Lanes, Register, widest};

/// The layout of the copies: for each channel, and each class of rows and of columns, the rows that it sees.
#[derive(Debug)]
pub(super) struct Planes {
    /// The height and width of the images.
    pub(super) size: [usize; 2],
    /// The number of images, of which each class has its rows one after the other.
    pub(super) images: usize,
    pub(super) rows: Copies,
    pub(super) columns: Copies,
}

/// The size in bytes of a line of the cache.
pub(super) const LINE: usize = 64;

impl Planes {
    /// Returns the distance of what neighboring lines of the output see.
    pub(super) fn pitch(&self) -> usize {
        self.columns.length()
    }

    /// Returns the distance of channels: an odd number of lines of the cache, so that channels do not displace each
    /// other there.
    pub(super) fn channel<T>(&self) -> usize {
        let line = LINE / size_of::<T>();
        let elements = self.images * self.rows.size() * self.columns.size();
        (elements.div_ceil(line) | 1) * line
    }

    /// Returns where a channel has what an element of the kernel sees for the first output.
    pub(super) fn offset(&self, [row, column]: [usize; 2]) -> usize {
        let (class, row) = self.rows.of_element(row);
        let (column_class, column) = self.columns.of_element(column);
        let class = class * self.columns.classes + column_class;
        (class * self.images * self.rows.length() + row) * self.pitch() + column
    }

    /// Returns the number of elements that copies of some channels have, with those before and after them.
    pub(super) fn room<T>(&self, channels: usize) -> usize {
        channels * self.channel::<T>() + 2 * LINE / size_of::<T>()
    }

    /// Copies some channels, which `x` begins with, of so many images at a distance, for the outputs of lines from
    /// `line` on, as many as the axis has. Returns the copies, with a register's elements after the last. The memory
    /// must have [`room`](Self::room).
    pub(super) fn copy<'a, T: Lanes>(
        &self,
        x: &[T],
        images: [usize; 2],
        channels: usize,
        line: usize,
        memory: &'a mut Vec<T>,
    ) -> &'a [T] {
        let [height, width] = self.size;
        let last = images[0].saturating_sub(1) * images[1] + channels * height * width;
        assert!(
            memory.capacity() >= self.room::<T>(channels) && x.len() >= last,
            "room for all copies, of elements of `x`"
        );
        let register = LINE / size_of::<T>();
        let before = memory.as_ptr().align_offset(LINE).min(register);
        // SAFETY: there is room, and `x` has all channels of the images, as was checked; the copy writes all elements.
        unsafe {
            let to = memory.as_mut_ptr().add(before);
            widest(Copy {
                planes: self,
                x,
                images,
                channels,
                line,
                to,
            });
            std::slice::from_raw_parts(to, channels * self.channel::<T>() + register)
        }
    }
}

/// The copy of some channels and lines.
struct Copy<'a, T> {
    planes: &'a Planes,
    x: &'a [T],
    images: [usize; 2],
    channels: usize,
    line: usize,
    to: *mut T,
}

impl<T: Lanes> Kernel<T> for Copy<'_, T> {
    /// Writes everything in its order: a register may write over the end of its row.
    #[cfg_attr(optimized, inline(always))]
    unsafe fn run<R: Register<Element = T>>(self) {
        let Planes { rows, columns, .. } = self.planes;
        let distance = self.planes.channel::<T>();
        // SAFETY: the room ends with the elements of a register, beyond which nothing is written.
        unsafe {
            for channel in 0..self.channels {
                let start = self.to.add(channel * distance);
                let mut to = start;
                for class in 0..rows.classes * columns.classes {
                    let class = [class / columns.classes, class % columns.classes];
                    to = self.plane::<R>(channel, class, to);
                }
                let rest = distance - to.offset_from(start).cast_unsigned();
                fill::<R>(to, rest);
            }
            fill::<R>(self.to.add(self.channels * distance), LINE / size_of::<T>());
        }
    }
}

impl<T: Lanes> Copy<'_, T> {
    /// Writes the rows and columns of a class, of all images. Returns where they end.
    #[cfg_attr(optimized, inline(always))]
    unsafe fn plane<R: Register<Element = T>>(
        &self,
        channel: usize,
        [row, column]: [usize; 2],
        mut to: *mut T,
    ) -> *mut T {
        let Planes { rows, columns, .. } = self.planes;
        let [height, width] = self.planes.size;
        let (top, left) = (rows.first(row), columns.first(column));
        let seen = columns.on_axis(column, width);
        let [images, distance] = self.images;
        for image in 0..self.planes.images {
            let is_seen = image < images && !seen.is_empty();
            let start = image * distance + channel * height * width;
            for row in self.line..self.line + rows.length() {
                let row = row.saturating_mul(rows.stride()).checked_add_signed(top);
                // SAFETY: there is room for the row; what is seen of it is in the image.
                unsafe {
                    match row.filter(|&row| row < height && is_seen) {
                        Some(row) => {
                            let from = self.x.as_ptr().wrapping_add(start + row * width);
                            let from = from.wrapping_offset(left);
                            copy_row::<R>(from, seen.clone(), columns, to);
                        }
                        None => fill::<R>(to, columns.length()),
                    }
                    to = to.add(columns.length());
                }
            }
        }
        to
    }
}

/// Writes `length` zeros, and some more up to a register.
#[cfg_attr(optimized, inline(always))]
unsafe fn fill<R: Register>(to: *mut R::Element, length: usize) {
    for first in (0..length).step_by(R::LANES) {
        // SAFETY: passed on.
        unsafe { R::zeros().store(to.add(first)) };
    }
}

/// Writes the elements of a copy, and some more up to a register: zeros, but for those that are seen.
#[cfg_attr(optimized, inline(always))]
unsafe fn copy_row<R: Register>(
    from: *const R::Element,
    seen: Range<usize>,
    columns: &Copies,
    to: *mut R::Element,
) {
    // SAFETY: what is seen can be read, and there is room, as the caller guarantees.
    unsafe {
        match columns.stride() {
            1 => registers::<R>(seen, columns.length(), to, |first, lanes| {
                load(from.wrapping_add(first), lanes)
            }),
            2 => registers::<R>(seen, columns.length(), to, |first, lanes| {
                // Twice as many elements, to the last that is seen.
                let [start, end] = [2 * lanes.start, 2 * lanes.end - 1];
                let from = from.wrapping_add(2 * first);
                let low = load::<R>(from, start.min(R::LANES)..end.min(R::LANES));
                let high = start.max(R::LANES) - R::LANES..end.max(R::LANES) - R::LANES;
                low.evens(load(from.wrapping_add(R::LANES), high))
            }),
            stride => {
                fill::<R>(to, seen.start);
                for index in seen.clone() {
                    to.add(index).write(*from.wrapping_add(index * stride));
                }
                fill::<R>(to.add(seen.end), columns.length() - seen.end);
            }
        }
    }
}

/// Writes `length` elements, and some more up to a register: zeros, but for a range of them, which `load` returns some
/// lanes of.
#[cfg_attr(optimized, inline(always))]
unsafe fn registers<R: Register>(
    range: Range<usize>,
    length: usize,
    to: *mut R::Element,
    load: impl Fn(usize, Range<usize>) -> R,
) {
    for first in (0..length).step_by(R::LANES) {
        let [start, end] = [range.start, range.end].map(|at| at.clamp(first, first + R::LANES));
        // SAFETY: passed on.
        unsafe {
            let elements = if start < end {
                load(first, start - first..end - first)
            } else {
                R::zeros()
            };
            elements.store(to.add(first));
        }
    }
}

/// Loads some lanes, or none.
#[cfg_attr(optimized, inline(always))]
unsafe fn load<R: Register>(from: *const R::Element, lanes: Range<usize>) -> R {
    // SAFETY: passed on.
    unsafe {
        if lanes.len() == R::LANES {
            R::load(from)
        } else {
            R::load_lanes(from, lanes)
        }
    }
}
