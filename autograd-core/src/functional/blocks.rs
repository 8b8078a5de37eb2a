//! The types of Jacobians: a block for each pair of an output and an input. The rank of a block is the sum of both.

use ndarray::{DimAdd, Dimension};

use crate::erased::{AnyTensor, InputTensors, OutputTensors, Reader, each_tuple};
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// Inputs whose derivatives are a row of a Jacobian: the row of an output of the rank of `E`.
///
/// ```
/// use pullback::{Tensor, functional::jacobian, ndarray::array};
///
/// let (x, w) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![[3.0], [4.0]]));
/// let (by_x, by_w) = jacobian(|(x, w)| x * w, (&x, &w))?;
/// assert_eq!((by_x.shape(), by_w.shape()), (&[2, 2, 2][..], &[2, 2, 2, 1][..]));
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait JacobianRow<E>: InputTensors {
    /// A tensor for each input, of its element type; first the output's axes, then the input's.
    type Row;

    #[doc(hidden)]
    fn row(blocks: Reader<'_, AnyTensor>) -> Self::Row;
}

/// Outputs of a function of `I`, which have a Jacobian.
///
/// ```
/// use pullback::{Tensor, functional::jacobian, ndarray::array};
///
/// let x = Tensor::from(array![1.0, 2.0]);
/// let (of_square, of_sum) = jacobian(|x| (x * x, x.sum()), &x)?;
/// assert_eq!(of_square.to_array(), array![[2.0, 0.0], [0.0, 4.0]]);
/// assert_eq!(of_sum.to_array(), array![1.0, 1.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Jacobian<I>: OutputTensors {
    /// The Jacobian: for each output, a tensor for each input. A single output or input is not in a tuple.
    type Blocks;

    #[doc(hidden)]
    fn blocks(blocks: Reader<'_, AnyTensor>) -> Self::Blocks;
}

/// The dimension of a block: the sum of two.
type Sum<E, D> = <E as DimAdd<D>>::Output;

impl<T: Element, D: Dimension + 'static, E: Dimension + DimAdd<D>> JacobianRow<E>
    for &Tensor<T, D>
{
    type Row = Tensor<T, Sum<E, D>>;

    fn row(blocks: Reader<'_, AnyTensor>) -> Self::Row {
        Tensor::read((), blocks)
    }
}

impl<I: JacobianRow<E>, U: Element, E: Dimension> Jacobian<I> for Tensor<U, E> {
    type Blocks = I::Row;

    fn blocks(blocks: Reader<'_, AnyTensor>) -> Self::Blocks {
        I::row(blocks)
    }
}

macro_rules! tuple {
    ($($Name:ident $place:tt)+) => {
        impl<Rank, $($Name: JacobianRow<Rank>),+> JacobianRow<Rank> for ($($Name,)+) {
            type Row = ($($Name::Row,)+);

            fn row(blocks: Reader<'_, AnyTensor>) -> Self::Row {
                ($($Name::row(blocks),)+)
            }
        }

        impl<Inputs, $($Name: Jacobian<Inputs>),+> Jacobian<Inputs> for ($($Name,)+) {
            type Blocks = ($($Name::Blocks,)+);

            fn blocks(blocks: Reader<'_, AnyTensor>) -> Self::Blocks {
                ($($Name::blocks(blocks),)+)
            }
        }
    };
}

each_tuple!(tuple);
