//! Large work on several processors.
//!
//! Work is cut into parts, which the calling thread and the threads of `helpers` take one after the other. Each kernel
//! gives the least work that is worth a helper.
//!
//! Work within a part is not cut again: nested calls run on the thread of the part.

mod helpers;
pub(crate) mod worth;

use std::cell::Cell;
use std::env;
use std::ffi::OsString;
use std::mem::forget;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use crate::checks::counted;

/// More parts than threads, so that the others take over from a thread that is interrupted.
const PARTS_PER_THREAD: usize = 4;

/// The factor by which less work is worth a helper that is awake.
const WAKING: usize = 8;

/// The environment variable with the number of threads, for programs that do not call [`set_threads`].
const VARIABLE: &str = "PULLBACK_NUM_THREADS";

/// The argument of [`set_threads`]; 0 before it is called.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is working on a part.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// Returns the number of threads for large work: the argument of [`set_threads`], or else the environment variable
/// `PULLBACK_NUM_THREADS`, which is read once, or else the number of processors that the process may use.
///
/// # Panics
/// If the variable is not a number from 1 on.
///
/// ```
/// use pullback::kernels::{set_threads, threads};
///
/// assert_eq!(threads(), std::thread::available_parallelism().map_or(1, usize::from));
/// set_threads(2);
/// assert_eq!(threads(), 2);
/// ```
#[track_caller]
pub fn threads() -> usize {
    static FROM_OUTSIDE: OnceLock<Result<usize, OsString>> = OnceLock::new();
    match THREADS.load(Ordering::Relaxed) {
        0 => match FROM_OUTSIDE.get_or_init(threads_from_outside) {
            Ok(count) => *count,
            // Here, at the caller's line: a closure would not pass it on.
            Err(other) => panic!(
                "{VARIABLE} is `{}`: it is a number of threads, from 1 on",
                other.display()
            ),
        },
        count => count,
    }
}

/// Returns the number of threads, or the text of the variable that is not a number from 1 on.
fn threads_from_outside() -> Result<usize, OsString> {
    let Some(count) = env::var_os(VARIABLE) else {
        return Ok(thread::available_parallelism().map_or(1, usize::from));
    };
    let number = count.to_str().and_then(|count| count.trim().parse().ok());
    number.filter(|&number| number > 0).ok_or(count)
}

/// Sets the number of threads for large work, including the calling thread; see [`threads`].
///
/// # Panics
/// If `count` is 0.
#[track_caller]
pub fn set_threads(count: usize) {
    assert!(count > 0, "work needs at least one thread");
    THREADS.store(count, Ordering::Relaxed);
}

/// Calls `work` with ranges that together are `0..count`, on several threads if `count` is at least twice `at_least`,
/// or an eighth of that just after other large work, while a helper thread is awake.
///
/// # Panics
/// If `work` does, with its message.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use pullback::kernels::split;
///
/// let sum = AtomicUsize::new(0);
/// split(1000, 100, |range| {
///     sum.fetch_add(range.sum::<usize>(), Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
pub fn split(count: usize, at_least: usize, work: impl Fn(Range<usize>) + Sync) {
    split_in(parts(threads(), count, at_least), count, work);
}

/// Like [`split`], with at most one part for each thread: for work that each part repeats, such as packing an operand.
pub(crate) fn split_evenly(count: usize, at_least: usize, work: impl Fn(Range<usize>) + Sync) {
    let threads = threads();
    split_in(parts(threads, count, at_least).min(threads), count, work);
}

fn split_in(parts: usize, count: usize, work: impl Fn(Range<usize>) + Sync) {
    if parts < 2 {
        return work(0..count);
    }
    in_parts(threads(), parts, &|part| work(share(count, parts, part)));
}

/// Calls `work` with disjoint pieces that together are `elements`, each made of whole rows of `row` elements, and the
/// index of the piece's first row; on several threads as [`split`] does, with at least `at_least` rows each.
///
/// # Panics
/// If `elements` is not a whole number of rows, or if `work` does.
///
/// ```
/// use pullback::kernels::split_mut;
///
/// let mut matrix = vec![0; 12];
/// split_mut(&mut matrix, 3, 1, |first, rows| {
///     for (i, row) in rows.chunks_mut(3).enumerate() {
///         row.fill(first + i);
///     }
/// });
/// assert_eq!(matrix, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
/// ```
#[track_caller]
pub fn split_mut<T: Send>(
    elements: &mut [T],
    row: usize,
    at_least: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    split_rows(elements, row, at_least, &|first, pieces| {
        work(first, pieces[0].0);
    });
}

/// [`split_mut`], compiled once for a type of elements, not for each loop. Not inlined: a loop has its own way for short
/// slices, which its code would be in the way of.
#[inline(never)]
#[track_caller]
fn split_rows<T: Send>(elements: &mut [T], row: usize, at_least: usize, work: &Work<'_, T>) {
    let rows = elements.len().checked_div(row).unwrap_or(0);
    assert!(
        rows * row == elements.len(),
        "{} cannot be cut into rows of {row}",
        counted(elements.len(), "element", "elements")
    );
    split_each_mut(&mut [(elements, row)], at_least, work);
}

