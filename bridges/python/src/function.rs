//! A function, as the modules of `_pullback` call it.

use std::iter::repeat_n;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use pullback::catalogue::Entry;
use pullback::foreign::with_shapes;
use pullback::{AnyTensor, ElementType, Error, ErrorKind, Order, OutputSignature, Shape, foreign};
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyList, PyTuple};

use crate::argument::{Given, Value, dtype, wrong_type};
use crate::dlpack::Memory;
use crate::export::{Prepared, Variant, element_types};
use crate::marks::spread;
use crate::output::{self, OutputType, Outputs, Returned};
use crate::recording::{Recording, Rerun};
use crate::signals::Length;
use crate::slots::{Slots, each_shape};
use crate::torch::Torch;
use crate::{array, panics, signals, torch};

/// A function, for the element types that it has a variant for.
#[pyclass(frozen)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) entry: &'static Entry,
    /// The arguments: with a slot for each list, or for each tensor of a list.
    slots: Slots,
    shared: Arc<Shared>,
}

/// What a function has for lists of all lengths.
struct Shared {
    /// For `f32` and for `f64`.
    variants: [Option<Variant>; 2],
    /// Makes a node of PyTorch's graph.
    node: PyOnceLock<Py<PyAny>>,
    /// Whether a call took long: see [`signals`].
    was_long: AtomicBool,
}

/// The arrays of a call, without the optional ones that are `None`.
type Arrays<'py> = Vec<Bound<'py, PyAny>>;
/// The outputs, one for each tensor of a list, and for each output that is a tensor whether it has a gradient.
type Objects<'py> = (Vec<Bound<'py, PyAny>>, Vec<Option<bool>>);

/// The names and the declared shapes of the arguments or of the outputs, as they are written.
type Shapes<'f> = Vec<(&'f str, Option<&'static str>)>;
/// The lengths of the rows of tensors, where there are any.
type Rows = Vec<Option<usize>>;
/// The element types and numbers of axes of tensors, and the element types of the outputs.
type Types = (Vec<(&'static str, Option<usize>)>, Vec<&'static str>);

/// The recording of a run, its [`Objects`], and the lengths of the lists among its outputs.
type Ran<'py> = (
    Recording,
    Vec<Bound<'py, PyAny>>,
    Vec<Option<bool>>,
    Vec<usize>,
);

#[pymethods]
impl Function {
    #[getter]
    const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the function for lists of these lengths, with an argument for each of their tensors.
    fn expanded(&self, lengths: Vec<usize>) -> PyResult<Self> {
        let slots = Slots::of_lengths(self.entry.signature.inputs, &lengths);
        let other = || PyTypeError::new_err(format!("{}: {} lists", self.name, lengths.len()));
        Ok(Self {
            name: self.name,
            entry: self.entry,
            slots: slots.ok_or_else(other)?,
            shared: self.shared.clone(),
        })
    }

