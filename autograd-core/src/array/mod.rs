//! Buffers: arrays of any rank, shared by reference count and copied on write.
//!
//! A [`Buffer`] has its shape and strides, but no rank in its type: the engine is compiled once for each element type.
//! Authors of functions use ndarray's typed arrays, which [`Buffer::view`] and [`Buffer::into_array`] make without
//! copying.
//!
//! The handle on a buffer is a `Counted` of `crate::alloc`; the memory of large arrays comes from
//! `autograd_kernels::memory`.

#![allow(unsafe_code, reason = "each block has its argument")]

mod in_place;
mod layout;
mod marked;
mod packed;

pub(crate) use marked::marked;
pub use packed::PackedShape;

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use ndarray::{Array, ArrayView, Dimension, IxDyn, ShapeBuilder};

use crate::alloc::Counted;
use autograd_kernels::{Element, Shape, checks, memory, row_major};
use layout::Layout;

/// The most elements that a buffer stores in its counted part. A chain of scalar functions then needs one allocation
/// for each value instead of two.
const INLINE: usize = 2;

/// An array of any rank: elements, shape and strides. A clone is a second handle on the same array.
#[derive(Debug)]
pub struct Buffer<T>(Counted<Body<T>>);

#[derive(Debug)]
struct Body<T> {
    elements: Elements<T>,
    shape: Shape,
    /// `None` for row-major order from the first element on, as in nearly every array. Then the number of elements is
    /// that of the shape.
    layout: Option<Box<Layout>>,
}

#[derive(Debug)]
enum Elements<T> {
    /// The first `shape.size()` of these elements.
    Inline([T; INLINE]),
    Owned(Memory<T>),
    /// The elements of another buffer, with another shape or other strides. The base is never a `Part`, so a view of a
    /// view does not keep a chain alive.
    Part(Buffer<T>),
    /// The memory of another owner, which is only read. The number of its elements is checked at each access.
    Foreign(Foreign<T>),
}

/// The owner of memory that was not allocated here.
struct Foreign<T>(Box<dyn AsRef<[T]> + Send + Sync>);

impl<T> fmt::Debug for Foreign<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Foreign")
    }
}

/// Elements whose memory is returned to the cache.
#[derive(Debug)]
struct Memory<T>(Vec<T>);

impl<T> Drop for Memory<T> {
    #[inline]
    fn drop(&mut self) {
        memory::give_back(std::mem::take(&mut self.0));
    }
}

/// No code writes to a buffer that another handle could see after a panic.
impl<T> UnwindSafe for Buffer<T> {}
impl<T> RefUnwindSafe for Buffer<T> {}

impl<T> Clone for Buffer<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Element> Buffer<T> {
    #[inline]
    fn new(elements: Elements<T>, shape: Shape, layout: Option<Box<Layout>>) -> Self {
        Self(Counted::new(Body {
            elements,
            shape,
            layout,
        }))
    }

    /// Takes over the array's memory if its elements are contiguous, in any order of axes. Copies the elements of an
    /// array with gaps, such as a slice of a larger one.
    #[inline]
    pub(crate) fn from_array<D: Dimension>(array: Array<T, D>) -> Self {
        if !array.is_standard_layout() {
            return Self::from_other_layout(array);
        }
        let shape = Shape::from(array.shape());
        let (mut elements, offset) = array.into_raw_vec_and_offset();
        if elements.len() != shape.size() {
            let start = offset.unwrap_or(0);
            elements = elements[start..start + shape.size()].to_vec();
        }
        Self::row_major(elements, shape)
    }

    /// Makes a buffer of the shape's number of elements; of a few in the counted part.
    #[inline]
    pub(crate) fn of_elements(elements: Cow<'_, [T]>, shape: Shape) -> Self {
        if elements.len() <= INLINE {
            return Self::new(inline(&elements), shape, None);
        }
        Self::row_major(elements.into_owned(), shape)
    }

    /// Makes a buffer of the shape's number of elements.
    #[inline]
    fn row_major(elements: Vec<T>, shape: Shape) -> Self {
        debug_assert_eq!(elements.len(), shape.size());
        Self::new(Elements::Owned(Memory(elements)), shape, None)
    }

    /// Makes a buffer of the elements of `owner`, in row-major order. A vector is taken over.
    ///
    /// # Panics
    /// If the owner does not have as many elements as the shape.
    #[track_caller]
    pub(crate) fn foreign(shape: Shape, owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        let elements = owner.as_ref().len();
        assert!(
            checks::size(&shape) == Some(elements),
            "from_owner of shape {shape}: the owner has {elements} elements"
        );
        let mut owner = Some(owner);
        let vector = (&mut owner as &mut dyn Any).downcast_mut::<Option<Vec<T>>>();
        if let Some(vector) = vector.and_then(Option::take) {
            return Self::row_major(vector, shape);
        }
        // INVARIANT: only a vector is taken out, and then the function has returned.
        let owner = Box::new(owner.expect("an owner"));
        Self::new(Elements::Foreign(Foreign(owner)), shape, None)
    }

