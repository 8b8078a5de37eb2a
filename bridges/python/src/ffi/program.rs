//! Programs: a function with its values, derivatives of it, and axes of examples.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use pullback::AnyTensor;
use pullback::foreign::{Recording, along};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::abi::{Body, Frame, Kind, Operand, Target};
use super::examples::each_example;
use super::plain::{self, Plain};
use super::text::{Argument, Step, read};
use crate::argument::Value;
use crate::function::{Failed, Function};
use crate::marks::{among_all, chosen, spread};
use crate::output::Returned;
use crate::panics;
use crate::slots::Slots;

/// The functions of the module, by name.
static FUNCTIONS: RwLock<Option<HashMap<&'static str, &'static Function>>> = RwLock::new(None);

/// The most programs that are kept: a number is a part of its program, and may be another in each call.
const MOST: usize = 1024;

/// The programs that have run, by their texts.
static PROGRAMS: RwLock<Option<HashMap<Box<str>, Arc<Program>>>> = RwLock::new(None);

/// Adds a function of the module.
pub(crate) fn add(function: Py<Function>) {
    // A module lives as long as the process.
    let function: &'static Py<Function> = Box::leak(Box::new(function));
    let function = function.get();
    let mut functions = FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner);
    functions
        .get_or_insert_default()
        .insert(function.name, function);
}

/// A program of XLA.
pub(super) struct Program {
    function: &'static Function,
    slots: Slots,
    /// The lengths of the lists among the outputs.
    lengths: Vec<usize>,
    arguments: Vec<Argument>,
    /// The derivatives, without the examples.
    steps: Vec<Step>,
    /// The operands that have an axis of examples, the innermost one first.
    batches: Vec<Vec<bool>>,
    /// Whether all examples of the gradient are of the same operands: then the function runs once.
    runs_once: bool,
}

impl Body for Program {
    fn run(frame: Frame<'_>) -> Result<(), String> {
        let program = Self::of(frame.program)?;
        program.run(&frame.operands, frame.results)
    }
}

/// A recording of a function, of which a program has some inputs and outputs.
struct Recorded {
    recording: Recording,
    inputs: Vec<bool>,
    outputs: Vec<bool>,
    /// For each output of the program, whether the recording has it: it is a tensor that is not missing.
    tensors: Vec<bool>,
}

/// The output of one example.
enum Output {
    Returned(Returned),
    Tensor(AnyTensor),
    /// A gradient of an operand that no output depends on.
    Zeros,
}

impl Program {
    /// Returns the program of a text.
    fn of(text: &str) -> Result<Arc<Self>, String> {
        let programs = PROGRAMS.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.as_ref().and_then(|programs| programs.get(text)) {
            return Ok(program.clone());
        }
        drop(programs);
        let program = Arc::new(Self::read(text)?);
        let mut programs = PROGRAMS.write().unwrap_or_else(PoisonError::into_inner);
        let programs = programs.get_or_insert_default();
        if programs.len() >= MOST {
            programs.clear();
        }
        programs.insert(text.into(), program.clone());
        Ok(program)
    }

