//! What Python holds: a function, one run of it, and the module that they are in.

use pullback::catalogue::{Entry, catalogue};
use pullback::{AnyTensor, Error, Order, foreign};
use pyo3::exceptions::{PyImportError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::HashMap;
use std::ffi::CString;

use crate::argument::{Given, What};
use crate::export::{Variant, element_types};
use crate::output::Returned;
use crate::{array, panics, stub};

/// A function, as the files of `python/` see it.
#[pyclass(frozen)]
struct Function {
    name: &'static str,
    entry: &'static Entry,
    /// Of `f32` and `f64`.
    variants: [Option<Variant>; 2],
}

/// What a run saved.
#[pyclass(frozen)]
struct Recording {
    name: &'static str,
    run: foreign::Recording,
    /// Which of its inputs Python knows: not the gradients that were `None`.
    known: Vec<bool>,
    /// Which of its outputs Python knows: not the gradients of such inputs.
    outputs: Vec<bool>,
}

/// Arrays of one call; those of tensors that are `None` are left out.
type Arrays<'py> = Vec<Bound<'py, PyAny>>;
/// Arrays, where some may be missing.
type Gradients<'py> = Vec<Option<Bound<'py, PyAny>>>;
/// The outputs, and for each that is a tensor whether it has a gradient.
type Outputs<'py> = (Vec<Bound<'py, PyAny>>, Vec<Option<bool>>);

/// What a run saved, and its [`Outputs`].
type Ran<'py> = (Recording, Vec<Bound<'py, PyAny>>, Vec<Option<bool>>);

#[pymethods]
impl Function {
    #[getter]
    const fn name(&self) -> &'static str {
        self.name
    }

    /// The names of the arguments.
    #[getter]
    fn arguments(&self) -> Vec<&'static str> {
        self.entry
            .signature
            .inputs
            .iter()
            .map(|input| input.name)
            .collect()
    }

    /// Where the tensors are among the arguments.
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

    /// Whether it is a function of numbers: then its outputs have the shape that those of its arrays stretch to.
    #[getter]
    fn elementwise(&self) -> bool {
        // No other function counts how often it can be differentiated.
        matches!(self.entry.signature.order, Order::Times(_))
    }

    /// The types of the arguments and of the outputs in stubs, and whether an output has a gradient.
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

    /// Runs it on the values among `arguments` and on `arrays`.
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
            let what = if !input.tensor {
                What::Value(argument)
            } else if argument.is_none() {
                What::Tensor(None)
            } else {
                // INVARIANT: `python/` gives an array for each tensor that is not None.
                let array = arrays.next().expect("an array for each tensor");
                tensors.push(array::read(&array)?.ok_or_else(|| self.refused(name, &array))?);
                shapes.push(name);
                What::Tensor(Some(tensors.len() - 1))
            };
            given.push(Given { name, what });
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
            run: recording,
            known: requires_grad.iter().map(|_| true).collect(),
            outputs: differentiable.iter().flatten().map(|_| true).collect(),
        };
        Ok((recording, outputs, differentiable))
    }
}

impl Function {
    /// The variant for the element type of the first tensor.
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

    /// The same error, with the function's name.
    fn prefixed(&self, py: Python<'_>, error: &PyErr) -> PyErr {
        PyErr::from_type(
            error.get_type(py),
            format!("{}: {}", self.name, error.value(py)),
        )
    }
}

/// The outputs as objects. The handles among what was returned are dropped first, so that memory can be moved.
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
                // INVARIANT: a run returns an output for each tensor that its function did.
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

#[pymethods]
impl Recording {
    /// The gradients of the inputs that `needed` names.
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        grads: Gradients<'py>,
        needed: Vec<bool>,
    ) -> PyResult<Gradients<'py>> {
        let (grads, needed) = (self.read(&grads)?, self.spread(&needed));
        let found = py.detach(|| panics::caught(|| self.run.gradients(grads, &needed)));
        self.written(py, self.checked(found)?)
    }

    /// The same as a run of its own, whose inputs are those of this one and `grads`.
    fn record_gradients<'py>(
        &self,
        py: Python<'py>,
        grads: Gradients<'py>,
        needed: Vec<bool>,
    ) -> PyResult<(Self, Gradients<'py>, Vec<bool>)> {
        let (grads, needed) = (self.read(&grads)?, self.spread(&needed));
        let known = grads.iter().map(Option::is_some);
        let known = self.known.iter().copied().chain(known).collect();
        let found = py.detach(|| panics::caught(|| self.run.record_gradients(grads, &needed)));
        let (recording, found) = self.checked(found)?;
        let differentiable = (0..found.len()).filter(|&place| self.known[place]);
        let differentiable = differentiable.map(|place| recording.requires_grad(place));
        let differentiable = differentiable.collect();
        let again = Self {
            name: self.name,
            run: recording,
            known,
            outputs: self.known.clone(),
        };
        Ok((again, self.written(py, found)?, differentiable))
    }
}

