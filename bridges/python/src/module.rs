//! A module of Python: the functions in it, the code that calls them, its stub.

use std::collections::HashMap;
use std::ffi::CString;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

use crate::export::Variant;
use crate::function::Function;
use crate::stub;

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
        let entry = variant
            .entry
            .filter(|entry| entry.signature.inputs.len() == variant.parameters.len());
        let entry = entry.ok_or_else(|| {
            PyImportError::new_err(format!(
                "{name} is not a function of `#[custom_function]`"
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
