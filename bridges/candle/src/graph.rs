//! A run of a function as an operation of candle's graph.
//!
//! Candle's operations have one result and up to three arguments. More inputs are joined, by candle's own operations, to
//! one argument for each element type; several outputs are parts of one result in the same way.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp3, DType, Device, Error, Layout, Result, Shape, Tensor};
use pullback::AnyTensor;
use pullback::foreign::Recording;

use crate::{caught, memory};

/// Whether candle keeps the history of gradients, so that they can be differentiated: it reads the same variable.
static GRADIENTS_HAVE_HISTORY: LazyLock<bool> = LazyLock::new(|| {
    std::env::var("CANDLE_GRAD_DO_NOT_DETACH").is_ok_and(|value| !value.is_empty() && value != "0")
});

/// An input or an output of a run: its place among them, and its shape.
#[derive(Clone)]
struct Part {
    place: usize,
    shape: Shape,
}

/// A tensor of candle that is one part, or holds several one after the other on its only axis.
#[derive(Clone)]
pub(crate) struct Argument {
    tensor: Tensor,
    parts: Vec<Part>,
}

impl Argument {
    pub(crate) fn new(place: usize, tensor: Tensor) -> Self {
        let shape = tensor.shape().clone();
        let parts = vec![Part { place, shape }];
        Self { tensor, parts }
    }
}

/// A run, and where candle has its inputs and outputs.
struct Run {
    recording: Recording,
    /// Of each input.
    requires_grad: Vec<bool>,
    /// What candle has gradients for.
    arguments: Vec<Argument>,
    /// How many there are.
    outputs: usize,
    /// The outputs of `f32` and of `f64` that require grad.
    results: [Vec<Part>; 2],
}

/// What candle holds: an operation whose result is the outputs of one element type.
struct Operation {
    run: Arc<Run>,
    /// Which of the results.
    group: usize,
    /// What forward computed, until candle asks for it.
    value: Mutex<Option<(CpuStorage, Shape)>>,
}

/// Puts a run of so many inputs into candle's graph, behind those that it has gradients for. Returns its outputs there.
pub(crate) fn attach(
    recording: Recording,
    inputs: usize,
    arguments: Vec<Argument>,
    outputs: Vec<Option<AnyTensor>>,
) -> Result<Vec<Option<Tensor>>> {
    let mut requires_grad = vec![false; inputs];
    for part in arguments.iter().flat_map(|argument| &argument.parts) {
        requires_grad[part.place] = true;
    }
    let mut attached = vec![None; outputs.len()];
    let (mut results, mut values) = ([vec![], vec![]], [vec![], vec![]]);
    for (place, output) in outputs.into_iter().enumerate() {
        let Some(output) = output else { continue };
        if recording.requires_grad(place) {
            let group = usize::from(output.element() == "f64");
            let shape = Shape::from(output.shape());
            results[group].push(Part { place, shape });
            values[group].push(output);
        } else {
            attached[place] = Some(memory::write(output));
        }
    }
    let run = Arc::new(Run {
        recording,
        requires_grad,
        arguments: at_most_three(arguments)?,
        outputs: attached.len(),
        results,
    });
    for (group, values) in values.into_iter().enumerate() {
        let result = &run.results[group];
        let lengths = result.iter().map(|part| part.shape.elem_count());
        let shape = match &result[..] {
            [] => continue,
            [only] => only.shape.clone(),
            _ => Shape::from(lengths.sum::<usize>()),
        };
        let operation = Operation {
            run: Arc::clone(&run),
            group,
            value: Mutex::new(Some((memory::join(values), shape))),
        };
        // Those that are missing are the first once more, without a gradient.
        // INVARIANT: an output that requires grad has an input that does.
        let arguments = &run.arguments;
        let tensor = |place: usize| &arguments.get(place).unwrap_or(&arguments[0]).tensor;
        let joined = tensor(0).apply_op3(tensor(1), tensor(2), operation)?;
        for (part, tensor) in result.iter().zip(split(&joined, result)?) {
            attached[part.place] = Some(tensor);
        }
    }
    Ok(attached)
}

