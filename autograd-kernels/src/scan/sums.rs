//! Sums of the lanes of many rows at a time.

use crate::element::Element;
use crate::elementwise::recorded::{Row, WIDTH};

/// Returns the sums of the first lanes of at most so many rows as there are lanes in one, by halves. Rows hold lanes of
/// several of them, after the last addition one of each; `halves` is room for them.
#[cfg_attr(optimized, inline(always))]
pub(super) fn sums_of_rows<'a, T: Element>(
    mut rows: impl Iterator<Item = &'a [T; WIDTH]>,
    length: usize,
    halves: &mut [Row<T>; WIDTH / 2],
) -> [T; WIDTH] {
    let zeros = [T::zero(); WIDTH];
    let mut count = 0;
    while let Some(first) = rows.next() {
        let second = rows.next().unwrap_or(&zeros);
        halves[count] = if length == WIDTH {
            folded::<T, 16>(first, second)
        } else {
            folded::<T, 16>(&first_lanes(*first, length), &first_lanes(*second, length))
        };
        count += 1;
    }
    const { assert!(WIDTH == 32, "the first step") };
    folded_in_pairs::<T, 8>(halves, &mut count);
    folded_in_pairs::<T, 4>(halves, &mut count);
    folded_in_pairs::<T, 2>(halves, &mut count);
    folded_in_pairs::<T, 1>(halves, &mut count);
    halves[0].0
}

/// Replaces the lanes from `length` on by zeros.
fn first_lanes<T: Element>(mut lanes: [T; WIDTH], length: usize) -> [T; WIDTH] {
    lanes[length..].fill(T::zero());
    lanes
}

/// Makes one row of two each.
#[cfg_attr(optimized, inline(always))]
fn folded_in_pairs<T: Element, const HALF: usize>(
    rows: &mut [Row<T>; WIDTH / 2],
    count: &mut usize,
) {
    let pairs = count.div_ceil(2);
    for pair in 0..pairs {
        // After the last row are rows that no result is read of.
        rows[pair] = folded::<T, HALF>(&rows[2 * pair].0, &rows[2 * pair + 1].0);
    }
    *count = pairs;
}

/// Adds lanes that are `HALF` apart, of groups of twice as many: those of the first row, then those of the second.
#[cfg_attr(optimized, inline(always))]
fn folded<T: Element, const HALF: usize>(first: &[T; WIDTH], second: &[T; WIDTH]) -> Row<T> {
    let (mut x, mut y) = (Row([T::zero(); WIDTH]), Row([T::zero(); WIDTH]));
    for (half, row) in [first, second].into_iter().enumerate() {
        for lane in 0..WIDTH / 2 {
            let from = lane / HALF * 2 * HALF + lane % HALF;
            x.0[half * WIDTH / 2 + lane] = row[from];
            y.0[half * WIDTH / 2 + lane] = row[from + HALF];
        }
    }
    for lane in 0..WIDTH {
        x.0[lane] += y.0[lane];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::wide::sum_of_lanes;

    #[test]
    fn sums_of_rows_are_those_of_each_row() {
        let element = |row: usize, lane: usize| (1.0 + row as f64) / (3.0 + lane as f64);
        let rows: Vec<[f64; WIDTH]> = (0..WIDTH)
            .map(|row| std::array::from_fn(|lane| element(row, lane)))
            .collect();
        // What is there from sums before.
        let mut halves = [Row([f64::NAN; WIDTH]); WIDTH / 2];
        for count in 1..=WIDTH {
            for length in [WIDTH, 1, 17] {
                let sums = sums_of_rows(rows[..count].iter(), length, &mut halves);
                for (row, sum) in rows[..count].iter().zip(sums) {
                    assert_eq!(sum, sum_of_lanes(first_lanes(*row, length)), "{count}");
                }
            }
        }
    }
}
