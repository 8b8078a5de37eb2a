//! The tuples of typed tensors that functions take and return.

use ndarray::Dimension;

use super::AnyTensor;
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// What a function of tensors takes: a tensor by reference, or a tuple of up to eight, of any element
/// types and ranks.
///
/// ```
/// use autograd_core::ndarray::array;
/// use autograd_core::{Error, Gradcheck, InputTensors, Tensor};
///
/// /// How this program checks all of its functions.
/// fn check<I: InputTensors>(function: impl Fn(I::Refs<'_>) -> Tensor<f64>, inputs: I) -> Result<(), Error> {
///     Gradcheck::new().second_order().thorough().run(function, inputs)
/// }
///
/// let (x, w) = (Tensor::from(array![0.5, -1.0]), Tensor::from(array![[2.0], [3.0]]));
/// check(|x| x.sin().into_dyn(), &x)?;
/// check(|(x, w)| (x * w).into_dyn(), (&x, &w))?;
/// # Ok::<(), autograd_core::Error>(())
/// ```
pub trait InputTensors {
    /// The same tensors for any lifetime: what the function is called with.
    type Refs<'a>;
    /// Tensors of the same types, not by reference: the gradients, for example.
    type Owned: OutputTensors;

    #[doc(hidden)]
    fn to_erased(&self) -> Vec<AnyTensor>;

    #[doc(hidden)]
    fn with<R>(tensors: &[AnyTensor], call: impl for<'a> FnOnce(Self::Refs<'a>) -> R) -> R;
}

/// What a function of tensors returns: a tensor, or a tuple of up to eight.
///
/// ```
/// use autograd_core::ndarray::array;
/// use autograd_core::{Error, Gradcheck, OutputTensors, Tensor, Tensor1};
///
/// fn check_at_one<O: OutputTensors>(function: impl Fn(&Tensor1<f64>) -> O) -> Result<(), Error> {
///     Gradcheck::new().run(|x| function(x), &Tensor::from(array![1.0, 1.0]))
/// }
///
/// check_at_one(|x| x.sin())?;
/// check_at_one(|x| (x.exp(), x.sum()))?;
/// # Ok::<(), autograd_core::Error>(())
/// ```
pub trait OutputTensors {
    #[doc(hidden)]
    fn into_erased(self) -> Vec<AnyTensor>;

    #[doc(hidden)]
    fn from_erased(tensors: &[AnyTensor]) -> Self;
}

impl<T: Element, D: Dimension> OutputTensors for Tensor<T, D> {
    fn into_erased(self) -> Vec<AnyTensor> {
        vec![AnyTensor::new(self)]
    }

    fn from_erased(tensors: &[AnyTensor]) -> Self {
        tensors[0].typed()
    }
}

impl<T: Element, D: Dimension + 'static> InputTensors for &Tensor<T, D> {
    type Refs<'a> = &'a Tensor<T, D>;
    type Owned = Tensor<T, D>;

    fn to_erased(&self) -> Vec<AnyTensor> {
        vec![AnyTensor::new((*self).clone())]
    }

    fn with<R>(tensors: &[AnyTensor], call: impl for<'a> FnOnce(Self::Refs<'a>) -> R) -> R {
        call(&tensors[0].typed())
    }
}

macro_rules! inputs {
    ($($T:ident $D:ident $place:tt),+) => {
        impl<$($T: Element, $D: Dimension + 'static),+> InputTensors for ($(&Tensor<$T, $D>,)+) {
            type Refs<'a> = ($(&'a Tensor<$T, $D>,)+);
            type Owned = ($(Tensor<$T, $D>,)+);

            fn to_erased(&self) -> Vec<AnyTensor> {
                vec![$(AnyTensor::new(self.$place.clone())),+]
            }

            fn with<R>(tensors: &[AnyTensor], call: impl for<'a> FnOnce(Self::Refs<'a>) -> R) -> R {
                call(($(&tensors[$place].typed(),)+))
            }
        }
    };
}

macro_rules! outputs {
    ($($T:ident $D:ident $place:tt),+) => {
        impl<$($T: Element, $D: Dimension),+> OutputTensors for ($(Tensor<$T, $D>,)+) {
            fn into_erased(self) -> Vec<AnyTensor> {
                vec![$(AnyTensor::new(self.$place)),+]
            }

            fn from_erased(tensors: &[AnyTensor]) -> Self {
                ($(tensors[$place].typed(),)+)
            }
        }
    };
}

inputs!(T0 D0 0);
inputs!(T0 D0 0, T1 D1 1);
inputs!(T0 D0 0, T1 D1 1, T2 D2 2);
inputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3);
inputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4);
inputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5);
inputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6);
inputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6, T7 D7 7);
outputs!(T0 D0 0);
outputs!(T0 D0 0, T1 D1 1);
outputs!(T0 D0 0, T1 D1 1, T2 D2 2);
outputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3);
outputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4);
outputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5);
outputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6);
outputs!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6, T7 D7 7);
