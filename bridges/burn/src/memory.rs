//! Conversions between the memory of burn's tensors and of pullback's.

use burn_backend::TensorData;
use burn_backend::ops::FloatTensorOps;
use burn_flex::{Flex, FlexDevice, FlexTensor};
use pullback::{AnyTensor, Element, TensorD};

/// Converts a tensor, copied only if not in row-major order; `None` for other elements than `f32` and `f64`.
pub(crate) fn from_burn(mut tensor: FlexTensor, shape: &[usize]) -> Option<AnyTensor> {
    if !tensor.is_contiguous() {
        tensor = tensor.to_contiguous();
    }
    if tensor.as_slice::<f32>().is_some() {
        Some(TensorD::<f32>::from_owner(shape, RowMajor(tensor)).into())
    } else if tensor.as_slice::<f64>().is_some() {
        Some(TensorD::<f64>::from_owner(shape, RowMajor(tensor)).into())
    } else {
        None
    }
}

/// Converts a tensor, whose memory is moved if it has the only handle. A scalar has one axis in burn.
pub(crate) fn into_burn(tensor: AnyTensor) -> FlexTensor {
    let data = match tensor {
        AnyTensor::F32(tensor) => data(tensor),
        AnyTensor::F64(tensor) => data(tensor),
    };
    Flex::float_from_data(data, &FlexDevice)
}

fn data<T: Element + burn_backend::Element>(tensor: TensorD<T>) -> TensorData {
    let shape = match tensor.shape() {
        [] => vec![1],
        shape => shape.to_vec(),
    };
    TensorData::new(tensor.into_elements(), shape)
}

/// A tensor of burn in row-major order.
struct RowMajor(FlexTensor);

macro_rules! elements {
    ($($T:ty)+) => {$(
        impl AsRef<[$T]> for RowMajor {
            fn as_ref(&self) -> &[$T] {
                // INVARIANT: `from_burn` has checked the element type.
                self.0.as_slice().expect("elements in row-major order")
            }
        }
    )+};
}
elements!(f32 f64);