    /// Returns the indices of the parameters that are lists of tensors.
    #[getter]
    fn lists<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let inputs = self.entry.signature.inputs.iter().enumerate();
        let lists = inputs.filter(|(_, input)| input.list);
        let lists: Vec<usize> = lists.map(|(parameter, _)| parameter).collect();
        PyTuple::new(py, lists)
    }

    /// Returns, for each parameter, the length of its list; `None` for other parameters.
    #[getter]
    fn lengths(&self) -> Vec<Option<usize>> {
        self.slots.lengths().to_vec()
    }

    /// Returns the names of the arguments.
    #[getter]
    fn arguments(&self) -> Vec<&str> {
        self.slots.iter().map(|slot| &*slot.name).collect()
    }

    /// Returns the indices of the tensors among the arguments.
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let slots = self.slots.iter().enumerate();
        let places = slots.filter(|(_, slot)| slot.input.tensor);
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        PyTuple::new(py, places)
    }

    /// Returns, for each argument that is a tensor, whether it has a gradient.
    #[getter]
    fn has_gradient(&self) -> Vec<bool> {
        let tensors = self.slots.tensors();
        tensors.map(|slot| slot.input.differentiable).collect()
    }

    /// Returns how often the function can be differentiated, `None` for any number of times.
    #[getter]
    const fn order(&self) -> Option<usize> {
        match self.entry.signature.order {
            Order::Once => Some(1),
            Order::Times(times) => Some(times),
            Order::Any => None,
        }
    }

    /// Returns whether the function has a rule for forward mode.
    #[getter]
    const fn forward_mode(&self) -> bool {
        self.entry.signature.forward_mode
    }

    /// Returns the element types that the function takes.
    #[getter]
    fn elements(&self) -> &'static str {
        element_types(&self.shared.variants)
    }

    /// Returns whether the function is elementwise: then its outputs have the broadcast shape of its arrays, both without
    /// the axis of rows.
    #[getter]
    fn elementwise(&self) -> bool {
        self.entry.signature.elementwise
    }

    /// Returns whether the function is a scan, of which lanes broadcast as elements do.
    #[getter]
    fn scan(&self) -> bool {
        let mut inputs = self.entry.signature.inputs.iter();
        inputs.any(|input| input.step)
    }

    /// Returns the lengths of the rows that an elementwise function takes and returns, 0 for those of any length: of the
    /// arguments that are tensors, and of the outputs.
    #[getter]
    fn rows(&self) -> (Rows, Rows) {
        let inputs = self.slots.tensors();
        let outputs = self.entry.signature.outputs.iter();
        (
            inputs.map(|slot| slot.input.row).collect(),
            outputs.map(|output| output.row).collect(),
        )
    }

    /// Returns for each output the state of a scan of which it is the last one.
    #[getter]
    fn states(&self) -> Vec<Option<&'static str>> {
        let outputs = self.entry.signature.outputs.iter();
        outputs.map(|output| output.state).collect()
    }

    /// Returns whether the arguments that are tensors, and the outputs, have the axis of the steps of a scan.
    #[getter]
    fn steps(&self) -> (Vec<bool>, Vec<bool>) {
        let inputs = self.slots.tensors();
        let outputs = self.entry.signature.outputs.iter();
        (
            inputs.map(|slot| slot.input.step).collect(),
            outputs.map(|output| output.step).collect(),
        )
    }

    /// Returns the types of the arguments and of the outputs in stubs, and whether an output has a gradient.
    #[getter]
    fn stubs(&self) -> (Vec<&'static str>, Vec<(&'static str, bool)>) {
        let variant = self.any_variant();
        let inputs = self.slots.iter().map(|slot| {
            if slot.of_list {
                "Array"
            } else {
                variant.parameters[slot.parameter].stub
            }
        });
        let outputs = self.each_output();
        let outputs = outputs.map(|(kind, output)| (kind.stub, output.differentiable));
        (inputs.collect(), outputs.collect())
    }

    /// Returns whether lists of tensors are among the outputs.
    #[getter]
    fn returns_lists(&self) -> bool {
        let mut outputs = self.entry.signature.outputs.iter();
        outputs.any(|output| output.list)
    }

    /// Returns the types of the outputs in stubs, and whether each has a gradient, with one for each tensor of lists of
    /// these lengths.
    fn outputs(&self, lengths: Vec<usize>) -> Vec<(&'static str, bool)> {
        let mut lengths = lengths.into_iter();
        let outputs = self.each_output().flat_map(|(kind, output)| {
            let (stub, count) = if output.list {
                ("Array", lengths.next().unwrap_or_default())
            } else {
                (kind.stub, 1)
            };
            repeat_n((stub, output.differentiable), count)
        });
        outputs.collect()
    }

    /// Returns what Python gets of outputs, which have one for each tensor of lists of these lengths: an object for one
    /// output, and a tuple for several.
    fn returned<'py>(
        &self,
        py: Python<'py>,
        outputs: Vec<Bound<'py, PyAny>>,
        lengths: Vec<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (mut outputs, mut lengths) = (outputs.into_iter(), lengths.into_iter());
        let each = self.each_output().map(|(_, output)| {
            if output.list {
                let length = lengths.next().unwrap_or_default();
                let items: Vec<_> = outputs.by_ref().take(length).collect();
                Ok(PyList::new(py, items)?.into_any())
            } else {
                // INVARIANT: a run returns all outputs.
                Ok(outputs.next().expect("an output"))
            }
        });
        let each = each.collect::<PyResult<Vec<_>>>()?;
        match <[_; 1]>::try_from(each) {
            Ok([output]) => Ok(output),
            Err(outputs) => Ok(PyTuple::new(py, outputs)?.into_any()),
        }
    }

    /// Raises an error if lists among the outputs have other lengths than those of an earlier run, at the time `when`.
    fn check_lengths(&self, found: Vec<usize>, expected: Vec<usize>, when: &str) -> PyResult<()> {
        let text = self.other_lengths(&found, &expected, when);
        text.map_or(Ok(()), |text| {
            Err(PyValueError::new_err(format!("{}: {text}", self.name)))
        })
    }

    /// Returns the names and the declared shapes of the arguments and of the outputs.
    #[getter]
    fn shapes(&self) -> (Shapes<'_>, Shapes<'_>) {
        let inputs = self.slots.iter();
        let outputs = self.entry.signature.outputs.iter();
        (
            inputs
                .map(|slot| (&*slot.name, each_shape(slot.input.shape, slot.input.list)))
                .collect(),
            outputs.map(|output| (output.name, output.shape)).collect(),
        )
    }

    /// Returns the element types and the numbers of axes of the arguments that are tensors, and the element types of the
    /// outputs, if `name`, the first tensor of the call, has elements of the type `found`.
    fn types(&self, name: &str, found: &str) -> PyResult<Types> {
        let mut elements = [ElementType::F32, ElementType::F64].into_iter();
        let element = elements.find(|element| dtype(*element) == found);
        let element = element.ok_or_else(|| self.refused(name, found))?;
        let variant = self.variant(Some((name, element)))?;
        let tensors = self.slots.iter();
        let tensors = tensors.map(|slot| &variant.parameters[slot.parameter]);
        let tensors = tensors.filter_map(|parameter| Some((parameter.dtype?, parameter.axes)));
        let outputs = variant.outputs.iter().map(|output| output.dtype);
        Ok((tensors.collect(), outputs.collect()))
    }

    /// Raises an error for `name`, which has elements of the type `found` and must have those of `expected`.
    fn other_type(&self, name: &str, expected: &str, found: &str) -> PyResult<()> {
        Err(match found {
            "float32" | "float64" => self.wrong_type(name, expected, found),
            _ => PyTypeError::new_err(format!(
                "{}: `{name}` must be {expected}, not {found}",
                self.name
            )),
        })
    }

    /// Reads the values among `arguments`, for the errors of those that are wrong.
    fn check_values(&self, py: Python<'_>, arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        let arguments: Vec<Bound<'_, PyAny>> = arguments.iter().collect();
        let slots = self.slots.iter().zip(&arguments);
        let values = slots.map(|(slot, argument)| {
            if slot.input.tensor {
                Value::Tensor((!argument.is_none()).then_some(0))
            } else {
                Value::Object(argument)
            }
        });
        let read = (self.any_variant().prepare)(&self.slots.given(values));
        read.map(|_| ()).map_err(|error| self.prefixed(py, &error))
    }

    /// Runs the function on the values among `arguments` and on `arrays`.
    ///
    /// With `directions`, `arrays` has tangents at its end. Each direction marks, among the arrays before its tangents,
    /// those that have one. The tangents of the outputs follow the outputs.
    #[pyo3(signature = (arguments, arrays, requires_grad, directions = Vec::new()))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        arrays: Arrays<'py>,
        requires_grad: Vec<bool>,
        directions: Vec<Vec<bool>>,
    ) -> PyResult<Ran<'py>> {
        let arguments: Vec<Bound<'_, PyAny>> = arguments.iter().collect();
        let mut tensors = Vec::with_capacity(arrays.len());
        let mut names = Vec::with_capacity(arrays.len());
        let mut arrays = arrays.into_iter();
        let mut values = Vec::with_capacity(arguments.len());
        for (slot, argument) in self.slots.iter().zip(&arguments) {
            let name = &*slot.name;
            let value = if !slot.input.tensor {
                Value::Object(argument)
            } else if argument.is_none() {
                Value::Tensor(None)
            } else {
                // INVARIANT: `_pullback` passes an array for each tensor that is not None.
                let array = arrays.next().expect("an array for each tensor");
                let refused = || self.refused(name, &dtype_of(&array));
                tensors.push(array::read(&array)?.ok_or_else(refused)?);
                names.push(name);
                Value::Tensor(Some(tensors.len() - 1))
            };
            values.push(value);
        }
        for tangent in arrays {
            let refused = || self.refused("tangent", &dtype_of(&tangent));
            tensors.push(array::read(&tangent)?.ok_or_else(refused)?);
        }
        let given = self.slots.given(values);
        let prepared = self.prepared(py, &names, &tensors, &given)?;
        let call = Tensors { names, tensors };
        let elements = call.tensors.iter();
        let elements = elements
            .map(|tensor| tensor.shape().iter().product::<usize>())
            .sum();
        let length = self.length(elements);
        let (recording, returned, outputs) =
            self.run_on(py, call, prepared, &requires_grad, directions, length)?;
        let write = |tensor| array::write(py, tensor);
        let lengths = returned.lengths;
        let (outputs, differentiable) = given_back(py, &recording, returned.each, outputs, write)?;
        let recording = self.recording(recording, &requires_grad, &differentiable, elements);
        Ok((recording, outputs, differentiable, lengths))
    }

    /// Sets the function that makes a node of PyTorch's graph, for [`fast`](Self::fast).
    fn connect(&self, py: Python<'_>, node: Py<PyAny>) {
        // The node of the same function, if the module is imported twice.
        let _ = self.shared.node.set(py, node);
    }

    /// Calls the function on plain tensors of PyTorch, or returns `NotImplemented`: see [`crate::torch`].
    fn fast<'py>(
        slf: &Bound<'py, Self>,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let refused = || Ok(py.NotImplemented().into_bound(py));
        let (Some(torch), Some(node)) = (torch::get(py), this.shared.node.get(py)) else {
            return refused();
        };
        torch.follow_threads(py)?;
        let arguments: Vec<Bound<'_, PyAny>> = arguments.iter().collect();
        let Some(plain) = this.plain(torch, &arguments)? else {
            return refused();
        };
        let mut elements = plain.memories.iter().map(|memory| memory.element);
        // Python's words for a type that the function does not have, which it converts under `autocast`.
        if plain.objects.is_empty()
            || elements.any(|element| this.variant_of(element).is_none())
            || !torch.is_plain(py)?
        {
            return refused();
        }
        let mut requires_grad = vec![false; plain.objects.len()];
        if torch.is_grad_enabled(py)? {
            for (requires_grad, object) in requires_grad.iter_mut().zip(&plain.objects) {
                *requires_grad = object.getattr(intern!(py, "requires_grad"))?.is_truthy()?;
            }
        }
        let elements = plain.memories.iter().map(Memory::len).sum();
        let length = this.length(elements);
        let (tensors, names) = (this.tensors(&plain, length)?, plain.names);
        let prepared = this.prepared(py, &names, &tensors, &plain.given)?;
        let call = Tensors { names, tensors };
        let (recording, returned, outputs) =
            this.run_on(py, call, prepared, &requires_grad, Vec::new(), length)?;
        let write = |tensor| torch.write(py, tensor);
        let lengths = returned.lengths;
        let (mut outputs, differentiable) =
            given_back(py, &recording, returned.each, outputs, write)?;
        for (output, kind) in outputs.iter_mut().zip(&differentiable) {
            if kind.is_none() && output.hasattr(intern!(py, "dtype"))? {
                *output = torch.from_numpy.bind(py).call1((&*output,))?;
            }
        }
        let constant = outputs.iter().zip(&differentiable);
        let constant = constant.filter(|(output, kind)| {
            **kind == Some(false) || (kind.is_none() && torch.is_tensor(output))
        });
        let constant: Vec<_> = constant.map(|(output, _)| output.clone()).collect();
        if !differentiable.contains(&Some(true)) {
            return this.returned(py, outputs, lengths);
        }
        // Of a node too, one output is an object.
        let outputs = match <[_; 1]>::try_from(outputs) {
            Ok([output]) => output,
            Err(outputs) => PyTuple::new(py, outputs)?.into_any(),
        };
        let of_call = this.recording(recording, &requires_grad, &differentiable, elements);
        let recording = Recording {
            memories: plain.memories,
            rerun: Some(Rerun {
                function: slf.clone().unbind(),
                values: this.values(py, &arguments)?.unbind(),
                differentiable,
            }),
            ..of_call
        };
        let constant = PyTuple::new(py, constant)?;
        let ran = (outputs, constant, recording).into_pyobject(py)?;
        let others = [ran.into_any(), py.None().into_bound(py)].into_iter();
        let of_node = others.chain(plain.objects.into_iter().cloned());
        let of_node: Vec<_> = of_node.collect();
        let found = node.bind(py).call1(PyTuple::new(py, of_node)?)?;
        if lengths.is_empty() {
            return Ok(found);
        }
        let found = match found.cast::<PyTuple>() {
            Ok(outputs) => outputs.iter().collect(),
            Err(_) => vec![found],
        };
        this.returned(py, found, lengths)
    }
}

