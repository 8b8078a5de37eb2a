//! Shapes in three words, for nodes.

use autograd_kernels::Shape;

/// The most axes that are stored without an allocation, if all lengths fit a `u32`.
const INLINE: usize = 5;

/// The shape of an output in its node. With it a node of one input and one saved tensor takes 128 bytes with the
/// allocator's share, the largest size that glibc allocates and frees in a few instructions.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct PackedShape(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Inline { rank: u8, lengths: [u32; INLINE] },
    Heap(Box<Shape>),
}

impl PackedShape {
    /// Returns the shape.
    pub(crate) fn unpack(&self) -> Shape {
        match &self.0 {
            Repr::Heap(shape) => (**shape).clone(),
            Repr::Inline { rank, lengths } => {
                let mut unpacked = [0; INLINE];
                for (unpacked, &length) in unpacked.iter_mut().zip(lengths) {
                    *unpacked = length as usize;
                }
                Shape::from(&unpacked[..usize::from(*rank)])
            }
        }
    }
}

impl From<&Shape> for PackedShape {
    #[inline]
    fn from(shape: &Shape) -> Self {
        if let Some((rank, &[a, b, c])) = shape.short()
            && let (Ok(a), Ok(b), Ok(c)) = (a.try_into(), b.try_into(), c.try_into())
        {
            let lengths = [a, b, c, 0, 0];
            return Self(Repr::Inline { rank, lengths });
        }
        Self::long(shape)
    }
}

impl PackedShape {
    /// Packs a shape with more or longer axes than most have.
    #[cold]
    fn long(shape: &Shape) -> Self {
        let mut lengths = [0; INLINE];
        let fits = shape.len() <= INLINE
            && lengths
                .iter_mut()
                .zip(shape.iter())
                .all(|(packed, &length)| {
                    u32::try_from(length).map(|length| *packed = length).is_ok()
                });
        if !fits {
            return Self(Repr::Heap(Box::new(shape.clone())));
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most `INLINE`")]
        let rank = shape.len() as u8;
        Self(Repr::Inline { rank, lengths })
    }
}

impl PartialEq<Shape> for PackedShape {
    #[inline]
    fn eq(&self, other: &Shape) -> bool {
        match (&self.0, other.short()) {
            (Repr::Inline { rank, lengths }, Some((other, [x, y, z]))) => {
                let same = |length: u32, other: &usize| length as usize == *other;
                *rank == other && same(lengths[0], x) && same(lengths[1], y) && same(lengths[2], z)
            }
            _ => self.unpack() == *other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_unpacked_unchanged() {
        let long = u32::MAX as usize + 1;
        let shapes: [&[usize]; 7] = [
            &[],
            &[7],
            &[0, 3],
            &[1, 2, 3, 4, 5],
            &[1, 2, 3, 4, 5, 6],
            &[long],
            &[2, long - 1],
        ];
        for lengths in shapes {
            let shape = Shape::from(lengths);
            let packed = PackedShape::from(&shape);
            assert_eq!(packed.unpack(), shape);
            assert!(packed == shape);
            assert!(packed != Shape::from(&[9, 9][..]));
        }
        let vector = PackedShape::from(&Shape::from(&[2][..]));
        assert!(vector != Shape::from(&[2, 2][..]));
    }

    #[test]
    fn takes_three_words() {
        assert_eq!(size_of::<PackedShape>(), 24);
    }
}
