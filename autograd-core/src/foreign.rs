//! Functions of this library in the graph of another framework.
//!
//! A *recording* is the tape of one call of a function, from its outputs to its inputs. The node of the other
//! framework holds a [`Recording`] in place of saved tensors, and gets the gradients from it when its backward is
//! called. If the framework differentiates those gradients again, [`record_gradients`] returns a recording of their
//! computation.
//!
//! [`Tensor::from_owner`](crate::Tensor::from_owner) makes a tensor of the framework's memory without a copy.
//!
//! [`record_gradients`]: Recording::record_gradients

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::{fmt, mem};

use ndarray::Dimension;

#[doc(hidden)]
pub use crate::erased::each_tuple;
pub use crate::error::panic::with_shapes;

use crate::engine;
use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::error::{Error, ErrorKind};
use crate::forward_mode::{failure, known, outputs_along};
use crate::recording::{self, as_input, as_inputs, or_zeros};
use crate::tape::Edge;
use crate::tensor::Tensor;
use crate::thread::{enable_grad, is_grad_enabled, with_grad_mode};
use autograd_kernels::{Element, ElementType, Shape};

/// The tape of one call of a function on tensors of another framework.
///
/// A recording holds the values that functions saved for their backward, but no other inputs and outputs. It can be
/// sent to and shared between threads; dropping it frees everything.
///
/// ```
/// use pullback::foreign::Recording;
/// use pullback::ndarray::array;
/// use pullback::{AnyTensor, Error, Tensor1};
///
/// // y = x³, for a vector of the framework.
/// let cube = |x: &Tensor1<f64>| x * x * x;
/// let x = AnyTensor::from(array![1.0, 2.0]);
/// let (recording, outputs) = Recording::of(cube, vec![x], &[true])?;
/// assert_eq!(value(&outputs[0]), [1.0, 8.0]);
///
/// // The backward of the framework's node.
/// let ones = || Some(AnyTensor::from(array![1.0, 1.0]));
/// let grads = recording.gradients(vec![ones()], &[true])?;
/// assert_eq!(value(grads[0].as_ref().unwrap()), [3.0, 12.0]);
///
/// // The gradients as a recording, whose inputs are `x` and the gradient of `y`.
/// let (again, grads) = recording.record_gradients(vec![ones()], &[true])?;
/// assert_eq!(value(grads[0].as_ref().unwrap()), [3.0, 12.0]);
/// let second = again.gradients(vec![ones()], &[true, true])?;
/// assert_eq!(value(second[0].as_ref().unwrap()), [6.0, 12.0]); // 6x
/// assert_eq!(value(second[1].as_ref().unwrap()), [3.0, 12.0]); // 3x²
///
/// fn value(tensor: &AnyTensor) -> Vec<f64> {
///     tensor.to_tensor::<f64>().unwrap().to_array().into_iter().collect()
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct Recording {
    inputs: Vec<Option<Edge>>,
    /// `None` for an output without a history.
    outputs: Vec<Option<Output>>,
    recorded_at: &'static Location<'static>,
}

/// The edge of an output, with the type and shape of its gradients.
struct Output {
    edge: Edge,
    element_type: ElementType,
    shape: Shape,
}

impl Output {
    fn of(tensor: &AnyTensor) -> Option<Self> {
        Some(Self {
            edge: tensor.edge()?.clone(),
            element_type: tensor.element_type(),
            shape: Shape::from(tensor.shape()),
        })
    }
}

