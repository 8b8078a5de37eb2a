//! Where storage meets ndarray: one buffer type of any rank, shared by reference count and copied on
//! write.
//!
//! A [`Buffer`] knows its shape and strides but not, in its type, its rank: the engine that passes
//! buffers along is compiled once for each element type. Authors of functions see ndarray's own
//! typed arrays, which [`Buffer::view`] and [`Buffer::into_array`] make from it without copying.
//!
//! There is no `unsafe` here: ndarray's checked constructors cost a few nanoseconds.

mod in_place;
mod packed;
mod shape;

pub use packed::PackedShape;
pub use shape::Shape;

use std::sync::Arc;

use ndarray::{Array, ArrayView, ArrayViewD, Dimension, IxDyn, ShapeBuilder};

use crate::element::Element;

/// The most elements that a shared buffer keeps in its own allocation. A chain of scalar functions
/// then costs one allocation a value instead of two.
const INLINE: usize = 2;

/// An array of any rank: elements, shape and strides.
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    elements: Elements<T>,
    shape: Shape,
    /// `None`: row-major from the first element on, as nearly every array is.
    layout: Option<Box<Layout>>,
}

#[derive(Clone, Debug)]
enum Elements<T> {
    /// The first `shape.size()` of these.
    Inline([T; INLINE]),
    Owned(Vec<T>),
    /// The elements of another buffer, seen with another shape or other strides. The base is never
    /// itself a `Part`, so a view of a view does not keep a chain alive.
    Part(Arc<Buffer<T>>),
}

/// Any other than the row-major order.
#[derive(Clone, Debug)]
struct Layout {
    /// Index of the element at the lowest address; 0 where the memory is the buffer's own.
    lowest: usize,
    strides: Vec<isize>,
}

impl<T: Element> Buffer<T> {
    /// Takes over the array's memory where its elements lie there side by side, in any order of axes.
    /// Of an array with gaps, such as a slice of a larger one, what it shows is copied.
    pub(crate) fn from_array<D: Dimension>(array: Array<T, D>) -> Self {
        let shape = Shape::from(array.shape());
        if !array.is_standard_layout() && array.as_slice_memory_order().is_none() {
            return Self::from_array(array.as_standard_layout().into_owned());
        }
        let layout = (!array.is_standard_layout()).then(|| {
            let strides = array.strides().to_vec();
            Box::new(Layout { lowest: 0, strides })
        });
        let (mut elements, offset) = array.into_raw_vec_and_offset();
        if elements.len() != shape.size() {
            let strides = layout.as_ref().map_or(&[][..], |layout| &layout.strides);
            let start = lowest_address(offset.unwrap_or(0), &shape, strides);
            elements = elements[start..start + shape.size()].to_vec();
        }
        let elements = Elements::Owned(elements);
        Self {
            elements,
            shape,
            layout,
        }
    }

    /// Every element is `value`.
    pub(crate) fn filled(shape: Shape, value: T) -> Self {
        let elements = Elements::Owned(vec![value; shape.size()]);
        Self {
            elements,
            shape,
            layout: None,
        }
    }

    /// Another look at the same elements: transposed, sliced, broadcast, without a copy. `look` gets
    /// `base` as ndarray shows it and answers with a view into the same memory.
    pub(crate) fn part(
        base: &Arc<Self>,
        look: impl for<'a> FnOnce(&'a ArrayViewD<'a, T>) -> ArrayViewD<'a, T>,
    ) -> Self {
        let whole = base.view::<IxDyn>();
        let view = look(&whole);
        let shape = Shape::from(view.shape());
        let strides = view.strides().to_vec();
        let start = base.memory().as_ptr().addr();
        let first = (view.as_ptr().addr().saturating_sub(start)) / size_of::<T>();
        let first = if shape.size() == 0 { 0 } else { first };
        let lowest = lowest_address(first, &shape, &strides);
        let elements = match &base.elements {
            Elements::Part(owner) => Elements::Part(Arc::clone(owner)),
            _ => Elements::Part(Arc::clone(base)),
        };
        Self {
            elements,
            shape,
            layout: Some(Box::new(Layout { lowest, strides })),
        }
    }