/// The arguments of a call on plain tensors of PyTorch.
struct Plain<'a, 'py> {
    given: Vec<Given<'a, 'py>>,
    names: Vec<&'a str>,
    objects: Vec<&'a Bound<'py, PyAny>>,
    memories: Vec<Memory>,
}

impl Function {
    /// Reads the arguments of a call; `None` if a tensor is not plain.
    fn plain<'a, 'py>(
        &'a self,
        torch: &Torch,
        arguments: &'a [Bound<'py, PyAny>],
    ) -> PyResult<Option<Plain<'a, 'py>>> {
        let count = self.slots.len();
        let mut values = Vec::with_capacity(count);
        let mut plain = Plain {
            given: Vec::new(),
            names: Vec::with_capacity(count),
            objects: Vec::with_capacity(count),
            memories: Vec::with_capacity(count),
        };
        for (slot, argument) in self.slots.iter().zip(arguments) {
            let value = if !slot.input.tensor {
                Value::Object(argument)
            } else if argument.is_none() {
                Value::Tensor(None)
            } else {
                let Some(memory) = torch.read(argument)? else {
                    return Ok(None);
                };
                plain.names.push(&*slot.name);
                plain.objects.push(argument);
                plain.memories.push(memory);
                Value::Tensor(Some(plain.objects.len() - 1))
            };
            values.push(value);
        }
        plain.given = self.slots.given(values);
        Ok(Some(plain))
    }

    /// Returns the tensors of a call, on the memory of PyTorch's.
    fn tensors(&self, plain: &Plain<'_, '_>, length: Length) -> PyResult<Vec<AnyTensor>> {
        let pairs = plain.memories.iter().zip(&plain.objects);
        let tensors = pairs.map(|(memory, object)| {
            // A formula never has the tensors in its hands, and its recording is not used without `Recording::holds`.
            // A long call may be abandoned.
            let is_owned = length == Length::Long || !self.entry.signature.elementwise;
            let owner = is_owned.then(|| object.call_method0(intern!(object.py(), "detach")));
            let owner = owner.transpose()?.map(Bound::unbind);
            #[allow(unsafe_code, reason = "see the safety argument")]
            // SAFETY: `objects` keep the memory alive during the call, and the owner after it, unless PyTorch gives the
            // tensor other memory: then the recording is not used, see `Recording::holds`, and the README forbids it after a
            // call that was interrupted.
            Ok(unsafe { memory.tensor(owner) })
        });
        tensors.collect()
    }

    /// Returns the values alone: see [`Rerun`].
    fn values<'py>(
        &self,
        py: Python<'py>,
        arguments: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let slots = self.slots.iter().zip(arguments);
        let values = slots.map(|(slot, argument)| {
            if slot.input.tensor && !argument.is_none() {
                PyBool::new(py, true).to_owned().into_any()
            } else {
                argument.clone()
            }
        });
        PyTuple::new(py, values.collect::<Vec<_>>())
    }
}

