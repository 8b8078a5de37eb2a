//! The node of a call in libtorch's graph.

use std::any::type_name;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Weak};
use std::{ptr, slice};

use pullback::foreign::{Recording, TensorFunction};
use pullback::{AnyTensor, Error};
use tch::{TchError, Tensor};
use torch_sys::C_tensor;

use crate::ffi::{self, Backward, Callbacks, Given, Held, Text};

/// The recording that a node of libtorch saves.
struct Saved {
    recording: Recording,
    /// The arguments in libtorch's memory. Those that the recording has not saved are dropped.
    arguments: Vec<(Argument, Weak<Held>)>,
}

#[derive(Clone, Copy)]
enum Argument {
    Input(usize),
    GradOutput(usize),
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(position) => write!(f, "input {position}"),
            Self::GradOutput(position) => write!(f, "the gradient of output {position}"),
        }
    }
}

/// Runs the function, and makes its outputs those of a node if one of them has a gradient for an input that requires it.
pub(crate) fn apply<M, F: TensorFunction<M>>(
    function: F,
    inputs: &[&Tensor],
) -> Result<Vec<Tensor>, TchError> {
    ffi::without_panics(|| {
        let mut tensors = Vec::with_capacity(inputs.len());
        let mut requires_grad = Vec::with_capacity(inputs.len());
        let mut held = Vec::new();
        for (position, input) in inputs.iter().enumerate() {
            // SAFETY: the pointer is to a tensor.
            let given = unsafe { Given::read(input.as_ptr()) };
            let given = given.map_err(TchError::Torch)?;
            let given = given.ok_or_else(|| refused(position, &reason(input)))?;
            let held_here = given.held.as_ref().map(Arc::downgrade);
            held.extend(held_here.map(|held| (Argument::Input(position), held)));
            requires_grad.push(given.requires_grad);
            tensors.push(given.tensor);
        }
        let (recording, outputs) = Recording::of(function, tensors, &requires_grad)
            .map_err(|error| TchError::Convert(error.to_string()))?;
        let of_outputs: Vec<bool> = (0..outputs.len())
            .map(|output| recording.requires_grad(output))
            .collect();
        let mut outputs: Vec<Tensor> = outputs
            .into_iter()
            .map(ffi::to_torch)
            .collect::<Result<_, _>>()?;
        if of_outputs.contains(&true) {
            let saved = Saved {
                recording,
                arguments: held,
            };
            record::<F>(saved, inputs, &mut outputs, &of_outputs)?;
        }
        Ok(outputs)
    })
}

fn refused(position: usize, reason: &str) -> TchError {
    TchError::Convert(format!("input {position} {reason}"))
}

/// Returns the reason for which no function takes the tensor.
fn reason(tensor: &Tensor) -> String {
    if !tensor.defined() {
        "is not defined".to_owned()
    } else if tensor.is_sparse() || tensor.is_mkldnn() {
        "is not dense; functions take dense tensors, see `to_dense`".to_owned()
    } else if tensor.device() != tch::Device::Cpu {
        format!(
            "is on {:?}; functions take tensors on the CPU: `to_device(Device::Cpu)` copies it there, and its \
             gradient back",
            tensor.device()
        )
    } else {
        let kind = tensor.f_kind();
        let kind = kind.map_or_else(|error| error.to_string(), |kind| format!("{kind:?}"));
        format!("is of kind {kind}; functions take tensors of Float or Double")
    }
}

/// Makes the outputs that require grad those of a new node.
fn record<F>(
    saved: Saved,
    inputs: &[&Tensor],
    outputs: &mut [Tensor],
    requires_grad: &[bool],
) -> Result<(), TchError> {
    let name = type_name::<F>();
    let callbacks = Callbacks {
        backward,
        free_saved: ffi::free_box::<Saved>,
        name: name.as_ptr().cast(),
        name_length: name.len(),
    };
    let inputs: Vec<*const C_tensor> = inputs.iter().map(|input| input.as_ptr()).collect();
    let outputs: Vec<*mut C_tensor> = outputs.iter_mut().map(Tensor::as_mut_ptr).collect();
    // SAFETY: the tensors live through the call, `requires_grad` is as long as `outputs`, and `free_saved` frees the
    // box.
    let recorded = unsafe {
        ffi::check(ffi::pullback_tch_record(
            Box::into_raw(Box::new(saved)).cast(),
            &raw const callbacks,
            inputs.as_ptr(),
            inputs.len(),
            outputs.as_ptr(),
            requires_grad.as_ptr(),
            outputs.len(),
        ))
    };
    recorded.map_err(TchError::Torch)
}

