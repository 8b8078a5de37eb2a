//! The recording of a run, as Python holds it.

use pullback::{AnyTensor, Error, foreign};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::dlpack::Memory;
use crate::function::Function;
use crate::marks::{among_all, chosen, spread};
use crate::signals::Length;
use crate::{array, panics, signals, torch};

/// A recording of a function or of its gradients.
#[pyclass(frozen)]
pub(crate) struct Recording {
    pub(crate) name: &'static str,
    pub(crate) inner: foreign::Recording,
    /// For each input, whether Python has it: all but gradients that were `None`.
    pub(crate) known: Vec<bool>,
    /// For each output, whether Python has it: all but the gradients of inputs that Python does not have.
    pub(crate) outputs: Vec<bool>,
    /// Where the tensors of a fast call had their elements.
    pub(crate) memories: Vec<Memory>,
    /// What runs a fast call again.
    pub(crate) rerun: Option<Rerun>,
    /// How long its gradients may take: see [`signals`].
    pub(crate) length: Length,
}

/// What runs a fast call again.
pub(crate) struct Rerun {
    pub(crate) function: Py<Function>,
    /// The arguments, with `True` for each tensor: a node that holds its tensors may be held by them.
    pub(crate) values: Py<PyTuple>,
    /// For each output that is a tensor, whether it has a gradient.
    pub(crate) differentiable: Vec<Option<bool>>,
}

/// Gradients, `None` where undefined.
type Gradients<'py> = Vec<Option<Bound<'py, PyAny>>>;

/// The function, the values and `differentiable` of [`Rerun`].
type CallOf<'a> = (&'a Py<Function>, &'a Py<PyTuple>, &'a [Option<bool>]);

#[pymethods]
impl Recording {
    /// Refuses copies, of `pickle` and of `copy`.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(format!(
            "a recording of {} cannot be copied or pickled, since it belongs to one call: copy the arguments, and call \
             the function again",
            self.name
        )))
    }

    /// Returns whether the tensors of a fast call have the same memory as then. Else the recording must not be used:
    /// PyTorch frees the memory of a tensor when the tensor gets another, or another size.
    fn holds(&self, py: Python<'_>, tensors: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let Some(torch) = torch::get(py) else {
            return Ok(true);
        };
        for (memory, tensor) in self.memories.iter().zip(tensors) {
            if torch.read(&tensor)?.as_ref() != Some(memory) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets Python's garbage collector see what the values hold.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.rerun
            .as_ref()
            .map_or(Ok(()), |rerun| visit.call(&rerun.values))
    }

    /// Returns what runs a fast call again.
    #[getter]
    fn call_of(&self) -> Option<CallOf<'_>> {
        let rerun = self.rerun.as_ref()?;
        Some((&rerun.function, &rerun.values, &rerun.differentiable))
    }

    /// Returns the gradients of a fast call as tensors of PyTorch, after a place for each of the two other arguments of
    /// its node; or `NotImplemented`: see [`crate::torch`].
    fn fast<'py>(
        slf: &Bound<'py, Self>,
        tensors: &Bound<'py, PyTuple>,
        grads: &Bound<'py, PyTuple>,
        needed: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let refused = || Ok(py.NotImplemented().into_bound(py));
        let (Some(torch), Some(rerun)) = (torch::get(py), &this.rerun) else {
            return refused();
        };
        if rerun.differentiable.len() != grads.len()
            || torch.is_grad_enabled(py)?
            || !torch.is_plain(py)?
            || !this.holds(py, tensors)?
        {
            return refused();
        }
        let mut read = Vec::with_capacity(grads.len());
        for (grad, kind) in grads.iter_borrowed().zip(&rerun.differentiable) {
            if grad.is_none() || kind.is_none() {
                read.extend(kind.map(|_| None));
                continue;
            }
            let Some(memory) = torch.read(&grad)? else {
                return refused();
            };
            #[allow(unsafe_code, reason = "see the safety argument")]
            // SAFETY: `kept` keeps the memory alive during the call, and an unrecorded pass keeps nothing.
            read.push(Some(unsafe { memory.tensor(None) }));
        }
        let needed = needed.iter_borrowed().skip(2);
        let needed = needed.map(|needed| needed.is_truthy());
        let needed = needed.collect::<PyResult<Vec<bool>>>()?;
        // What has the memory, also if the call is abandoned.
        let kept = (
            slf.clone().unbind(),
            tensors.clone().unbind(),
            grads.clone().unbind(),
        );
        let found = signals::run(py, this.length, move || {
            panics::caught(|| kept.0.get().inner.gradients(read, &needed))
        })?;
        let found = this.checked(found)?.into_iter();
        let found = found.map(|grad| grad.map(|grad| torch.write(py, grad)).transpose());
        let found = [Ok(None), Ok(None)].into_iter().chain(found);
        let found = found.collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, found)?.into_any())
    }

    /// Returns the gradients of the inputs that `needed` marks.
    fn gradients<'py>(
        slf: &Bound<'py, Self>,
        grads: Gradients<'py>,
        needed: Vec<bool>,
    ) -> PyResult<Gradients<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let (grads, needed) = (this.read(&grads)?, among_all(&this.known, &needed));
        let kept = slf.clone().unbind();
        let found = signals::run(py, this.length_of_all(), move || {
            panics::caught(|| kept.get().inner.gradients(grads, &needed))
        })?;
        this.written(py, this.checked(found)?)
    }

    /// Returns the gradients and their recording, whose inputs are the inputs of this one and `grads`.
    fn record_gradients<'py>(
        slf: &Bound<'py, Self>,
        grads: Gradients<'py>,
        needed: Vec<bool>,
    ) -> PyResult<(Self, Gradients<'py>, Vec<bool>)> {
        let (py, this) = (slf.py(), slf.get());
        let (grads, needed) = (this.read(&grads)?, among_all(&this.known, &needed));
        let known = grads.iter().map(Option::is_some);
        let known = this.known.iter().copied().chain(known).collect();
        let kept = slf.clone().unbind();
        let found = signals::run(py, this.length_of_all(), move || {
            panics::caught(|| kept.get().inner.record_gradients(grads, &needed))
        })?;
        let (recording, found) = this.checked(found)?;
        let differentiable = chosen(&this.known, 0..found.len());
        let differentiable = differentiable.map(|place| recording.requires_grad(place));
        let differentiable = differentiable.collect();
        let again = Self {
            name: this.name,
            inner: recording,
            known,
            outputs: this.known.clone(),
            memories: this.memories.clone(),
            rerun: None,
            length: this.length,
        };
        Ok((again, this.written(py, found)?, differentiable))
    }
}

