//! A function, as the modules of `_pullback` call it.

use pullback::catalogue::Entry;
use pullback::{AnyTensor, foreign};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::argument::{Given, Value};
use crate::export::{Variant, element_types};
use crate::output::Returned;
use crate::recording::Recording;
use crate::{array, panics};

/// A function, for the element types that it has a variant for.
#[pyclass(frozen)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) entry: &'static Entry,
    /// For `f32` and for `f64`.
    pub(crate) variants: [Option<Variant>; 2],
}

/// The arrays of a call, without the optional ones that are `None`.
type Arrays<'py> = Vec<Bound<'py, PyAny>>;
/// The outputs, and for each output that is a tensor whether it has a gradient.
type Outputs<'py> = (Vec<Bound<'py, PyAny>>, Vec<Option<bool>>);

/// The recording of a run, and its [`Outputs`].
type Ran<'py> = (Recording, Vec<Bound<'py, PyAny>>, Vec<Option<bool>>);

#[pymethods]
impl Function {
    #[getter]
    const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the names of the arguments.
    #[getter]
    fn arguments(&self) -> Vec<&'static str> {
        self.entry
            .signature
            .inputs
            .iter()
            .map(|input| input.name)
            .collect()
    }

    /// Returns the indices of the tensors among the arguments.
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let inputs = self.entry.signature.inputs.iter().enumerate();
        PyTuple::new(
            py,
            inputs
                .filter(|(_, input)| input.tensor)
                .map(|(place, _)| place)
                .collect::<Vec<_>>(),
        )
    }

    /// Returns whether the function is elementwise: then its outputs have the broadcast shape of its arrays.
    #[getter]
    fn elementwise(&self) -> bool {
        self.entry.signature.elementwise
    }

    /// Returns the types of the arguments and of the outputs in stubs, and whether an output has a gradient.
    #[getter]
    fn stubs(&self) -> (Vec<&'static str>, Vec<(String, bool)>) {
        // INVARIANT: `Functions::add` takes no function without a variant.
        let variant = self.variants.iter().flatten().next().expect("a variant");
        let inputs = variant.parameters.iter().map(|parameter| parameter.stub);
        let outputs = self.entry.signature.outputs.iter();
        let outputs = variant
            .outputs
            .iter()
            .cloned()
            .zip(outputs.map(|output| output.differentiable));
        (inputs.collect(), outputs.collect())
    }

    /// Runs the function on the values among `arguments` and on `arrays`.
    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        arrays: Arrays<'py>,
        requires_grad: Vec<bool>,
    ) -> PyResult<Ran<'py>> {
        let arguments: Vec<Bound<'_, PyAny>> = arguments.iter().collect();
        let mut tensors = Vec::with_capacity(arrays.len());
        let mut shapes = Vec::with_capacity(arrays.len());
        let mut arrays = arrays.into_iter();
        let mut given = Vec::with_capacity(arguments.len());
        for (input, argument) in self.entry.signature.inputs.iter().zip(&arguments) {
            let name = input.name;
            let value = if !input.tensor {
                Value::Object(argument)
            } else if argument.is_none() {
                Value::Tensor(None)
            } else {
                // INVARIANT: `_pullback` passes an array for each tensor that is not None.
                let array = arrays.next().expect("an array for each tensor");
                tensors.push(array::read(&array)?.ok_or_else(|| self.refused(name, &array))?);
                shapes.push(name);
                Value::Tensor(Some(tensors.len() - 1))
            };
            given.push(Given { name, value });
        }
        let prepared = (self.variant(&shapes, &tensors)?.prepare)(&given)
            .map_err(|error| self.prefixed(py, &error))?;
        let shapes: Vec<String> = shapes
            .iter()
            .zip(&tensors)
            .map(|(name, tensor)| format!("{name} {:?}", tensor.shape()))
            .collect();
        let mut returned = Vec::new();
        let ran = py.detach(|| {
            panics::caught(|| {
                foreign::Recording::run(tensors, &requires_grad, |tensors| {
                    returned = prepared(tensors)?;
                    let outputs = returned.iter().filter_map(|output| match output {
                        Returned::Tensor(tensor) => Some(tensor.clone()),
                        _ => None,
                    });
                    Ok::<_, PyErr>(outputs.collect())
                })
            })
        });
        let ran = ran.map_err(|panic| {
            PyValueError::new_err(format!("{} of {}: {panic}", self.name, shapes.join(", ")))
        })?;
        let (recording, outputs) = ran.map_err(|error| self.prefixed(py, &error))?;
        let (outputs, differentiable) = given_back(py, &recording, returned, outputs)?;
        let recording = Recording {
            name: self.name,
            inner: recording,
            known: requires_grad.iter().map(|_| true).collect(),
            outputs: differentiable.iter().flatten().map(|_| true).collect(),
        };
        Ok((recording, outputs, differentiable))
    }
}

impl Function {
    /// Returns the variant for the element type of the first tensor.
    fn variant(&self, names: &[&str], tensors: &[AnyTensor]) -> PyResult<&Variant> {
        let [single, double] = &self.variants;
        let (wanted, other, [found, expected]) = match tensors.first() {
            Some(AnyTensor::F32(_)) => (single, double, ["float32", "float64"]),
            _ => (double, single, ["float64", "float32"]),
        };
        match (wanted, tensors.first()) {
            (Some(variant), _) => Ok(variant),
            // INVARIANT: `Functions::add` takes no function without a variant.
            (None, None) => Ok(other.as_ref().expect("a variant")),
            (None, Some(_)) => Err(PyTypeError::new_err(format!(
                "{}: `{}` must be {expected}, not {found}",
                self.name, names[0]
            ))),
        }
    }

    fn refused(&self, name: &str, array: &Bound<'_, PyAny>) -> PyErr {
        let found = array
            .getattr("dtype")
            .map_or_else(|_| array.get_type().to_string(), |dtype| dtype.to_string());
        let of = element_types(&self.variants);
        PyTypeError::new_err(format!("{}: `{name}` must be {of}, not {found}", self.name))
    }

    /// Puts the function's name before an error's text.
    fn prefixed(&self, py: Python<'_>, error: &PyErr) -> PyErr {
        PyErr::from_type(
            error.get_type(py),
            format!("{}: {}", self.name, error.value(py)),
        )
    }
}

/// Converts the outputs to objects. The handles in `returned` are dropped first, so that memory can be moved.
fn given_back<'py>(
    py: Python<'py>,
    recording: &foreign::Recording,
    returned: Vec<Returned>,
    outputs: Vec<AnyTensor>,
) -> PyResult<Outputs<'py>> {
    let mut outputs = outputs.into_iter();
    let mut place = 0;
    let mut objects = Vec::with_capacity(returned.len());
    let mut differentiable = Vec::with_capacity(returned.len());
    for output in returned {
        let (object, kind) = match output {
            Returned::Tensor(handle) => {
                drop(handle);
                place += 1;
                // INVARIANT: a run returns an output for each tensor that the function returned.
                let tensor = outputs.next().expect("an output for each tensor");
                (
                    array::write(py, tensor)?,
                    Some(recording.requires_grad(place - 1)),
                )
            }
            Returned::Missing => (py.None().into_bound(py), None),
            Returned::Value(object) => (object(py)?.into_bound(py), None),
        };
        objects.push(object);
        differentiable.push(kind);
    }
    Ok((objects, differentiable))
}
