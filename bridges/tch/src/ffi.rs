//! The functions of `shim.cpp`, and safe types over them.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::{ptr, slice};

use pullback::foreign::panic_text;
use pullback::{AnyTensor, Element, TensorD};
use tch::{Kind, TchError, Tensor};
use torch_sys::C_tensor;

/// A `std::string`, or null where nothing went wrong.
#[repr(C)]
pub(crate) struct Text {
    _private: [u8; 0],
}

/// One call of a node, see `shim.cpp`.
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

/// What a node calls. Its name has to live as long as the program.
#[repr(C)]
pub(crate) struct Callbacks {
    pub(crate) backward: unsafe extern "C" fn(*const c_void, *mut Backward) -> *mut Text,
    pub(crate) free_run: unsafe extern "C" fn(*mut c_void),
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
        run: *mut c_void,
        callbacks: *const Callbacks,
        inputs: *const *const C_tensor,
        inputs_length: usize,
        outputs: *const *mut C_tensor,
        requires_grad: *const bool,
        outputs_length: usize,
    ) -> *mut Text;
}

/// The text of what went wrong in C++, if anything did.
///
/// # Safety
/// It is what a function of the shim has returned, and nothing else reads it.
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

/// The same for C++ to read.
pub(crate) fn text(result: Result<(), String>) -> *mut Text {
    match result {
        Ok(()) => ptr::null_mut(),
        // SAFETY: the characters are copied.
        Err(message) => unsafe { pullback_tch_text(message.as_ptr().cast(), message.len()) },
    }
}

/// What `function` returns; a panic as the text of its message.
pub(crate) fn without_panics<R>(
    function: impl FnOnce() -> Result<R, TchError>,
) -> Result<R, TchError> {
    // What a panic leaves half done is dropped with the closure: nothing of it is used again.
    catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|panic| {
        let message = panic_text(&*panic).to_owned();
        // To drop what a panic was given can panic again.
        std::mem::forget(panic);
        Err(TchError::Torch(message))
    })
}

/// Keeps the memory of a tensor of libtorch.
pub(crate) struct Held {
    tensor: Tensor,
    numel: usize,
    /// How often operations in place had changed it at the time of the forward.
    pub(crate) version: u32,
}

// SAFETY: of the tensor only its memory and its count of versions are read, by the two functions of the shim that
// take a pointer to a constant; both are ordinary reads of a `TensorImpl` that nothing else has, and the
// count is atomic. libtorch counts references atomically, so that any thread may drop it. That no other thread
// writes to the memory meanwhile is asked of the caller of `apply`, as libtorch asks it of its own functions.
unsafe impl Sync for Held {}

impl Held {
    /// How often operations in place have changed it.
    pub(crate) fn version_now(&self) -> u32 {
        // SAFETY: it is a tensor.
        unsafe { pullback_tch_version(self.tensor.as_ptr()) }
    }
}

/// The elements of a tensor, for pullback to read.
struct Elements<T> {
    held: Arc<Held>,
    element: PhantomData<T>,
}

impl<T: Element> AsRef<[T]> for Elements<T> {
    /// Empty if the memory has been made smaller, which pullback refuses.
    fn as_ref(&self) -> &[T] {
        let bytes = self.held.numel * size_of::<T>();
        // SAFETY: it is a tensor.
        let data = unsafe { pullback_tch_data(self.held.tensor.as_ptr(), bytes) };
        if data.is_null() {
            return &[];
        }
        // SAFETY: `numel` elements begin there, in one piece and of this type: `pullback_tch_hold` has made or found
        // them so, and the shape of a tensor that nothing else has stays. libtorch aligns them, and its memory lives
        // as long as `held`.
        unsafe { slice::from_raw_parts(data.cast::<T>(), self.held.numel) }
    }
}

/// A tensor of libtorch as one of pullback.
pub(crate) struct Given {
    pub(crate) tensor: AnyTensor,
    pub(crate) requires_grad: bool,
    /// Where pullback reads libtorch's own memory.
    pub(crate) held: Option<Arc<Held>>,
}

impl Given {
    /// `None` for one that no function takes.
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
        // SAFETY: it was made for this call, which frees it.
        let tensor = unsafe { Tensor::from_ptr(held) };
        // INVARIANT: the sizes of a tensor in memory are lengths.
        let sizes = tensor.size().into_iter();
        let shape: Vec<usize> = sizes
            .map(|size| size.try_into().expect("a length"))
            .collect();
        let is_double = tensor.kind() == Kind::Double;
        // SAFETY: it is a tensor.
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

/// A tensor of pullback as one of libtorch, which has its memory if nothing else does, and else a copy.
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
    // Copies what an input or the run has too. A tensor keeps it, which reuses the memory of large arrays.
    let data = memory.update(|mut elements| elements.as_mut_ptr());
    let memory = Box::new(memory);
    let mut tensor = ptr::null_mut();
    // SAFETY: `data` points to the elements of `memory` in row-major order, of this shape. They are libtorch's from
    // here on: it frees `memory`, once, when it drops the last tensor that has them, or if the call fails.
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
/// `pointer` is of a `Box<T>` that is dropped here.
pub(crate) unsafe extern "C" fn free_box<T>(pointer: *mut c_void) {
    // SAFETY: as above.
    let pointee = unsafe { Box::from_raw(pointer.cast::<T>()) };
    // What a function saved can have a `Drop` that panics; nobody is there to hear it.
    let _ = without_panics(|| {
        drop(pointee);
        Ok(())
    });
}
