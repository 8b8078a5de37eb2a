//! Reductions of many lanes on several threads: of blocks of lanes, or of columns if there is one block.

use std::ops::Range;

use super::along::COLUMNS;
use crate::memory;
use crate::parallel::{each_part, shares, split_mut, worth};

/// Returns a result of each lane, of this number of blocks, of their rows, and of the elements of a row. Calls `work` with
/// ranges of blocks and of columns, and the results of the lanes that are in both, which it replaces.
pub(super) fn of_each_lane<X: Copy + Send>(
    [outer, length, inner]: [usize; 3],
    of_none: X,
    work: impl Fn(Range<usize>, Range<usize>, &mut [X]) + Sync,
) -> Vec<X> {
    let mut results = memory::take(outer * inner);
    results.resize(outer * inner, of_none);
    if length == 0 || results.is_empty() {
        return results;
    }
    if outer > 1 || inner == 1 {
        let at_least = worth::LOOP.div_ceil(length * inner);
        split_mut(&mut results, inner, at_least, |first, results| {
            work(first..first + results.len() / inner, 0..inner, results);
        });
        return results;
    }
    let at_least = worth::LOOP.div_ceil(length * COLUMNS);
    let mut rest = &mut *results;
    let mut parts = Vec::new();
    for columns in shares(inner, COLUMNS, at_least) {
        let (part, after) = rest.split_at_mut(columns.len());
        parts.push((columns, part));
        rest = after;
    }
    each_part(parts, |(columns, results)| work(0..1, columns, results));
    results
}
