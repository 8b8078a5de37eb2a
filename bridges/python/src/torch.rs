//! Calls on plain tensors of PyTorch without a frame of Python in between.
//!
//! [`Function::fast`](crate::function::Function) and [`Recording::fast`](crate::recording::Recording) return
//! `NotImplemented` for all that needs more than a run: transforms, forward mode, tracing, other types of tensors and
//! mistakes, which the modules of `_pullback` see to.

use pullback::AnyTensor;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{ffi, intern};

use crate::dlpack::{Exchange, Memory};
use crate::threads;

/// What is used of PyTorch.
pub(crate) struct Torch {
    exchange: Exchange,
    tensor: Py<PyAny>,
    parameter: Py<PyAny>,
    /// Functions that return whether grad mode is on, …
    grad_mode: Py<PyAny>,
    /// … and, each if it is not falsy, that a call may not be fast.
    modes: Vec<Py<PyAny>>,
    num_threads: Py<PyAny>,
    /// The module `torch.autograd.forward_ad`.
    forward_ad: Py<PyAny>,
    /// Makes a tensor of an array of NumPy.
    pub(crate) from_numpy: Py<PyAny>,
}

static TORCH: PyOnceLock<Option<Torch>> = PyOnceLock::new();

/// Returns what is used of PyTorch, if it is imported and has the functions of `DLPack`.
pub(crate) fn get(py: Python<'_>) -> Option<&'static Torch> {
    TORCH.get(py)?.as_ref()
}

/// Reads what is used of PyTorch. `modes` are functions that return whether a call may not be fast.
#[pyfunction]
pub(crate) fn connect(torch: &Bound<'_, PyModule>, modes: Vec<Py<PyAny>>) -> PyResult<()> {
    let tensor = torch.getattr("Tensor")?;
    let made = Exchange::of(&tensor)?.map(|exchange| {
        Ok::<_, PyErr>(Torch {
            exchange,
            tensor: tensor.unbind(),
            parameter: torch.getattr("nn")?.getattr("Parameter")?.unbind(),
            grad_mode: torch.getattr("is_grad_enabled")?.unbind(),
            modes,
            num_threads: torch.getattr("get_num_threads")?.unbind(),
            forward_ad: torch.getattr("autograd")?.getattr("forward_ad")?.unbind(),
            from_numpy: torch.getattr("from_numpy")?.unbind(),
        })
    });
    let made = made.transpose()?;
    // A second import of the module finds the same PyTorch.
    let _ = TORCH.set(torch.py(), made);
    Ok(())
}

impl Torch {
    /// Returns whether nothing is active that has to see the call.
    pub(crate) fn is_plain(&self, py: Python<'_>) -> PyResult<bool> {
        for mode in &self.modes {
            if mode.bind(py).call0()?.is_truthy()? {
                return Ok(false);
            }
        }
        let level = self
            .forward_ad
            .bind(py)
            .getattr(intern!(py, "_current_level"))?;
        Ok(level.extract::<i64>()? < 0)
    }

    /// Takes over the number of threads.
    pub(crate) fn follow_threads(&self, py: Python<'_>) -> PyResult<()> {
        threads::follow(self.num_threads.bind(py))
    }

    /// Returns whether grad mode is on.
    pub(crate) fn is_grad_enabled(&self, py: Python<'_>) -> PyResult<bool> {
        self.grad_mode.bind(py).call0()?.is_truthy()
    }

    /// Returns whether the object is a tensor, and of no other type that inherits from it.
    pub(crate) fn is_tensor(&self, object: &Bound<'_, PyAny>) -> bool {
        let kind = object.get_type_ptr().cast::<ffi::PyObject>();
        kind == self.tensor.as_ptr() || kind == self.parameter.as_ptr()
    }

    /// Reads where a tensor has its elements; `None` for any other object, and if there are no floats on the CPU.
    pub(crate) fn read(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<Memory>> {
        // PyTorch changes the signs of a negated tensor only when its elements are needed.
        let is_read = self.is_tensor(object)
            && !object
                .call_method0(intern!(object.py(), "is_neg"))?
                .is_truthy()?;
        #[allow(unsafe_code, reason = "it is a tensor, as the functions expect")]
        Ok(is_read
            .then(|| unsafe { self.exchange.read(object) })
            .flatten())
    }

    /// Returns a tensor of PyTorch with the memory of this one.
    pub(crate) fn write<'py>(
        &self,
        py: Python<'py>,
        tensor: AnyTensor,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.exchange.write(py, tensor)
    }
}
