//! Arrays of NumPy as tensors, and back, without a copy where their memory is in row-major order.

#![allow(unsafe_code, reason = "each block has its argument")]

use numpy::{Element as NumpyElement, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pullback::{AnyTensor, Element, TensorD};
use pyo3::prelude::*;

/// The memory of an array of NumPy.
struct Memory<T> {
    first: *const T,
    length: usize,
    /// Keeps the memory alive: NumPy does not resize an array that others refer to.
    _array: Py<PyArrayDyn<T>>,
}

// SAFETY: what is shared is memory of numbers, which is only read, and a reference that pyo3 gives back on any thread.
unsafe impl<T: Sync> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Memory<T> {}

impl<T> AsRef<[T]> for Memory<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `tensor` has seen that the array is contiguous and aligned and has so many elements; it lives as long
        // as `self`. Another thread of Python's that writes to it meanwhile has the data race that it
        // has with every library that reads buffers.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

/// An array of `f32` or `f64`; `None` for anything else.
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
    let memory = Memory {
        first: array.data(),
        length: array.len(),
        _array: array.clone().unbind(),
    };
    Ok(TensorD::from_owner(array.shape(), memory))
}

/// Memory that NumPy shows, and that goes back to where large arrays keep theirs when it does no longer.
#[pyclass(frozen)]
struct Shown {
    _tensor: AnyTensor,
}

/// The tensor's memory as an array, if nothing else holds it, or else a copy.
pub(crate) fn write(py: Python<'_>, tensor: AnyTensor) -> PyResult<Bound<'_, PyAny>> {
    match tensor {
        AnyTensor::F32(tensor) => shown(py, tensor),
        AnyTensor::F64(tensor) => shown(py, tensor),
    }
}

fn shown<T: Element + NumpyElement>(
    py: Python<'_>,
    tensor: TensorD<T>,
) -> PyResult<Bound<'_, PyAny>> {
    // What a node has saved is not to be written to.
    let own = TensorD::from(tensor.into_array());
    let view = own.clone();
    let owner = Bound::new(
        py,
        Shown {
            _tensor: own.into(),
        },
    )?;
    // SAFETY: the memory lives, and stays where it is, as long as a handle on it, of which the owner has one; it is
    // written to through the array alone, for nothing else has a handle once this function has returned.
    let array = unsafe { PyArrayDyn::borrow_from_array(&view.view(), owner.into_any()) };
    Ok(array.into_any())
}