    /// Makes a buffer like [`from_array`](Self::from_array), with a few elements in the counted part.
    #[inline]
    pub(crate) fn compact<D: Dimension>(array: Array<T, D>) -> Self {
        if array.len() <= INLINE
            && let Some(elements) = array.as_slice()
        {
            return Self::new(inline(elements), Shape::from(array.shape()), None);
        }
        Self::from_array(array)
    }

    /// Returns `f` of each element and that of a buffer of the same shape, if there are few.
    #[inline]
    pub(crate) fn zip_few(&self, other: &Self, f: impl Fn(T, T) -> T) -> Option<Self> {
        debug_assert_eq!(self.shape(), other.shape());
        let mut results = [T::zero(); INLINE];
        let elements = self.as_slice()?.iter().zip(other.as_slice()?);
        if elements.len() > INLINE {
            return None;
        }
        for (result, (&x, &y)) in results.iter_mut().zip(elements) {
            *result = f(x, y);
        }
        Some(Self::new(
            Elements::Inline(results),
            self.shape().clone(),
            None,
        ))
    }

    /// Returns a copy of a few elements, else a second handle. Making and dropping a copy takes less time than counting
    /// a handle, and both can be overwritten.
    #[inline]
    pub(crate) fn copied_few(&self) -> Self {
        match self.as_slice() {
            Some(elements) if elements.len() <= INLINE => {
                Self::new(inline(elements), self.shape().clone(), None)
            }
            _ => self.clone(),
        }
    }

    /// Makes a buffer of equal elements.
    pub(crate) fn filled(shape: Shape, value: T) -> Self {
        let size = shape.size();
        if size <= INLINE {
            return Self::new(Elements::Inline([value; INLINE]), shape, None);
        }
        let mut elements = memory::take(size);
        elements.resize(size, value);
        Self::row_major(elements, shape)
    }

    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// Returns all memory that the buffer holds.
    #[inline]
    fn memory(&self) -> &[T] {
        match &self.0.elements {
            Elements::Inline(elements) => &elements[..self.0.shape.size()],
            Elements::Owned(Memory(elements)) => elements,
            Elements::Part(base) => base.memory(),
            Elements::Foreign(Foreign(owner)) => {
                let elements = (**owner).as_ref();
                // An owner is user code, which may return anything.
                assert_eq!(
                    elements.len(),
                    self.0.shape.size(),
                    "the owner of a tensor's memory returned another number of elements"
                );
                elements
            }
        }
    }

    /// Returns the address of the memory that the buffer holds, and its size in bytes.
    pub(crate) fn held(&self) -> (usize, usize) {
        let memory = self.memory();
        (memory.as_ptr().addr(), size_of_val(memory))
    }

    /// Returns the elements in row-major order, if memory has that order.
    #[inline]
    pub(crate) fn as_slice(&self) -> Option<&[T]> {
        self.0.layout.is_none().then(|| self.memory())
    }

    /// Returns an ndarray view.
    ///
    /// # Panics
    /// If `D` has another rank than the buffer, which a typed tensor's never has.
    #[inline]
    pub(crate) fn view<D: Dimension>(&self) -> ArrayView<'_, T, D> {
        let dimension: D = dimension(self.shape());
        let memory = self.memory();
        let Some(layout) = &self.0.layout else {
            debug_assert_eq!(memory.len(), self.shape().size());
            // SAFETY: without a layout the memory has one element for each of the shape's, in row-major
            // order; it is valid, and not written to, as long as `self` is borrowed.
            return unsafe { ArrayView::from_shape_ptr(dimension, memory.as_ptr()) };
        };
        let strided = dimension.strides(layout.dimension());
        // INVARIANT: shape and strides came from an array or a view of exactly this memory.
        ArrayView::from_shape(strided, &memory[layout.lowest..])
            .expect("the layout fits the memory")
    }

    /// Converts to an array, without a copy if there is no other handle.
    #[inline]
    pub(crate) fn into_array<D: Dimension>(self) -> Array<T, D> {
        let body = match self.0.into_inner() {
            Ok(body) => body,
            Err(shared) => return Self(shared).copied(),
        };
        let Elements::Owned(mut elements) = body.elements else {
            return Self(Counted::new(body)).copied();
        };
        let elements = std::mem::take(&mut elements.0);
        let Some(layout) = &body.layout else {
            return in_shape(elements, &body.shape);
        };
        let strided = dimension::<D>(&body.shape).strides(layout.dimension());
        Array::from_shape_vec(strided, elements).expect("the layout fits the memory")
    }

    /// Converts to the elements in row-major order, without a copy if memory has that order and there is no other
    /// handle.
    pub(crate) fn into_elements(self) -> Vec<T> {
        let buffer = match self.0.into_inner() {
            Ok(Body {
                elements: Elements::Owned(mut elements),
                layout: None,
                ..
            }) => return std::mem::take(&mut elements.0),
            Ok(body) => Self(Counted::new(body)),
            Err(shared) => Self(shared),
        };
        let mut elements = memory::take(buffer.shape().size());
        match buffer.as_slice() {
            Some(slice) => elements.extend_from_slice(slice),
            None => elements.extend(buffer.view::<IxDyn>().iter().copied()),
        }
        elements
    }

    /// Replaces the memory of another owner by a copy, so that later accesses run no user code.
    pub(crate) fn own_memory(&mut self) {
        let base = match &self.0.elements {
            Elements::Part(base) => base,
            _ => &*self,
        };
        if matches!(base.0.elements, Elements::Foreign(_)) {
            *self = Self::row_major(self.clone().into_elements(), self.shape().clone());
        }
    }

    /// Returns a copy of the array.
    pub(crate) fn copied<D: Dimension>(&self) -> Array<T, D> {
        let Some(elements) = self.as_slice() else {
            let view = self.view();
            return match view.as_slice_memory_order() {
                Some(_) => view.to_owned(),
                None => row_major(&view),
            };
        };
        let mut copy = memory::take(elements.len());
        copy.extend_from_slice(elements);
        in_shape(copy, self.shape())
    }

    /// Adds `other`, of the same shape, element by element, in place if no other handle holds the memory.
    pub(crate) fn add_assign(&mut self, other: &Self) {
        debug_assert_eq!(self.shape(), other.shape());
        if let Some(elements) = self.own_slice_mut()
            && let Some(addends) = other.as_slice()
        {
            for (element, &addend) in elements.iter_mut().zip(addends) {
                *element += addend;
            }
            return;
        }
        if let (Some(elements), Some(addends)) = (self.as_slice(), other.as_slice()) {
            let mut sums = memory::take(elements.len());
            sums.extend(elements.iter().zip(addends).map(|(&x, &y)| x + y));
            *self = Self::row_major(sums, self.shape().clone());
            return;
        }
        let mut sum = std::mem::replace(self, other.clone()).into_array::<IxDyn>();
        sum += &other.view::<IxDyn>();
        *self = Self::from_array(sum);
    }
}

