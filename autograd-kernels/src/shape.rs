//! A shape of any rank in four words.

use std::fmt;
use std::ops::Deref;

use ndarray::Dimension;

/// The longest shape without an allocation. Each recorded node has the shapes of its outputs: a long chain has
/// millions of shapes.
const INLINE: usize = 3;

/// The shape of an array of any rank. It dereferences to a `[usize]`.
///
/// ```
/// use pullback::Shape;
///
/// let shape = Shape::from(&[2, 3][..]);
/// assert_eq!(shape.len(), 2);
/// assert_eq!(shape.size(), 6);
/// assert_eq!(format!("{shape}"), "[2, 3]");
/// ```
#[derive(Clone)]
pub struct Shape(Repr);

#[derive(Clone)]
enum Repr {
    Inline { rank: u8, lengths: [usize; INLINE] },
    Heap(Box<[usize]>),
}

impl Shape {
    /// Returns the number of elements of an array of this shape; 1 for rank 0.
    #[inline]
    pub fn size(&self) -> usize {
        self.iter().product()
    }

    /// Returns the rank and the lengths, padded with zeros, of a shape without an allocation.
    #[doc(hidden)]
    #[inline]
    pub fn short(&self) -> Option<(u8, &[usize; INLINE])> {
        match &self.0 {
            Repr::Inline { rank, lengths } => Some((*rank, lengths)),
            Repr::Heap(_) => None,
        }
    }

    /// Returns the shape as an ndarray dimension; `None` if `D` has another rank.
    #[doc(hidden)]
    #[inline]
    pub fn dimension<D: Dimension>(&self) -> Option<D> {
        if D::NDIM.is_some_and(|rank| rank != self.len()) {
            return None;
        }
        let mut dimension = D::zeros(self.len());
        for (axis, &length) in self.iter().enumerate() {
            dimension[axis] = length;
        }
        Some(dimension)
    }
}

impl From<&[usize]> for Shape {
    #[inline]
    fn from(shape: &[usize]) -> Self {
        // Spelled out: a copy of unknown length goes through memory, and stalls on its own store.
        let (rank, lengths) = match *shape {
            [] => (0, [0, 0, 0]),
            [a] => (1, [a, 0, 0]),
            [a, b] => (2, [a, b, 0]),
            [a, b, c] => (3, [a, b, c]),
            _ => return Self(Repr::Heap(shape.into())),
        };
        Self(Repr::Inline { rank, lengths })
    }
}

impl Deref for Shape {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        match &self.0 {
            Repr::Inline { rank, lengths } => &lengths[..usize::from(*rank)],
            Repr::Heap(lengths) => lengths,
        }
    }
}

impl PartialEq for Shape {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self.short(), other.short()) {
            (Some((rank, [a, b, c])), Some((other, [x, y, z]))) => {
                rank == other && a == x && b == y && c == z
            }
            _ => self[..] == other[..],
        }
    }
}

impl Eq for Shape {}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Ix2, IxDyn};

    #[test]
    fn short_and_long_shapes_dereference_to_their_lengths() {
        for lengths in [
            &[][..],
            &[3],
            &[2, 3],
            &[2, 3, 4],
            &[2, 3, 4, 5],
            &[1, 0, 7, 2, 9],
        ] {
            let shape = Shape::from(lengths);
            assert_eq!(&shape[..], lengths);
            assert_eq!(shape, shape.clone());
            assert_eq!(shape.dimension::<IxDyn>().unwrap(), IxDyn(lengths));
        }
        assert_eq!(Shape::from(&[2, 3][..]).dimension::<Ix2>(), Some(Ix2(2, 3)));
        assert_eq!(Shape::from(&[2][..]).dimension::<Ix2>(), None);
    }

    #[test]
    fn shapes_of_up_to_three_axes_are_not_allocated() {
        for rank in 0..=4 {
            let shape = Shape::from(&[2, 3, 4, 5][..rank]);
            assert_eq!(shape.short().is_some(), rank <= 3, "{shape}");
        }
    }

    #[test]
    fn takes_four_words() {
        assert_eq!(size_of::<Shape>(), 32);
    }
}