/// Joins arguments by their element types, if there are too many for an operation of candle.
fn at_most_three(arguments: Vec<Argument>) -> Result<Vec<Argument>> {
    if arguments.len() <= 3 {
        return Ok(arguments);
    }
    let (single, double): (Vec<Argument>, _) = arguments
        .into_iter()
        .partition(|of| of.tensor.dtype() == DType::F32);
    let groups = [single, double]
        .into_iter()
        .filter(|group| !group.is_empty());
    let joined = groups.map(|group| {
        let (tensors, parts): (Vec<Tensor>, Vec<_>) =
            group.into_iter().map(|of| (of.tensor, of.parts)).unzip();
        let tensor = join(&tensors)?;
        Ok(Argument {
            tensor,
            parts: parts.concat(),
        })
    });
    joined.collect()
}

/// One tensor as it is, several one after the other.
fn join(tensors: &[Tensor]) -> Result<Tensor> {
    if let [only] = tensors {
        return Ok(only.clone());
    }
    let flat = tensors.iter().map(Tensor::flatten_all);
    Tensor::cat(&flat.collect::<Result<Vec<_>>>()?, 0)
}

/// What was joined.
fn split(tensor: &Tensor, parts: &[Part]) -> Result<Vec<Tensor>> {
    if let [_] = parts {
        return Ok(vec![tensor.clone()]);
    }
    let flat = tensor.flatten_all()?;
    let mut start = 0;
    let parts = parts.iter().map(|part| {
        let length = part.shape.elem_count();
        let piece = flat.narrow(0, start, length)?.reshape(&part.shape);
        start += length;
        piece
    });
    parts.collect()
}

impl CustomOp3 for Operation {
    fn name(&self) -> &'static str {
        "pullback"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        // INVARIANT: an operation is applied once, in `attach`.
        Ok(value.take().expect("an operation that was not applied"))
    }

    fn bwd(
        &self,
        _: &Tensor,
        _: &Tensor,
        _: &Tensor,
        _: &Tensor,
        grad_result: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let mut grads = self.gradients(grad_result)?.into_iter();
        Ok((grads.next(), grads.next(), grads.next()))
    }
}

impl Operation {
    /// The gradient of each argument: zeros for an input that does not take part, as candle's own operations have it.
    fn gradients(&self, grad_result: &Tensor) -> Result<Vec<Tensor>> {
        let (run, result) = (&*self.run, &self.run.results[self.group]);
        let mut grad_outputs = vec![None; run.outputs];
        let grads = split(&grad_result.detach(), result)?;
        for (part, grad) in result.iter().zip(grads) {
            let grad = memory::read(&grad);
            let grad = grad.map_err(|found| Error::msg(format!("the gradient is {found}")))?;
            grad_outputs[part.place] = Some(grad);
        }
        let needed = &run.requires_grad;
        let shapes = result.iter().map(|part| part.shape.dims());
        let mut grads = if *GRADIENTS_HAVE_HISTORY {
            let again = || run.recording.record_gradients(grad_outputs, needed);
            let (recording, grads) = caught("backward", shapes, again)?;
            // The inputs of the new run: those of this one, and then the gradients.
            let mut inputs = run.arguments.clone();
            if grad_result.track_op() {
                let mut parts = result.clone();
                for part in &mut parts {
                    part.place += needed.len();
                }
                let tensor = grad_result.clone();
                inputs.push(Argument { tensor, parts });
            }
            attach(recording, needed.len() + run.outputs, inputs, grads)?
        } else {
            let grads = || run.recording.gradients(grad_outputs, needed);
            let grads = caught("backward", shapes, grads)?.into_iter();
            grads.map(|grad| grad.map(memory::write)).collect()
        };
        let grads = run.arguments.iter().map(|argument| {
            let (dtype, parts) = (argument.tensor.dtype(), argument.parts.iter());
            let parts = parts.map(|part| match grads[part.place].take() {
                Some(grad) => Ok(grad),
                None => Tensor::zeros(&part.shape, dtype, &Device::Cpu),
            });
            join(&parts.collect::<Result<Vec<_>>>()?)
        });
        grads.collect()
    }
}