    fn read(text: &str) -> Result<Self, String> {
        let other = || format!("a program of another version of pullback: `{text}`");
        let text = read(text).ok_or_else(other)?;
        let functions = FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner);
        let function = functions.as_ref();
        let function = function.and_then(|functions| functions.get(text.name).copied());
        let function = function.ok_or_else(|| format!("no function `{}`", text.name))?;
        if text
            .lengths
            .iter()
            .any(|length| *length > text.arguments.len())
        {
            return Err(other());
        }
        let slots = Slots::of_lengths(function.entry.signature.inputs, &text.lengths);
        let slots = slots.filter(|slots| slots.len() == text.arguments.len());
        let slots = slots.ok_or_else(other)?;
        let is_operand = |argument: &&Argument| !matches!(argument, Argument::Value(_));
        let operands = text.arguments.iter().filter(is_operand);
        let tensors: Vec<bool> = operands
            .map(|argument| matches!(argument, Argument::Tensor))
            .collect();
        // Values are operands too, and have neither tangents nor gradients.
        let of_tensors = |marks: Vec<bool>| -> Vec<bool> {
            let marks = marks.into_iter().enumerate();
            let marks = marks.filter(|(place, _)| tensors.get(*place) != Some(&false));
            marks.map(|(_, mark)| mark).collect()
        };
        let (mut steps, mut batches) = (Vec::new(), Vec::new());
        for step in text.steps {
            match step {
                Step::Batched(marks) => batches.push(marks),
                _ if !batches.is_empty() => return Err(other()),
                Step::Tangent { given, needed } => steps.push(Step::Tangent {
                    given: of_tensors(given),
                    needed,
                }),
                Step::Gradient { given, needed } => steps.push(Step::Gradient {
                    given,
                    needed: of_tensors(needed),
                }),
            }
        }
        let runs_once = match steps.last() {
            Some(Step::Gradient { needed, .. }) => {
                let values = tensors.iter().filter(|is_tensor| !**is_tensor).count();
                let inputs = needed.len() + values;
                let mut marks = batches.iter().flat_map(|marks| marks.iter().take(inputs));
                !batches.is_empty() && !marks.any(|mark| *mark)
            }
            _ => false,
        };
        Ok(Self {
            function,
            slots,
            lengths: text.of_outputs,
            arguments: text.arguments,
            steps,
            batches,
            runs_once,
        })
    }

    fn run(&self, operands: &[Operand<'_>], results: Vec<Target<'_>>) -> Result<(), String> {
        let once = match self.steps.split_last() {
            Some((Step::Gradient { needed, .. }, of)) if self.runs_once => {
                let record = |values: &[Plain<'_>], mut tensors: Vec<AnyTensor>| {
                    tensors.truncate(needed.len());
                    self.record(of, values, tensors, needed)
                };
                Some(self.caught(operands, record)?)
            }
            _ => None,
        };
        let body = |operands: &[Operand<'_>], results: &mut [Target<'_>]| {
            let outputs = self.caught(operands, |values, tensors| {
                self.outputs(values, tensors, once.as_ref())
            })?;
            self.write(outputs, results)
        };
        each_example(&self.batches, operands, results, &body)
    }

    fn write(&self, outputs: Vec<Output>, results: &mut [Target<'_>]) -> Result<(), String> {
        if outputs.len() != results.len() {
            return Err(format!(
                "{}: {} outputs, and not {} as when the program was traced",
                self.function.name,
                outputs.len(),
                results.len()
            ));
        }
        for (output, result) in outputs.into_iter().zip(results) {
            let written = match output {
                Output::Tensor(tensor) | Output::Returned(Returned::Tensor(tensor)) => {
                    write(&tensor, result)
                }
                Output::Returned(Returned::Value(value)) => value.copy_to(result),
                // As when the program was traced: see `MISSING` of `xla`.
                Output::Returned(Returned::Missing) if result.bytes().is_empty() => Ok(()),
                Output::Returned(Returned::Missing) => {
                    Err("an output is missing, and was not when the program was traced".to_owned())
                }
                Output::Zeros => {
                    result.bytes().fill(0);
                    Ok(())
                }
            };
            written.map_err(|text| format!("{}: {text}", self.function.name))?;
        }
        Ok(())
    }

    /// Calls `body` with the values and tensors among the operands, and converts its panics to errors.
    fn caught<R>(
        &self,
        operands: &[Operand<'_>],
        body: impl FnOnce(&[Plain<'_>], Vec<AnyTensor>) -> Result<R, Failed>,
    ) -> Result<R, String> {
        let (mut values, mut tensors) = (Vec::new(), Vec::with_capacity(operands.len()));
        let arguments = self.arguments.iter();
        let mut arguments = arguments.filter(|argument| !matches!(argument, Argument::Value(_)));
        for operand in operands {
            match arguments.next() {
                Some(Argument::Operand) => values.push(Plain::Array(operand.clone())),
                _ => tensors.push(tensor(operand)?),
            }
        }
        let result = panics::caught(|| body(&values, tensors));
        let result = result.map_err(|panic| match self.steps[..] {
            [] => self.function.panicked(self.shapes(operands), &panic),
            _ => format!("backward of {}: {panic}", self.function.name),
        });
        result?.map_err(|failed| {
            Python::attach(|py| self.function.failed(py, failed).value(py).to_string())
        })
    }

    /// Returns the names and shapes of the tensors, for errors.
    fn shapes<'o>(
        &'o self,
        operands: &'o [Operand<'_>],
    ) -> impl Iterator<Item = (&'o str, &'o [usize])> {
        let slots = self.slots.iter().zip(&self.arguments);
        let slots = slots.filter(|(_, argument)| !matches!(argument, Argument::Value(_)));
        let slots = slots.zip(operands);
        let slots = slots.filter(|((_, argument), _)| matches!(argument, Argument::Tensor));
        slots.map(|((slot, _), operand)| (&*slot.name, operand.shape()))
    }

    fn outputs(
        &self,
        values: &[Plain<'_>],
        tensors: Vec<AnyTensor>,
        once: Option<&Recorded>,
    ) -> Result<Vec<Output>, Failed> {
        if self.steps.is_empty() {
            let mut returned = Vec::new();
            let requires_grad = vec![false; tensors.len()];
            Recording::run(tensors, &requires_grad, |tensors| {
                returned = self.call(values, tensors)?;
                Ok::<_, Failed>(Vec::new())
            })?;
            return Ok(returned.into_iter().map(Output::Returned).collect());
        }
        let derivatives = match (once, self.steps.last()) {
            (Some(recorded), Some(Step::Gradient { given, needed })) => {
                let grads = tensors.into_iter().skip(needed.len());
                recorded.gradients(given, needed, grads)
            }
            _ => self.derivatives(&self.steps, values, tensors),
        };
        let derivatives = derivatives?.into_iter();
        let outputs = derivatives.map(|tensor| tensor.map_or(Output::Zeros, Output::Tensor));
        Ok(outputs.collect())
    }

    /// Calls the function.
    fn call(&self, values: &[Plain<'_>], tensors: &[AnyTensor]) -> Result<Vec<Returned>, Failed> {
        let (mut values, mut places) = (values.iter(), 0..tensors.len());
        let mut first = None;
        let slots = self.slots.iter().zip(&self.arguments);
        let given = slots.map(|(slot, argument)| match argument {
            Argument::Tensor => {
                let place = places.next();
                first = first.or_else(|| Some((&*slot.name, tensors[place?].element_type())));
                Value::Tensor(place)
            }
            Argument::Value(Plain::None) if slot.input.tensor => Value::Tensor(None),
            Argument::Value(value) => Value::Plain(value),
            Argument::Operand => Value::Plain(values.next().unwrap_or(&Plain::None)),
        });
        let given = self.slots.given(given);
        let prepared = (self.function.variant(first)?.prepare)(&given)?;
        let returned = prepared(tensors)?;
        let when = "when the program was traced";
        let text = self
            .function
            .other_lengths(&returned.lengths, &self.lengths, when);
        text.map_or(Ok(returned.each), |text| {
            Err(PyValueError::new_err(text).into())
        })
    }

    /// Returns the outputs of the last step that are needed; `None` for a gradient of zeros, and for an output of the
    /// function that is not a tensor or is missing.
    fn derivatives(
        &self,
        steps: &[Step],
        values: &[Plain<'_>],
        mut tensors: Vec<AnyTensor>,
    ) -> Result<Vec<Option<AnyTensor>>, Failed> {
        match steps.split_last() {
            Some((Step::Tangent { given, needed }, of)) => {
                let tangents = tensors.split_off(given.len());
                let tangents = spread(given, tangents);
                let mut there = Vec::new();
                let run = |tensors: &[AnyTensor]| {
                    let outputs = self.derivatives(of, values, tensors.to_vec())?;
                    there = outputs.iter().map(Option::is_some).collect();
                    Ok(outputs.into_iter().flatten().collect())
                };
                let (_, found) = along::<Failed>(tensors, tangents, run)?;
                Ok(chosen(needed, spread(&there, found)).collect())
            }
            Some((Step::Gradient { given, needed }, of)) => {
                let grads = tensors.split_off(needed.len());
                let recorded = self.record(of, values, tensors, needed)?;
                recorded.gradients(given, needed, grads.into_iter())
            }
            _ => {
                let returned = self.call(values, &tensors)?.into_iter();
                let tensors = returned.map(|output| match output {
                    Returned::Tensor(tensor) => Some(tensor),
                    Returned::Missing | Returned::Value(_) => None,
                });
                Ok(tensors.collect())
            }
        }
    }

    /// Runs the function of some steps and records it.
    fn record(
        &self,
        steps: &[Step],
        values: &[Plain<'_>],
        mut tensors: Vec<AnyTensor>,
        requires_grad: &[bool],
    ) -> Result<Recorded, Failed> {
        if let Some((Step::Gradient { given, needed }, of)) = steps.split_last() {
            let grads = tensors.split_off(needed.len());
            let all = vec![true; tensors.len()];
            let recorded = self.record(of, values, tensors, &all)?;
            let grads = recorded.grads(given, grads);
            let needed = among_all(&recorded.inputs, needed);
            let known = grads.iter().map(Option::is_some);
            let inputs = recorded.inputs.iter().copied().chain(known).collect();
            let (recording, _) = recorded.recording.record_gradients(grads, &needed)?;
            return Ok(Recorded {
                recording,
                inputs,
                tensors: needed.iter().filter(|needed| **needed).copied().collect(),
                outputs: needed,
            });
        }
        let inputs = vec![true; tensors.len()];
        let mut there = Vec::new();
        let run = |tensors: &[AnyTensor]| {
            let outputs = self.derivatives(steps, values, tensors.to_vec())?;
            there = outputs.iter().map(Option::is_some).collect();
            Ok::<_, Failed>(outputs.into_iter().flatten().collect())
        };
        let (recording, outputs) = Recording::run(tensors, requires_grad, run)?;
        Ok(Recorded {
            recording,
            inputs,
            outputs: vec![true; outputs.len()],
            tensors: there,
        })
    }
}

impl Recorded {
    /// Returns the gradients of the outputs of the recording, from those that `given` marks among the outputs of the
    /// program.
    fn grads(
        &self,
        given: &[bool],
        grads: impl IntoIterator<Item = AnyTensor>,
    ) -> Vec<Option<AnyTensor>> {
        let grads = chosen(&self.tensors, spread(given, grads));
        let grads = spread(&self.outputs, grads).into_iter();
        grads.map(Option::flatten).collect()
    }

    /// Returns the gradients of the inputs that `needed` marks, from those of the outputs that `given` marks.
    fn gradients(
        &self,
        given: &[bool],
        needed: &[bool],
        grads: impl Iterator<Item = AnyTensor>,
    ) -> Result<Vec<Option<AnyTensor>>, Failed> {
        let needed = among_all(&self.inputs, needed);
        let found = self
            .recording
            .gradients(self.grads(given, grads), &needed)?;
        Ok(chosen(&needed, found).collect())
    }
}

fn tensor(operand: &Operand<'_>) -> Result<AnyTensor, String> {
    let tensor = match operand.kind() {
        Kind::F32 => operand.tensor::<f32>().map(AnyTensor::from),
        _ => operand.tensor::<f64>().map(AnyTensor::from),
    };
    tensor.ok_or_else(|| format!("a tensor of {:?}", operand.kind()))
}

fn write(tensor: &AnyTensor, to: &mut Target<'_>) -> Result<(), String> {
    match tensor {
        AnyTensor::F32(tensor) => plain::write(&tensor.view(), to),
        AnyTensor::F64(tensor) => plain::write(&tensor.view(), to),
    }
}
