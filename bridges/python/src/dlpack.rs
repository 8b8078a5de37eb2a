//! Tensors of PyTorch, read and made through the C functions of `DLPack`, which newer versions of PyTorch have.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::{ptr, slice};

use pullback::ndarray::{ArrayView, IxDyn, ShapeBuilder};
use pullback::{AnyTensor, Element, ElementType, TensorD};
use pyo3::prelude::*;
use pyo3::{ffi, intern};

use crate::borrowed::Borrowed;

/// Version 1 of `DLPack`, as `dlpack.h` has it.
mod c {
    use std::ffi::{c_int, c_void};

    #[repr(C)]
    pub(super) struct Version {
        pub(super) major: u32,
        pub(super) minor: u32,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub(super) struct Tensor {
        pub(super) data: *mut c_void,
        pub(super) device_type: i32,
        pub(super) device: i32,
        pub(super) axes: i32,
        pub(super) code: u8,
        pub(super) bits: u8,
        pub(super) lanes: u16,
        pub(super) shape: *mut i64,
        pub(super) strides: *mut i64,
        pub(super) byte_offset: u64,
    }

    #[repr(C)]
    pub(super) struct Managed {
        pub(super) version: Version,
        pub(super) context: *mut c_void,
        pub(super) deleter: unsafe extern "C" fn(*mut Managed),
        pub(super) flags: u64,
        pub(super) tensor: Tensor,
    }

    #[repr(C)]
    pub(super) struct Exchange {
        pub(super) version: Version,
        pub(super) before: *const c_void,
        pub(super) allocate: *const c_void,
        pub(super) managed: *const c_void,
        pub(super) to_object: unsafe extern "C" fn(*mut Managed, *mut *mut c_void) -> c_int,
        pub(super) read: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
    }

    pub(super) const CPU: i32 = 1;
    pub(super) const FLOAT: u8 = 2;
}

const NAME: &CStr = c"dlpack_exchange_api";

/// The functions of a framework.
pub(crate) struct Exchange {
    table: NonNull<c::Exchange>,
    read: unsafe extern "C" fn(*mut c_void, *mut c::Tensor) -> i32,
}

// SAFETY: the table is constant, and lives as long as the process.
unsafe impl Send for Exchange {}
// SAFETY: as above.
unsafe impl Sync for Exchange {}

/// The memory of a tensor of floats on the CPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    pub(crate) element: ElementType,
    first: *const c_void,
    shape: Vec<usize>,
    /// `None` for row-major order.
    strides: Option<Vec<usize>>,
}

// SAFETY: the address is only compared, unless `Memory::tensor` is called.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Exchange {
    /// Returns the functions of a type of tensors, if it has those of this version.
    pub(crate) fn of(kind: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = kind.py();
        let Some(capsule) = kind.getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? else {
            return Ok(None);
        };
        // SAFETY: it is an object, and the name is that of `DLPack`'s capsules; for any other object, it returns null.
        let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()) };
        let Some(table) = NonNull::new(table.cast::<c::Exchange>()) else {
            return Err(PyErr::fetch(py));
        };
        // SAFETY: the header is the same in all versions, and the rest in all of a major version.
        let (major, read) = unsafe { ((*table.as_ptr()).version.major, (*table.as_ptr()).read) };
        Ok(read.filter(|_| major == 1).map(|read| Self { table, read }))
    }

    /// Reads where a tensor has its elements; `None` if it has no floats of 32 or 64 bits on the CPU.
    ///
    /// # Safety
    /// The object is a tensor of the type that the functions are of.
    pub(crate) unsafe fn read(&self, tensor: &Bound<'_, PyAny>) -> Option<Memory> {
        let mut found = c::Tensor {
            data: ptr::null_mut(),
            device_type: 0,
            device: 0,
            axes: 0,
            code: 0,
            bits: 0,
            lanes: 0,
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        };
        // SAFETY: the caller's, and `found` is written to.
        if unsafe { (self.read)(tensor.as_ptr().cast(), &raw mut found) } != 0 {
            // The exception is not of interest: the tensor is read in another way.
            drop(PyErr::take(tensor.py()));
            return None;
        }
        let element = match (found.code, found.bits, found.lanes) {
            (c::FLOAT, 32, 1) => ElementType::F32,
            (c::FLOAT, 64, 1) => ElementType::F64,
            _ => return None,
        };
        if found.device_type != c::CPU {
            return None;
        }
        let axes = usize::try_from(found.axes).ok()?;
        let lengths = |first: *mut i64| -> Option<Vec<usize>> {
            if axes == 0 {
                return Some(Vec::new());
            }
            // SAFETY: there is a length and a stride for each axis, which the tensor owns.
            let numbers = unsafe { slice::from_raw_parts(first, axes) };
            let numbers = numbers.iter().map(|&number| usize::try_from(number).ok());
            numbers.collect()
        };
        let (shape, strides) = (lengths(found.shape)?, lengths(found.strides)?);
        let offset = usize::try_from(found.byte_offset).ok()?;
        let first = found.data.cast::<u8>().wrapping_add(offset);
        if first.addr() % (usize::from(found.bits) / 8) != 0 {
            return None;
        }
        Some(Memory {
            element,
            first: first.cast(),
            strides: (!is_row_major(&shape, &strides)).then_some(strides),
            shape,
        })
    }

    /// Returns a tensor of the framework: with the memory of this one if it has the only handle, or else with a copy.
    pub(crate) fn write<'py>(
        &self,
        py: Python<'py>,
        tensor: AnyTensor,
    ) -> PyResult<Bound<'py, PyAny>> {
        match tensor {
            AnyTensor::F32(tensor) => self.owned(py, tensor),
            AnyTensor::F64(tensor) => self.owned(py, tensor),
        }
    }

    fn owned<'py, T: Element>(
        &self,
        py: Python<'py>,
        tensor: TensorD<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The framework may write to its tensor, and memory that a node has saved must not change.
        let own = TensorD::from(tensor.into_array());
        let array = own.view();
        let first = array.as_ptr().cast_mut().cast();
        // INVARIANT: memory has at most `isize::MAX` bytes.
        let number = |number: usize| i64::try_from(number).expect("a length");
        let shape = array.shape().iter().map(|&length| number(length));
        let strides = array.strides().iter().map(|&stride| stride as i64);
        let mut lengths: Box<[i64]> = shape.chain(strides).collect();
        let axes = array.ndim();
        let (code, bits) = match T::TYPE {
            ElementType::F32 => (c::FLOAT, 32),
            ElementType::F64 => (c::FLOAT, 64),
        };
        let shape = lengths.as_mut_ptr();
        let tensor = c::Tensor {
            data: if array.is_empty() {
                ptr::null_mut()
            } else {
                first
            },
            device_type: c::CPU,
            device: 0,
            // INVARIANT: arrays have few axes.
            axes: i32::try_from(axes).expect("a number of axes"),
            code,
            bits,
            lanes: 1,
            shape,
            strides: shape.wrapping_add(axes),
            byte_offset: 0,
        };
        drop(array);
        let owner: Box<Owner> = Box::new((own.into(), lengths));
        let managed = Box::into_raw(Box::new(c::Managed {
            version: c::Version { major: 1, minor: 0 },
            context: Box::into_raw(owner).cast(),
            deleter: delete,
            flags: 0,
            tensor,
        }));
        let mut object = ptr::null_mut();
        // SAFETY: `managed` is complete, and its memory lives until `delete`, which is called once: by the framework, or
        // here if it has failed and refuses the tensor. Nothing else writes to the memory, as `own` has the only handle.
        unsafe {
            if (self.table.as_ref().to_object)(managed, &raw mut object) != 0 {
                return Err(PyErr::fetch(py));
            }
            Bound::from_owned_ptr_or_err(py, object.cast())
        }
    }
}

