//! Results in the memory of an operand.
//!
//! An operator that is given a tensor by value, such as the product in `&x * &y + 1.0`, need not leave its
//! elements as they are if no other handle sees them: what was saved, or another tensor shows, has a handle of
//! its own. Only plain values are written to, and from plain values: nothing then has to be recorded.

use ndarray::Dimension;

use super::Tensor;
use autograd_kernels as kernels;
use autograd_kernels::Element;

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Puts `f` of each element in its place, if no other handle sees it; whether it did.
    #[inline]
    pub(crate) fn map_in_place(&mut self, f: impl Fn(T) -> T + Sync) -> bool {
        if !self.raw.is_plain() {
            return false;
        }
        let Some(elements) = self.raw.buffer.own_slice_mut() else {
            return false;
        };
        kernels::map_in_place(elements, f);
        true
    }

    /// Puts `f` of each element and `other`'s in its place, if no other handle sees it; whether it
    /// did. Not if the shapes differ.
    #[inline]
    pub(crate) fn zip_in_place<E: Dimension>(
        &mut self,
        other: &Tensor<T, E>,
        f: impl Fn(T, T) -> T + Sync,
    ) -> bool {
        let is_plain = self.raw.is_plain() && other.raw.is_plain();
        if !is_plain || self.raw.buffer.shape() != other.raw.buffer.shape() {
            return false;
        }
        let elements = self.raw.buffer.own_slice_mut();
        let (Some(elements), Some(others)) = (elements, other.raw.buffer.as_slice()) else {
            return false;
        };
        kernels::zip_in_place(elements, others, f);
        true
    }

    /// `f` of each element and `other`'s in one loop, if nothing of it has to be recorded: in this tensor's
    /// place, if no other handle sees it. Else the tensor comes back.
    ///
    /// # Panics
    /// If the shapes differ.
    #[cfg(feature = "ops")]
    #[inline]
    #[track_caller]
    pub(crate) fn fused(
        mut self,
        other: &Self,
        f: impl Fn(T, T) -> T + Sync,
    ) -> Result<Self, Self> {
        if !self.raw.is_plain() || !other.raw.is_plain() {
            return Err(self);
        }
        if self.zip_in_place(other, &f) {
            return Ok(self);
        }
        Ok(kernels::zip(&self.view(), &other.view(), f).into())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array};

    use crate::{Tensor, Tensor1, no_grad};

    fn five() -> Tensor1<f64> {
        Tensor::from(Array1::from_vec(vec![1.0, 2.0, 3.0, 4.0, 5.0]))
    }

    #[test]
    fn results_go_where_an_operand_was_that_nobody_else_sees() {
        let (x, y) = (five() * 2.0, five());
        let place = x.view().as_ptr();
        let result = 1.0 - (-((&y - (x + &y)) / 2.0) * &y);
        assert_eq!(result.view().as_ptr(), place);
        assert_eq!(
            result.to_array(),
            1.0 - five().to_array() * five().to_array()
        );
        assert_eq!(y.to_array(), five().to_array());
        let (x, y) = (five(), five());
        let kept = x.clone();
        let place = y.view().as_ptr();
        assert_eq!((x / y).view().as_ptr(), place);
        assert_eq!(kept.to_array(), five().to_array());
    }

    #[test]
    fn what_others_see_stays() {
        let x = five();
        for result in [x.clone() + 1.0, x.clone() + &x, &x + x.clone(), -x.clone()] {
            assert_ne!(result.view().as_ptr(), x.view().as_ptr());
        }
        assert_eq!(x.to_array(), five().to_array());
        let column = Tensor::from(array![[1.0], [2.0]]);
        assert_eq!((column + five()).shape(), [2, 5]);
    }

    #[test]
    fn what_is_recorded_or_was_stays() -> Result<(), crate::Error> {
        let leaf = five().set_requires_grad(true);
        let place = leaf.view().as_ptr();
        let alone = no_grad(|| five().set_requires_grad(true) * 2.0);
        assert!(!alone.requires_grad());
        let y = &leaf * &leaf;
        let z = (five() * y * 3.0 + five()).exp();
        assert_eq!(leaf.view().as_ptr(), place);
        z.sum().backward()?;
        let (x, z) = (five().to_array(), z.to_array());
        assert_eq!(leaf.grad(), Some(&x * &x * 6.0 * &z));
        Ok(())
    }

    #[test]
    fn a_gradient_of_two_inputs_belongs_to_each() -> Result<(), crate::Error> {
        let (x, y) = (
            five().set_requires_grad(true),
            five().set_requires_grad(true),
        );
        let sum = &x + &y;
        sum.backward_with(Array1::ones(5))?;
        (&x * 2.0).backward_with(Array1::ones(5))?;
        assert_eq!(x.grad(), Some(Array1::from_elem(5, 3.0)));
        assert_eq!(y.grad(), Some(Array1::ones(5)));
        Ok(())
    }
}
