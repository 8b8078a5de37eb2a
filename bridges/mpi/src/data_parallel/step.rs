//! One backward pass that sends gradients while it runs.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pullback::ndarray::ArrayViewD;
use pullback::{Element, ElementType, HookHandle, TensorD};

use super::layout::{Bucket, Layout};
use super::timeline::{BucketTimes, Timeline};
use super::uses::Consumer;
use crate::call::Call;
use crate::communicator::{Communicator, Pending};
use crate::worker::{Data, Kind};

/// The gradients of a pass, shared with the hooks that collect them.
#[derive(Debug)]
pub(super) struct Step(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    comm: Communicator,
    layout: Arc<Layout>,
    number: u64,
    overlap: bool,
    start: Instant,
    /// For each parameter, the number of nodes that use it and have not run.
    uses: Vec<usize>,
    /// For each bucket, the number of gradients that are not complete.
    missing: Vec<usize>,
    /// The buckets that have not been sent.
    filling: Vec<Option<Data>>,
    /// The time at which each bucket was complete.
    ready: Vec<Option<Duration>>,
    sent: Vec<Pending>,
}

/// The sums over all processes, bucket by bucket.
pub(super) type Sums = Vec<Data>;

impl Step {
    /// Registers hooks at the nodes that use parameters.
    ///
    /// # Note [Complete]
    /// The engine writes gradients of leaves, and calls their hooks, when the whole pass has succeeded. But a hook of a
    /// node receives the gradients of its inputs as soon as the node has run. So the gradient of a parameter is the sum
    /// of the gradients from the nodes that use it, and complete when the last of them has run. The sum is computed in
    /// the bucket, into which gradients have to be copied anyway.
    pub(super) fn begin(
        comm: &Communicator,
        layout: &Arc<Layout>,
        consumers: &[Consumer<'_>],
        (number, overlap, start): (u64, bool, Instant),
    ) -> (Self, Vec<HookHandle>) {
        let mut uses = vec![0; layout.places.len()];
        let inputs = consumers.iter().flat_map(|consumer| &consumer.inputs);
        inputs.for_each(|&(_, parameter)| uses[parameter] += 1);
        // A parameter without uses is complete, so its bucket can be sent before the end of the pass.
        let used = |parameter: &&(usize, usize)| uses[parameter.0] > 0;
        let missing = layout.buckets.iter();
        let missing = missing.map(|bucket| bucket.parameters.iter().filter(used).count());
        let missing: Vec<usize> = missing.collect();
        let ready = missing
            .iter()
            .map(|missing| (*missing == 0).then(|| start.elapsed()));
        let ready = ready.collect();
        let step = Self(Arc::new(Mutex::new(State {
            comm: comm.clone(),
            layout: Arc::clone(layout),
            number,
            overlap,
            start,
            uses,
            missing,
            filling: layout
                .buckets
                .iter()
                .map(|bucket| Some(bucket.zeros()))
                .collect(),
            ready,
            sent: Vec::new(),
        })));
        lock(&step.0).send();
        let hooks = consumers.iter().map(|consumer| {
            let (_, parameter) = consumer.inputs[0];
            let (bucket, _) = layout.places[parameter];
            match layout.buckets[bucket].element {
                ElementType::F32 => step.hook::<f32>(consumer),
                ElementType::F64 => step.hook::<f64>(consumer),
            }
        });
        let hooks = hooks.collect();
        (step, hooks)
    }

    fn hook<T: Element>(&self, consumer: &Consumer<'_>) -> HookHandle {
        let (state, inputs) = (Arc::clone(&self.0), consumer.inputs.clone());
        let collect = move |grads: &[Option<TensorD<T>>], _: &[Option<TensorD<T>>]| {
            let mut state = lock(&state);
            for &(input, parameter) in &inputs {
                if let Some(grad) = &grads[input] {
                    state.add(parameter, &grad.view());
                }
                state.uses[parameter] -= 1;
                if state.uses[parameter] == 0 {
                    state.complete(parameter);
                }
            }
            None
        };
        consumer.node.register_hook(collect)
    }

    /// Sends the remaining buckets after the pass, waits for all, and returns the sums.
    #[track_caller]
    pub(super) fn finish(self) -> (Sums, Timeline) {
        let mut state = lock(&self.0);
        let pass = state.start.elapsed();
        // A node whose gradient is undefined has not run.
        state.missing.fill(0);
        state.overlap = true;
        state.send();
        let start = state.start;
        let (ready, sent) = (mem::take(&mut state.ready), mem::take(&mut state.sent));
        let layout = Arc::clone(&state.layout);
        // Hooks still hold the mutex, which a panic of `wait` must not poison.
        drop(state);
        let mut sums = Vec::new();
        let mut buckets = Vec::new();
        for ((bucket, ready), pending) in layout.buckets.iter().zip(ready).zip(sent) {
            let (sum, times) = pending.wait();
            buckets.push(BucketTimes {
                bytes: bucket.elements() * bucket.element.size(),
                ready: ready.unwrap_or(pass),
                start: times.start.duration_since(start),
                end: times.end.duration_since(start),
            });
            sums.push(sum);
        }
        let exposed = start.elapsed().saturating_sub(pass);
        let timeline = Timeline {
            pass,
            exposed,
            buckets,
        };
        (sums, timeline)
    }
}

impl State {
    /// Adds a gradient to those in its bucket.
    fn add<T: Element>(&mut self, parameter: usize, grad: &ArrayViewD<'_, T>) {
        let (number, place) = self.layout.places[parameter];
        let bucket = &self.layout.buckets[number];
        // INVARIANT: a bucket is sent when the last use of its parameters has run.
        let data = self.filling[number]
            .as_mut()
            .expect("a bucket that is not sent");
        let data = data.elements_mut::<T>();
        let (_, start) = bucket.parameters[place];
        let (values, flags) = data.split_at_mut(bucket.length);
        let values = &mut values[start..start + grad.len()];
        let flag = &mut flags[place];
        if flag.is_zero() {
            values
                .iter_mut()
                .zip(grad)
                .for_each(|(sum, grad)| *sum = *grad);
        } else {
            values
                .iter_mut()
                .zip(grad)
                .for_each(|(sum, grad)| *sum += *grad);
        }
        *flag = T::one();
    }

    fn complete(&mut self, parameter: usize) {
        let (bucket, _) = self.layout.places[parameter];
        self.missing[bucket] -= 1;
        if self.missing[bucket] == 0 {
            self.ready[bucket] = Some(self.start.elapsed());
            self.send();
        }
    }

    /// Sends the complete buckets, in the order that all processes share.
    fn send(&mut self) {
        let layout = Arc::clone(&self.layout);
        while self.overlap && self.missing.get(self.sent.len()) == Some(&0) {
            let number = self.sent.len();
            let bucket = &layout.buckets[number];
            let Some(data) = self.filling[number].take() else {
                return;
            };
            let call = describe(bucket, number, (layout.buckets.len(), self.number));
            let pending = self.comm.start(call, Kind::Sum, data);
            self.sent.push(pending);
        }
    }
}

fn describe(bucket: &Bucket, number: usize, (buckets, step): (usize, u64)) -> Call {
    Call {
        operation: "DataParallel::backward",
        element: Some(bucket.element),
        shape: vec![bucket.elements()],
        detail: format!("bucket {} of {buckets}, step {step}", number + 1),
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // After a panic the pass has failed, and nothing reads the counts.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
