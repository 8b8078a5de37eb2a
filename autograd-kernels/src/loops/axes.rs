//! The axes of a reduction.

use ndarray::Axis;

use crate::shape::Shape;

/// The axes of a reduction, and whether they are kept with length 1.
///
/// ```
/// use pullback::kernels::{Axes, sum_over};
/// use pullback::ndarray::{Axis, Ix1, Ix2, array};
///
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// let rows = Axes::one(Axis(1));
/// assert_eq!(sum_over::<_, _, Ix1>(&x.view(), rows), array![3.0, 7.0]);
/// assert_eq!(sum_over::<_, _, Ix2>(&x.view(), rows.keepdim()), array![[3.0], [7.0]]);
///
/// let images = [8, 3, 32, 32];
/// let all_but_channels = Axes::of(&[0, 2, 3]);
/// assert_eq!(&all_but_channels.shape("mean", &images)[..], [3]);
/// assert_eq!(&all_but_channels.keepdim().shape("mean", &images)[..], [1, 3, 1, 1]);
/// assert_eq!(all_but_channels.count(&images), 8 * 32 * 32);
/// assert!(all_but_channels.contains(2) && Axes::all().contains(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// A bit for each axis; `None` for all axes.
    axes: Option<u64>,
    keepdim: bool,
}

impl Axes {
    /// Returns all axes.
    pub fn all() -> Self {
        Self {
            axes: None,
            keepdim: false,
        }
    }

    /// Returns one axis.
    ///
    /// # Panics
    /// If it is not among the first 64.
    #[track_caller]
    pub fn one(axis: Axis) -> Self {
        Self::of(&[axis.index()])
    }

    /// Returns several axes, in any order. A reduction over no axis leaves each element alone.
    ///
    /// # Panics
    /// If an axis is named twice, or is not among the first 64.
    #[track_caller]
    pub fn of(axes: &[usize]) -> Self {
        let mut bits = 0;
        for &axis in axes {
            assert!(
                axis < 64,
                "a reduction over axis {axis}: only the first 64 can be reduced"
            );
            let bit = 1_u64 << axis;
            assert!(
                bits & bit == 0,
                "a reduction over the axes {axes:?}: {axis} is named twice"
            );
            bits |= bit;
        }
        Self {
            axes: Some(bits),
            keepdim: false,
        }
    }

    /// Returns the axes, kept with length 1.
    #[must_use]
    pub fn keepdim(self) -> Self {
        Self {
            keepdim: true,
            ..self
        }
    }

    /// Returns the axis, if there is only one.
    pub fn single(self) -> Option<Axis> {
        let axes = self.axes.filter(|axes| axes.is_power_of_two())?;
        Some(Axis(axes.trailing_zeros() as usize))
    }

    /// Returns whether `axis` is reduced.
    pub fn contains(self, axis: usize) -> bool {
        let bit = |axes: u64| {
            u32::try_from(axis).is_ok_and(|axis| axes.checked_shr(axis).unwrap_or(0) & 1 == 1)
        };
        self.axes.is_none_or(bit)
    }

    /// Returns the number of elements of an array of `shape` that are reduced to one.
    pub fn count(self, shape: &[usize]) -> usize {
        shape
            .iter()
            .enumerate()
            .filter(|(axis, _)| self.contains(*axis))
            .map(|(_, length)| length)
            .product()
    }

    /// Checks that the axes are some of an array of `shape`. `function` is named in the panic.
    ///
    /// # Panics
    /// If one of the axes does not exist.
    #[track_caller]
    pub fn check(self, function: &str, shape: &[usize]) {
        let last = self.axes.unwrap_or(0).checked_ilog2().unwrap_or(0) as usize;
        assert!(
            self.axes.unwrap_or(0) == 0 || last < shape.len(),
            "{function} of shape {shape:?} over axis {last}: the axis is out of range"
        );
    }

    /// Returns the shape of a reduction of an array of `shape`. `function` is named in the panic.
    ///
    /// # Panics
    /// If one of the axes does not exist.
    #[track_caller]
    pub fn shape(self, function: &str, shape: &[usize]) -> Shape {
        self.check(function, shape);
        let reduced: Vec<usize> = shape
            .iter()
            .enumerate()
            .filter(|(axis, _)| self.keepdim || !self.contains(*axis))
            .map(|(axis, &length)| if self.contains(axis) { 1 } else { length })
            .collect();
        Shape::from(&reduced[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_follow_from_the_axes() {
        let shape = [2, 3, 4];
        for (axes, removed, kept, count) in [
            (Axes::all(), &[][..], [1, 1, 1], 24),
            (Axes::one(Axis(1)), &[2, 4], [2, 1, 4], 3),
            (Axes::of(&[2, 0]), &[3], [1, 3, 1], 8),
            (Axes::of(&[]), &[2, 3, 4], [2, 3, 4], 1),
        ] {
            assert_eq!(&axes.shape("sum", &shape)[..], removed);
            assert_eq!(&axes.keepdim().shape("sum", &shape)[..], kept);
            assert_eq!(axes.count(&shape), count);
        }
        assert_eq!(Axes::one(Axis(63)).single(), Some(Axis(63)));
        assert_eq!(Axes::of(&[]).single(), None);
        assert_eq!(Axes::of(&[1, 2]).single(), None);
        assert!(!Axes::of(&[0]).contains(64));
        assert!(Axes::all().contains(100));
    }

    #[test]
    #[should_panic(expected = "sum of shape [2, 3] over axis 2: the axis is out of range")]
    fn an_axis_that_does_not_exist_is_named() {
        let _ = Axes::of(&[0, 2]).shape("sum", &[2, 3]);
    }

    #[test]
    #[should_panic(expected = "over the axes [1, 0, 1]: 1 is named twice")]
    fn an_axis_named_twice_is_refused() {
        let _ = Axes::of(&[1, 0, 1]);
    }

    #[test]
    #[should_panic(expected = "over axis 64: only the first 64 can be reduced")]
    fn an_axis_far_out_is_refused() {
        let _ = Axes::one(Axis(64));
    }
}
