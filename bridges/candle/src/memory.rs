//! Conversions between the memory of candle's tensors and of pullback's.

use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, Layout, Shape, Storage, Tensor};
use pullback::ndarray::{ArrayView, ArrayView1, IxDyn, ShapeBuilder};
use pullback::{AnyTensor, Element, TensorD, kernels};

/// Copies a tensor: candle may write to a variable before a backward needs its value. The error describes a tensor that
/// pullback does not support.
pub(crate) fn read(tensor: &Tensor) -> Result<AnyTensor, String> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(CpuStorage::F32(elements)) => Ok(copy(elements, layout)),
        Storage::Cpu(CpuStorage::F64(elements)) => Ok(copy(elements, layout)),
        Storage::Cpu(_) => Err(format!(
            "a tensor of {}; pullback computes with f32 and f64: convert it with `to_dtype(DType::F32)`",
            tensor.dtype().as_str()
        )),
        Storage::Cuda(_) => Err(elsewhere("CUDA")),
        Storage::Metal(_) => Err(elsewhere("Metal")),
    }
}

fn elsewhere(device: &str) -> String {
    format!(
        "a tensor on {device}; pullback computes on the CPU: move it there with `to_device(&Device::Cpu)`"
    )
}

fn copy<T: Element>(elements: &[T], layout: &Layout) -> AnyTensor {
    // Into memory that pullback reuses: new memory for a large tensor takes longer than the copy.
    let copy = if let Some((start, end)) = layout.contiguous_offsets() {
        let view = ArrayView1::from(&elements[start..end]);
        kernels::map(&view, |element| element)
            .into_raw_vec_and_offset()
            .0
    } else {
        let shape = IxDyn(layout.dims()).strides(IxDyn(layout.stride()));
        let view = ArrayView::from_shape(shape, &elements[layout.start_offset()..]);
        // INVARIANT: the layout belongs to these elements.
        let view = view.expect("a layout that candle made");
        view.iter().copied().collect()
    };
    TensorD::from_owner(layout.dims(), copy).into()
}

/// Returns a tensor of candle without a history.
pub(crate) fn write(tensor: AnyTensor) -> Tensor {
    let shape = Shape::from(tensor.shape());
    let storage = Storage::Cpu(join([tensor]));
    Tensor::from_storage(storage, shape, BackpropOp::none(), false)
}

/// Concatenates the elements of tensors of one type in row-major order. The memory of a single tensor is moved.
pub(crate) fn join(tensors: impl IntoIterator<Item = AnyTensor>) -> CpuStorage {
    let mut tensors = tensors.into_iter().peekable();
    match tensors.peek() {
        Some(AnyTensor::F32(_)) => CpuStorage::F32(elements(tensors)),
        _ => CpuStorage::F64(elements(tensors)),
    }
}

fn elements<T: Element>(tensors: impl Iterator<Item = AnyTensor>) -> Vec<T> {
    // INVARIANT: the tensors are of one type.
    let mut pieces =
        tensors.map(|tensor| tensor.into_tensor::<T>().expect("one type").into_elements());
    let mut all = pieces.next().unwrap_or_default();
    pieces.for_each(|piece| all.extend_from_slice(&piece));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_tensor_elsewhere_has_the_fix() {
        assert_eq!(
            elsewhere("CUDA"),
            "a tensor on CUDA; pullback computes on the CPU: move it there with `to_device(&Device::Cpu)`"
        );
    }
}
