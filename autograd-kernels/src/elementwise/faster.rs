//! The faster of two loops that compute the values of a formula.
//!
//! A formula that calls functions, or that loops, may be vector code or not: that depends on what the compiler makes part of
//! the loop, and so on the program and its profile. Where it is not, a replay takes a tenth of the time; where it is, some
//! times as long. Both compute the same numbers, bit for bit. So the first elements of a large call are computed in both
//! ways, in turns, and the others in the one that took less time, as are those of the calls that follow.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::evaluation::{BLOCK, Evaluation, Loops, Wanted};
use crate::element::{Element, Family, of_type};

/// The fewest elements that are replayed: a formula is recorded anew in each call.
const FEWEST: usize = 128;

/// The fewest elements of a call that finds out which loop is faster, if none has.
pub(super) const LEAST: usize = 2048;

/// The fewest elements of a call that finds out again: a formula may have more to do with other values.
const MANY: usize = 1 << 18;

/// How often both loops are measured.
const ROUNDS: usize = 3;

const UNKNOWN: u8 = 0;
const COMPILED: u8 = 1;
pub(super) const REPLAYED: u8 = 2;

/// What calls of a formula have found out, for both element types.
#[doc(hidden)]
#[derive(Debug)]
pub struct Faster {
    single: AtomicU8,
    double: AtomicU8,
}

impl Faster {
    #[doc(hidden)]
    #[must_use]
    pub const fn new() -> Self {
        Self::known(UNKNOWN)
    }

    pub(super) const fn known(loops: u8) -> Self {
        Self {
            single: AtomicU8::new(loops),
            double: AtomicU8::new(loops),
        }
    }
}

/// What was found, for an element type.
struct Found;

impl Family for Found {
    type Of<T: Element> = &'static AtomicU8;
}

/// The choice between the loops in one call.
#[derive(Debug)]
pub(super) struct Choice {
    found: Option<&'static AtomicU8>,
    is_replayed: bool,
    /// Whether the next run finds out which loop is faster.
    is_open: bool,
}

impl Choice {
    /// Returns the choice for an evaluation of so many elements: values alone have one.
    pub(super) fn of<T: Element>(
        function: &dyn Loops<T>,
        evaluation: Evaluation,
        count: usize,
    ) -> Self {
        let has_values = evaluation == Evaluation::Values;
        let faster = has_values.then(|| function.faster()).flatten();
        Self::between::<T>(faster, count)
    }

    /// Returns the choice for so many elements; without `faster`, that of the compiled loop.
    pub(super) fn between<T: Element>(faster: Option<&'static Faster>, count: usize) -> Self {
        let faster = faster.filter(|_| count >= FEWEST);
        let found = faster.map(|faster| of_type::<T, Found>(&faster.single, &faster.double));
        let known = found.map_or(COMPILED, |found| found.load(Ordering::Relaxed));
        let is_due = count >= MANY || count >= LEAST && known == UNKNOWN;
        Self {
            found,
            is_replayed: known == REPLAYED,
            // There is no clock everywhere.
            is_open: is_due && found.is_some() && !cfg!(target_family = "wasm"),
        }
    }

    /// Returns how many elements the next run should have at most.
    pub(super) fn longest(&self) -> usize {
        if self.is_open { BLOCK } else { usize::MAX }
    }

    /// Runs the loop that is chosen. `run` computes what it is told for some elements, `wanted` by the compiled loop or
    /// [`Wanted::Replayed`], and returns whether the formula can be replayed.
    #[inline]
    pub(super) fn run(&mut self, wanted: Wanted, mut run: impl FnMut(Wanted) -> bool) {
        if self.is_open {
            self.find(wanted, &mut run);
        } else {
            run(if self.is_replayed {
                Wanted::Replayed
            } else {
                wanted
            });
        }
    }

    /// Finds out which loop is faster, by the same elements in turns.
    #[cold]
    fn find(&mut self, wanted: Wanted, run: &mut dyn FnMut(Wanted) -> bool) {
        self.is_open = false;
        let mut least = [Duration::MAX; 2];
        // The first run records the formula, and brings the elements into the cache.
        let mut can_be_replayed = run(Wanted::Replayed);
        for _ in 0..ROUNDS {
            for (wanted, least) in [wanted, Wanted::Replayed].into_iter().zip(&mut least) {
                if can_be_replayed || wanted != Wanted::Replayed {
                    let begin = Instant::now();
                    can_be_replayed &= run(wanted);
                    *least = begin.elapsed().min(*least);
                }
            }
        }
        let [compiled, replayed] = least;
        self.is_replayed = can_be_replayed && replayed < compiled;
        let known = if self.is_replayed { REPLAYED } else { COMPILED };
        if let Some(found) = self.found {
            found.store(known, Ordering::Relaxed);
        }
    }
}
