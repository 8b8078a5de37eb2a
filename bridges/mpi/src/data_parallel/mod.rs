//! A model that several processes train together.

mod layout;
mod step;
mod timeline;
mod uses;

pub use timeline::{BucketTimes, Timeline};

use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pullback::ndarray::{Array, ArrayD, ArrayViewD, ArrayViewMutD, Dimension, IxDyn};
use pullback::nn::{
    AnyBuffer, AnyParameter, AnyViewMut, Field, Module, ParameterPath, StateError, Stateful,
    VisitorMut,
};
use pullback::{AnyTensor, Element, Error, HookHandle, Node, Tensor, TensorD};

use crate::call::Call;
use crate::communicator::Communicator;
use crate::worker::{Data, Kind};
use layout::{Layout, Size};
use step::Step;
use uses::Consumer;

/// A model with a copy on every process, trained there on a part of each batch. [`backward`](Self::backward) averages
/// the gradients of all processes, so the copies stay equal. It derefs to the model.
///
/// The mean of the processes' gradients is that of the whole batch if each process's loss is the mean over a part of
/// the same length. For parts of different lengths, multiply the loss by length · processes / length of the batch.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Linear;
/// use pullback::optim::Sgd;
/// use pullback::prelude::*;
/// use pullback_mpi::DataParallel;
///
/// pullback_mpi::run(|comm| {
///     let model = Linear { weight: Parameter::new(array![[0.5]]), bias: None };
///     let mut model = DataParallel::new(model, comm).bucket_bytes(64 << 10);
///     let mut optimizer = Sgd::new(0.1);
///     for _ in 0..10 {
///         model.zero_grad();
///         let x = Tensor::from(array![[1.0 + comm.rank() as f64]]); // a part of the batch
///         let error = &model.forward(&x) - &(&x * 3.0);
///         model.backward(&(&error * &error).mean())?;
///         optimizer.step(&mut *model);
///     }
///     assert!((model.weight.item() - 3.0).abs() < 0.5);
///     Ok::<(), pullback::Error>(())
/// });
/// ```
pub struct DataParallel<M> {
    model: M,
    comm: Communicator,
    bucket_bytes: usize,
    overlap: bool,
    /// Set in the first step.
    layout: Option<Arc<Layout>>,
    steps: u64,
}

impl<M: Module> DataParallel<M> {
    /// Sends the parameters and buffers of rank 0, which may have read them from a file, to all processes.
    ///
    /// # Panics
    /// If the models of the processes differ in the names, element types or shapes of parameters and buffers.
    #[track_caller]
    pub fn new(model: M, comm: &Communicator) -> Self {
        let mut model = Self {
            model,
            comm: comm.clone(),
            bucket_bytes: 1 << 20,
            overlap: true,
            layout: None,
            steps: 0,
        };
        model.share_first_values();
        model
    }

    /// Sets how many bytes of gradients are sent together, 1 MiB by default. Larger buckets need fewer messages, but
    /// are sent later. A larger parameter is a bucket alone.
    #[must_use]
    pub fn bucket_bytes(self, bucket_bytes: usize) -> Self {
        Self {
            bucket_bytes,
            layout: None,
            ..self
        }
    }

    /// Sets whether gradients are sent during the pass, the default, or after it, to measure what the overlap saves.
    #[must_use]
    pub fn overlap(self, overlap: bool) -> Self {
        Self { overlap, ..self }
    }