/// The tensors of a call, with their names.
struct Tensors<'f> {
    names: Vec<&'f str>,
    tensors: Vec<AnyTensor>,
}

impl Function {
    /// Returns a function with an argument for each parameter.
    pub(crate) fn new(
        name: &'static str,
        entry: &'static Entry,
        variants: [Option<Variant>; 2],
    ) -> Self {
        let node = PyOnceLock::new();
        Self {
            name,
            entry,
            slots: Slots::of(entry.signature.inputs),
            shared: Arc::new(Shared {
                variants,
                node,
                was_long: AtomicBool::new(false),
            }),
        }
    }

    /// Reads the values of a call on these tensors.
    fn prepared(
        &self,
        py: Python<'_>,
        names: &[&str],
        tensors: &[AnyTensor],
        given: &[Given<'_, '_>],
    ) -> PyResult<Prepared> {
        let first = names.iter().zip(tensors).next();
        let first = first.map(|(name, tensor)| (*name, tensor.element_type()));
        (self.variant(first)?.prepare)(given).map_err(|error| self.prefixed(py, &error))
    }

    /// Returns how long a call on so many elements may take: see [`signals`].
    fn length(&self, elements: usize) -> Length {
        let signature = &self.entry.signature;
        // The time of these functions is in proportion to their elements.
        let is_linear = signature.elementwise || signature.inputs.iter().any(|input| input.step);
        let most = if is_linear { 1 << 20 } else { 1 << 18 };
        if elements > most || self.shared.was_long.load(Ordering::Relaxed) {
            Length::Long
        } else if signature.elementwise && elements <= 64 {
            Length::Short
        } else {
            Length::Usual
        }
    }

