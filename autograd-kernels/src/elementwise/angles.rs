//! The angles of a formula, which loops take for near as long as they are: each takes a third of the time then.

use std::mem::MaybeUninit;

use crate::element::Element;
use crate::element::number::Number;
use crate::math::near::NEAR;

/// A piece of work whose results are NaN where they depend on an angle that is: see [`Formula::HAS_ANGLES`].
///
/// [`Formula::HAS_ANGLES`]: super::formula::Formula::HAS_ANGLES
pub(crate) trait OfAngles<T: Element> {
    /// Whether there are angles.
    const HAS_ANGLES: bool;

    /// Computes the results by numbers of a type.
    fn compute<M: Number<T>>(&mut self);

    /// Returns whether a result is NaN.
    fn has_nan(&self) -> bool;

    /// Keeps what results replace.
    fn keep(&mut self) {}

    /// Puts that back.
    fn put_back(&mut self) {}
}

/// For pieces of work, whether angles are taken for near.
pub(crate) struct Angles {
    may_be: bool,
    are_near: bool,
}

impl Angles {
    /// Pieces of work after which near angles are looked for again.
    const AGAIN: usize = 8;

    /// Angles that may be taken for near, or not.
    pub(crate) const fn new(may_be: bool) -> Self {
        Self {
            may_be,
            are_near: true,
        }
    }

    /// Computes the results of a piece of work, which has a number among all.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn compute<T: Element, W: OfAngles<T>>(&mut self, number: usize, mut work: W) {
        let may_be_near = const { W::HAS_ANGLES } && self.may_be;
        if may_be_near && (self.are_near || number.is_multiple_of(Self::AGAIN)) {
            work.keep();
            work.compute::<T::Near>();
            self.are_near = !work.has_nan();
            if self.are_near {
                return;
            }
            work.put_back();
        }
        work.compute::<T::Number>();
    }
}

/// Returns whether all numbers are [near](NEAR).
#[cfg_attr(optimized, inline(always))]
pub(super) fn are_near<T: Element>(x: &[T]) -> bool {
    let near = T::from_f64(NEAR);
    x.iter().fold(true, |all, x| all & (x.abs() <= near))
}

/// Returns whether one of some elements is NaN.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn has_nan<T: Element>(elements: &[T]) -> bool {
    elements
        .iter()
        .fold(false, |any, element| any | element.is_nan())
}

/// [`has_nan`], of elements that were room at first.
///
/// # Safety
/// All of them were written.
#[expect(unsafe_code, reason = "the block has its argument")]
#[cfg_attr(optimized, inline(always))]
pub(crate) unsafe fn written_have_nan<T: Element>(elements: &[MaybeUninit<T>]) -> bool {
    elements.iter().fold(false, |any, element| {
        // SAFETY: as the caller promises.
        any | unsafe { element.assume_init() }.is_nan()
    })
}
