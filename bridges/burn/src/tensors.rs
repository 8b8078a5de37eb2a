//! The correspondence between types of pullback's tensors and of burn's.

use burn_backend::TensorMetadata;
use burn_tensor::Tensor;
use pullback::Element;
use pullback::ndarray::{Dimension, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn};

use crate::graph::{Call, Outputs};

/// Tensors of pullback that are a `B` in burn.
///
/// | pullback | burn |
/// |---|---|
/// | `Tensor1` to `Tensor6` | `Tensor<1>` to `Tensor<6>` |
/// | `Tensor0` | `Tensor<1>` with one element, as burn's own `sum` returns |
/// | `TensorD` | `Tensor<D>` of any rank: of an output, the rank that the caller expects |
/// | `Vec` or slice of one of these; last, as it takes all that are left | `Vec` |
/// | tuple of up to twelve of these | tuple |
///
/// ```
/// use pullback::{Tensor0, Tensor2, TensorD};
/// use pullback_burn::AsBurn;
/// use burn::tensor::Tensor;
///
/// fn is_in_burn<P: AsBurn<B>, B>() {}
/// is_in_burn::<(Tensor2<f64>, Tensor0<f64>), (Tensor<2>, Tensor<1>)>();
/// is_in_burn::<Vec<TensorD<f32>>, Vec<Tensor<5>>>();
/// ```
#[diagnostic::on_unimplemented(message = "`{B}` of burn is not the type for `{Self}`")]
pub trait AsBurn<B> {
    #[doc(hidden)]
    #[track_caller]
    fn into_call(tensors: B, call: &mut Call);

    #[doc(hidden)]
    #[track_caller]
    fn from_outputs(outputs: &mut Outputs) -> B;
}

/// A number of axes that is `D` in burn, see [`AsBurn`].
#[diagnostic::on_unimplemented(
    message = "a tensor of burn of rank {D} is not the type for a tensor of `{Self}`"
)]
pub trait Rank<const D: usize>: Dimension + 'static {}

macro_rules! rank {
    ($($Dimension:ident $rank:literal)+) => { $(impl Rank<$rank> for $Dimension {})+ };
}
rank!(Ix0 1 Ix1 1 Ix2 2 Ix3 3 Ix4 4 Ix5 5 Ix6 6);
impl<const D: usize> Rank<D> for IxDyn {}

impl<T: Element, R: Rank<D>, const D: usize> AsBurn<Tensor<D>> for pullback::Tensor<T, R> {
    fn into_call(tensor: Tensor<D>, call: &mut Call) {
        call.push(tensor.into_dispatch(), R::NDIM == Some(0));
    }

    fn from_outputs(outputs: &mut Outputs) -> Tensor<D> {
        // Only a list before takes all outputs.
        let tensor = outputs
            .next()
            .expect("a list of outputs, as the last of them");
        let shape = tensor.shape();
        assert!(
            shape.num_dims() == D,
            "an output has shape {:?}, where a tensor of rank {D} is expected",
            &shape[..]
        );
        Tensor::from_dispatch(tensor)
    }
}

impl<P: AsBurn<B>, B> AsBurn<Vec<B>> for Vec<P> {
    fn into_call(tensors: Vec<B>, call: &mut Call) {
        for tensor in tensors {
            P::into_call(tensor, call);
        }
    }

    fn from_outputs(outputs: &mut Outputs) -> Vec<B> {
        let mut tensors = Vec::new();
        while outputs.len() > 0 {
            tensors.push(P::from_outputs(outputs));
        }
        tensors
    }
}

macro_rules! tuple {
    ($($P:ident $B:ident $place:tt)+) => {
        impl<$($P: AsBurn<$B>, $B),+> AsBurn<($($B,)+)> for ($($P,)+) {
            fn into_call(tensors: ($($B,)+), call: &mut Call) {
                $($P::into_call(tensors.$place, call);)+
            }

            fn from_outputs(outputs: &mut Outputs) -> ($($B,)+) {
                ($($P::from_outputs(outputs),)+)
            }
        }
    };
}

/// One tuple, and each that is shorter.
macro_rules! tuples {
    (($($before:tt)*)) => {};
    (($($before:tt)*) $P:ident $B:ident $place:tt $($after:tt)*) => {
        tuple!($($before)* $P $B $place);
        tuples!(($($before)* $P $B $place) $($after)*);
    };
}

tuples!(() P0 B0 0 P1 B1 1 P2 B2 2 P3 B3 3 P4 B4 4 P5 B5 5 P6 B6 6 P7 B7 7 P8 B8 8 P9 B9 9 P10 B10 10 P11 B11 11);