    /// Runs a function that was prepared for these tensors.
    fn run_on(
        &self,
        py: Python<'_>,
        call: Tensors<'_>,
        prepared: Prepared,
        requires_grad: &[bool],
        directions: Vec<Vec<bool>>,
        length: Length,
    ) -> PyResult<(foreign::Recording, Outputs, Vec<AnyTensor>)> {
        let Tensors { names, tensors } = call;
        let shapes: Vec<Shape> = tensors.iter().map(|tensor| tensor.shape().into()).collect();
        let requires_grad = requires_grad.to_vec();
        let work = move || {
            let mut returned = Outputs::default();
            let function = |tensors: &[AnyTensor]| {
                returned = prepared(tensors)?;
                Ok(output::tensors(&returned.each).collect())
            };
            let ran = foreign::Recording::run(tensors, &requires_grad, |tensors| {
                along_each(tensors, &directions, Box::new(function))
            });
            ran.map(|(recording, outputs)| (recording, returned, outputs))
        };
        let begin = Instant::now();
        let ran = signals::run(py, length, || panics::caught(work))?;
        if begin.elapsed() > signals::LONG {
            self.shared.was_long.store(true, Ordering::Relaxed);
        }
        let ran = ran.map_err(|panic| {
            let shapes = names.iter().zip(&shapes);
            let shapes = shapes.map(|(name, shape)| (*name, &shape[..]));
            PyValueError::new_err(self.panicked(shapes, &panic))
        })?;
        ran.map_err(|failed| self.failed(py, failed))
    }

