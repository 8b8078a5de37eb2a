//! Conversions between arrays of NumPy and tensors, without a copy where the memory is in row-major order.

#![allow(unsafe_code, reason = "each block has its argument")]

use numpy::{Element as NumpyElement, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pullback::{AnyTensor, Element, TensorD};
use pyo3::prelude::*;

use crate::borrowed::Borrowed;

/// Reads an array of `f32` or `f64`; `None` for any other object.
pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<Option<AnyTensor>> {
    if let Ok(array) = object.cast::<PyArrayDyn<f32>>() {
        return tensor(array).map(|tensor| Some(tensor.into()));
    }
    match object.cast::<PyArrayDyn<f64>>() {
        Ok(array) => tensor(array).map(|tensor| Some(tensor.into())),
        Err(_) => Ok(None),
    }
}

fn tensor<T: Element + NumpyElement>(array: &Bound<'_, PyArrayDyn<T>>) -> PyResult<TensorD<T>> {
    if !array.is_c_contiguous() || !array.data().is_aligned() {
        let copy = array.call_method1("copy", ("C",))?;
        return tensor(copy.cast::<PyArrayDyn<T>>()?);
    }
    if array.is_empty() {
        return Ok(TensorD::from_owner(array.shape(), Vec::new()));
    }
    // SAFETY: the array is contiguous, is aligned and has so many elements. It lives as long as the memory, and NumPy does
    // not resize an array that others refer to.
    let memory = unsafe { Borrowed::new(array.data(), array.len(), array.clone().unbind()) };
    Ok(TensorD::from_owner(array.shape(), memory))
}

/// The owner of an array's memory, which is pullback's. When dropped, large memory is kept for other tensors.
#[pyclass(frozen)]
struct Owner {
    _tensor: AnyTensor,
}

/// Returns the tensor as an array: its memory if it has the only handle, or else a copy.
pub(crate) fn write(py: Python<'_>, tensor: AnyTensor) -> PyResult<Bound<'_, PyAny>> {
    match tensor {
        AnyTensor::F32(tensor) => owned(py, tensor),
        AnyTensor::F64(tensor) => owned(py, tensor),
    }
}

fn owned<T: Element + NumpyElement>(
    py: Python<'_>,
    tensor: TensorD<T>,
) -> PyResult<Bound<'_, PyAny>> {
    // The array is writable, and memory that a node has saved must not change.
    let own = TensorD::from(tensor.into_array());
    let view = own.clone();
    let owner = Bound::new(
        py,
        Owner {
            _tensor: own.into(),
        },
    )?;
    // SAFETY: the owner has a handle on the memory, which stays in place as long as a handle lives. Only the array
    // writes to the memory: no other handle is left once this function has returned.
    let array = unsafe { PyArrayDyn::borrow_from_array(&view.view(), owner.into_any()) };
    Ok(array.into_any())
}