    /// Computes the gradients of the parameters, adds their mean over all processes to the gradients of the parameters,
    /// and returns the times of the pass.
    ///
    /// Gradients are sent in buckets during the pass, in the order in which rank 0's gradients were complete in the
    /// first step. If this process's loss does not depend on a parameter, the gradient counts as zeros; if no process's
    /// loss does, the parameter gets none. Other leaves get the gradient of this process. Hooks of a parameter also
    /// receive the gradient of this process, and their results are not averaged.
    ///
    /// # Errors
    /// If [`Tensor::backward`] fails. The other processes then wait: return the error to [`run`](crate::run), which
    /// ends all.
    ///
    /// # Panics
    /// If the processes are at different steps.
    #[track_caller]
    pub fn backward<T, D>(&mut self, loss: &Tensor<T, D>) -> Result<Timeline, Error>
    where
        T: Element,
        D: Dimension,
    {
        let start = Instant::now();
        let Some(root) = loss.gradient_edge() else {
            // `backward` has an error for a loss without a history.
            return loss.backward().map(|()| Timeline::default());
        };
        if root.node().is_leaf() {
            // A parameter itself, which needs a node that uses it.
            return self.backward(&(loss * T::one()));
        }
        self.steps += 1;
        let parameters = self.model.parameters().into_iter();
        let parameters: Vec<AnyTensor> = parameters.map(AnyParameter::to_any).collect();
        let consumers = uses::consumers(root, &leaves(&parameters));
        let layout = self.layout(&consumers, &parameters);
        // Handles on earlier gradients.
        let before: Vec<Option<AnyTensor>> = parameters.iter().map(gradient).collect();
        let how = (self.steps, self.overlap, start);
        let (step, hooks) = Step::begin(&self.comm, &layout, &consumers, how);
        let result = loss.backward();
        hooks.iter().for_each(HookHandle::remove);
        result?;
        let (sums, timeline) = step.finish();
        for (bucket, sum) in layout.buckets.iter().zip(&sums) {
            let (own, flags) = (self.comm.size(), bucket.length);
            for (place, &(number, start)) in bucket.parameters.iter().enumerate() {
                let slot = (&parameters[number], before[number].as_ref());
                match sum {
                    Data::F32(sum) => write(slot, &sum[start..flags], sum[flags + place], own),
                    Data::F64(sum) => write(slot, &sum[start..flags], sum[flags + place], own),
                    Data::U64(_) => {}
                }
            }
        }
        Ok(timeline)
    }

    /// Writes the state of rank 0 into a safetensors file; the other processes wait until it is written. Only rank 0
    /// returns an error.
    ///
    /// # Errors
    /// If [`Stateful::save_safetensors`] fails.
    ///
    /// ```
    /// use pullback::nn::{Generator, Linear, Stateful};
    /// use pullback_mpi::DataParallel;
    ///
    /// let path = std::env::temp_dir().join(format!("parallel-{}.safetensors", std::process::id()));
    /// pullback_mpi::run(|comm| {
    ///     let model = DataParallel::new(Linear::<f32>::new(3, 2, &mut Generator::seed(1)), comm);
    ///     model.save(&path)
    /// });
    /// Linear::<f32>::new(3, 2, &mut Generator::seed(2)).load_safetensors(&path)?;
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), pullback::nn::StateError>(())
    /// ```
    #[track_caller]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), StateError>
    where
        M: Stateful,
    {
        let result = match self.comm.rank() {
            0 => self.model.save_safetensors(path),
            _ => Ok(()),
        };
        self.comm.barrier();
        result
    }
}

