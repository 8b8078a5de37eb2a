//! Results in the memory of an operand.
//!
//! An operator that takes a tensor by value, such as the product in `&x * &y + 1.0`, may overwrite its elements if no
//! other handle holds them: nodes and other tensors have their own handles. Only plain values are overwritten, with
//! results of plain values, so that nothing has to be recorded.

use ndarray::Dimension;
#[cfg(feature = "ops")]
use ndarray::{Array, ArrayView};

use super::Tensor;
use autograd_kernels as kernels;
use autograd_kernels::Element;

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns whether nothing that is computed with the tensor has to be recorded: it has neither a history nor a
    /// tangent.
    #[cfg(feature = "ops")]
    pub(crate) fn is_plain(&self) -> bool {
        self.raw.is_plain()
    }

    /// Replaces each element by `f` of it if no other handle holds the memory, and returns whether it did.
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

    /// Replaces each element by `f` of it and that of `other` if no other handle holds the memory and the shapes are
    /// equal, and returns whether it did.
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

    /// Returns `f` of each element and that of `other`, if nothing has to be recorded; else, or if a tensor is not in
    /// row-major order, `None`. The shapes must be equal. Few elements take one allocation and no call of a function.
    #[inline]
    pub(crate) fn zip_plain(&self, other: &Self, f: impl Fn(T, T) -> T + Sync) -> Option<Self> {
        if !(self.raw.is_plain() && other.raw.is_plain()) {
            return None;
        }
        let buffer = self.raw.buffer.zip_few(&other.raw.buffer, f)?;
        Some(Self::constant(buffer))
    }

    /// Returns a function of this tensor's elements and those of `other`, if nothing has to be recorded: `in_place` in
    /// this tensor's memory if no other handle holds it, else `fresh`. Otherwise returns the tensor as `Err`.
    #[cfg(feature = "ops")]
    #[inline]
    #[track_caller]
    pub(crate) fn fused(
        mut self,
        other: &Self,
        in_place: impl FnOnce(&mut [T], &[T]),
        fresh: impl FnOnce(&ArrayView<'_, T, D>, &ArrayView<'_, T, D>) -> Array<T, D>,
    ) -> Result<Self, Self> {
        if !self.raw.is_plain() || !other.raw.is_plain() {
            return Err(self);
        }
        if self.raw.buffer.shape() == other.raw.buffer.shape()
            && let Some(others) = other.raw.buffer.as_slice()
            && let Some(elements) = self.raw.buffer.own_slice_mut()
        {
            in_place(elements, others);
            return Ok(self);
        }
        Ok(fresh(&self.view(), &other.view()).into())
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
    fn results_are_in_the_memory_of_an_operand_that_nothing_else_holds() {
        let (x, y) = (five() * 2.0, five());
        let address = x.view().as_ptr();
        let result = 1.0 - (-((&y - (x + &y)) / 2.0) * &y);
        assert_eq!(result.view().as_ptr(), address);
        assert_eq!(
            result.to_array(),
            1.0 - five().to_array() * five().to_array()
        );
        assert_eq!(y.to_array(), five().to_array());
        let (x, y) = (five(), five());
        let copy = x.clone();
        let address = y.view().as_ptr();
        assert_eq!((x / y).view().as_ptr(), address);
        assert_eq!(copy.to_array(), five().to_array());
    }

    #[test]
    fn shared_operands_are_unchanged() {
        let x = five();
        for result in [x.clone() + 1.0, x.clone() + &x, &x + x.clone(), -x.clone()] {
            assert_ne!(result.view().as_ptr(), x.view().as_ptr());
        }
        assert_eq!(x.to_array(), five().to_array());
        let column = Tensor::from(array![[1.0], [2.0]]);
        assert_eq!((column + five()).shape(), [2, 5]);
    }

    #[test]
    fn recorded_operands_are_unchanged() -> Result<(), crate::Error> {
        let leaf = five().set_requires_grad(true);
        let address = leaf.view().as_ptr();
        let alone = no_grad(|| five().set_requires_grad(true) * 2.0);
        assert!(!alone.requires_grad());
        let y = &leaf * &leaf;
        let z = (five() * y * 3.0 + five()).exp();
        assert_eq!(leaf.view().as_ptr(), address);
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
