//! Which positions pixels of a result see along one axis, and which copies of these positions there are.

use std::ops::Range;

use super::geometry::Geometry;

/// The positions that the elements of the kernel see: element `k` sees `start(k) + i * stride` for the pixel `i`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Along {
    kernel: usize,
    dilation: usize,
    first: isize,
    stride: usize,
    /// The distance in the result of pixels that see the same elements of the kernel. If it is more than 1, positions
    /// are divided by it.
    pub(super) step: usize,
    is_transposed: bool,
    /// The number of pixels, in the class that has most.
    pub(super) pixels: usize,
    /// The length of the result, and where its padding begins.
    length: usize,
    padding: usize,
}

/// Pixels that see the same elements of the kernel.
pub(super) struct Class {
    /// The first element; the others follow at a distance.
    element: usize,
    pub(super) pixels: Range<usize>,
    /// The position in the result of the first pixel.
    pub(super) start: usize,
}

/// The products that take as long as to copy an element.
pub(super) const COPY: usize = 8;

impl Along {
    /// Returns what the outputs of a convolution see of the images.
    pub(super) fn images(shape: &Geometry, axis: usize) -> Self {
        let options = &shape.options;
        Self {
            kernel: shape.kernel[axis],
            dilation: options.dilation[axis],
            first: -options.padding[axis].cast_signed(),
            stride: options.stride[axis],
            step: 1,
            is_transposed: false,
            pixels: shape.output[axis],
            length: shape.output[axis],
            padding: 0,
        }
    }

    /// Returns what the images see of the outputs of a convolution, if each pixel is the sum over its windows.
    pub(super) fn outputs(shape: &Geometry, axis: usize) -> Self {
        let options = &shape.options;
        let mut along = Self {
            kernel: shape.kernel[axis],
            dilation: options.dilation[axis],
            first: 0,
            stride: 1,
            step: options.stride[axis],
            is_transposed: true,
            pixels: 0,
            length: shape.input[axis],
            padding: options.padding[axis],
        };
        let first = along.classes().map(|class| class.pixels.start).min();
        let end = along.classes().map(|class| class.pixels.end).max();
        along.first = first.unwrap_or(0).cast_signed();
        along.pixels = end.unwrap_or(0) - first.unwrap_or(0);
        along
    }

    /// Returns the classes that have pixels.
    pub(super) fn classes(self) -> impl Iterator<Item = Class> {
        let end = self.length + self.padding;
        (0..self.kernel.min(self.period(self.step))).filter_map(move |element| {
            let distance = element * self.dilation % self.step;
            let before = self.padding.saturating_sub(distance);
            let pixels =
                before.div_ceil(self.step)..end.saturating_sub(distance).div_ceil(self.step);
            if pixels.is_empty() {
                return None;
            }
            let start = pixels.start * self.step + distance.saturating_sub(self.padding) - before;
            let first = if self.is_transposed {
                self.first.unsigned_abs()
            } else {
                0
            };
            Some(Class {
                element,
                pixels: pixels.start - first..pixels.end - first,
                start,
            })
        })
    }

    /// Returns the elements of the kernel that a class sees.
    pub(super) fn elements(self, class: &Class) -> impl Iterator<Item = usize> + Clone {
        (class.element..self.kernel).step_by(self.period(self.step))
    }

    /// Returns after how many elements of the kernel positions differ by a multiple of `step`.
    fn period(self, step: usize) -> usize {
        let (mut divisor, mut rest) = (step, self.dilation);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        step / divisor
    }

    fn start(self, element: usize) -> isize {
        let distance = element * self.dilation;
        if self.is_transposed {
            self.first - (distance / self.step).cast_signed()
        } else {
            self.first + distance.cast_signed()
        }
    }

    /// Returns the pixels that see a position of an axis of some length under an element of the kernel, and the
    /// positions.
    pub(super) fn seen(
        self,
        element: usize,
        length: usize,
    ) -> impl Iterator<Item = (usize, usize)> {
        (0..self.pixels).filter_map(move |pixel| {
            let position = (pixel * self.stride).checked_add_signed(self.start(element))?;
            (position < length).then_some((pixel, position))
        })
    }

