//! The types of Jacobians: a block for each pair of an output and an input, whose rank is the sum of
//! theirs.

use ndarray::{DimAdd, Dimension};

use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// The inputs of a function as one output of the rank of `E` sees them: one row of a Jacobian.
///
/// ```
/// use autograd_core::{Tensor, functional::jacobian};
/// use autograd_core::ndarray::array;
///
/// let (x, w) = (Tensor::from(array![1.0, 2.0]), Tensor::from(array![[3.0], [4.0]]));
/// let (by_x, by_w) = jacobian(|(x, w)| x * w, (&x, &w))?;
/// assert_eq!((by_x.shape(), by_w.shape()), (&[2, 2, 2][..], &[2, 2, 2, 1][..]));
/// # Ok::<(), autograd_core::Error>(())
/// ```
pub trait JacobianRow<E>: InputTensors {
    /// A tensor for each input, of its element type; first the output's axes, then the input's.
    type Row;

    #[doc(hidden)]
    fn row(blocks: &[AnyTensor]) -> Self::Row;
}

/// The outputs of a function of `I`: what its Jacobian is made of.
///
/// ```
/// use autograd_core::{Tensor, functional::jacobian};
/// use autograd_core::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]);
/// let (of_square, of_sum) = jacobian(|x| (x * x, x.sum()), &x)?;
/// assert_eq!(of_square.to_array(), array![[2.0, 0.0], [0.0, 4.0]]);
/// assert_eq!(of_sum.to_array(), array![1.0, 1.0]);
/// # Ok::<(), autograd_core::Error>(())
/// ```
pub trait Jacobian<I>: OutputTensors {
    /// For each output, a tensor for each input. One output, or one input, is no tuple.
    type Blocks;

    #[doc(hidden)]
    fn blocks(rows: &[Vec<AnyTensor>]) -> Self::Blocks;
}

/// A block's rank: the sum of two.
type Sum<E, D> = <E as DimAdd<D>>::Output;

impl<T: Element, D: Dimension + 'static, E: Dimension + DimAdd<D>> JacobianRow<E>
    for &Tensor<T, D>
{
    type Row = Tensor<T, Sum<E, D>>;

    fn row(blocks: &[AnyTensor]) -> Self::Row {
        blocks[0].typed()
    }
}

impl<I: JacobianRow<E>, U: Element, E: Dimension> Jacobian<I> for Tensor<U, E> {
    type Blocks = I::Row;

    fn blocks(rows: &[Vec<AnyTensor>]) -> Self::Blocks {
        I::row(&rows[0])
    }
}

macro_rules! tuples {
    ($($T:ident $D:ident $place:tt),+) => {
        impl<E: Dimension $(+ DimAdd<$D>)+, $($T: Element, $D: Dimension + 'static),+> JacobianRow<E>
            for ($(&Tensor<$T, $D>,)+)
        {
            type Row = ($(Tensor<$T, Sum<E, $D>>,)+);

            fn row(blocks: &[AnyTensor]) -> Self::Row {
                ($(blocks[$place].typed(),)+)
            }
        }

        impl<I: $(JacobianRow<$D> +)+, $($T: Element, $D: Dimension),+> Jacobian<I>
            for ($(Tensor<$T, $D>,)+)
        {
            type Blocks = ($(<I as JacobianRow<$D>>::Row,)+);

            fn blocks(rows: &[Vec<AnyTensor>]) -> Self::Blocks {
                ($(<I as JacobianRow<$D>>::row(&rows[$place]),)+)
            }
        }
    };
}

tuples!(T0 D0 0);
tuples!(T0 D0 0, T1 D1 1);
tuples!(T0 D0 0, T1 D1 1, T2 D2 2);
tuples!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3);
tuples!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4);
tuples!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5);
tuples!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6);
tuples!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6, T7 D7 7);
