//! The recording of a run, as Python holds it.

use pullback::{AnyTensor, Error, foreign};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use crate::{array, panics};

/// A recording of a function or of its gradients.
#[pyclass(frozen)]
pub(crate) struct Recording {
    pub(crate) name: &'static str,
    pub(crate) inner: foreign::Recording,
    /// For each input, whether Python has it: all but gradients that were `None`.
    pub(crate) known: Vec<bool>,
    /// For each output, whether Python has it: all but the gradients of inputs that Python does not have.
    pub(crate) outputs: Vec<bool>,
}

/// Gradients, `None` where undefined.
type Gradients<'py> = Vec<Option<Bound<'py, PyAny>>>;

#[pymethods]
impl Recording {
    /// Returns the gradients of the inputs that `needed` marks.
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        grads: Gradients<'py>,
        needed: Vec<bool>,
    ) -> PyResult<Gradients<'py>> {
        let (grads, needed) = (self.read(&grads)?, self.spread(&needed));
        let found = py.detach(|| panics::caught(|| self.inner.gradients(grads, &needed)));
        self.written(py, self.checked(found)?)
    }

    /// Returns the gradients and their recording, whose inputs are the inputs of this one and `grads`.
    fn record_gradients<'py>(
        &self,
        py: Python<'py>,
        grads: Gradients<'py>,
        needed: Vec<bool>,
    ) -> PyResult<(Self, Gradients<'py>, Vec<bool>)> {
        let (grads, needed) = (self.read(&grads)?, self.spread(&needed));
        let known = grads.iter().map(Option::is_some);
        let known = self.known.iter().copied().chain(known).collect();
        let found = py.detach(|| panics::caught(|| self.inner.record_gradients(grads, &needed)));
        let (recording, found) = self.checked(found)?;
        let differentiable = (0..found.len()).filter(|&place| self.known[place]);
        let differentiable = differentiable.map(|place| recording.requires_grad(place));
        let differentiable = differentiable.collect();
        let again = Self {
            name: self.name,
            inner: recording,
            known,
            outputs: self.known.clone(),
        };
        Ok((again, self.written(py, found)?, differentiable))
    }
}

impl Recording {
    /// Extends `needed` from the inputs that Python has to all inputs.
    fn spread(&self, needed: &[bool]) -> Vec<bool> {
        let mut needed = needed.iter();
        let known = self.known.iter();
        known
            .map(|&known| known && needed.next() == Some(&true))
            .collect()
    }

    /// Converts the gradients of the inputs that Python has.
    fn written<'py>(
        &self,
        py: Python<'py>,
        grads: Vec<Option<AnyTensor>>,
    ) -> PyResult<Gradients<'py>> {
        let grads = grads
            .into_iter()
            .zip(&self.known)
            .filter(|(_, known)| **known);
        grads
            .map(|(grad, _)| grad.map(|grad| array::write(py, grad)).transpose())
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
        let mut given = grads.iter();
        let grads = self.outputs.iter().map(|&known| {
            let Some(grad) = known
                .then(|| given.next())
                .flatten()
                .and_then(Option::as_ref)
            else {
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