    fn recording(
        &self,
        inner: foreign::Recording,
        requires_grad: &[bool],
        differentiable: &[Option<bool>],
        elements: usize,
    ) -> Recording {
        Recording {
            name: self.name,
            inner,
            known: vec![true; requires_grad.len()],
            outputs: differentiable.iter().flatten().map(|_| true).collect(),
            memories: Vec::new(),
            rerun: None,
            // A call that was long for the first time too.
            length: self.length(elements),
        }
    }

    /// Returns the types and the signatures of the outputs.
    fn each_output(&self) -> impl Iterator<Item = (&OutputType, &'static OutputSignature)> {
        let outputs = self.any_variant().outputs.iter();
        outputs.zip(self.entry.signature.outputs)
    }

    /// Returns the text for lists among the outputs that have other lengths than at the time `when`.
    pub(crate) fn other_lengths(
        &self,
        found: &[usize],
        expected: &[usize],
        when: &str,
    ) -> Option<String> {
        let lists = self.entry.signature.outputs.iter();
        let lists = lists.filter(|output| output.list);
        let mut pairs = lists.zip(found.iter().zip(expected));
        let (list, (found, expected)) = pairs.find(|(_, (found, expected))| found != expected)?;
        let arrays = if *found == 1 { "array" } else { "arrays" };
        Some(format!(
            "`{}` has {found} {arrays}, and had {expected} {when}",
            list.name
        ))
    }

