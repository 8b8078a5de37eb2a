//! A computation of this library in the graph of another framework.
//!
//! A [`Recording`] is one run of a function on tensors that come from elsewhere. The framework's own node holds it
//! in place of saved tensors: it has what the run saved, and returns the gradients when that node's backward
//! is called. Where the framework differentiates those gradients again, [`record_gradients`] is a run of
//! the same kind.
//!
//! [`Tensor::from_owner`](crate::Tensor::from_owner) gives the framework's memory to the function without a copy.
//!
//! [`record_gradients`]: Recording::record_gradients

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::{fmt, mem};

use ndarray::Dimension;

#[doc(hidden)]
pub use crate::erased::each_tuple;

use crate::engine;
use crate::erased::{AnyTensor, InputTensors, OutputTensors};
use crate::error::{Error, ErrorKind};
use crate::recorded::set_apart;
use crate::tape::Edge;
use crate::tensor::Tensor;
use crate::thread::with_grad_mode;
use autograd_kernels::{Element, ElementType, Shape};

/// One run of a function on tensors of another framework, and what it saved.
///
/// It keeps no inputs and outputs, only what the functions in it saved for their backward. It can be sent to and
/// shared between threads; dropping it frees everything.
///
/// ```
/// use pullback::foreign::Recording;
/// use pullback::ndarray::array;
/// use pullback::{AnyTensor, Error, Tensor1};
///
/// // y = x³, of a vector of the framework.
/// let cube = |x: &Tensor1<f64>| x * x * x;
/// let x = AnyTensor::from(array![1.0, 2.0]);
/// let (run, outputs) = Recording::of(cube, vec![x], &[true])?;
/// assert_eq!(value(&outputs[0]), [1.0, 8.0]);
///
/// // The backward of the framework's node.
/// let ones = || Some(AnyTensor::from(array![1.0, 1.0]));
/// let grads = run.gradients(vec![ones()], &[true])?;
/// assert_eq!(value(grads[0].as_ref().unwrap()), [3.0, 12.0]);
///
/// // The same, to be differentiated again: a run whose inputs are `x` and the gradient of `y`.
/// let (again, grads) = run.record_gradients(vec![ones()], &[true])?;
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
    /// `None` for one without a history.
    outputs: Vec<Option<Output>>,
    recorded_at: &'static Location<'static>,
}

/// Where a gradient of an output goes, and what it is checked with.
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
    /// Runs a function of typed tensors, and records what leads to the inputs that `requires_grad` names. Without
    /// one, nothing is recorded. A list of tensors among its parameters takes all that are left.
    ///
    /// # Errors
    /// If there are more or fewer inputs than the function takes, or one has another element type or rank.
    ///
    /// # Panics
    /// If `requires_grad` is not as long as `inputs`; and where the function does.
    ///
    /// ```
    /// use pullback::foreign::Recording;
    /// use pullback::ndarray::{arr0, array};
    /// use pullback::{AnyTensor, ErrorKind, Tensor0, Tensor1};
    ///
    /// let scaled = |(x, factor): (&Tensor1<f32>, &Tensor0<f32>)| x * factor;
    /// let inputs = vec![AnyTensor::from(array![1.0_f32, 2.0]), arr0(3.0_f32).into()];
    /// let (run, outputs) = Recording::of(scaled, inputs, &[true, false])?;
    /// assert_eq!(outputs[0].shape(), [2]);
    /// assert!(run.requires_grad(0));
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

    /// The same with a function of tensors whose types are known at run time only. Its errors are passed on.
    ///
    /// # Panics
    /// If `requires_grad` is not as long as `inputs`; and where the function does.
    ///
    /// ```
    /// use pullback::foreign::Recording;
    /// use pullback::ndarray::array;
    /// use pullback::{AnyTensor, Error};
    ///
    /// let (run, outputs) = Recording::run(vec![array![1.0, 2.0].into()], &[true], |inputs| {
    ///     let x = inputs[0].to_tensor::<f64>().ok_or("numbers of double precision, please")?;
    ///     Ok::<_, &str>(vec![AnyTensor::from(&x * 2.0), AnyTensor::from(array![0.0])])
    /// }).unwrap();
    /// assert_eq!((run.requires_grad(0), run.requires_grad(1)), (true, false));
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
                    set_apart(&input, false, recorded_at)
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

    /// Returns whether gradients of this output lead to an input that requires them.
    ///
    /// # Panics
    /// If there is no such output.
    #[track_caller]
    pub fn requires_grad(&self, output: usize) -> bool {
        self.outputs[output].is_some()
    }

    /// Returns the gradients of the inputs that `needed` names, from those of the outputs; `None` for an input
    /// that is not needed, requires none, or does not take part. A gradient of an output that is left out counts as
    /// zeros. What was saved stays, for other calls.
    ///
    /// # Errors
    /// If a gradient does not have its output's shape or element type, and where a backward function fails.
    ///
    /// # Panics
    /// If there are not as many gradients as outputs, or `needed` is not as long as the inputs.
    #[track_caller]
    pub fn gradients(
        &self,
        grad_outputs: Vec<Option<AnyTensor>>,
        needed: &[bool],
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let found = self.pass(constants(grad_outputs), needed, false)?;
        Ok(constants(found))
    }

    /// The same as a run of its own, whose outputs are the gradients: for a framework that differentiates them
    /// again. Its inputs are those of this run, as they require grad here, and then the gradients of the outputs,
    /// all of which do. A gradient that is `None` has no output's gradient to wait for.
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
            .map(|grad| Some(set_apart(&grad?, false, recorded_at)))
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

/// The number of inputs, and the shapes of the outputs that have a history.
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

/// Returns what a panic says, where a framework has errors instead.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text")
}

/// Runs `body`. A panic is an error with its text.
pub fn catch_panic<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    // State that a panic leaves inconsistent is dropped with the closure.
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let text = panic_text(&*panic).to_owned();
        // Dropping the payload of a panic can panic again.
        mem::forget(panic);
        text
    })
}

/// Values without their histories, so that their memory can be taken.
fn constants(tensors: Vec<Option<AnyTensor>>) -> Vec<Option<AnyTensor>> {
    let tensors = tensors.into_iter();
    let constants = tensors.map(|tensor| tensor.map(AnyTensor::into_constant));
    constants.collect()
}

/// A closure or a function of typed tensors, whose types [`Recording::of`] reads from its parameters: of one
/// tensor, of a list, or of a tuple of these. The parameter of a closure needs its type written out.
///
/// `M` is what tells the compiler the types apart; it is always inferred.
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
    /// What it takes.
    type Inputs: InputTensors;
    /// What it returns.
    type Outputs: OutputTensors;

    /// Calls it.
    fn call(&self, inputs: <Self::Inputs as InputTensors>::Refs<'_>) -> Self::Outputs;
}

/// What `F` takes, by value.
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

/// The outputs of a function as tensors `X` of a framework: an `X` for a tensor, a `Vec` for a `Vec`, a tuple for a tuple
/// of up to twelve tensors.
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
