//! Layouts other than row-major order: arrays with permuted axes, and views into a buffer.

use ndarray::{Array, ArrayViewD, Dimension, IxDyn};

use super::{Buffer, Elements, Memory, Shape, row_major};
use autograd_kernels::Element;

/// A layout other than row-major order.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The index of the element at the lowest address; 0 in the buffer's own memory.
    pub(super) lowest: usize,
    strides: Vec<isize>,
}

impl<T: Element> Buffer<T> {
    pub(super) fn from_other_layout<D: Dimension>(array: Array<T, D>) -> Self {
        if array.as_slice_memory_order().is_none() {
            return Self::from_array(row_major(&array.view()));
        }
        let (shape, strides) = (Shape::from(array.shape()), array.strides().to_vec());
        let (mut elements, offset) = array.into_raw_vec_and_offset();
        if elements.len() != shape.size() {
            let start = lowest_address(offset.unwrap_or(0), &shape, &strides);
            elements = elements[start..start + shape.size()].to_vec();
        }
        let layout = Box::new(Layout { lowest: 0, strides });
        Self::new(Elements::Owned(Memory(elements)), shape, Some(layout))
    }

    /// Returns a view of the elements of `base` without a copy: transposed, sliced, broadcast. `look` converts an
    /// ndarray view of `base` to a view into the same memory. All elements in row-major order, as after a reshape, need
    /// no layout.
    pub(crate) fn part(
        base: &Self,
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
        let elements = match &base.0.elements {
            Elements::Part(owner) => Elements::Part(owner.clone()),
            _ => Elements::Part(base.clone()),
        };
        let is_whole = shape.size() == base.memory().len() && view.is_standard_layout();
        let layout = (!is_whole).then(|| Box::new(Layout { lowest, strides }));
        Self::new(elements, shape, layout)
    }

    /// Returns the element that is repeated along all axes of a view.
    pub(crate) fn repeated(&self) -> Option<&[T]> {
        let layout = self.0.layout.as_ref()?;
        let is_repeated = layout.strides.iter().all(|stride| *stride == 0);
        is_repeated.then(|| self.memory().get(layout.lowest..=layout.lowest))?
    }
}

impl Layout {
    /// Returns the strides; ndarray encodes negative ones as two's complement.
    #[expect(clippy::cast_sign_loss, reason = "ndarray's own encoding")]
    pub(super) fn dimension<D: Dimension>(&self) -> D {
        let mut dimension = D::zeros(self.strides.len());
        for (axis, &stride) in self.strides.iter().enumerate() {
            dimension[axis] = stride as usize;
        }
        dimension
    }
}

/// Returns the index of the element at the lowest address, given that of the first element.
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
    use ndarray::{Array0, Array2, Ix2, s};

    fn counting(rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(i, j)| (10 * i + j) as f64)
    }

    #[test]
    fn a_part_shares_the_memory_of_its_base() {
        let base = Buffer::from_array(counting(3, 4));
        let part = Buffer::part(&base, |view| view.slice(s![1.., ..;-2]).into_dyn());
        assert_eq!(part.view::<Ix2>(), counting(3, 4).slice(s![1.., ..;-2]));
        let of_part = Buffer::part(&part, |view| view.t());
        assert_eq!(
            of_part.view::<Ix2>(),
            counting(3, 4).slice(s![1.., ..;-2]).t()
        );
        assert!(matches!(&of_part.0.elements, Elements::Part(owner) if owner.0.is(&base.0)));
        assert_eq!(
            of_part.clone().into_array::<Ix2>(),
            counting(3, 4).slice(s![1.., ..;-2]).t()
        );
        let empty = Buffer::part(&base, |view| view.slice(s![3.., ..]).into_dyn());
        assert_eq!(empty.view::<Ix2>().shape(), [0, 4]);
    }

    #[test]
    fn all_of_it_in_another_shape_needs_no_layout() {
        let base = Buffer::from_array(counting(3, 4));
        let shape = IxDyn(&[2, 6]);
        let part = Buffer::part(&base, |view| {
            view.view().into_shape_with_order(shape).unwrap()
        });
        assert_eq!(part.as_slice(), base.as_slice());
        assert_eq!(part.view::<Ix2>().shape(), [2, 6]);
        let back = Buffer::part(&part, |view| view.slice(s![..;-1, ..]).into_dyn());
        assert!(back.as_slice().is_none());
        let rows = Buffer::part(&base, |view| view.slice(s![1.., ..]).into_dyn());
        assert!(rows.as_slice().is_none());
        assert_eq!(rows.view::<Ix2>(), counting(3, 4).slice(s![1.., ..]));
    }

    #[test]
    fn a_broadcast_part_repeats_one_element() {
        let base = Buffer::compact(Array0::from_elem((), 2.5));
        let part = Buffer::part(&base, |view| view.broadcast(IxDyn(&[2, 3])).unwrap());
        assert_eq!(part.view::<Ix2>(), Array2::from_elem((2, 3), 2.5));
        assert_eq!(part.into_array::<Ix2>().len(), 6);
    }
}