/// The tensor whose memory was given away, and its lengths and strides.
type Owner = (AnyTensor, Box<[i64]>);

unsafe extern "C" fn delete(managed: *mut c::Managed) {
    // SAFETY: `Exchange::owned` made both boxes, and DLPack calls this once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Owner>()));
    }
}

/// Returns whether elements are in row-major order without gaps.
fn is_row_major(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    shape.contains(&0)
        || shape.iter().zip(strides).rev().all(|(&length, &stride)| {
            let fits = length == 1 || stride == expected;
            expected *= length;
            fits
        })
}

impl Memory {
    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the elements as a tensor: their memory, or a copy if they are not in row-major order. Elements that are
    /// expanded along an axis are there once.
    ///
    /// # Safety
    /// The memory is there while the tensor is read. `owner`, if there is one, keeps it alive as long as the tensor.
    pub(crate) unsafe fn tensor(&self, owner: Option<Py<PyAny>>) -> AnyTensor {
        // SAFETY: the caller's, and the element type is that of the memory.
        unsafe {
            match self.element {
                ElementType::F32 => self.typed::<f32>(owner).into(),
                ElementType::F64 => self.typed::<f64>(owner).into(),
            }
        }
    }

    /// See [`tensor`](Self::tensor).
    unsafe fn typed<T: Element>(&self, owner: Option<Py<PyAny>>) -> TensorD<T> {
        let (first, length) = (self.first.cast::<T>(), self.shape.iter().product());
        if length == 0 {
            return TensorD::from_owner(&self.shape, Vec::new());
        }
        let Some(strides) = &self.strides else {
            // SAFETY: the memory has so many elements in this order, which are there as the caller promises.
            let memory = unsafe { Borrowed::new(first, length, owner) };
            return TensorD::from_owner(&self.shape, memory);
        };
        // What is expanded, such as the gradient of a sum, is broadcast here too.
        let axes = self.shape.iter().zip(strides);
        let own: Vec<usize> = axes
            .map(|(&length, &stride)| if stride == 0 { 1 } else { length })
            .collect();
        if is_row_major(&own, strides) {
            // SAFETY: as above.
            let memory = unsafe { Borrowed::new(first, own.iter().product(), owner) };
            return TensorD::from_owner(&own, memory).broadcast_to(&self.shape);
        }
        let shape = IxDyn(&self.shape).strides(IxDyn(strides));
        // SAFETY: the tensor has its elements at these places; strides of tensors are not negative.
        unsafe { ArrayView::from_shape_ptr(shape, first) }
            .to_owned()
            .into()
    }
}
