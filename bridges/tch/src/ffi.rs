//! The functions of `shim.cpp`, and safe types for them.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::sync::Arc;
use std::{ptr, slice};

use pullback::foreign::catch_panic;
use pullback::{AnyTensor, Element, TensorD};
use tch::{Kind, TchError, Tensor};
use torch_sys::C_tensor;

/// A `std::string` with the message of an error; a null pointer is success.
#[repr(C)]
pub(crate) struct Text {
    _private: [u8; 0],
}

/// One backward of a node, see `shim.cpp`.
#[repr(C)]
pub(crate) struct Backward {
    pub(crate) grads: *const *const C_tensor,
    pub(crate) outputs: usize,
    pub(crate) needed: *const bool,
    pub(crate) inputs: usize,
    pub(crate) create_graph: bool,
    pub(crate) results: *mut *mut C_tensor,
    pub(crate) next: *mut c_void,
    pub(crate) requires_grad: *mut bool,
}

/// The functions and the name of a node. The name has to live as long as the program.
#[repr(C)]
pub(crate) struct Callbacks {
    pub(crate) backward: unsafe extern "C" fn(*const c_void, *mut Backward) -> *mut Text,
    pub(crate) free_saved: unsafe extern "C" fn(*mut c_void),
    pub(crate) name: *const c_char,
    pub(crate) name_length: usize,
}

unsafe extern "C" {
    fn pullback_tch_text(characters: *const c_char, length: usize) -> *mut Text;
    fn pullback_tch_text_read(text: *const Text, length: *mut usize) -> *const c_char;
    fn pullback_tch_text_free(text: *mut Text);
    fn pullback_tch_hold(
        of: *const C_tensor,
        held: *mut *mut C_tensor,
        shared: *mut bool,
        requires_grad: *mut bool,
    ) -> *mut Text;
    fn pullback_tch_data(held: *const C_tensor, bytes: usize) -> *const c_void;
    fn pullback_tch_version(held: *const C_tensor) -> u32;
    fn pullback_tch_tensor(
        data: *mut c_void,
        sizes: *const i64,
        rank: usize,
        is_double: bool,
        memory: *mut c_void,
        free_memory: unsafe extern "C" fn(*mut c_void),
        tensor: *mut *mut C_tensor,
    ) -> *mut Text;
    pub(crate) fn pullback_tch_record(
        saved: *mut c_void,
        callbacks: *const Callbacks,
        inputs: *const *const C_tensor,
        inputs_length: usize,
        outputs: *const *mut C_tensor,
        requires_grad: *const bool,
        outputs_length: usize,
    ) -> *mut Text;
}

/// Converts the result of a function of the shim.
///
/// # Safety
/// `text` was returned by a function of the shim, and is not read elsewhere.
pub(crate) unsafe fn check(text: *mut Text) -> Result<(), String> {
    if text.is_null() {
        return Ok(());
    }
    let mut length = 0;
    // SAFETY: the characters are read before the text is freed, which happens once.
    let message = unsafe {
        let characters = pullback_tch_text_read(text, &raw mut length);
        let bytes = slice::from_raw_parts(characters.cast::<u8>(), length);
        let message = String::from_utf8_lossy(bytes).into_owned();
        pullback_tch_text_free(text);
        message
    };
    Err(message)
}

/// Converts a result for C++.
pub(crate) fn text(result: Result<(), String>) -> *mut Text {
    match result {
        Ok(()) => ptr::null_mut(),
        // SAFETY: the characters are copied.
        Err(message) => unsafe { pullback_tch_text(message.as_ptr().cast(), message.len()) },
    }
}

/// Calls `function`, and converts a panic to an error.
pub(crate) fn without_panics<R>(
    function: impl FnOnce() -> Result<R, TchError>,
) -> Result<R, TchError> {
    catch_panic(function).unwrap_or_else(|message| Err(TchError::Torch(message)))
}

/// A handle on the memory of a tensor of libtorch.
pub(crate) struct Held {
    tensor: Tensor,
    numel: usize,
    /// The tensor's version in forward: the number of operations in place on it.
    pub(crate) version: u32,
}

// SAFETY: only the memory and the version of the tensor are read, by the two functions of the shim that take a pointer
// to a constant. Both are ordinary reads of a `TensorImpl` without other handles, and the version is atomic. libtorch
// counts references atomically, so any thread may drop the tensor. The documentation of `apply` forbids that another
// thread writes to the memory meanwhile, as libtorch does for its own functions.
unsafe impl Sync for Held {}

impl Held {
    /// Returns the current version.
    pub(crate) fn version_now(&self) -> u32 {
        // SAFETY: the pointer is to a tensor.
        unsafe { pullback_tch_version(self.tensor.as_ptr()) }
    }
}

/// The elements of a tensor, as an owner of memory for pullback.
struct Elements<T> {
    held: Arc<Held>,
    element: PhantomData<T>,
}