impl Recording {
    /// Calls a function of typed tensors, and records what depends on the inputs with a `true` in `requires_grad`.
    /// Without one, nothing is recorded. A list among the function's parameters takes all remaining tensors.
    ///
    /// # Errors
    /// If the function does not take this number of inputs, or takes another element type or rank.
    ///
    /// # Panics
    /// If `requires_grad` is not as long as `inputs`, and if the function panics.
    ///
    /// ```
    /// use pullback::foreign::Recording;
    /// use pullback::ndarray::{arr0, array};
    /// use pullback::{AnyTensor, ErrorKind, Tensor0, Tensor1};
    ///
    /// let scaled = |(x, factor): (&Tensor1<f32>, &Tensor0<f32>)| x * factor;
    /// let inputs = vec![AnyTensor::from(array![1.0_f32, 2.0]), arr0(3.0_f32).into()];
    /// let (recording, outputs) = Recording::of(scaled, inputs, &[true, false])?;
    /// assert_eq!(outputs[0].shape(), [2]);
    /// assert!(recording.requires_grad(0));
    ///
    /// let error = Recording::of(scaled, vec![array![1.0, 2.0].into(), arr0(3.0_f32).into()], &[true, true]);
    /// assert_eq!(
    ///     error.unwrap_err().to_string(),
    ///     "input 0 is a tensor of f64 of rank 1; the function takes one of f32 of rank 1"
    /// );
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn of<M, F: TensorFunction<M>>(
        function: F,
        inputs: Vec<AnyTensor>,
        requires_grad: &[bool],
    ) -> Result<(Self, Vec<AnyTensor>), Error> {
        Self::run(inputs, requires_grad, |inputs| {
            let found = inputs.len();
            let mut inputs = inputs.iter().cloned().enumerate();
            let inputs = match TensorsOf::<M, F>::check(&mut inputs) {
                Some(Ok(typed)) if inputs.next().is_none() => typed,
                Some(Err(kind)) => return Err(Error::new(kind)),
                _ => {
                    let expected = TensorsOf::<M, F>::SINGLE;
                    return Err(Error::new(ErrorKind::InputCount { expected, found }));
                }
            };
            Ok(function.call(F::Inputs::refs(&inputs)).into_erased())
        })
    }

    /// Calls a function of tensors of any types, and records it like [`of`](Self::of). Its errors are returned.
    ///
    /// # Panics
    /// If `requires_grad` is not as long as `inputs`, and if the function panics.
    ///
    /// ```
    /// use pullback::foreign::Recording;
    /// use pullback::ndarray::array;
    /// use pullback::{AnyTensor, Error};
    ///
    /// let (recording, outputs) = Recording::run(vec![array![1.0, 2.0].into()], &[true], |inputs| {
    ///     let x = inputs[0].to_tensor::<f64>().ok_or("expected f64")?;
    ///     Ok::<_, &str>(vec![AnyTensor::from(&x * 2.0), AnyTensor::from(array![0.0])])
    /// }).unwrap();
    /// assert_eq!((recording.requires_grad(0), recording.requires_grad(1)), (true, false));
    /// ```
    #[track_caller]
    pub fn run<E>(
        inputs: Vec<AnyTensor>,
        requires_grad: &[bool],
        function: impl FnOnce(&[AnyTensor]) -> Result<Vec<AnyTensor>, E>,
    ) -> Result<(Self, Vec<AnyTensor>), E> {
        assert!(
            inputs.len() == requires_grad.len(),
            "a recording of {} inputs, with {} of `requires_grad`",
            inputs.len(),
            requires_grad.len()
        );
        let recorded_at = Location::caller();
        let of_inputs = inputs.into_iter().zip(requires_grad);
        let inputs: Vec<AnyTensor> = of_inputs
            .map(|(input, &requires_grad)| {
                if requires_grad {
                    as_input(&input, false, recorded_at)
                } else {
                    input.into_constant()
                }
            })
            .collect();
        let outputs = with_grad_mode(requires_grad.contains(&true), || function(&inputs))?;
        let recording = Self {
            inputs: inputs.iter().map(|input| input.edge().cloned()).collect(),
            outputs: outputs.iter().map(Output::of).collect(),
            recorded_at,
        };
        Ok((
            recording,
            outputs.into_iter().map(AnyTensor::into_constant).collect(),
        ))
    }

    /// Returns whether this output depends on an input that requires a gradient.
    ///
    /// # Panics
    /// If there is no such output.
    #[track_caller]
    pub fn requires_grad(&self, output: usize) -> bool {
        self.outputs[output].is_some()
    }