    /// Returns copies of what so many pixels see, for each element of the kernel.
    pub(super) fn separate(self, pixels: usize) -> Copies {
        Copies {
            along: self,
            pixels,
            classes: self.kernel,
            reach: 0,
        }
    }

    /// Returns copies of what so many pixels see, which elements of the kernel share if they see the same positions for
    /// different pixels.
    fn shared(self, pixels: usize) -> Copies {
        let classes = self.kernel.min(self.period(self.stride));
        let last = (self.kernel - 1) / classes * classes;
        Copies {
            along: self,
            pixels,
            classes,
            reach: self.start(last).abs_diff(self.start(0)) / self.stride,
        }
    }

    /// Returns the columns to copy. If elements of the kernel share a copy, sums of `products` products are computed
    /// at the end of each line, which are not needed. A shared copy that is longer than the others together, as with
    /// a large dilation, is not made.
    pub(super) fn columns(self, products: usize) -> Copies {
        let shared = self.shared(self.pixels);
        let saved = (self.kernel * self.pixels).saturating_sub(shared.size());
        if shared.reach.saturating_mul(products) < COPY * saved {
            return shared;
        }
        self.separate(self.pixels)
    }

    /// Returns the rows to copy at once, if there is room for so many, cut into at least so many blocks.
    pub(super) fn rows(self, room: usize, blocks: usize) -> Copies {
        let shared = self.shared(self.pixels);
        let fit = (room / shared.classes).saturating_sub(shared.reach);
        let fit = fit.max(room / self.kernel).max(1);
        let block = self
            .pixels
            .div_ceil(blocks.max(self.pixels.div_ceil(fit)))
            .max(1);
        let shared = self.shared(block);
        if shared.size() <= self.kernel * block {
            return shared;
        }
        self.separate(block)
    }
}

/// Returns how many images are worth computing at once, from copies of them that follow each other, if there is room
/// for so many elements: more than one if an image fills some registers of so many lanes badly.
pub(super) fn images_at_once(
    [rows, columns]: [Along; 2],
    outputs: usize,
    lanes: usize,
    room: usize,
) -> usize {
    let pixels = rows.pixels * columns.pixels;
    let idle = pixels.next_multiple_of(lanes) - pixels;
    if rows.step > 1 || columns.step > 1 || idle * outputs <= COPY * pixels {
        return 1;
    }
    (room / (rows.kernel * columns.kernel * pixels)).max(1)
}

/// The copies of what some pixels see: one for each class of elements of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copies {
    along: Along,
    pub(super) pixels: usize,
    pub(super) classes: usize,
    /// For how many pixels more than these there are copies: elements of the kernel see what others see for pixels that
    /// are so far away.
    reach: usize,
}

impl Copies {
    pub(super) fn stride(&self) -> usize {
        self.along.stride
    }

    /// Returns the number of positions of a copy.
    pub(super) fn length(&self) -> usize {
        self.pixels + self.reach
    }

    /// Returns the number of positions of all copies.
    pub(super) fn size(&self) -> usize {
        self.classes * self.length()
    }

    /// Returns the first position of a class.
    pub(super) fn first(&self, class: usize) -> isize {
        let is_last = self.along.is_transposed && self.classes == 1;
        self.along.start(if is_last {
            self.along.kernel - 1
        } else {
            class
        })
    }

    /// Returns the class of an element of the kernel, and the index there of what it sees for the first pixel.
    pub(super) fn of_element(&self, element: usize) -> (usize, usize) {
        let class = element % self.classes;
        let start = self.along.start(element).abs_diff(self.first(class));
        (class, start / self.along.stride)
    }

    /// Returns which positions of a class are on an axis of some length; the others are padding.
    pub(super) fn on_axis(&self, class: usize, length: usize) -> Range<usize> {
        let (first, stride) = (self.first(class), self.along.stride);
        let after = length.saturating_add_signed(first.saturating_neg());
        let end = after.div_ceil(stride).min(self.length());
        first.min(0).unsigned_abs().div_ceil(stride).min(end)..end
    }
}
