//! Numbers that a checkpointed function draws once, though it is called twice.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::scoped::{Scoped, current};

/// The numbers drawn in one call of a checkpointed function, in their order.
pub(crate) type Numbers = Arc<Mutex<Vec<u64>>>;

/// A call of a checkpointed function, on its thread and on helper threads.
#[derive(Clone)]
pub(crate) enum CheckpointCall {
    First(Numbers),
    /// With the index of the next number.
    Second(Numbers, Arc<AtomicUsize>),
}

thread_local! {
    /// The calls that this thread is in, the innermost last.
    pub(crate) static CALLS: Cell<Vec<CheckpointCall>> = const { Cell::new(Vec::new()) };
}

/// Returns whether this thread is in a call of a checkpointed function.
pub(crate) fn is_in_checkpoint() -> bool {
    !current(&CALLS).is_empty()
}

/// Returns whether [`checkpoint`](crate::checkpoint) is calling its function again, in a backward pass, to compute
/// values that were not saved. Code that counts or averages over calls skips that call.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// use pullback::ndarray::array;
/// use pullback::{Tensor, checkpoint, is_recomputing};
///
/// let batches = Arc::new(AtomicU32::new(0));
/// let seen = Arc::clone(&batches);
/// let x = Tensor::from(array![0.5, 1.0]).set_requires_grad(true);
/// let y = checkpoint(move |x| {
///     if !is_recomputing() {
///         seen.fetch_add(1, Ordering::Relaxed);
///     }
///     x.exp()
/// }, &x);
/// y.sum().backward()?;
/// assert_eq!(batches.load(Ordering::Relaxed), 1);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn is_recomputing() -> bool {
    let calls = current(&CALLS);
    calls
        .iter()
        .any(|call| matches!(call, CheckpointCall::Second(..)))
}

/// Returns a number from `draw`; when [`checkpoint`](crate::checkpoint) recomputes, returns the number drawn at that
/// point before. So a seed or a counter that changes with each call is the same in both. Outside checkpoints, `draw`
/// is called each time.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use pullback::ndarray::Array1;
/// use pullback::{Tensor, Tensor1, checkpoint, replayed};
///
/// let seeds = Arc::new(AtomicU64::new(7));
/// let x: Tensor1<f64> = Tensor::from(Array1::ones(100)).set_requires_grad(true);
/// let y = checkpoint(
///     move |x: &Tensor1<f64>| x.exp().dropout(0.5, replayed(|| seeds.fetch_add(1, Ordering::Relaxed))),
///     &x,
/// );
/// y.sum().backward()?;
/// assert_eq!(x.grad(), Some(y.to_array())); // the second call left out the same elements
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn replayed(draw: impl FnOnce() -> u64) -> u64 {
    let calls = current(&CALLS);
    let second = calls
        .iter()
        .enumerate()
        .rev()
        .find_map(|(i, call)| match call {
            CheckpointCall::First(_) => None,
            CheckpointCall::Second(numbers, next) => {
                let next = next.fetch_add(1, Ordering::Relaxed);
                // A second call that draws more often than the first is refused by what it saves, if it matters at all.
                lock(numbers).get(next).map(|number| (i + 1, *number))
            }
        });
    let (inner, number) = second.unwrap_or_else(|| (0, draw()));
    for call in &calls[inner..] {
        if let CheckpointCall::First(numbers) = call {
            lock(numbers).push(number);
        }
    }
    number
}

fn lock(numbers: &Numbers) -> MutexGuard<'_, Vec<u64>> {
    // No user code runs while it is held.
    numbers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the first call of a function, which adds the numbers that it draws to `numbers`.
pub(crate) fn first<R>(numbers: &Numbers, call: impl FnOnce() -> R) -> R {
    run(CheckpointCall::First(Arc::clone(numbers)), call)
}

/// Runs the second call, which gets `numbers` again.
pub(crate) fn second<R>(numbers: &Numbers, call: impl FnOnce() -> R) -> R {
    let next = Arc::default();
    run(CheckpointCall::Second(Arc::clone(numbers), next), call)
}

fn run<R>(call: CheckpointCall, body: impl FnOnce() -> R) -> R {
    let mut calls = current(&CALLS);
    calls.push(call);
    let _scope = Scoped::set(&CALLS, calls);
    body()
}