/// INVARIANT: `Tensor<T, D>` is only made from buffers of the rank of `D`.
#[inline]
fn dimension<D: Dimension>(shape: &Shape) -> D {
    let dimension = shape.dimension();
    dimension.expect("the rank of the type is the buffer's")
}

/// Makes an array of elements in row-major order.
#[inline]
fn in_shape<T: Element, D: Dimension>(elements: Vec<T>, shape: &Shape) -> Array<T, D> {
    assert_eq!(elements.len(), shape.size(), "one element for each");
    // SAFETY: the shape has this number of elements, as was asserted.
    unsafe { Array::from_shape_vec_unchecked(dimension::<D>(shape), elements) }
}

/// Copies a few elements into the counted part.
#[inline]
fn inline<T: Element>(elements: &[T]) -> Elements<T> {
    Elements::Inline(match *elements {
        [first, second] => [first, second],
        [first] => [first, T::zero()],
        _ => [T::zero(); INLINE],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array0, Array1, Array2, Array3, Axis, Ix1, Ix2, Ix3, array, s};

    fn round_trip<D: Dimension>(array: &Array<f64, D>) {
        let buffer = Buffer::from_array(array.clone());
        assert_eq!(buffer.view::<D>(), array);
        assert_eq!(buffer.clone().into_array::<D>(), array);
        let compact = Buffer::compact(array.clone());
        assert_eq!(compact.view::<D>(), array);
        assert_eq!(compact.clone().into_array::<D>(), array);
        assert_eq!(compact.into_array::<D>(), array);
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
    fn small_values_are_shared_without_a_second_allocation() {
        let shared = Buffer::compact(array![5.0, 6.0]);
        assert!(matches!(shared.0.elements, Elements::Inline(_)));
        assert_eq!(shared.view::<Ix1>(), array![5.0, 6.0]);
        let flipped = Buffer::part(&shared, |view| view.slice(s![..;-1]).into_dyn());
        assert_eq!(flipped.view::<Ix1>(), array![6.0, 5.0]);
        let empty = Buffer::compact(Array1::<f32>::zeros(0));
        assert_eq!(empty.view::<Ix1>().len(), 0);
    }

    #[test]
    fn only_few_elements_are_copied_for_a_second_handle() {
        for elements in [vec![], vec![1.0], vec![1.0, 2.0]] {
            let buffer = Buffer::from_array(Array1::from_vec(elements));
            let copy = buffer.copied_few();
            assert!(copy.is_own() && buffer.is_own());
            assert_eq!(copy.view::<Ix1>(), buffer.view::<Ix1>());
        }
        let buffer = Buffer::from_array(array![1.0, 2.0, 3.0]);
        let part = Buffer::part(&buffer, |view| view.slice(s![..;2]).into_dyn());
        assert!(buffer.copied_few().0.is(&buffer.0));
        assert!(part.copied_few().0.is(&part.0));
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
        // The size of a scalar with its count; see the size of a node in `function::record`.
        assert_eq!(Counted::<Body<f32>>::SIZE, 72);
        assert_eq!(size_of::<Buffer<f32>>(), 8);
        assert_eq!(
            Buffer::filled(Shape::from(&[1, 2, 3][..]), 0.0_f32)
                .view::<Ix3>()
                .len(),
            6
        );
    }
}
