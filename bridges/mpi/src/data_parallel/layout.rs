//! Groups of gradients that are sent together.

use pullback::{AnyTensor, ElementType};

use crate::worker::Data;

/// The element type and the number of elements of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) element: ElementType,
    pub(super) length: usize,
}

/// The gradients of some parameters in one array, followed by one element for each parameter: the number of processes
/// that have a gradient for it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) element: ElementType,
    /// Indices of parameters, each with the index of its first element.
    pub(super) parameters: Vec<(usize, usize)>,
    /// The number of elements of all gradients.
    pub(super) length: usize,
}

/// The buckets in the order in which they are sent.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) buckets: Vec<Bucket>,
    /// For each parameter, the index of its bucket and its index in that bucket.
    pub(super) places: Vec<(usize, usize)>,
}

impl Layout {
    /// Fills buckets with parameters in this order. A bucket has up to `bytes`, or one larger parameter.
    pub(super) fn new(order: &[usize], sizes: &[Size], bytes: usize) -> Self {
        let mut buckets: Vec<Bucket> = Vec::new();
        let mut open: Vec<Bucket> = Vec::new();
        for &parameter in order {
            let Size { element, length } = sizes[parameter];
            if let Some(place) = open.iter().position(|bucket| bucket.element == element) {
                let filled = (open[place].length + length) * element.size();
                if filled > bytes {
                    buckets.push(open.remove(place));
                }
            }
            let place = open.iter().position(|bucket| bucket.element == element);
            let place = place.unwrap_or_else(|| {
                open.push(Bucket {
                    element,
                    parameters: Vec::new(),
                    length: 0,
                });
                open.len() - 1
            });
            let bucket = &mut open[place];
            bucket.parameters.push((parameter, bucket.length));
            bucket.length += length;
        }
        buckets.append(&mut open);
        let mut places = vec![(0, 0); sizes.len()];
        for (number, bucket) in buckets.iter().enumerate() {
            for (place, &(parameter, _)) in bucket.parameters.iter().enumerate() {
                places[parameter] = (number, place);
            }
        }
        Self { buckets, places }
    }
}

impl Size {
    pub(super) fn of(parameter: &AnyTensor) -> Self {
        let element = parameter.element_type();
        let length = parameter.shape().iter().product();
        Self { element, length }
    }
}

impl Bucket {
    /// Returns the number of elements that are sent.
    pub(super) fn elements(&self) -> usize {
        self.length + self.parameters.len()
    }

    pub(super) fn zeros(&self) -> Data {
        match self.element {
            ElementType::F32 => Data::F32(vec![0.0; self.elements()]),
            ElementType::F64 => Data::F64(vec![0.0; self.elements()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_full_and_of_one_type() {
        let size = |element, length| Size { element, length };
        let single = |length| size(ElementType::F32, length);
        let sizes = [
            single(2),
            single(3),
            size(ElementType::F64, 1),
            single(9),
            single(1),
        ];
        let layout = Layout::new(&[4, 3, 2, 1, 0], &sizes, 20);
        let parameters: Vec<_> = (layout.buckets.iter())
            .map(|bucket| (bucket.element, bucket.length, &bucket.parameters[..]))
            .collect();
        assert_eq!(
            parameters,
            [
                (ElementType::F32, 1, &[(4, 0)][..]),
                (ElementType::F32, 9, &[(3, 0)]),
                (ElementType::F64, 1, &[(2, 0)]),
                (ElementType::F32, 5, &[(1, 0), (0, 3)]),
            ]
        );
        assert_eq!(layout.places, [(3, 1), (3, 0), (2, 0), (1, 0), (0, 0)]);
    }
}