impl Recording {
    /// What Python asks for, among all inputs.
    fn spread(&self, needed: &[bool]) -> Vec<bool> {
        let mut needed = needed.iter();
        let known = self.known.iter();
        known
            .map(|&known| known && needed.next() == Some(&true))
            .collect()
    }

    /// The gradients of the inputs that Python knows.
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
        found.map_err(|error| {
            // The line is one of the compiler's own, where Rust calls a function that it was given.
            let text = error.to_string();
            let text = text.split(" (applied at ").next();
            PyRuntimeError::new_err(text.unwrap_or_default().to_owned())
        })
    }
}

/// A module that is being filled.
#[derive(Debug)]
pub struct Functions<'m, 'py> {
    module: &'m Bound<'py, PyModule>,
    /// Those of `python/`, by name.
    by_name: Bound<'py, PyAny>,
    stub: String,
}

/// The files of `python/`: the first is compiled when a module is imported, each of the others when it is needed.
const CALL: &str = include_str!("python/call.py");
const FILES: [(&str, &str); 4] = [
    ("operator", include_str!("python/operator.py")),
    ("torch", include_str!("python/torch.py")),
    ("jax", include_str!("python/jax.py")),
    ("transforms", include_str!("python/transforms.py")),
];

impl<'m, 'py> Functions<'m, 'py> {
    /// Begins the module.
    pub fn of(module: &'m Bound<'py, PyModule>) -> PyResult<Self> {
        let py = module.py();
        let name = format!("{}.pullback", module.name()?);
        let files = PyModule::from_code(py, &source(CALL), c"pullback/call.py", &source(&name))?;
        files.setattr("FILES", FILES.into_iter().collect::<HashMap<_, _>>())?;
        module.setattr("_call", files.getattr("call")?)?;
        module.add("vjp", files.getattr("vjp")?)?;
        Ok(Self {
            module,
            by_name: files.getattr("functions")?,
            stub: stub::head(),
        })
    }

    /// Adds a function, for the element types that it has a variant for.
    pub fn add(&mut self, name: &'static str, variants: [Option<Variant>; 2]) -> PyResult<()> {
        let py = self.module.py();
        let Some(variant) = variants.iter().flatten().next() else {
            return Err(PyImportError::new_err(format!(
                "{name}: a parameter or an output of a type that has no counterpart in Python, such as a list of \
                 tensors, a closure or a tensor that is written to"
            )));
        };
        let entry = entry(variant.path)
            .filter(|entry| entry.signature.inputs.len() == variant.parameters.len());
        let entry = entry.ok_or_else(|| {
            PyImportError::new_err(format!(
                "{name}: `{}` is not a function of `#[custom_function]`",
                variant.path
            ))
        })?;
        let definition = stub::definition(name, entry, &variants);
        self.stub += &definition.stub;
        let function = Function {
            name,
            entry,
            variants,
        };
        let function = Bound::new(py, function)?;
        self.by_name.set_item(name, &function)?;
        py.run(&source(&definition.source), Some(&self.module.dict()), None)?;
        let wrapper = self.module.getattr(name)?;
        wrapper.setattr("__doc__", definition.docs)?;
        wrapper.setattr("pullback", function)?;
        self.module.add(name, wrapper)
    }

    /// Ends the module: its stub is `__pyi__`.
    pub fn finish(self) -> PyResult<()> {
        self.module.add("__pyi__", self.stub)
    }
}

/// INVARIANT: our own sources have no zeros.
fn source(text: &str) -> CString {
    CString::new(text).expect("a source without zeros")
}

/// The function at a path of the compiler's: `kernels::squash<f32, …>`, `kernels::_::<impl kernels::Scale<f32>>::apply`.
fn entry(path: &str) -> Option<&'static Entry> {
    let path = path.split_once("<impl ").map_or(path, |(_, of)| of);
    let path = path.split(['<', '>']).next();
    catalogue()
        .into_iter()
        .find(|entry| Some(&*entry.path()) == path)
}
