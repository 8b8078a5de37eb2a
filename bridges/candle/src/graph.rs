//! A run of a function as an operation of candle's graph.
//!
//! Candle's operations have one result and up to three arguments. More inputs are joined, by candle's own operations, to
//! one argument for each element type; several outputs are parts of one result in the same way.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp3, DType, Error, Layout, Result, Shape, Tensor};
use pullback::{AnyTensor, ElementType};
use pullback::foreign::Recording;

use crate::{caught, memory};

/// Whether candle keeps the history of gradients, so that they can be differentiated: it reads the same variable.
static GRADIENTS_HAVE_HISTORY: LazyLock<bool> = LazyLock::new(|| {
    std::env::var("CANDLE_GRAD_DO_NOT_DETACH").is_ok_and(|value| !value.is_empty() && value != "0")
});

/// A run, and where candle has its inputs and outputs.
struct Run {
    recording: Recording,
    /// Of each input.
    requires_grad: Vec<bool>,
    /// The inputs that require grad.
    tracked: Vec<Tensor>,
    /// How many there are.
    outputs: usize,
    /// The outputs of `f32` and of `f64` that require grad.
    results: [Vec<Output>; 2],
}

/// An output: its place among them, and its shape.
struct Output {
    place: usize,
    shape: Shape,
}

/// What candle holds: an operation whose result is the outputs of one element type.
struct Operation {
    run: Arc<Run>,
    /// Which of the results.
    group: usize,
    /// What forward computed, until candle asks for it.
    value: Mutex<Option<(CpuStorage, Shape)>>,
}

/// Puts a run into candle's graph, behind those of its inputs that candle has gradients for. Returns its outputs there.
pub(crate) fn attach(
    recording: Recording,
    requires_grad: Vec<bool>,
    tracked: Vec<Tensor>,
    mut outputs: Vec<Option<AnyTensor>>,
) -> Result<Vec<Option<Tensor>>> {
    let mut attached = vec![None; outputs.len()];
    let mut results = [vec![], vec![]];
    for (place, slot) in outputs.iter_mut().enumerate() {
        let Some(output) = slot else { continue };
        if recording.requires_grad(place) {
            let shape = Shape::from(output.shape());
            let group = usize::from(output.element_type() == ElementType::F64);
            results[group].push(Output { place, shape });
        } else {
            attached[place] = slot.take().map(memory::write);
        }
    }
    let run = Arc::new(Run {
        recording,
        requires_grad,
        tracked,
        outputs: outputs.len(),
        results,
    });
    let arguments = at_most_three(&run.tracked)?;
    for (group, result) in run.results.iter().enumerate() {
        let shape = match &result[..] {
            [] => continue,
            [only] => only.shape.clone(),
            several => Shape::from(lengths(several).sum::<usize>()),
        };
        let values = result.iter().filter_map(|of| outputs[of.place].take());
        let operation = Operation {
            run: Arc::clone(&run),
            group,
            value: Mutex::new(Some((memory::join(values), shape))),
        };
        // Those that are missing are the first once more, without a gradient.
        // INVARIANT: an output that requires grad has an input that does.
        let argument = |place: usize| arguments.get(place).unwrap_or(&arguments[0]);
        let joined = argument(0).apply_op3(argument(1), argument(2), operation)?;
        for (output, tensor) in result.iter().zip(split(joined, result)?) {
            attached[output.place] = Some(tensor);
        }
    }
    Ok(attached)
}

/// As many as an operation of candle has. If there are more, those of one element type are joined.
fn at_most_three(tensors: &[Tensor]) -> Result<Cow<'_, [Tensor]>> {
    if tensors.len() <= 3 {
        return Ok(tensors.into());
    }
    let (single, double): (Vec<Tensor>, Vec<_>) = tensors
        .iter()
        .cloned()
        .partition(|tensor| tensor.dtype() == DType::F32);
    let groups = [single, double].into_iter();
    let groups = groups.filter(|group| !group.is_empty());
    groups.map(|group| join(&group)).collect()
}

/// The elements of tensors one after the other.
fn join(tensors: &[Tensor]) -> Result<Tensor> {
    let flat = tensors.iter().map(Tensor::flatten_all);
    Tensor::cat(&flat.collect::<Result<Vec<_>>>()?, 0)
}

fn lengths(outputs: &[Output]) -> impl Iterator<Item = usize> {
    outputs.iter().map(|output| output.shape.elem_count())
}

/// Of one tensor as it is, of several in the order in which they were joined.
fn split(tensor: Tensor, outputs: &[Output]) -> Result<Vec<Tensor>> {
    if let [_] = outputs {
        return Ok(vec![tensor]);
    }
    let flat = tensor.flatten_all()?;
    let mut start = 0;
    let pieces = outputs.iter().zip(lengths(outputs));
    let pieces = pieces.map(|(output, length)| {
        let piece = flat.narrow(0, start, length)?.reshape(&output.shape);
        start += length;
        piece
    });
    pieces.collect()
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
        let grads = self.gradients(grad_result)?;
        let grads = at_most_three(&grads)?;
        let grad = |place: usize| grads.get(place).cloned();
        Ok((grad(0), grad(1), grad(2)))
    }
}

impl Operation {
    /// The gradients of the inputs that require grad: zeros for one that does not take part, as candle's own operations
    /// have it.
    fn gradients(&self, grad_result: &Tensor) -> Result<Vec<Tensor>> {
        let (run, result) = (&*self.run, &self.run.results[self.group]);
        let mut grad_outputs = vec![None; run.outputs];
        let pieces = split(grad_result.clone(), result)?;
        for (output, grad) in result.iter().zip(&pieces) {
            let grad = memory::read(grad);
            let grad = grad.map_err(|found| Error::msg(format!("the gradient is {found}")))?;
            grad_outputs[output.place] = Some(grad);
        }
        let needed = &run.requires_grad;
        let shapes = result.iter().map(|output| output.shape.dims());
        let grads = if *GRADIENTS_HAVE_HISTORY {
            let again = || run.recording.record_gradients(grad_outputs, needed);
            let (recording, grads) = caught("backward", shapes, again)?;
            // The inputs of the new run: those of this one, and then the gradients.
            let mut requires_grad = needed.clone();
            requires_grad.resize(needed.len() + run.outputs, false);
            let mut tracked = run.tracked.clone();
            if grad_result.track_op() {
                for output in result {
                    requires_grad[needed.len() + output.place] = true;
                }
                tracked.extend(pieces);
            }
            attach(recording, requires_grad, tracked, grads)?
        } else {
            let grads = || run.recording.gradients(grad_outputs, needed);
            let grads = caught("backward", shapes, grads)?.into_iter();
            grads.map(|grad| grad.map(memory::write)).collect()
        };
        let grads = grads.into_iter().zip(needed);
        let grads = grads.filter_map(|(grad, needed)| needed.then_some(grad));
        let grads = grads.zip(&run.tracked).map(|(grad, input)| match grad {
            Some(grad) => Ok(grad),
            None => input.zeros_like(),
        });
        grads.collect()
    }
}
