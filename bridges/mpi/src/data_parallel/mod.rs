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

use crate::Communicator;
use crate::call::Call;
use crate::worker::{Data, Kind};
use layout::{Layout, Size};
use step::Step;
use uses::Consumer;

/// A model of which every process has a copy, and trains it on its part of each batch. [`backward`](Self::backward)
/// averages the gradients of all processes, so the copies stay equal. It derefs to the model.
///
/// The mean of the processes' gradients is that of the whole batch if each process's loss is the mean over a part of
/// the same length. For parts of other lengths, multiply it by length · processes / length of the batch.
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
///     let mut model = DataParallel::new(model, comm);
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
    /// Agreed in the first step.
    layout: Option<Arc<Layout>>,
    steps: u64,
}

impl<M: Module> DataParallel<M> {
    /// Gives all processes the parameters and buffers of the process of rank 0, which may have read them from a file.
    ///
    /// # Panics
    /// If the models of the processes differ in the names, element types or shapes of parameters and buffers.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Linear;
    /// use pullback::prelude::*;
    /// use pullback_mpi::DataParallel;
    ///
    /// pullback_mpi::run(|comm| {
    ///     let model = Linear { weight: Parameter::new(array![[comm.rank() as f64]]), bias: None };
    ///     let model = DataParallel::new(model, comm);
    ///     assert_eq!(model.weight.item(), 0.0); // that of rank 0, everywhere
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
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

    /// Sets how many bytes of gradients travel together, 1 MiB by default. More are sent in fewer messages, but later. A
    /// larger parameter travels alone.
    ///
    /// ```
    /// use pullback::nn::{Generator, Linear};
    /// use pullback_mpi::DataParallel;
    ///
    /// pullback_mpi::run(|comm| {
    ///     let model = Linear::<f32>::new(64, 10, &mut Generator::seed(1));
    ///     let model = DataParallel::new(model, comm).bucket_bytes(64 << 10);
    ///     println!("{model:?}");
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
    #[must_use]
    pub fn bucket_bytes(self, bucket_bytes: usize) -> Self {
        Self {
            bucket_bytes,
            layout: None,
            ..self
        }
    }

    /// Sets whether gradients travel while the pass runs, as they do by default; otherwise they do when it has ended. It
    /// shows what the overlap saves.
    ///
    /// ```
    /// use pullback::nn::{Generator, Linear};
    /// use pullback_mpi::DataParallel;
    ///
    /// pullback_mpi::run(|comm| {
    ///     let model = Linear::<f32>::new(64, 10, &mut Generator::seed(1));
    ///     let model = DataParallel::new(model, comm).overlap(false);
    ///     println!("{model:?}");
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
    #[must_use]
    pub fn overlap(self, overlap: bool) -> Self {
        Self { overlap, ..self }
    }

    /// Computes the gradients of the parameters, and adds their mean over all processes to those that they have. Returns
    /// when what happened.
    ///
    /// Gradients travel in buckets while the pass runs, in the order in which rank 0 used the parameters backwards in the
    /// first step. A parameter that this process's loss does not depend on counts as a gradient of zeros, if any other
    /// process has one; if none has, it gets none. Other leaves get the gradient of this process. Hooks of a
    /// parameter see the gradient of this process too, and what they return is not averaged.
    ///
    /// # Errors
    /// As [`Tensor::backward`]. The other processes then wait: return the error to [`run`](crate::run), which ends all.
    ///
    /// # Panics
    /// If the processes are at different steps.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Linear;
    /// use pullback::prelude::*;
    /// use pullback_mpi::DataParallel;
    ///
    /// pullback_mpi::run(|comm| {
    ///     let model = Linear { weight: Parameter::new(array![[2.0]]), bias: None };
    ///     let mut model = DataParallel::new(model, comm);
    ///     let x = Tensor::from(array![[comm.rank() as f64]]);
    ///     let loss = model.forward(&x).sum();
    ///     model.backward(&loss)?;
    ///     let mean = (comm.size() - 1) as f64 / 2.0;
    ///     assert_eq!(model.weight.grad(), Some(array![[mean]]));
    ///     Ok::<(), pullback::Error>(())
    /// });
    /// ```
    #[track_caller]
    pub fn backward<T, D>(&mut self, loss: &Tensor<T, D>) -> Result<Timeline, Error>
    where
        T: Element,
        D: Dimension,
    {
        let start = Instant::now();
        let Some(root) = loss.gradient_edge() else {
            // Its error says that there is no history.
            return loss.backward().map(|()| Timeline::default());
        };
        if root.node().is_leaf() {
            // A parameter itself: now it has a use.
            return self.backward(&(loss * T::one()));
        }
        self.steps += 1;
        let parameters = self.model.parameters().into_iter();
        let parameters: Vec<AnyTensor> = parameters.map(AnyParameter::to_any).collect();
        let consumers = uses::consumers(root, &leaves(&parameters));
        let layout = self.layout(&consumers, &parameters);
        // These share the gradients of before, if there are any.
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

    /// Has the process of rank 0 write the state into a safetensors file, and the others wait until it has. An error is
    /// returned by rank 0 alone.
    ///
    /// # Errors
    /// As [`Stateful::save_safetensors`].
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
    /// Sends the values of rank 0 to all, one after the other, each under its name.
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

    /// Returns the buckets, which are agreed in the first step: rank 0 says in which order gradients get ready.
    #[track_caller]
    fn layout(&mut self, consumers: &[Consumer<'_>], parameters: &[AnyTensor]) -> Arc<Layout> {
        if let Some(layout) = &self.layout {
            return Arc::clone(layout);
        }
        let order = uses::order(consumers, parameters.len());
        let call = Call {
            shape: vec![order.len()],
            element: "places of parameters",
            ..Call::bare("DataParallel::backward")
        };
        let order = order.into_iter().map(|place| place as u64).collect();
        let pending = self.comm.start(call, Kind::Broadcast(0), Data::U64(order));
        let (Data::U64(order), _) = pending.wait() else {
            // INVARIANT: a collective returns the type that it was given.
            unreachable!("whole numbers were sent")
        };
        let place = |&place: &u64| usize::try_from(place).unwrap_or_default();
        let order: Vec<usize> = order.iter().map(place).collect();
        let sizes: Vec<Size> = parameters.iter().map(Size::of).collect();
        let layout = Arc::new(Layout::new(&order, &sizes, self.bucket_bytes));
        self.layout = Some(Arc::clone(&layout));
        layout
    }
}

/// The nodes of the parameters that are trained, with their places in the list.
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

/// Sets the gradient of a parameter to what it was `before`, and the mean of the `processes`' gradients, whose sum is at
/// the beginning of `sum`. Without a gradient on any process (`used` is zero) it stays as it was.
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
