//! What gradients can be taken with respect to.

use ndarray::Dimension;

use crate::array::Buffer;
use crate::error::Error;
use crate::tape::{AnyGradient, Edge};
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// What gradients can be taken with respect to: tensors by reference in a tuple of up to twelve, or a
/// slice of tensors of one type.
///
/// ```
/// use autograd_core::{Tensor, grad};
/// use autograd_core::ndarray::array;
///
/// let leaf = |x: f64| Tensor::from(array![x]).set_requires_grad(true);
/// let weights = [leaf(2.0), leaf(3.0), leaf(5.0)];
/// let product = || (&weights[0] * &weights[1] * &weights[2]).sum();
/// let (first, third) = grad(&product(), (&weights[0], &weights[2]))?;
/// let all = grad(&product(), &weights[..])?;
/// assert_eq!((first.to_array(), third.to_array()), (array![15.0], array![6.0]));
/// assert_eq!((all.len(), all[1].to_array()), (3, array![10.0]));
/// # Ok::<(), autograd_core::Error>(())
/// ```
pub trait GradInputs {
    /// A tensor for each input.
    type Gradients;
    /// A tensor for each input that the output depends on.
    type Optional;

    /// Where the gradients of the inputs arrive.
    #[doc(hidden)]
    fn edges(&self) -> Result<Vec<&Edge>, Error>;

    /// With zeros for what was not found, which require grad if they are to be differentiated in turn.
    #[doc(hidden)]
    fn typed(&self, found: Vec<Option<AnyGradient>>, require_grad: bool) -> Self::Gradients;

    #[doc(hidden)]
    fn optional(&self, found: Vec<Option<AnyGradient>>) -> Self::Optional;
}

/// The gradient of `input`, with the types that its tensor has.
fn typed_optional<T: Element, D: Dimension>(
    _input: &Tensor<T, D>,
    found: Option<AnyGradient>,
) -> Option<Tensor<T, D>> {
    // INVARIANT: a gradient has the element type of the tensor whose edge it arrived at.
    found
        .map(|grad| {
            grad.recover::<T>()
                .expect("the gradient's element type is its tensor's")
        })
        .map(|grad| Tensor::from_raw(grad.into_tensor()))
}

fn typed_or_zeros<T: Element, D: Dimension>(
    input: &Tensor<T, D>,
    found: Option<AnyGradient>,
    require_grad: bool,
) -> Tensor<T, D> {
    typed_optional(input, found).unwrap_or_else(|| {
        let zeros = Tensor::constant(Buffer::filled(input.to_shape(), T::zero()));
        zeros.set_requires_grad(require_grad)
    })
}

/// A sequence of tensors of one type.
macro_rules! sequences {
    ($(($($N:ident)?) $Sequence:ty),+) => {$(
        impl<T: Element, D: Dimension, $(const $N: usize)?> GradInputs for $Sequence {
            type Gradients = Vec<Tensor<T, D>>;
            type Optional = Vec<Option<Tensor<T, D>>>;

            fn edges(&self) -> Result<Vec<&Edge>, Error> {
                let inputs = self.iter().enumerate();
                inputs.map(|(position, input)| input_edge(input, position)).collect()
            }

            fn typed(&self, found: Vec<Option<AnyGradient>>, require_grad: bool) -> Self::Gradients {
                let paired = self.iter().zip(found);
                paired.map(|(input, found)| typed_or_zeros(input, found, require_grad)).collect()
            }

            fn optional(&self, found: Vec<Option<AnyGradient>>) -> Self::Optional {
                let paired = self.iter().zip(found);
                paired.map(|(input, found)| typed_optional(input, found)).collect()
            }
        }
    )+};
}

sequences!(
    () &[&Tensor<T, D>],
    () &[Tensor<T, D>],
    () &Vec<Tensor<T, D>>,
    (N) &[&Tensor<T, D>; N],
    (N) &[Tensor<T, D>; N]
);

/// The edge of a tensor that gradients are asked for.
fn input_edge<T, D>(input: &Tensor<T, D>, position: usize) -> Result<&Edge, Error> {
    let edge = input.raw.edge.as_ref();
    edge.ok_or(Error::InputWithoutGrad { position })
}

macro_rules! tuples {
    ($($T:ident $D:ident $place:tt),+) => {
        impl<$($T: Element, $D: Dimension),+> GradInputs for ($(&Tensor<$T, $D>,)+) {
            type Gradients = ($(Tensor<$T, $D>,)+);
            type Optional = ($(Option<Tensor<$T, $D>>,)+);

            fn edges(&self) -> Result<Vec<&Edge>, Error> {
                Ok(vec![$(input_edge(self.$place, $place)?),+])
            }

            fn typed(&self, mut found: Vec<Option<AnyGradient>>, require_grad: bool) -> Self::Gradients {
                ($(typed_or_zeros(self.$place, found[$place].take(), require_grad),)+)
            }

            fn optional(&self, mut found: Vec<Option<AnyGradient>>) -> Self::Optional {
                ($(typed_optional(self.$place, found[$place].take()),)+)
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
tuples!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6, T7 D7 7, T8 D8 8);
tuples!(T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6, T7 D7 7, T8 D8 8, T9 D9 9);
tuples!(
    T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6, T7 D7 7, T8 D8 8, T9 D9 9,
    T10 D10 10
);
tuples!(
    T0 D0 0, T1 D1 1, T2 D2 2, T3 D3 3, T4 D4 4, T5 D5 5, T6 D6 6, T7 D7 7, T8 D8 8, T9 D9 9,
    T10 D10 10, T11 D11 11
);