impl Recording {
    /// Returns how long gradients may take, if all memory that is read must be kept alive when they are abandoned: the
    /// recording of a fast call relies on its tensors.
    fn length_of_all(&self) -> Length {
        match self.length {
            Length::Long if !self.memories.is_empty() => Length::Usual,
            length => length,
        }
    }

    /// Converts the gradients of the inputs that Python has.
    fn written<'py>(
        &self,
        py: Python<'py>,
        grads: Vec<Option<AnyTensor>>,
    ) -> PyResult<Gradients<'py>> {
        chosen(&self.known, grads)
            .map(|grad| grad.map(|grad| array::write(py, grad)).transpose())
            .collect()
    }

    fn read(&self, grads: &Gradients<'_>) -> PyResult<Vec<Option<AnyTensor>>> {
        let outputs = self.outputs.iter().filter(|known| **known).count();
        if grads.len() != outputs {
            return Err(PyTypeError::new_err(format!(
                "backward of {}: {} gradients, for {outputs} outputs",
                self.name,
                grads.len()
            )));
        }
        let grads = spread(&self.outputs, grads).into_iter().map(|grad| {
            let Some(grad) = grad.and_then(Option::as_ref) else {
                return Ok(None);
            };
            let refused = || {
                let found = grad.get_type();
                PyTypeError::new_err(format!("backward of {}: a gradient of {found}", self.name))
            };
            array::read(grad)?.ok_or_else(refused).map(Some)
        });
        grads.collect()
    }

    fn checked<R>(&self, found: Result<Result<R, Error>, String>) -> PyResult<R> {
        let found = found.map_err(|panic| {
            PyRuntimeError::new_err(format!("backward of {}: {panic}", self.name))
        })?;
        // Without the line: it is in the standard library, which calls the function.
        found.map_err(|error| PyRuntimeError::new_err(error.message()))
    }
}
