//! `apply_batch`, as `#[custom_function(batch(…))]` generates it: the map of one function, with its name and those of
//! its inputs, for generated code.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::panic::Location;
use std::slice;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ndarray::{Axis, Dimension};

use super::empty::no_examples;
use super::error::VmapError;
use super::node::Names;
use super::{ExampleFn, VmapCall};
use crate::erased::AnyTensor;
use crate::error::panic::{catching_passes, caught};
use crate::tensor::Tensor;
use crate::thread::no_grad;
use autograd_kernels::{Element, Shape};

/// The error that a function returned for an example of `apply_batch`.
///
/// ```
/// use pullback::functional::ExampleError;
/// use pullback::ndarray::{Array0, ArrayView1, arr0, array};
/// use pullback::prelude::*;
///
/// #[custom_function(batch(x), grad(x) = x.mapv(|_| grad_output[()] / x.len() as f64))]
/// fn mean(x: ArrayView1<f64>) -> Result<Array0<f64>, String> {
///     let mean = x.mean().filter(|mean| mean.is_finite());
///     mean.map(arr0).ok_or_else(|| "no finite mean".to_owned())
/// }
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, f64::NAN]]);
/// let error: ExampleError<String> = Mean::apply_batch(&x).unwrap_err();
/// assert_eq!((error.example, &error.error[..]), (1, "no finite mean"));
/// assert_eq!(error.to_string(), "example 1: no finite mean");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ExampleError<E> {
    /// The example's position along the first axis, from 0. It is the first that failed.
    pub example: usize,
    /// The error that forward returned.
    pub error: E,
}

impl<E: fmt::Display> fmt::Display for ExampleError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "example {}: {}", self.example, self.error)
    }
}

impl<E: fmt::Debug> fmt::Debug for ExampleError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "example {}: {:?}", self.example, self.error)
    }
}

impl<E: fmt::Display + fmt::Debug> std::error::Error for ExampleError<E> {}

/// An input of `apply_batch`.
#[derive(Debug)]
pub struct BatchInput {
    /// Its name.
    pub name: &'static str,
    /// Whether each example has its own, along a first axis; they share the others.
    pub is_batched: bool,
    /// Whether it is a list.
    pub is_list: bool,
    /// The tensors: one, those of a list, or none.
    pub tensors: Vec<AnyTensor>,
}

impl BatchInput {
    /// Returns its tensors with their names.
    #[inline]
    fn named(self) -> impl Iterator<Item = (String, AnyTensor)> {
        let (name, is_list) = (self.name, self.is_list);
        let tensors = self.tensors.into_iter().enumerate();
        tensors.map(move |(index, tensor)| {
            let name = if is_list {
                format!("{name}[{index}]")
            } else {
                name.to_owned()
            };
            (name, tensor)
        })
    }
}

/// One call of `apply_batch`.
pub struct BatchCall {
    function: &'static str,
    batched: Vec<(String, AnyTensor)>,
    shared: Vec<(String, AnyTensor)>,
    count: usize,
    called_at: &'static Location<'static>,
}

/// The parts of the batch that one example has, in the order of the inputs.
#[derive(Debug)]
pub struct BatchExample<'a>(slice::Iter<'a, AnyTensor>);

/// The tensors that a function returned for one example, or for all, stacked.
#[derive(Debug, Default)]
pub struct BatchOutputs {
    tensors: VecDeque<AnyTensor>,
    layout: Vec<Layout>,
}