    /// Returns the gradients of the inputs with a `true` in `needed`, from those of the outputs; `None` for other
    /// inputs, and for those that require no gradient or that no output depends on. `None` for an output counts as
    /// zeros. Nothing is freed, so it can be called again.
    ///
    /// # Errors
    /// If a gradient does not have its output's shape or element type, or a backward function fails.
    ///
    /// # Panics
    /// If `grad_outputs` is not as long as the outputs, or `needed` not as long as the inputs.
    #[track_caller]
    pub fn gradients(
        &self,
        grad_outputs: Vec<Option<AnyTensor>>,
        needed: &[bool],
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let found = self.pass(constants(grad_outputs), needed, false)?;
        Ok(constants(found))
    }

    /// Like [`gradients`](Self::gradients), but records, so that the gradients can be differentiated. The inputs of the
    /// new recording are those of this one, and then the gradients of the outputs, which all require grad; its outputs
    /// are the gradients of the inputs.
    ///
    /// # Errors
    /// See [`gradients`](Self::gradients).
    ///
    /// # Panics
    /// See [`gradients`](Self::gradients).
    #[track_caller]
    pub fn record_gradients(
        &self,
        grad_outputs: Vec<Option<AnyTensor>>,
        needed: &[bool],
    ) -> Result<(Self, Vec<Option<AnyTensor>>), Error> {
        let recorded_at = Location::caller();
        let grads = grad_outputs.into_iter();
        let grads: Vec<Option<AnyTensor>> = grads
            .map(|grad| Some(as_input(&grad?, false, recorded_at)))
            .collect();
        let edges = grads.iter().map(|grad| grad.as_ref()?.edge().cloned());
        let inputs = self.inputs.iter().cloned().chain(edges).collect();
        let found = self.pass(grads.clone(), needed, true)?;
        let recording = Self {
            inputs,
            outputs: found
                .iter()
                .map(|grad| Output::of(grad.as_ref()?))
                .collect(),
            recorded_at,
        };
        Ok((recording, constants(found)))
    }

    #[track_caller]
    fn pass(
        &self,
        grads: Vec<Option<AnyTensor>>,
        needed: &[bool],
        create_graph: bool,
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        assert!(
            grads.len() == self.outputs.len() && needed.len() == self.inputs.len(),
            "gradients of a recording of {} inputs and {} outputs, with {} of outputs and {} of `needed`",
            self.inputs.len(),
            self.outputs.len(),
            grads.len(),
            needed.len()
        );
        let mut roots = Vec::with_capacity(grads.len());
        for (output, grad) in self.outputs.iter().zip(grads) {
            let (
                Some(Output {
                    edge,
                    element_type,
                    shape,
                }),
                Some(grad),
            ) = (output, grad)
            else {
                continue;
            };
            if grad.shape() != &shape[..] {
                return Err(Error::new(ErrorKind::SeedShape {
                    expected: shape.clone(),
                    found: Shape::from(grad.shape()),
                }));
            }
            if grad.element_type() != *element_type {
                return Err(edge.node().error(ErrorKind::element_type(*element_type)));
            }
            roots.push((edge, grad.into_grad()));
        }
        let inputs = self.inputs.iter().zip(needed);
        let wanted = inputs.map(|(edge, &needed)| edge.as_ref().filter(|_| needed));
        let targets: Vec<&Edge> = wanted.clone().flatten().collect();
        let mut found = engine::gradients(roots, &targets, create_graph)?.into_iter();
        let found = wanted.map(|edge| edge.and_then(|_| found.next().flatten()));
        Ok(found.map(|grad| grad.map(AnyTensor::from_grad)).collect())
    }
}

