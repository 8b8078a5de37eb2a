//! A Python module: its functions, the package `_pullback` that calls them, and its stub.

use std::collections::HashMap;
use std::ffi::CString;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

use crate::export::Variant;
use crate::function::Function;
use crate::{ffi, stub, threads, torch};

/// A Python module under construction.
#[derive(Debug)]
pub struct Functions<'m, 'py> {
    module: &'m Bound<'py, PyModule>,
    /// `_pullback/dispatch.py`.
    dispatch: Bound<'py, PyModule>,
    stub: String,
}

/// The package `_pullback` inside of the extension module, and its modules.
const PACKAGE: &str = include_str!("_pullback/__init__.py");
const SOURCES: [(&str, &str); 9] = [
    ("call", include_str!("_pullback/call.py")),
    ("dispatch", include_str!("_pullback/dispatch.py")),
    ("jax", include_str!("_pullback/jax.py")),
    ("operator", include_str!("_pullback/operator.py")),
    ("shapes", include_str!("_pullback/shapes.py")),
    ("testing", include_str!("_pullback/testing.py")),
    ("torch", include_str!("_pullback/torch.py")),
    ("transforms", include_str!("_pullback/transforms.py")),
    ("xla", include_str!("_pullback/xla.py")),
];

impl<'m, 'py> Functions<'m, 'py> {
    /// Imports the package `_pullback` of the module.
    pub fn of(module: &'m Bound<'py, PyModule>) -> PyResult<Self> {
        let py = module.py();
        let name = format!("{}._pullback", module.name()?);
        let file = c"pullback/__init__.py";
        let package = PyModule::from_code(py, &source(PACKAGE), file, &source(&name))?;
        let sources: HashMap<_, _> = SOURCES.into_iter().collect();
        package.getattr("add_sources")?.call1((sources,))?;
        package.add_function(wrap_pyfunction!(torch::connect, &package)?)?;
        package.setattr("handler", ffi::handler())?;
        let dispatch = py.import(format!("{name}.dispatch"))?;
        module.setattr("_call", dispatch.getattr("call")?)?;
        module.add_function(wrap_pyfunction!(threads::get_num_threads, module)?)?;
        module.add_function(wrap_pyfunction!(threads::set_num_threads, module)?)?;
        for name in ["half_precision", "vjp"] {
            module.add(name, dispatch.getattr(name)?)?;
        }
        module.add("testing", py.import(format!("{name}.testing"))?)?;
        Ok(Self {
            module,
            dispatch,
            stub: stub::head(),
        })
    }

    /// Adds a function with its variants for `f32` and `f64`, and default values in Python by the names of parameters.
    pub fn add(
        &mut self,
        name: &'static str,
        variants: [Option<Variant>; 2],
        defaults: &[(&str, &str)],
    ) -> PyResult<()> {
        let py = self.module.py();
        let variant = variants.iter().flatten().next();
        let entry = variant
            .and_then(|variant| variant.entry.map(|entry| (entry, variant)))
            .filter(|(entry, variant)| entry.signature.inputs.len() == variant.parameters.len());
        let (entry, _) = entry.ok_or_else(|| {
            PyImportError::new_err(format!("{name} is not a function of `#[custom_function]`"))
        })?;
        let definition = stub::definition(name, entry, &variants, defaults)?;
        self.stub += &definition.stub;
        let function = Bound::new(py, Function::new(name, entry, variants))?;
        ffi::add(function.clone().unbind());
        let functions = self.dispatch.getattr("functions")?;
        functions.set_item(name, &function)?;
        py.run(&source(&definition.source), Some(&self.module.dict()), None)?;
        let wrapper = self.module.getattr(name)?;
        wrapper.setattr("__doc__", definition.docs)?;
        wrapper.setattr("pullback", function)?;
        self.module.add(name, wrapper)
    }

    /// Adds the stub as `__pyi__`, and prepares the operators of PyTorch.
    pub fn finish(self) -> PyResult<()> {
        self.dispatch.getattr("finish")?.call0()?;
        self.module.add("__pyi__", self.stub)
    }
}

fn source(text: &str) -> CString {
    // INVARIANT: neither our sources nor the names of modules have zeros.
    CString::new(text).expect("a source without zeros")
}