    fn any_variant(&self) -> &Variant {
        // INVARIANT: `Functions::add` takes no function without a variant.
        self.shared
            .variants
            .iter()
            .flatten()
            .next()
            .expect("a variant")
    }

    fn variant_of(&self, element: ElementType) -> Option<&Variant> {
        let [single, double] = &self.shared.variants;
        match element {
            ElementType::F32 => single.as_ref(),
            ElementType::F64 => double.as_ref(),
        }
    }

    /// Returns the variant for the first tensor, by its name and element type.
    pub(crate) fn variant(&self, first: Option<(&str, ElementType)>) -> PyResult<&Variant> {
        let (wanted, expected) = match first {
            Some((_, ElementType::F32)) => (self.variant_of(ElementType::F32), ElementType::F64),
            _ => (self.variant_of(ElementType::F64), ElementType::F32),
        };
        match (wanted, first) {
            (Some(variant), _) => Ok(variant),
            (None, None) => Ok(self.any_variant()),
            (None, Some((name, found))) => {
                Err(self.wrong_type(name, dtype(expected), dtype(found)))
            }
        }
    }

    /// Returns the error for an array of the other element type of floats.
    fn wrong_type(&self, name: &str, expected: &str, found: &str) -> PyErr {
        let text = wrong_type(&name, expected, found);
        PyTypeError::new_err(format!("{}: {text}", self.name))
    }

    /// Returns the error for an array that is not of floats.
    fn refused(&self, name: &str, found: &str) -> PyErr {
        let of = element_types(&self.shared.variants);
        PyTypeError::new_err(format!("{}: `{name}` must be {of}, not {found}", self.name))
    }