/// A slice, and the length of its rows.
type Rows<'a, T> = (&'a mut [T], usize);

/// What is called with the index of the first row and pieces of slices.
type Work<'a, T> = dyn Fn(usize, &mut [Rows<'_, T>]) + Sync + 'a;

/// Calls `work` as [`split_mut`] does, with a piece of each of several slices, which have the same number of rows. Each
/// slice is given with the length of its rows.
pub(crate) fn split_each_mut<T: Send>(
    slices: &mut [Rows<'_, T>],
    at_least: usize,
    work: &Work<'_, T>,
) {
    let rows = rows(slices);
    let parts = parts(threads(), rows, at_least);
    if parts < 2 {
        return work(0, slices);
    }
    in_pieces(slices, rows, parts, work);
}

fn rows<T>(slices: &[Rows<'_, T>]) -> usize {
    let Some((slice, row)) = slices.first() else {
        return 0;
    };
    slice.len() / (*row).max(1)
}

/// Calls `work` with each of several parts.
fn in_pieces<T: Send>(slices: &mut [Rows<'_, T>], rows: usize, parts: usize, work: &Work<'_, T>) {
    let mut rest: Vec<Rows<'_, T>> = slices
        .iter_mut()
        .map(|(slice, row)| (&mut **slice, *row))
        .collect();
    let pieces: Vec<_> = (0..parts)
        .map(|part| {
            let range = share(rows, parts, part);
            let mut pieces = Vec::with_capacity(rest.len());
            for (slice, row) in &mut rest {
                let (piece, after) = std::mem::take(slice).split_at_mut(range.len() * *row);
                *slice = after;
                pieces.push((piece, *row));
            }
            Mutex::new((range.start, pieces))
        })
        .collect();
    in_parts(threads(), parts, &|part| {
        // Each piece is locked once: the lock passes it to the thread that takes the part.
        let mut pieces = locked(&pieces[part]);
        let (first, pieces) = &mut *pieces;
        work(*first, pieces);
    });
}

/// Returns ranges that together are `0..count`, for [`each_part`]: at most one for each thread, each a multiple of `unit`
/// but for the last one, and of at least `at_least` units if there are several.
pub(crate) fn shares(count: usize, unit: usize, at_least: usize) -> Vec<Range<usize>> {
    let (units, threads) = (count.div_ceil(unit), threads());
    let parts = parts(threads, units, at_least).min(threads);
    let range = |part| {
        let units = share(units, parts, part);
        units.start * unit..count.min(units.end * unit)
    };
    (0..parts).map(range).collect()
}

/// Calls `work` with each part, on several threads if there are several.
pub(crate) fn each_part<P: Send>(parts: Vec<P>, work: impl Fn(P) + Sync) {
    if parts.len() < 2 {
        return parts.into_iter().for_each(work);
    }
    let parts: Vec<_> = parts
        .into_iter()
        .map(|part| Mutex::new(Some(part)))
        .collect();
    in_parts(threads(), parts.len(), &|index| {
        // Each part is taken once.
        let part = locked(&parts[index]).take();
        part.into_iter().for_each(&work);
    });
}

/// Returns the number of parts that work is cut into; 1 if it is not worth several threads.
pub(crate) fn parts(threads: usize, count: usize, at_least: usize) -> usize {
    if threads == 1 || AT_WORK.get() {
        return 1;
    }
    let at_least = at_least.max(1);
    let mut worth = count / at_least;
    if worth < 2 {
        worth = count / at_least.div_ceil(WAKING);
        if worth < 2 || !helpers::is_awake() {
            return 1;
        }
    }
    worth.min(threads.saturating_mul(PARTS_PER_THREAD))
}

/// Returns the range of one part. The lengths of parts differ by at most one.
fn share(count: usize, parts: usize, part: usize) -> Range<usize> {
    let (each, longer) = (count / parts, count % parts);
    let start = part * each + part.min(longer);
    start..start + each + usize::from(part < longer)
}

/// Calls `work` once with the number of each part, on at most `threads` threads. The first panic of a part
/// becomes the caller's when all threads have ended.
fn in_parts(threads: usize, parts: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let first_panic = Mutex::new(None);
    helpers::call(threads.min(parts) - 1, &|| {
        let outer = AT_WORK.replace(true);
        let result = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts {
                    break;
                }
                work(part);
            }
        }));
        AT_WORK.set(outer);
        if let Err(panic) = result {
            let mut first = locked(&first_panic);
            if first.is_none() {
                *first = Some(panic);
            } else {
                // The payload may panic when it is dropped, which would end a helper.
                forget(panic);
            }
        }
    });
    let panic = first_panic.into_inner();
    if let Some(panic) = panic.unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic can leave only the piece of the closure that panicked half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