    /// Makes the buffer shareable: a value of a few elements moves into the shared allocation.
    pub(crate) fn share(mut self) -> Arc<Self> {
        if self.layout.is_none()
            && let Elements::Owned(elements) = &self.elements
            && elements.len() <= INLINE
        {
            let mut inline = [T::zero(); INLINE];
            inline[..elements.len()].copy_from_slice(elements);
            self.elements = Elements::Inline(inline);
        }
        Arc::new(self)
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// All the memory that the buffer looks into.
    fn memory(&self) -> &[T] {
        match &self.elements {
            Elements::Inline(elements) => &elements[..self.shape.size()],
            Elements::Owned(elements) => elements,
            Elements::Part(base) => base.memory(),
        }
    }

    /// The elements in row-major order, if they lie so in memory.
    pub(crate) fn as_slice(&self) -> Option<&[T]> {
        self.layout.is_none().then(|| self.memory())
    }

    /// The elements in row-major order, if they lie so in memory that nobody else sees.
    fn as_own_slice_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.elements {
            Elements::Inline(elements) => Some(&mut elements[..self.shape.size()]),
            Elements::Owned(elements) if self.layout.is_none() => Some(elements),
            Elements::Owned(_) | Elements::Part(_) => None,
        }
    }

    /// The array as ndarray shows it.
    ///
    /// # Panics
    /// If `D` has another rank than the buffer: a typed tensor's never has.
    pub(crate) fn view<D: Dimension>(&self) -> ArrayView<'_, T, D> {
        // INVARIANT: `Tensor<T, D>` is only made from buffers of the rank of `D`.
        let dimension: D = self
            .shape
            .dimension()
            .expect("the rank of the type is the buffer's");
        match &self.layout {
            None => ArrayView::from_shape(dimension, self.memory()),
            Some(layout) => ArrayView::from_shape(
                dimension.strides(layout.dimension()),
                &self.memory()[layout.lowest..],
            ),
        }
        // INVARIANT: shape and strides came from an array or a view of exactly this memory.
        .expect("the layout fits the memory")
    }

    /// The array with its memory; elements that others can see are copied.
    pub(crate) fn into_array<D: Dimension>(self) -> Array<T, D> {
        if let Elements::Owned(elements) = self.elements {
            // INVARIANT: as in `view`.
            let dimension: D = self
                .shape
                .dimension()
                .expect("the rank of the type is the buffer's");
            return match &self.layout {
                None => Array::from_shape_vec(dimension, elements),
                Some(layout) => {
                    Array::from_shape_vec(dimension.strides(layout.dimension()), elements)
                }
            }
            .expect("the layout fits the memory");
        }
        self.view().to_owned()
    }

    /// The array of a shared buffer: its memory if nobody else holds it, else a copy.
    pub(crate) fn unshare<D: Dimension>(shared: Arc<Self>) -> Array<T, D> {
        match Arc::try_unwrap(shared) {
            Ok(buffer) => buffer.into_array(),
            Err(shared) => shared.view().to_owned(),
        }
    }

    /// Adds `other`, of the same shape, element by element. The buffer must be the caller's own.
    pub(crate) fn add_assign(&mut self, other: &Self) {
        debug_assert_eq!(self.shape, other.shape);
        if let Some(elements) = self.as_own_slice_mut()
            && let Some(addends) = other.as_slice()
        {
            for (element, &addend) in elements.iter_mut().zip(addends) {
                *element += addend;
            }
            return;
        }
        let this = std::mem::replace(self, Self::filled(Shape::from(&[0][..]), T::zero()));
        let mut sum = this.into_array::<IxDyn>();
        sum += &other.view::<IxDyn>();
        *self = Self::from_array(sum);
    }
}

impl Layout {
    /// ndarray writes negative strides as the two's complement.
    #[expect(clippy::cast_sign_loss, reason = "ndarray's own encoding")]
    fn dimension<D: Dimension>(&self) -> D {
        let mut dimension = D::zeros(self.strides.len());
        for (axis, &stride) in self.strides.iter().enumerate() {
            dimension[axis] = stride as usize;
        }
        dimension
    }
}

