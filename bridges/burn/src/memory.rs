//! Conversions between the memory of burn's tensors and of pullback's.

use burn_backend::tensor::FloatTensor;
use burn_backend::{Backend, TensorData};
use pullback::{AnyTensor, Element, TensorD};

/// A backend with its memory on the CPU.
pub(crate) trait Memory: Backend {
    /// Converts a tensor, copied only if not in row-major order; `None` for other elements than `f32` and `f64`.
    fn any(tensor: FloatTensor<Self>, shape: &[usize]) -> Option<AnyTensor>;

    /// Converts a tensor, whose memory is moved if it has the only handle. A scalar has one axis in burn.
    fn of(tensor: AnyTensor, device: &Self::Device) -> FloatTensor<Self> {
        let data = match tensor {
            AnyTensor::F32(tensor) => data(tensor),
            AnyTensor::F64(tensor) => data(tensor),
        };
        Self::float_from_data(data, device)
    }
}

fn data<T: Element + burn_backend::Element>(tensor: TensorD<T>) -> TensorData {
    let shape = match tensor.shape() {
        [] => vec![1],
        shape => shape.to_vec(),
    };
    TensorData::new(tensor.into_elements(), shape)
}

/// A tensor of burn in row-major order.
struct RowMajor<S>(S);

#[cfg(feature = "flex")]
mod flex {
    use burn_flex::{Flex, FlexTensor};

    use super::*;

    impl Memory for Flex {
        fn any(mut tensor: FlexTensor, shape: &[usize]) -> Option<AnyTensor> {
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
    }

    macro_rules! elements {
        ($($T:ty)+) => {$(
            impl AsRef<[$T]> for RowMajor<FlexTensor> {
                fn as_ref(&self) -> &[$T] {
                    // INVARIANT: `any` has checked the element type.
                    self.0.as_slice().expect("elements in row-major order")
                }
            }
        )+};
    }
    elements!(f32 f64);
}

#[cfg(feature = "ndarray")]
#[allow(deprecated)] // burn's own crate for it is, as a whole
mod ndarray {
    use burn_ndarray::{NdArray, NdArrayTensor};
    use pullback::ndarray::{ArcArray, IxDyn};

    use super::*;

    impl Memory for NdArray {
        fn any(tensor: NdArrayTensor, shape: &[usize]) -> Option<AnyTensor> {
            match tensor {
                NdArrayTensor::F32(tensor) => Some(shared(tensor.into_shared(), shape)),
                NdArrayTensor::F64(tensor) => Some(shared(tensor.into_shared(), shape)),
                _ => None,
            }
        }
    }

    fn shared<T: Element>(mut array: ArcArray<T, IxDyn>, shape: &[usize]) -> AnyTensor {
        if !array.is_standard_layout() {
            array = array.as_standard_layout().to_shared();
        }
        TensorD::from_owner(shape, RowMajor(array)).into()
    }

    impl<T> AsRef<[T]> for RowMajor<ArcArray<T, IxDyn>> {
        fn as_ref(&self) -> &[T] {
            // INVARIANT: `shared` gave it the order.
            self.0.as_slice().expect("elements in row-major order")
        }
    }
}