/// Calls a function at `inputs`, and returns its outputs and their derivatives along `tangents`: a tangent for each
/// output, zeros if it depends on no input with a tangent. Calls can be nested, for derivatives of derivatives, and are
/// recorded inside of [`Recording::run`].
///
/// For a function without a `#[jvp]` rule, the derivatives are computed by two backward passes.
///
/// # Errors
/// Those of `function`; and if it has neither a rule for forward mode nor a second derivative.
///
/// # Panics
/// If `tangents` is not as long as `inputs`, if a tangent does not have the shape and element type of its input, and if
/// the function panics.
///
/// ```
/// use pullback::foreign::{Recording, along};
/// use pullback::ndarray::array;
/// use pullback::{AnyTensor, Error};
///
/// let cube = |inputs: &[AnyTensor]| {
///     let x = inputs[0].to_tensor::<f64>().unwrap();
///     Ok::<_, Error>(vec![AnyTensor::from(&x * &x * &x)])
/// };
/// let x = || AnyTensor::from(array![1.0, 2.0]);
/// let (outputs, tangents) = along(vec![x()], vec![Some(array![1.0, 0.5].into())], cube)?;
/// assert_eq!(value(&outputs[0]), [1.0, 8.0]);
/// assert_eq!(value(&tangents[0]), [3.0, 6.0]); // 3x² along [1, 0.5]
///
/// // The gradient of the tangent with respect to x: 6x along [1, 1].
/// let (recording, _) = Recording::run(vec![x(), array![1.0, 1.0].into()], &[true, false], |inputs| {
///     let (_, tangents) = along(vec![inputs[0].clone()], vec![Some(inputs[1].clone())], cube)?;
///     Ok::<_, Error>(tangents)
/// })?;
/// let grads = recording.gradients(vec![Some(array![1.0, 1.0].into())], &[true, false])?;
/// assert_eq!(value(grads[0].as_ref().unwrap()), [6.0, 12.0]);
///
/// fn value(tensor: &AnyTensor) -> Vec<f64> {
///     tensor.to_tensor::<f64>().unwrap().to_array().into_iter().collect()
/// }
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn along<E: From<Error>>(
    inputs: Vec<AnyTensor>,
    tangents: Vec<Option<AnyTensor>>,
    function: impl FnOnce(&[AnyTensor]) -> Result<Vec<AnyTensor>, E>,
) -> Result<(Vec<AnyTensor>, Vec<AnyTensor>), E> {
    assert!(
        inputs.len() == tangents.len(),
        "{} inputs along {} tangents",
        inputs.len(),
        tangents.len()
    );
    for (input, tangent) in inputs.iter().zip(&tangents) {
        let fits = tangent.as_ref().is_none_or(|tangent| {
            input.shape() == tangent.shape() && input.element_type() == tangent.element_type()
        });
        assert!(fits, "a tangent does not have the type of its input");
    }
    let called_at = Location::caller();
    let create_graph = is_grad_enabled();
    // Recorded in any case, for a function without a rule.
    let inputs = as_inputs(&inputs, create_graph, called_at);
    let run = || outputs_along(function, inputs.clone(), tangents.clone());
    let outputs = enable_grad(run)?;
    let (outputs, tangents): (Vec<_>, Vec<_>) = match failure(&outputs) {
        None => {
            let known = outputs.into_iter().map(known);
            known.collect::<Result<Vec<_>, _>>()?.into_iter().unzip()
        }
        Some(failure) => {
            let along = inputs.into_iter().zip(tangents);
            let along = along.filter_map(|(input, tangent)| Some((input, tangent?)));
            let (inputs, tangents): (Vec<_>, Vec<_>) = along.unzip();
            let recorded = recording::Recording {
                inputs,
                outputs: outputs.into_iter().map(|(output, _)| output).collect(),
                called_at,
            };
            let found = recorded.jvp_after(failure, &tangents, create_graph)?;
            let tangents = or_zeros(found, &recorded.outputs);
            (recorded.outputs, tangents)
        }
    };
    if create_graph {
        return Ok((outputs, tangents));
    }
    let constants = |tensors: Vec<AnyTensor>| {
        let tensors = tensors.into_iter();
        tensors.map(AnyTensor::into_constant).collect()
    };
    Ok((constants(outputs), constants(tangents)))
}

/// Shows the number of inputs, and the shapes of the outputs that have a history.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes = self
            .outputs
            .iter()
            .map(|output| Some(&output.as_ref()?.shape));
        f.debug_struct("Recording")
            .field("inputs", &self.inputs.len())
            .field("outputs", &shapes.collect::<Vec<_>>())
            .field("recorded_at", &format_args!("{}", self.recorded_at))
            .finish()
    }
}

