//! Lists of tensors, by value or by reference.

use super::Tensor;

/// An element of a list: a tensor, by value or by reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor of `{T}` with the rank of this list",
    label = "a list of such tensors is needed",
    note = "of tensors of a fixed rank, `x.clone().into_dyn()` has any rank"
)]
pub trait ListElement<T, D> {
    /// Returns the tensor.
    fn as_tensor(&self) -> &Tensor<T, D>;
}

impl<T, D> ListElement<T, D> for Tensor<T, D> {
    fn as_tensor(&self) -> &Self {
        self
    }
}

impl<T, D> ListElement<T, D> for &Tensor<T, D> {
    fn as_tensor(&self) -> &Tensor<T, D> {
        self
    }
}
