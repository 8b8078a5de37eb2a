//! Numbers that a second call of a checkpointed function gets again.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The numbers of one call of a checkpointed function, in their order.
pub(crate) type Numbers = Arc<Mutex<Vec<u64>>>;

/// A call that runs, on this thread and on those that go on in its stead.
#[derive(Clone)]
pub(crate) enum Running {
    First(Numbers),
    /// With the place of the next number.
    Second(Numbers, Arc<AtomicUsize>),
}

thread_local! {
    /// The innermost last.
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
}

/// The calls that run on this thread. None if the thread is ending, when there is no list any more.
pub(crate) fn running() -> Vec<Running> {
    RUNNING
        .try_with(|running| running.borrow().clone())
        .unwrap_or_default()
}

/// Runs `body` on a new thread as on the thread that `running` is of.
pub(crate) fn with_running<R>(running: Vec<Running>, body: impl FnOnce() -> R) -> R {
    RUNNING.set(running);
    body()
}

/// Returns whether this is the second call of a function within [`checkpoint`](crate::checkpoint), which a backward
/// pass makes to compute again what was not saved. Code that counts or averages over calls leaves it out.
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
    let is_second = |running: &Running| matches!(running, Running::Second(..));
    RUNNING
        .try_with(|running| running.borrow().iter().any(is_second))
        .unwrap_or(false)
}

/// Returns a number from `draw`, or, in the second call of a function within [`checkpoint`](crate::checkpoint), the
/// number that the first call had in this place: seeds and counters that move on with each call stay true to
/// it. Outside checkpoints `draw` is just called.
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
    let running = running();
    let second = running
        .iter()
        .enumerate()
        .rev()
        .find_map(|(i, call)| match call {
            Running::First(_) => None,
            Running::Second(numbers, next) => {
                let next = next.fetch_add(1, Ordering::Relaxed);
                // A second call that draws more often than the first is refused by what it saves, if it matters at all.
                lock(numbers).get(next).map(|number| (i + 1, *number))
            }
        });
    let (inner, number) = second.unwrap_or_else(|| (0, draw()));
    for call in &running[inner..] {
        if let Running::First(numbers) = call {
            lock(numbers).push(number);
        }
    }
    number
}

fn lock(numbers: &Numbers) -> MutexGuard<'_, Vec<u64>> {
    // No user code runs while it is held.
    numbers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the first call of a function, whose numbers go to `numbers`.
pub(crate) fn first<R>(numbers: &Numbers, call: impl FnOnce() -> R) -> R {
    run(Running::First(Arc::clone(numbers)), call)
}

/// Runs the second call, which gets `numbers`.
pub(crate) fn second<R>(numbers: &Numbers, call: impl FnOnce() -> R) -> R {
    run(Running::Second(Arc::clone(numbers), Arc::default()), call)
}

fn run<R>(running: Running, call: impl FnOnce() -> R) -> R {
    /// Takes the call away again, in a panic too.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            let gone = RUNNING.with_borrow_mut(Vec::pop);
            drop(gone);
        }
    }
    RUNNING.with_borrow_mut(|all| all.push(running));
    let _guard = Guard;
    call()
}
