//! Operations of candle's graph whose backward is a recording.
//!
//! Candle's operations have one result and up to three arguments. More inputs are joined, by candle's own operations,
//! to one argument for each element type; several outputs of one element type are parts of one result.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp3, DType, Error, Layout, Result, Shape, Tensor};
use pullback::foreign::Recording;
use pullback::{AnyTensor, ElementType};

use crate::{caught, memory};

/// Whether gradients have a history, so that they can be differentiated: candle's own variable.
static GRADIENTS_HAVE_HISTORY: LazyLock<bool> = LazyLock::new(|| {
    std::env::var("CANDLE_GRAD_DO_NOT_DETACH").is_ok_and(|value| !value.is_empty() && value != "0")
});

/// A recording with its inputs and outputs in candle, shared by its operations.
struct Shared {
    recording: Recording,
    /// For each input.
    requires_grad: Vec<bool>,
    /// The inputs that require grad.
    tracked: Vec<Tensor>,
    /// The number of outputs.
    outputs: usize,
    /// The outputs of `f32` and of `f64` that require grad.
    results: [Vec<Output>; 2],
}

/// An output: its index and its shape.
struct Output {
    index: usize,
    shape: Shape,
}

/// An operation of candle whose result is the outputs of one element type.
struct Operation {
    shared: Arc<Shared>,
    /// The index of the result.
    group: usize,
    /// The value of the result, until `cpu_fwd` returns it.
    value: Mutex<Option<(CpuStorage, Shape)>>,
}

/// Adds a recording to candle's graph, as operations on the `tracked` inputs. Returns the outputs in candle.
pub(crate) fn attach(
    recording: Recording,
    requires_grad: Vec<bool>,
    tracked: Vec<Tensor>,
    mut outputs: Vec<Option<AnyTensor>>,
) -> Result<Vec<Option<Tensor>>> {
    let mut attached = vec![None; outputs.len()];
    let mut results = [vec![], vec![]];
    for (index, slot) in outputs.iter_mut().enumerate() {
        let Some(output) = slot else { continue };
        if recording.requires_grad(index) {
            let shape = Shape::from(output.shape());
            let group = usize::from(output.element_type() == ElementType::F64);
            results[group].push(Output { index, shape });
        } else {
            attached[index] = slot.take().map(memory::write);
        }
    }
    let shared = Arc::new(Shared {
        recording,
        requires_grad,
        tracked,
        outputs: outputs.len(),
        results,
    });
    let arguments = at_most_three(&shared.tracked)?;
    for (group, result) in shared.results.iter().enumerate() {
        let shape = match &result[..] {
            [] => continue,
            [only] => only.shape.clone(),
            several => Shape::from(lengths(several).sum::<usize>()),
        };
        let values = result
            .iter()
            .filter_map(|output| outputs[output.index].take());
        let operation = Operation {
            shared: Arc::clone(&shared),
            group,
            value: Mutex::new(Some((memory::join(values), shape))),
        };
        // A missing argument is the first one again, without a gradient.
        // INVARIANT: an output that requires grad has an input that does.
        let argument = |index: usize| arguments.get(index).unwrap_or(&arguments[0]);
        let joined = argument(0).apply_op3(argument(1), argument(2), operation)?;
        for (output, tensor) in result.iter().zip(split(joined, result)?) {
            attached[output.index] = Some(tensor);
        }
    }
    Ok(attached)
}

/// Returns at most three tensors for the arguments of an operation. If there are more, those of one element type are
/// joined.
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

/// Concatenates the elements of tensors.
fn join(tensors: &[Tensor]) -> Result<Tensor> {
    let flat = tensors.iter().map(Tensor::flatten_all);
    Tensor::cat(&flat.collect::<Result<Vec<_>>>()?, 0)
}

fn lengths(outputs: &[Output]) -> impl Iterator<Item = usize> {
    outputs.iter().map(|output| output.shape.elem_count())
}

/// Splits a result into its outputs.
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
        let grad = |index: usize| grads.get(index).cloned();
        Ok((grad(0), grad(1), grad(2)))
    }
}

impl Operation {
    /// Returns the gradients of the inputs that require grad: zeros for an unused input, as candle's own operations do.
    fn gradients(&self, grad_result: &Tensor) -> Result<Vec<Tensor>> {
        let (shared, result) = (&*self.shared, &self.shared.results[self.group]);
        let mut grad_outputs = vec![None; shared.outputs];
        let pieces = split(grad_result.clone(), result)?;
        for (output, grad) in result.iter().zip(&pieces) {
            let grad = memory::read(grad);
            let grad = grad.map_err(|found| Error::msg(format!("the gradient is {found}")))?;
            grad_outputs[output.index] = Some(grad);
        }
        let needed = &shared.requires_grad;
        let shapes = result.iter().map(|output| output.shape.dims());
        let grads = if *GRADIENTS_HAVE_HISTORY {
            let again = || shared.recording.record_gradients(grad_outputs, needed);
            let (recording, grads) = caught("backward", shapes, again)?;
            // The inputs of the new recording: those of this one, and then the gradients.
            let mut requires_grad = needed.clone();
            requires_grad.resize(needed.len() + shared.outputs, false);
            let mut tracked = shared.tracked.clone();
            if grad_result.track_op() {
                for output in result {
                    requires_grad[needed.len() + output.index] = true;
                }
                tracked.extend(pieces);
            }
            attach(recording, requires_grad, tracked, grads)?
        } else {
            let grads = || shared.recording.gradients(grad_outputs, needed);
            let grads = caught("backward", shapes, grads)?.into_iter();
            grads.map(|grad| grad.map(memory::write)).collect()
        };
        let grads = grads.into_iter().zip(needed);
        let grads = grads.filter_map(|(grad, needed)| needed.then_some(grad));
        let grads = grads.zip(&shared.tracked).map(|(grad, input)| match grad {
            Some(grad) => Ok(grad),
            None => input.zeros_like(),
        });
        grads.collect()
    }
}