/// The backward of a node.
///
/// # Safety
/// `saved` is that of a node, and lives through the call. The pointers of `pass` are to arrays of its lengths, and only
/// this call writes to its results.
unsafe extern "C" fn backward(saved: *const c_void, pass: *mut Backward) -> *mut Text {
    let result = ffi::without_panics(|| {
        // SAFETY: see above.
        let (saved, pass) = unsafe { (&*saved.cast::<Saved>(), &mut *pass) };
        // SAFETY: see above. A pointer may be null if its length is zero.
        let (grads, needed) = unsafe {
            (
                list(pass.grads, pass.outputs),
                list(pass.needed, pass.inputs),
            )
        };
        let (results, next) = saved.gradients(grads, needed, pass.create_graph)?;
        for (input, result) in results.into_iter().enumerate() {
            let requires_grad = next
                .as_ref()
                .is_some_and(|(_, requires_grad)| requires_grad[input]);
            // SAFETY: both arrays have an element for each input, and C++ frees the tensor, which is forgotten here.
            unsafe {
                *pass.requires_grad.add(input) = requires_grad;
                *pass.results.add(input) = result.map_or(ptr::null_mut(), into_raw);
            }
        }
        let next = next.filter(|(_, requires_grad)| requires_grad.contains(&true));
        pass.next = next.map_or(ptr::null_mut(), |(saved, _)| {
            Box::into_raw(Box::new(saved)).cast()
        });
        Ok(())
    });
    ffi::text(result.map_err(|error| match error {
        TchError::Torch(message) => message,
        error => error.to_string(),
    }))
}

unsafe fn list<'a, T>(of: *const T, length: usize) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller guarantees it.
    unsafe { slice::from_raw_parts(of, length) }
}

fn into_raw(tensor: Tensor) -> *mut C_tensor {
    std::mem::ManuallyDrop::new(tensor).as_mut_ptr()
}

/// The recording of gradients, and for each gradient whether it has a history.
type Next = (Saved, Vec<bool>);

impl Saved {
    /// Returns the gradients of the inputs, and with `create_graph` their recording.
    fn gradients(
        &self,
        grads: &[*const C_tensor],
        needed: &[bool],
        create_graph: bool,
    ) -> Result<(Vec<Option<Tensor>>, Option<Next>), TchError> {
        self.check_versions()?;
        let mut held = self.arguments.clone();
        let mut seeds = Vec::with_capacity(grads.len());
        for (position, &grad) in grads.iter().enumerate() {
            seeds.push(if grad.is_null() {
                None
            } else {
                let argument = Argument::GradOutput(position);
                let refused = |reason: &str| TchError::Torch(format!("{argument} {reason}"));
                // SAFETY: the pointer is to a tensor of the pass.
                let given = unsafe { Given::read(grad) }.map_err(|message| refused(&message))?;
                let given = given.ok_or_else(|| refused("is not of Float or Double on the CPU"))?;
                held.extend(given.held.map(|held| (argument, Arc::downgrade(&held))));
                Some(given.tensor)
            });
        }
        let failed = |error: Error| TchError::Torch(error.to_string());
        let to_torch = |grads: Vec<Option<AnyTensor>>| {
            let grads = grads.into_iter();
            grads
                .map(|grad| grad.map(ffi::to_torch).transpose())
                .collect::<Result<Vec<_>, _>>()
        };
        if !create_graph {
            let grads = self.recording.gradients(seeds, needed).map_err(failed)?;
            return Ok((to_torch(grads)?, None));
        }
        let (recording, grads) = self
            .recording
            .record_gradients(seeds, needed)
            .map_err(failed)?;
        let requires_grad = (0..grads.len())
            .map(|grad| recording.requires_grad(grad))
            .collect();
        Ok((
            to_torch(grads)?,
            Some((
                Self {
                    recording,
                    arguments: held,
                },
                requires_grad,
            )),
        ))
    }

    /// Returns an error if an operation in place has changed a saved tensor.
    fn check_versions(&self) -> Result<(), TchError> {
        for (argument, held) in &self.arguments {
            let Some(held) = held.upgrade() else { continue };
            let (now, then) = (held.version_now(), held.version);
            if now != then {
                return Err(TchError::Torch(format!(
                    "one of the variables needed for gradient computation has been modified by an inplace \
                     operation: {argument} is at version {now}; expected version {then} instead"
                )));
            }
        }
        Ok(())
    }
}