/// Returns the message of a panic, for frameworks that have errors instead.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text")
}

/// Runs `body`, and converts a panic to an error with its message.
pub fn catch_panic<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    // State that a panic leaves inconsistent is dropped with the closure.
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let text = panic_text(&*panic).to_owned();
        // Dropping the payload of a panic can panic again.
        mem::forget(panic);
        text
    })
}

/// Drops the histories of tensors, so that their memory can be taken.
fn constants(tensors: Vec<Option<AnyTensor>>) -> Vec<Option<AnyTensor>> {
    let tensors = tensors.into_iter();
    let constants = tensors.map(|tensor| tensor.map(AnyTensor::into_constant));
    constants.collect()
}

/// A closure or a function of typed tensors for [`Recording::of`]: of one tensor, of a list, or of a tuple of these.
/// Write the type of a closure's parameter.
///
/// `M` distinguishes the implementations; it is always inferred.
///
/// ```
/// use pullback::foreign::TensorFunction;
/// use pullback::{Tensor1, Tensor2};
///
/// fn takes<M, F: TensorFunction<M>>(_: F) {}
/// takes(|x: &Tensor1<f64>| x.sum());
/// takes(|(x, w): (&Tensor2<f32>, &Tensor2<f32>)| x.matmul(w));
/// takes(|(x, parts): (&Tensor1<f64>, &[Tensor1<f64>])| (x * 2.0, parts.to_vec()));
/// ```
pub trait TensorFunction<M> {
    /// The types of its inputs.
    type Inputs: InputTensors;
    /// The types of its outputs.
    type Outputs: OutputTensors;

    /// Calls the function.
    fn call(&self, inputs: <Self::Inputs as InputTensors>::Refs<'_>) -> Self::Outputs;
}

/// The inputs of `F`, by value.
type TensorsOf<M, F> = <<F as TensorFunction<M>>::Inputs as InputTensors>::Owned;

impl<F, I, O> TensorFunction<fn(I) -> O> for F
where
    F: Fn(I) -> O + for<'a> Fn(I::Refs<'a>) -> O,
    I: InputTensors + 'static,
    O: OutputTensors,
{
    type Inputs = I;
    type Outputs = O;

    fn call(&self, inputs: I::Refs<'_>) -> O {
        self(inputs)
    }
}

/// The outputs of a function as tensors `X` of a framework: an `X` for a tensor, a `Vec` for a `Vec`, a tuple for a
/// tuple of up to twelve tensors.
///
/// ```
/// use pullback::foreign::Outputs;
/// use pullback::{Tensor0, Tensor1};
///
/// let (x, y) = <(Tensor1<f64>, Tensor0<f32>)>::collect(&mut ["x", "y"].into_iter());
/// assert_eq!((x, y), ("x", "y"));
/// ```
pub trait Outputs<X>: OutputTensors {
    /// The tensors of the framework.
    type Tensors;

    /// Takes the tensors in their order.
    ///
    /// # Panics
    /// If there are fewer than the type needs.
    fn collect(tensors: &mut dyn Iterator<Item = X>) -> Self::Tensors;
}

impl<X, T: Element, D: Dimension> Outputs<X> for Tensor<T, D> {
    type Tensors = X;

    fn collect(tensors: &mut dyn Iterator<Item = X>) -> X {
        tensors.next().expect("a tensor for each output")
    }
}

impl<X, T: Element, D: Dimension> Outputs<X> for Vec<Tensor<T, D>> {
    type Tensors = Vec<X>;

    fn collect(tensors: &mut dyn Iterator<Item = X>) -> Vec<X> {
        tensors.collect()
    }
}

macro_rules! tuple {
    ($($Name:ident $place:tt)+) => {
        impl<X, $($Name: Outputs<X, Tensors = X>),+> Outputs<X> for ($($Name,)+) {
            type Tensors = ($($Name::Tensors,)+);

            fn collect(tensors: &mut dyn Iterator<Item = X>) -> Self::Tensors {
                ($($Name::collect(tensors),)+)
            }
        }
    };
}

each_tuple!(tuple);