    /// Returns the text of a panic in forward, with the names and shapes of the tensors. That of a check of shapes
    /// begins with the function, and some with all tensors.
    pub(crate) fn panicked<'s>(
        &self,
        tensors: impl Iterator<Item = (&'s str, &'s [usize])>,
        panic: &str,
    ) -> String {
        let tensors: Vec<_> = tensors.collect();
        let beginnings = [
            with_shapes(self.name, tensors.iter().copied()) + ": ",
            format!("`{}` of ", self.name),
            format!("`{}`: ", self.name),
        ];
        let mut rests = beginnings
            .iter()
            .filter_map(|own| panic.strip_prefix(&**own));
        let text = rests.next().unwrap_or(panic);
        let shapes = tensors
            .iter()
            .map(|(name, shape)| format!("{name} {shape:?}"));
        let shapes = shapes.collect::<Vec<_>>().join(", ");
        format!("{} of {shapes}: {text}", self.name)
    }

    /// Returns the error of a run without outputs.
    pub(crate) fn failed(&self, py: Python<'_>, failed: Failed) -> PyErr {
        match failed {
            Failed::Function(error) => self.prefixed(py, &error),
            Failed::Derivative(error) => match error.kind() {
                ErrorKind::NeitherMode { .. } => PyNotImplementedError::new_err(format!(
                    "{}: forward mode needs a `#[jvp]` rule, or gradients that can be differentiated again; without \
                     one, use reverse mode, such as `jacrev`",
                    self.name
                )),
                _ => PyRuntimeError::new_err(error.message()),
            },
        }
    }

    /// Puts the function's name before an error's text.
    fn prefixed(&self, py: Python<'_>, error: &PyErr) -> PyErr {
        PyErr::from_type(
            error.get_type(py),
            format!("{}: {}", self.name, error.value(py)),
        )
    }
}

/// Returns the name of an array's element type, or the type of an object without one.
fn dtype_of(array: &Bound<'_, PyAny>) -> String {
    let dtype = array.getattr("dtype");
    dtype.map_or_else(|_| array.get_type().to_string(), |dtype| dtype.to_string())
}

/// Why a run has no outputs.
pub(crate) enum Failed {
    Function(PyErr),
    /// There is no derivative.
    Derivative(Error),
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self::Function(error)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Derivative(error)
    }
}

type Outcome = Result<Vec<AnyTensor>, Failed>;
type Run<'f> = dyn FnOnce(&[AnyTensor]) -> Outcome + 'f;

/// Returns the outputs of `function` at the first of `tensors`, and their derivatives along the others: see
/// [`Function::run`].
fn along_each(tensors: &[AnyTensor], directions: &[Vec<bool>], function: Box<Run<'_>>) -> Outcome {
    let Some((direction, inner)) = directions.split_last() else {
        return function(tensors);
    };
    let (inputs, tangents) = tensors.split_at(direction.len());
    let tangents = spread(direction, tangents.iter().cloned());
    let (mut outputs, tangents) = foreign::along(inputs.to_vec(), tangents, |inputs| {
        along_each(inputs, inner, function)
    })?;
    outputs.extend(tangents);
    Ok(outputs)
}

/// Converts the outputs to objects. The handles in `returned` are dropped first, so that memory can be moved. Tangents,
/// which `returned` does not have, follow.
fn given_back<'py>(
    py: Python<'py>,
    recording: &foreign::Recording,
    returned: Vec<Returned>,
    outputs: Vec<AnyTensor>,
    write: impl Fn(AnyTensor) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Objects<'py>> {
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
                (write(tensor)?, Some(recording.requires_grad(place - 1)))
            }
            Returned::Missing => (py.None().into_bound(py), None),
            Returned::Value(value) => (value.object(py)?.into_bound(py), None),
        };
        objects.push(object);
        differentiable.push(kind);
    }
    for tangent in outputs {
        place += 1;
        objects.push(write(tangent)?);
        differentiable.push(Some(recording.requires_grad(place - 1)));
    }
    Ok((objects, differentiable))
}
