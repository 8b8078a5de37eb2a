//! The axes that a reduction removes, and the rank that is left.

use ndarray::{Dimension, IxDyn};

/// The axes that a reduction of a tensor with the dimension `D` removes. The number of axes in an array is known, so
/// that the result has as many fewer; after a slice, the result has a dynamic rank.
///
/// ```
/// use pullback::{Tensor, Tensor2, TensorD, ndarray::Array4};
///
/// let x = Tensor::from(Array4::<f64>::ones((2, 3, 4, 5)));
/// let known: Tensor2<f64> = x.sum_axes([1, 3]);
/// let axes = vec![1, 3];
/// let dynamic: TensorD<f64> = x.sum_axes(&axes[..]);
/// assert_eq!((known.shape(), dynamic.shape()), (&[2, 4][..], &[2, 4][..]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of axes",
    note = "write up to six axes as an array, `[0, 2]`, or a slice of axes, `&axes[..]`"
)]
pub trait AxisList<D: Dimension> {
    /// The dimension of the result.
    type Left: Dimension;

    #[doc(hidden)]
    fn axes(&self) -> &[usize];
}

impl<D: Dimension> AxisList<D> for &[usize] {
    type Left = IxDyn;

    fn axes(&self) -> &[usize] {
        self
    }
}

impl<D: Dimension> AxisList<D> for &Vec<usize> {
    type Left = IxDyn;

    fn axes(&self) -> &[usize] {
        self
    }
}

impl<D: Dimension> AxisList<D> for [usize; 0] {
    type Left = D;

    fn axes(&self) -> &[usize] {
        self
    }
}

/// Removes one axis, then the others.
macro_rules! arrays {
    ($($count:literal),+) => {$(
        impl<D: Dimension> AxisList<D> for [usize; $count] {
            type Left = <[usize; $count - 1] as AxisList<D::Smaller>>::Left;

            fn axes(&self) -> &[usize] {
                self
            }
        }
    )+};
}

arrays!(1, 2, 3, 4, 5, 6);

impl<D: Dimension, const N: usize> AxisList<D> for &[usize; N]
where
    [usize; N]: AxisList<D>,
{
    type Left = <[usize; N] as AxisList<D>>::Left;

    fn axes(&self) -> &[usize] {
        *self
    }
}