/// Where the element at the lowest address is, given where the first one is.
fn lowest_address(first: usize, shape: &[usize], strides: &[isize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    let below: usize = shape
        .iter()
        .zip(strides)
        .filter(|(_, stride)| **stride < 0)
        .map(|(length, stride)| (length - 1) * stride.unsigned_abs())
        .sum();
    first - below
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array0, Array1, Array2, Array3, Axis, Ix1, Ix2, Ix3, array, s};

    fn round_trip<D: Dimension>(array: &Array<f64, D>) {
        let buffer = Buffer::from_array(array.clone());
        assert_eq!(buffer.view::<D>(), array);
        assert_eq!(buffer.clone().into_array::<D>(), array);
        let shared = buffer.share();
        assert_eq!(shared.view::<D>(), array);
        assert_eq!(Buffer::unshare::<D>(Arc::clone(&shared)), array);
        assert_eq!(Buffer::unshare::<D>(shared), array);
    }

    fn counting(rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(i, j)| (10 * i + j) as f64)
    }

    #[test]
    fn arrays_of_every_layout_come_back_unchanged() {
        round_trip(&Array0::from_elem((), 3.0));
        round_trip(&array![1.0]);
        round_trip(&array![1.0, 2.0]);
        round_trip(&counting(3, 4));
        round_trip(&counting(3, 4).reversed_axes());
        round_trip(&counting(0, 4));
        round_trip(&Array3::<f64>::zeros((2, 0, 3)));
        let mut reversed = counting(3, 4);
        reversed.invert_axis(Axis(0));
        round_trip(&reversed);
        reversed.invert_axis(Axis(1));
        round_trip(&reversed);
        round_trip(&counting(5, 6).slice_move(s![1..4, 2..5]));
        round_trip(&counting(5, 6).slice_move(s![1..4;2, 2..;-1]));
        round_trip(&counting(5, 6).slice_move(s![2, ..]));
        round_trip(&counting(5, 6).slice_move(s![.., 3]));
        round_trip(&ndarray::ArrayD::<f64>::ones(vec![2, 1, 2, 1, 2]));
    }

    #[test]
    fn a_part_sees_its_base() {
        let base = Buffer::from_array(counting(3, 4)).share();
        let part = Buffer::part(&base, |view| view.slice(s![1.., ..;-2]).into_dyn());
        assert_eq!(part.view::<Ix2>(), counting(3, 4).slice(s![1.., ..;-2]));
        let part = part.share();
        let of_part = Buffer::part(&part, |view| view.t());
        assert_eq!(
            of_part.view::<Ix2>(),
            counting(3, 4).slice(s![1.., ..;-2]).t()
        );
        assert!(matches!(&of_part.elements, Elements::Part(owner) if Arc::ptr_eq(owner, &base)));
        assert_eq!(
            of_part.clone().into_array::<Ix2>(),
            counting(3, 4).slice(s![1.., ..;-2]).t()
        );
        let empty = Buffer::part(&base, |view| view.slice(s![3.., ..]).into_dyn());
        assert_eq!(empty.view::<Ix2>().shape(), [0, 4]);
    }

    #[test]
    fn small_values_are_shared_without_a_second_allocation() {
        let shared = Buffer::from_array(array![5.0, 6.0]).share();
        assert!(matches!(shared.elements, Elements::Inline(_)));
        assert_eq!(shared.view::<Ix1>(), array![5.0, 6.0]);
        let flipped = Buffer::part(&shared, |view| view.slice(s![..;-1]).into_dyn());
        assert_eq!(flipped.view::<Ix1>(), array![6.0, 5.0]);
        let empty = Buffer::from_array(Array1::<f32>::zeros(0)).share();
        assert_eq!(empty.view::<Ix1>().len(), 0);
    }

    #[test]
    fn a_broadcast_part_repeats_one_element() {
        let base = Buffer::from_array(Array0::from_elem((), 2.5)).share();
        let part = Buffer::part(&base, |view| view.broadcast(IxDyn(&[2, 3])).unwrap());
        assert_eq!(part.view::<Ix2>(), Array2::from_elem((2, 3), 2.5));
        assert_eq!(part.into_array::<Ix2>().len(), 6);
    }

    #[test]
    fn sums_are_taken_in_place_where_the_memory_is_row_major() {
        let mut sum = Buffer::from_array(counting(2, 3));
        sum.add_assign(&Buffer::from_array(counting(2, 3)));
        assert_eq!(sum.view::<Ix2>(), &counting(2, 3) * 2.0);
        sum.add_assign(&Buffer::from_array(counting(3, 2).reversed_axes()));
        assert_eq!(
            sum.view::<Ix2>(),
            &counting(2, 3) * 2.0 + counting(3, 2).t()
        );
        let mut transposed = Buffer::from_array(counting(3, 2).reversed_axes());
        transposed.add_assign(&Buffer::from_array(counting(2, 3)));
        assert_eq!(
            transposed.view::<Ix2>(),
            &counting(2, 3) + &counting(3, 2).t()
        );
    }

    #[test]
    fn shared_buffers_are_small() {
        // The reference counts add two words; see the size of a node in `function::node`.
        assert_eq!(size_of::<Buffer<f32>>(), 64);
        assert_eq!(
            Buffer::filled(Shape::from(&[1, 2, 3][..]), 0.0_f32)
                .view::<Ix3>()
                .len(),
            6
        );
    }
}