/// The name of an output, and the length of a list.
#[derive(Clone, Debug, PartialEq)]
struct Layout(&'static str, Option<usize>);

impl BatchCall {
    /// Starts a call.
    ///
    /// # Panics
    /// If batched inputs differ in the number of examples, or none is there.
    #[must_use]
    #[track_caller]
    pub fn new<const N: usize>(function: &'static str, inputs: [BatchInput; N]) -> Self {
        let (mut batched, mut shared) = (Vec::new(), Vec::new());
        for input in inputs {
            let to = if input.is_batched {
                &mut batched
            } else {
                &mut shared
            };
            to.extend(input.named());
        }
        let mut first: Option<(&str, &[usize])> = None;
        for (name, tensor) in &batched {
            let shape = tensor.shape();
            assert!(
                !shape.is_empty(),
                "`apply_batch` of `{function}`: `{name}` has the shape [], without an axis for the examples"
            );
            let (other, expected) = *first.get_or_insert((name, shape));
            assert!(
                shape[0] == expected[0],
                "`apply_batch` of `{function}`: `{name}` of shape {shape:?} has {} examples, and `{other}` of shape \
                 {expected:?} has {}",
                shape[0],
                expected[0]
            );
        }
        let Some((_, shape)) = first else {
            panic!("`apply_batch` of `{function}`: no input that has examples is given");
        };
        let count = shape[0];
        Self {
            function,
            batched,
            shared,
            count,
            called_at: Location::caller(),
        }
    }

    /// Returns the line of the call.
    #[must_use]
    #[inline]
    pub fn called_at(&self) -> &'static Location<'static> {
        self.called_at
    }

    /// Runs a function that returns no error: see [`try_run`](Self::try_run).
    #[track_caller]
    pub fn run<V: Send>(
        self,
        function: impl Fn(&mut BatchExample<'_>) -> (BatchOutputs, V) + Sync,
    ) -> (BatchOutputs, Vec<V>) {
        let result = self.try_run(|example| Ok::<_, Infallible>(function(example)));
        match result {
            Ok(outputs) => outputs,
            Err(ExampleError { error, .. }) => match error {},
        }
    }

    /// Runs the function of each example on all threads. Returns its tensors, stacked, and its values in the order of the
    /// examples.
    ///
    /// # Errors
    /// The error of the first example that has one.
    ///
    /// # Panics
    /// If the function panics, with the example, or if outputs of examples differ in their shapes.
    #[track_caller]
    pub fn try_run<V: Send, E: Send>(
        self,
        function: impl Fn(&mut BatchExample<'_>) -> Result<(BatchOutputs, V), E> + Sync,
    ) -> Result<(BatchOutputs, Vec<V>), ExampleError<E>> {
        let name = self.function;
        let call = |example: &[AnyTensor], what: &dyn fmt::Display| {
            let run = || function(&mut BatchExample(example.iter()));
            caught(run).unwrap_or_else(|panic| panic.pass_on_later(what))
        };
        if self.count == 0 {
            let outputs = self.empty(|zeros, what| Some(call(zeros, what).ok()?.0));
            return Ok((outputs, Vec::new()));
        }
        let collected = Collected::default();
        let function = |index: usize, example: &[AnyTensor]| {
            let result = call(example, &format_args!("example {index} of `{name}`"));
            collected.insert(index, result)
        };
        match catching_passes(|| self.map(&function)) {
            Ok(tensors) => Ok(collected.finish(tensors)),
            Err(VmapError::Returned { example }) => Err(collected.error(example)),
            Err(mistake) => panic!("`apply_batch` of `{name}`: {}", collected.text(&mistake)),
        }
    }

    /// Returns the outputs of a batch without examples; `call` returns those of an example, unless forward returns an
    /// error.
    #[track_caller]
    fn empty(
        self,
        call: impl FnOnce(&[AnyTensor], &dyn fmt::Display) -> Option<BatchOutputs>,
    ) -> BatchOutputs {
        let what = format!(
            "an example of zeros, which shows the shapes of the outputs of `{}` for a batch without examples",
            self.function
        );
        let of_zeros = catching_passes(|| no_grad(|| call(&self.zeros(), &what)));
        let Some(BatchOutputs { tensors, layout }) = of_zeros else {
            panic!("{what}: forward returned an error");
        };
        BatchOutputs::new(self.without_examples(tensors.into()), layout)
    }

    #[inline]
    fn map(self, function: &ExampleFn<'_>) -> Result<Vec<AnyTensor>, VmapError> {
        let shared = self.shared.iter();
        let shared = shared.filter_map(|(name, tensor)| {
            let key = Names::key(tensor.edge()?);
            Some((key, name.clone()))
        });
        let shared = shared.collect();
        let (mapped, inputs): (Vec<String>, Vec<AnyTensor>) = self.batched.into_iter().unzip();
        let call = VmapCall {
            function,
            axis: Axis(0),
            inputs: &inputs,
            count: self.count,
            names: Some(Names {
                function: self.function,
                mapped,
                shared,
            }),
            called_at: self.called_at,
        };
        call.run()
    }

    /// Returns an example of zeros.
    #[inline]
    fn zeros(&self) -> Vec<AnyTensor> {
        let example =
            |(_, tensor): &(String, AnyTensor)| tensor.zeros_of(&Shape::from(&tensor.shape()[1..]));
        self.batched.iter().map(example).collect()
    }

    /// Returns the outputs of a batch without examples, from those of any example.
    #[inline]
    fn without_examples(self, example: Vec<AnyTensor>) -> Vec<AnyTensor> {
        let stacked = |output: AnyTensor| {
            let shape = [&[0], output.shape()].concat();
            output.zeros_of(&Shape::from(&shape[..]))
        };
        let outputs = example.into_iter().map(stacked).collect();
        let inputs = self.batched.into_iter().chain(self.shared);
        let (names, inputs) = inputs.unzip();
        no_examples(self.function, names, inputs, outputs, self.called_at)
    }
}

impl BatchExample<'_> {
    /// Returns the example's part of the next input.
    ///
    /// # Panics
    /// If there is none: generated code reads the parts of the inputs that it gave.
    pub fn tensor<T: Element, D: Dimension>(&mut self) -> Tensor<T, D> {
        let part = self.0.next().expect("a part of each input");
        part.clone().into_typed()
    }

    /// Returns the example's parts of the next input, a list of this length.
    pub fn list<T: Element, D: Dimension>(&mut self, length: usize) -> Vec<Tensor<T, D>> {
        (0..length).map(|_| self.tensor()).collect()
    }
}

impl BatchOutputs {
    #[inline]
    fn new(tensors: Vec<AnyTensor>, layout: Vec<Layout>) -> Self {
        Self {
            tensors: tensors.into(),
            layout,
        }
    }

    /// Adds an output.
    pub fn push<T: Element, D: Dimension>(&mut self, name: &'static str, output: Tensor<T, D>) {
        self.layout.push(Layout(name, None));
        self.tensors.push_back(AnyTensor::new(output));
    }

    /// Adds an output that is a list.
    pub fn push_list<T: Element, D: Dimension>(
        &mut self,
        name: &'static str,
        list: Vec<Tensor<T, D>>,
    ) {
        self.layout.push(Layout(name, Some(list.len())));
        self.tensors.extend(list.into_iter().map(AnyTensor::new));
    }

    /// Takes the next output.
    ///
    /// # Panics
    /// If there is none: generated code takes the outputs that it pushed.
    pub fn tensor<T: Element, D: Dimension>(&mut self) -> Tensor<T, D> {
        self.tensors.pop_front().expect("an output").into_typed()
    }

    /// Takes the output `name`, which is a list.
    pub fn list<T: Element, D: Dimension>(&mut self, name: &str) -> Vec<Tensor<T, D>> {
        let list = self.layout.iter().find(|Layout(list, _)| *list == name);
        let length = list.and_then(|Layout(_, length)| *length).unwrap_or(0);
        (0..length).map(|_| self.tensor()).collect()
    }
}

impl fmt::Debug for BatchCall {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchCall")
            .field("function", &self.function)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// What examples return beside their tensors.
struct Collected<V, E> {
    layout: OnceLock<Vec<Layout>>,
    values: Mutex<Vec<(usize, V)>>,
    errors: Mutex<Vec<(usize, E)>>,
}

impl<V, E> Default for Collected<V, E> {
    fn default() -> Self {
        Self {
            layout: OnceLock::new(),
            values: Mutex::default(),
            errors: Mutex::default(),
        }
    }
}

impl<V, E> Collected<V, E> {
    /// Inserts the result of an example, and returns its tensors.
    fn insert(
        &self,
        example: usize,
        result: Result<(BatchOutputs, V), E>,
    ) -> Result<Vec<AnyTensor>, VmapError> {
        match result {
            Ok((BatchOutputs { tensors, layout }, value)) => {
                if *self.layout.get_or_init(|| layout.clone()) != layout {
                    return Err(VmapError::Lists);
                }
                locked(&self.values).push((example, value));
                Ok(tensors.into())
            }
            Err(error) => {
                locked(&self.errors).push((example, error));
                Err(VmapError::Returned { example })
            }
        }
    }

    /// Returns the stacked outputs, and the values in the order of the examples.
    fn finish(self, tensors: Vec<AnyTensor>) -> (BatchOutputs, Vec<V>) {
        let layout = self.layout.into_inner().unwrap_or_default();
        let mut values = self
            .values
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        values.sort_by_key(|(example, _)| *example);
        let values = values.into_iter().map(|(_, value)| value).collect();
        (BatchOutputs::new(tensors, layout), values)
    }

    /// Returns the error of an example.
    fn error(self, example: usize) -> ExampleError<E> {
        let errors = self
            .errors
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut errors = errors.into_iter();
        let error = errors.find(|(failed, _)| *failed == example);
        // INVARIANT: an example that fails has inserted its error.
        let (_, error) = error.expect("the error of the example");
        ExampleError { example, error }
    }

    /// Describes a mistake.
    fn text(&self, mistake: &VmapError) -> String {
        match mistake {
            VmapError::Shapes {
                example,
                output,
                expected,
                found,
            } => {
                let layout = self.layout.get().map_or(&[][..], Vec::as_slice);
                let output = output_name(layout, *output);
                format!(
                    "example {example} has {output} of shape {found}, others of shape {expected}"
                )
            }
            VmapError::Lists => "examples return lists of different lengths".to_owned(),
            // INVARIANT: the function returns its errors apart.
            VmapError::Error(_) | VmapError::Returned { .. } => unreachable!("no mistake"),
        }
    }
}

/// Returns the name of a tensor among the outputs.
#[inline]
fn output_name(layout: &[Layout], output: usize) -> String {
    let mut start = 0;
    for Layout(name, length) in layout {
        let end = start + length.unwrap_or(1);
        if output < end {
            return match length {
                Some(_) => format!("`{name}[{}]`", output - start),
                None => format!("`{name}`"),
            };
        }
        start = end;
    }
    "an output".to_owned()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while a lock is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
