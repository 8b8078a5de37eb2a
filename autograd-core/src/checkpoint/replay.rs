//! Numbers that a second call of a checkpointed function gets again.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

use super::lock;

/// The numbers of one call of a checkpointed function, in their order.
pub(super) type Numbers = Arc<Mutex<Vec<u64>>>;

/// A call that runs on this thread.
enum Running {
    First(Numbers),
    /// With the place of the next number.
    Second(Numbers, usize),
}

thread_local! {
    /// The innermost last.
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
    /// How many second calls are among them.
    static SECOND: Cell<usize> = const { Cell::new(0) };
}

/// Returns whether this is the second call of a function within [`checkpoint`](super::checkpoint), which a backward
/// pass makes to compute again what was not saved. Code that counts or averages over calls leaves it out.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// use autograd_core::ndarray::array;
/// use autograd_core::{Tensor, checkpoint, is_recomputing};
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
/// # Ok::<(), autograd_core::Error>(())
/// ```
pub fn is_recomputing() -> bool {
    SECOND.get() > 0
}

/// Returns a number from `draw`, or, in the second call of a function within [`checkpoint`](super::checkpoint), the
/// number that the first call had in this place: seeds and counters that move on with each call stay true to
/// it. Outside checkpoints `draw` is just called.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use autograd_core::ndarray::Array1;
/// use autograd_core::{Tensor, Tensor1, checkpoint, replayed};
///
/// let seeds = Arc::new(AtomicU64::new(7));
/// let x: Tensor1<f64> = Tensor::from(Array1::ones(100)).set_requires_grad(true);
/// let y = checkpoint(
///     move |x: &Tensor1<f64>| x.exp().dropout(0.5, replayed(|| seeds.fetch_add(1, Ordering::Relaxed))),
///     &x,
/// );
/// y.sum().backward()?;
/// assert_eq!(x.grad(), Some(y.to_array())); // the second call left out the same elements
/// # Ok::<(), autograd_core::Error>(())
/// ```
pub fn replayed(draw: impl FnOnce() -> u64) -> u64 {
    let innermost = RUNNING.with_borrow(Vec::len);
    let mut draw = Some(draw);
    within(innermost, &mut || draw.take().map_or(0, |draw| draw()))
}

/// The number that the innermost `depth` calls have next.
fn within(depth: usize, draw: &mut dyn FnMut() -> u64) -> u64 {
    let Some(call) = depth.checked_sub(1) else {
        return draw();
    };
    let known = RUNNING.with_borrow_mut(|running| match &mut running[call] {
        Running::First(_) => None,
        Running::Second(numbers, next) => {
            *next += 1;
            lock(numbers).get(*next - 1).copied()
        }
    });
    // A second call that draws more often than the first is refused by what it saves, if it matters at all.
    let number = known.unwrap_or_else(|| within(call, draw));
    RUNNING.with_borrow(|running| {
        if let Running::First(numbers) = &running[call] {
            lock(numbers).push(number);
        }
    });
    number
}

/// Runs the first call of a function, whose numbers go to `numbers`.
pub(super) fn first<R>(numbers: &Numbers, call: impl FnOnce() -> R) -> R {
    run(Running::First(Arc::clone(numbers)), call)
}

/// Runs the second call, which gets `numbers`.
pub(super) fn second<R>(numbers: &Numbers, call: impl FnOnce() -> R) -> R {
    run(Running::Second(Arc::clone(numbers), 0), call)
}

fn run<R>(running: Running, call: impl FnOnce() -> R) -> R {
    /// Takes the call away again, in a panic too.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            let gone = RUNNING.with_borrow_mut(Vec::pop);
            let was_second = matches!(gone, Some(Running::Second(..)));
            SECOND.set(SECOND.get() - usize::from(was_second));
        }
    }
    SECOND.set(SECOND.get() + usize::from(matches!(running, Running::Second(..))));
    RUNNING.with_borrow_mut(|all| all.push(running));
    let _guard = Guard;
    call()
}
