//! The types of `vmap`: an example has one axis less than the batch, stacked outputs one more than an output.

use ndarray::{Dimension, RemoveAxis};

use crate::erased::{InputTensors, OutputTensors, each_list, each_tuple};
use crate::error::Error;
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// The inputs of [`vmap`](super::vmap): a tensor by reference, a list of tensors, or a tuple of up to twelve of these,
/// all with an axis for the examples.
///
/// ```
/// use pullback::functional::{Batch, vmap};
/// use pullback::ndarray::{Axis, array};
/// use pullback::{Error, InputTensors, Tensor, Tensor0, Tensor1};
///
/// /// The largest value that a function has on a batch.
/// fn largest<I: Batch>(
///     function: impl Fn(<I::Example as InputTensors>::Refs<'_>) -> Tensor0<f64> + Sync,
///     batch: I,
/// ) -> Result<f64, Error> {
///     Ok(vmap(function, Axis(0), batch)?.to_array().fold(f64::MIN, |x, &y| x.max(y)))
/// }
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, -4.0]]);
/// assert_eq!(largest(|x: &Tensor1<f64>| x.sum(), &x)?, 3.0);
/// # Ok::<(), Error>(())
/// ```
pub trait Batch: InputTensors {
    /// One example: tensors of one axis less.
    type Example: InputTensors<Owned: OutputTensors<Lengths = LengthsOf<Self::Owned>>>;
}

/// The outputs of a function for one example of [`vmap`](super::vmap): [`OutputTensors`], or a [`Result`] of them.
///
/// ```
/// use pullback::{Error, Tensor, Tensor1, functional::{ExampleOutputs, vmap}, ndarray::{Axis, array}};
///
/// /// Maps over the rows of a matrix.
/// fn by_rows<O: ExampleOutputs>(function: impl Fn(&Tensor1<f64>) -> O + Sync) -> Result<O::Stacked, Error> {
///     vmap(|x| function(x), Axis(0), &Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]))
/// }
///
/// assert_eq!(by_rows(|x| x.sum())?.to_array(), array![3.0, 7.0]);
/// let (doubled, sums) = by_rows(|x| Ok((x * 2.0, x.sum())))?;
/// assert_eq!(doubled.shape(), [2, 2]);
/// assert_eq!(sums.shape(), [2]);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`vmap` cannot stack values of type `{Self}`",
    note = "the function returns a tensor, a `Vec` of tensors or a tuple of these, or a `Result<_, pullback::Error>` \
            of them"
)]
pub trait ExampleOutputs {
    /// The tensors.
    type Tensors: OutputTensors;
    /// The outputs of all examples, stacked: tensors of one axis more.
    type Stacked: OutputTensors<Lengths = LengthsOf<Self::Tensors>>;

    #[doc(hidden)]
    fn into_result(self) -> Result<Self::Tensors, Error>;
}

/// The lengths of the lists among tensors.
pub(super) type LengthsOf<O> = <O as OutputTensors>::Lengths;

impl<T: Element, D: RemoveAxis<Smaller: 'static> + 'static> Batch for &Tensor<T, D> {
    type Example = &'static Tensor<T, D::Smaller>;
}

macro_rules! list {
    (($($N:ident)?) $List:ty) => {
        impl<T, D, $(const $N: usize)?> Batch for $List
        where
            T: Element,
            D: RemoveAxis<Smaller: 'static> + 'static,
        {
            type Example = &'static [Tensor<T, D::Smaller>];
        }
    };
}

each_list!(list);

impl<T: Element, D: Dimension> ExampleOutputs for Tensor<T, D> {
    type Tensors = Self;
    type Stacked = Tensor<T, D::Larger>;

    fn into_result(self) -> Result<Self, Error> {
        Ok(self)
    }
}

impl<T: Element, D: Dimension> ExampleOutputs for Vec<Tensor<T, D>> {
    type Tensors = Self;
    type Stacked = Vec<Tensor<T, D::Larger>>;

    fn into_result(self) -> Result<Self, Error> {
        Ok(self)
    }
}

impl<O: ExampleOutputs<Tensors = O> + OutputTensors> ExampleOutputs for Result<O, Error> {
    type Tensors = O;
    type Stacked = O::Stacked;

    fn into_result(self) -> Self {
        self
    }
}

macro_rules! tuple {
    ($($Name:ident $index:tt)+) => {
        impl<$($Name: Batch),+> Batch for ($($Name,)+) {
            type Example = ($($Name::Example,)+);
        }

        impl<$($Name: ExampleOutputs<Tensors = $Name> + OutputTensors),+> ExampleOutputs for ($($Name,)+) {
            type Tensors = Self;
            type Stacked = ($($Name::Stacked,)+);

            fn into_result(self) -> Result<Self, Error> {
                Ok(self)
            }
        }
    };
}

each_tuple!(tuple);
