//! Writing to buffers without other handles.

use ndarray::{ArrayViewMut, Dimension, ShapeBuilder};

use super::{Buffer, Elements, Memory};
use autograd_kernels::Element;

impl<T: Element> Buffer<T> {
    /// Returns whether no other handle holds the elements.
    #[inline]
    pub(crate) fn is_own(&self) -> bool {
        self.0.is_only() && !matches!(self.0.elements, Elements::Part(_) | Elements::Foreign(_))
    }

    /// Returns the elements for writing, if memory has row-major order and no other handle holds it.
    #[inline]
    pub(crate) fn own_slice_mut(&mut self) -> Option<&mut [T]> {
        let body = self.0.get_mut()?;
        match &mut body.elements {
            Elements::Inline(elements) => Some(&mut elements[..body.shape.size()]),
            Elements::Owned(Memory(elements)) if body.layout.is_none() => Some(elements),
            Elements::Owned(_) | Elements::Part(_) | Elements::Foreign(_) => None,
        }
    }

    /// Returns a view for writing; `None` if another handle holds the elements.
    pub(crate) fn own_view_mut<D: Dimension>(&mut self) -> Option<ArrayViewMut<'_, T, D>> {
        let body = self.0.get_mut()?;
        let dimension: D = body.shape.dimension()?;
        let elements = match &mut body.elements {
            Elements::Inline(elements) => &mut elements[..body.shape.size()],
            Elements::Owned(Memory(elements)) => elements,
            Elements::Part(_) | Elements::Foreign(_) => return None,
        };
        match &body.layout {
            None => ArrayViewMut::from_shape(dimension, elements),
            Some(layout) => {
                let strided = dimension.strides(layout.dimension());
                ArrayViewMut::from_shape(strided, &mut elements[layout.lowest..])
            }
        }
        .ok()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis, Ix1, Ix2, array, s};

    use super::*;

    #[test]
    fn own_elements_of_every_layout_can_be_written_to() {
        let counting = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f64);
        let mut flipped = counting.clone();
        flipped.invert_axis(Axis(1));
        for array in [
            counting.clone(),
            counting.clone().reversed_axes(),
            flipped,
            counting.slice_move(s![1.., ..;2]),
            Array2::zeros((0, 3)),
        ] {
            let mut buffer = Buffer::from_array(array.clone());
            let mut view = buffer.own_view_mut::<Ix2>().unwrap();
            view += 1.0;
            assert_eq!(buffer.view::<Ix2>(), array + 1.0);
        }
    }

    #[test]
    fn a_part_of_another_buffer_cannot() {
        let base = Buffer::from_array(array![1.0, 2.0, 3.0]);
        let mut part = Buffer::part(&base, |view| view.slice(s![1..]).into_dyn());
        assert!(part.own_view_mut::<Ix1>().is_none());
    }
}