impl<M: Module> DataParallel<M> {
    /// Sends the values of rank 0 to all processes, each with its name.
    #[track_caller]
    fn share_first_values(&mut self) {
        struct Share<'a>(&'a Communicator);
        impl VisitorMut for Share<'_> {
            fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
                let first = self.first(format!("parameter `{path}`"), &parameter.to_any());
                parameter.update_any(&mut |own| match (own, &first) {
                    (AnyViewMut::F32(mut own), AnyTensor::F32(first)) => own.assign(&first.view()),
                    (AnyViewMut::F64(mut own), AnyTensor::F64(first)) => own.assign(&first.view()),
                    // INVARIANT: a collective returns the type that it was given.
                    _ => unreachable!("values of two element types"),
                });
            }

            fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &mut dyn AnyBuffer) {
                let first = self.first(format!("buffer `{path}`"), &buffer.to_any());
                // INVARIANT: as above.
                assert!(
                    buffer.set_any(&first),
                    "a value of the buffer's type and shape"
                );
            }
        }
        impl Share<'_> {
            fn first(&self, name: String, own: &AnyTensor) -> AnyTensor {
                match own {
                    AnyTensor::F32(own) => self.of(name, own).into(),
                    AnyTensor::F64(own) => self.of(name, own).into(),
                }
            }

            fn of<T: Element>(&self, name: String, own: &TensorD<T>) -> ArrayD<T> {
                let elements = own.view().iter().copied().collect();
                let root = (Kind::Broadcast(0), elements);
                let elements = self
                    .0
                    .exchange("DataParallel::new", name, own.shape(), root);
                // INVARIANT: a broadcast returns as many elements as it was given.
                Array::from_shape_vec(IxDyn(own.shape()), elements).expect("all elements")
            }
        }
        let mut share = Share(&self.comm);
        self.model.visit_mut(&ParameterPath::root(), &mut share);
    }

    /// Returns the buckets. In the first step, rank 0 sends the order in which its gradients are complete.
    #[track_caller]
    fn layout(&mut self, consumers: &[Consumer<'_>], parameters: &[AnyTensor]) -> Arc<Layout> {
        if let Some(layout) = &self.layout {
            return Arc::clone(layout);
        }
        let order = uses::order(consumers, parameters.len());
        let call = Call {
            detail: format!("the order of {} parameters", order.len()),
            ..Call::bare("DataParallel::backward")
        };
        let order = order.into_iter().map(|place| place as u64).collect();
        let pending = self.comm.start(call, Kind::Broadcast(0), Data::U64(order));
        let (Data::U64(order), _) = pending.wait() else {
            // INVARIANT: a collective returns the type that it was given.
            unreachable!("integers were sent")
        };
        let place = |&place: &u64| usize::try_from(place).unwrap_or_default();
        let order: Vec<usize> = order.iter().map(place).collect();
        let sizes: Vec<Size> = parameters.iter().map(Size::of).collect();
        let layout = Arc::new(Layout::new(&order, &sizes, self.bucket_bytes));
        self.layout = Some(Arc::clone(&layout));
        layout
    }
}

/// Returns the nodes of the parameters that require grad, with their indices.
fn leaves(parameters: &[AnyTensor]) -> HashMap<Node, usize> {
    let places = parameters.iter().enumerate();
    let leaves = places.filter_map(|(place, parameter)| {
        let edge = parameter.gradient_edge()?;
        Some((edge.node().clone(), place))
    });
    leaves.collect()
}

fn gradient(parameter: &AnyTensor) -> Option<AnyTensor> {
    match parameter {
        AnyTensor::F32(parameter) => parameter.grad_tensor().map(AnyTensor::from),
        AnyTensor::F64(parameter) => parameter.grad_tensor().map(AnyTensor::from),
    }
}

/// Sets the gradient of a parameter to its gradient `before` plus the mean over `processes`. `sum` begins with the sum
/// of their gradients. Does nothing if no process has a gradient: `used` is zero.
fn write<T: Element>(
    (parameter, before): (&AnyTensor, Option<&AnyTensor>),
    sum: &[T],
    used: T,
    processes: usize,
) {
    // INVARIANT: the bucket has the parameter's element type.
    let parameter: TensorD<T> = parameter.to_tensor().expect("a parameter of this type");
    if used.is_zero() || !parameter.requires_grad() {
        return;
    }
    let processes = T::from_f64(processes as f64);
    // INVARIANT: the bucket has a place for each of its elements.
    let sum = ArrayViewD::from_shape(parameter.shape(), &sum[..parameter.view().len()]);
    let sum = sum.expect("an element for each place");
    let change = |mut grad: ArrayViewMutD<'_, T>| {
        grad.zip_mut_with(&sum, |grad, &sum| *grad = sum / processes);
        if let Some(before) = before.and_then(AnyTensor::to_tensor::<T>) {
            grad += &before.view();
        }
    };
    if parameter.update_grad(change).is_none() {
        let mut grad = ArrayD::zeros(parameter.shape());
        change(grad.view_mut());
        parameter.set_grad(grad);
    }
}

impl<M> Deref for DataParallel<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.model
    }
}

impl<M> DerefMut for DataParallel<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.model
    }
}

impl<M: fmt::Debug> fmt::Debug for DataParallel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataParallel")
            .field("model", &self.model)
            .field("rank", &self.comm.rank())
            .field("bucket_bytes", &self.bucket_bytes)
            .field("overlap", &self.overlap)
            .finish_non_exhaustive()
    }
}