impl<T: Element> AsRef<[T]> for Elements<T> {
    /// Returns no elements if the memory has been made smaller, which is an error in pullback.
    fn as_ref(&self) -> &[T] {
        let bytes = self.held.numel * size_of::<T>();
        // SAFETY: the pointer is to a tensor.
        let data = unsafe { pullback_tch_data(self.held.tensor.as_ptr(), bytes) };
        if data.is_null() {
            return &[];
        }
        // SAFETY: `numel` contiguous elements of this type begin there: `pullback_tch_hold` checks or copies, and the
        // shape cannot change without another handle. libtorch aligns the elements, and its memory lives as long as
        // `held`.
        unsafe { slice::from_raw_parts(data.cast::<T>(), self.held.numel) }
    }
}

/// A tensor of libtorch converted to one of pullback.
pub(crate) struct Given {
    pub(crate) tensor: AnyTensor,
    pub(crate) requires_grad: bool,
    /// The handle on libtorch's memory, if that was not copied.
    pub(crate) held: Option<Arc<Held>>,
}

impl Given {
    /// Reads a tensor; `None` if no function takes it.
    ///
    /// # Safety
    /// `of` points to a tensor.
    pub(crate) unsafe fn read(of: *const C_tensor) -> Result<Option<Self>, String> {
        let (mut held, mut shared, mut requires_grad) = (ptr::null_mut(), false, false);
        // SAFETY: all pointers are valid, and the text is read here only.
        unsafe {
            check(pullback_tch_hold(
                of,
                &raw mut held,
                &raw mut shared,
                &raw mut requires_grad,
            ))?;
        };
        if held.is_null() {
            return Ok(None);
        }
        // SAFETY: the tensor was made for this call, which frees it.
        let tensor = unsafe { Tensor::from_ptr(held) };
        // INVARIANT: the sizes of a tensor in memory are lengths.
        let sizes = tensor.size().into_iter();
        let shape: Vec<usize> = sizes
            .map(|size| size.try_into().expect("a length"))
            .collect();
        let is_double = tensor.kind() == Kind::Double;
        // SAFETY: the pointer is to a tensor.
        let version = unsafe { pullback_tch_version(tensor.as_ptr()) };
        let held = Arc::new(Held {
            numel: shape.iter().product(),
            tensor,
            version,
        });
        Ok(Some(Self {
            tensor: if is_double {
                tensor_of::<f64>(&shape, &held)
            } else {
                tensor_of::<f32>(&shape, &held)
            },
            requires_grad,
            held: shared.then_some(held),
        }))
    }
}

fn tensor_of<T: Element>(shape: &[usize], held: &Arc<Held>) -> AnyTensor {
    TensorD::from_owner(
        shape,
        Elements::<T> {
            held: Arc::clone(held),
            element: PhantomData,
        },
    )
    .into()
}

/// Converts a tensor to one of libtorch, with its memory if it has the only handle, or else a copy.
pub(crate) fn to_torch(tensor: AnyTensor) -> Result<Tensor, TchError> {
    let tensor = match tensor {
        AnyTensor::F32(tensor) => with_memory_of(tensor, false),
        AnyTensor::F64(tensor) => with_memory_of(tensor, true),
    };
    tensor.map_err(TchError::Torch)
}

fn with_memory_of<T: Element>(mut memory: TensorD<T>, is_double: bool) -> Result<Tensor, String> {
    if !memory.view().is_standard_layout() {
        memory = TensorD::from(memory.view().as_standard_layout().into_owned());
    }
    // INVARIANT: no axis of an array in memory is longer than `isize::MAX`.
    let sizes: Vec<i64> = (memory.shape().iter())
        .map(|&size| size.try_into().expect("a length"))
        .collect();
    // Copies memory that an input or the recording has too. The tensor is kept: its memory is reused when dropped.
    let data = memory.update(|mut elements| elements.as_mut_ptr());
    let memory = Box::new(memory);
    let mut tensor = ptr::null_mut();
    // SAFETY: `data` points to the elements of `memory` in row-major order, of this shape. libtorch owns `memory` from
    // here on, and frees it once: with the last tensor that uses it, or if the call fails.
    unsafe {
        check(pullback_tch_tensor(
            data.cast(),
            sizes.as_ptr(),
            sizes.len(),
            is_double,
            Box::into_raw(memory).cast(),
            free_box::<TensorD<T>>,
            &raw mut tensor,
        ))?;
        Ok(Tensor::from_ptr(tensor))
    }
}

/// # Safety
/// `pointer` is of a `Box<T>`, which this call drops.
pub(crate) unsafe extern "C" fn free_box<T>(pointer: *mut c_void) {
    // SAFETY: as above.
    let pointee = unsafe { Box::from_raw(pointer.cast::<T>()) };
    // `Drop` of a saved value can panic, and C++ cannot handle the error.
    let _ = without_panics(|| {
        drop(pointee);
        Ok(())
    });
}
