//! Derivatives with respect to steps that are sums of lanes.

use std::ops::Range;

use super::lanes::Rows;
use crate::element::Element;
use crate::elementwise::recorded::{Row, WIDTH};

/// The lanes of some steps that are to be summed, a part of them each time: those that are eight apart are added where they
/// are computed, and the eight sums after the last step. The processor would wait for what was just written, in pieces of
/// another size than are read.
pub(super) struct Sums<T, const DEPTH: usize> {
    /// The derivatives that are sums.
    numbers: Vec<usize>,
    /// Of each step all of these, of each row of lanes.
    of_eight: Vec<[[T; 8]; DEPTH]>,
}

impl<T: Element, const DEPTH: usize> Sums<T, DEPTH> {
    /// Returns room for those that are sums and wanted.
    pub(super) fn new(are_sums: &[bool], wanted: &[Option<Rows<'_, T>>], steps: usize) -> Self {
        let each = are_sums.iter().zip(wanted).enumerate();
        let numbers = each.filter(|(_, (is_sum, rows))| **is_sum && rows.is_some());
        let numbers: Vec<usize> = numbers.map(|(number, _)| number).collect();
        let of_eight = vec![[[T::zero(); 8]; DEPTH]; steps * numbers.len()];
        Self { numbers, of_eight }
    }

    /// Takes the first lanes of each derivative, whose rows `rows` returns, of a step.
    #[cfg_attr(optimized, inline(always))]
    pub(super) fn take<'a>(
        &mut self,
        step: usize,
        length: usize,
        rows: impl Fn(usize) -> &'a [Row<T>; DEPTH],
    ) where
        T: 'a,
    {
        let of_step = self.of_eight[step * self.numbers.len()..].iter_mut();
        for (sums, &number) in of_step.zip(&self.numbers) {
            for (row, (sums, lanes)) in sums.iter_mut().zip(rows(number)).enumerate() {
                let length = length.saturating_sub(row * WIDTH);
                *sums = if length < WIDTH {
                    sums_of_eight(&first_lanes(lanes.0, length))
                } else {
                    sums_of_eight(&lanes.0)
                };
            }
        }
    }

    /// Writes the sums of all steps: those of the first row of lanes to a column, and those of others to the next, if there
    /// are any.
    pub(super) fn write(
        &self,
        rows: &mut [Option<Rows<'_, T>>],
        steps: &Range<usize>,
        column: usize,
    ) {
        let columns = rows.iter().flatten().map(|rows| rows.ncols() - column);
        let depth = columns.min().map_or(0, |columns| columns.min(DEPTH));
        // The numbers of a row are beside each other in memory.
        let of_steps = self.of_eight.chunks_exact(self.numbers.len().max(1));
        for (step, of_step) in steps.clone().zip(of_steps) {
            for row in 0..depth {
                for (&number, sums) in self.numbers.iter().zip(of_step) {
                    if let Some(rows) = &mut rows[number] {
                        rows[[step, column + row]].write(sum_of(&sums[row]));
                    }
                }
            }
        }
    }
}

#[cfg_attr(optimized, inline(always))]
fn sums_of_eight<T: Element>(lanes: &[T; WIDTH]) -> [T; 8] {
    const { assert!(WIDTH == 32, "four lanes for each") };
    std::array::from_fn(
        #[cfg_attr(optimized, inline(always))]
        |lane| (lanes[lane] + lanes[lane + 16]) + (lanes[lane + 8] + lanes[lane + 24]),
    )
}

#[cfg_attr(optimized, inline(always))]
fn sum_of<T: Element>(x: &[T; 8]) -> T {
    ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))
}

/// Replaces the lanes from `length` on by zeros.
#[inline(never)]
fn first_lanes<T: Element>(mut lanes: [T; WIDTH], length: usize) -> [T; WIDTH] {
    lanes[length..].fill(T::zero());
    lanes
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::loops::wide::sum_of_lanes;

    fn are_those_of_the_first_lanes<const DEPTH: usize>(lengths: &[usize]) {
        let of = |step: usize, number: usize| -> [Row<f64>; DEPTH] {
            std::array::from_fn(|row| {
                let first = step * 7 + number * 3 + row * WIDTH;
                Row(std::array::from_fn(|lane| {
                    1.0 / (1.0 + (first + lane) as f64)
                }))
            })
        };
        let all = [0, 1].map(|step| [0, 1, 2, 3].map(|number| of(step, number)));
        for &length in lengths {
            // A column for each row of lanes that is there, after one of others.
            let columns = 1 + length.div_ceil(WIDTH).max(1);
            let mut room: [_; 4] = std::array::from_fn(|_| Array2::uninit([5, columns]));
            let mut rows: Vec<_> = room.iter_mut().map(|room| Some(room.view_mut())).collect();
            // The second one is not a sum, and the third is not wanted.
            rows[2] = None;
            let mut sums = Sums::<_, DEPTH>::new(&[true, false, true, true], &rows, 2);
            for step in [1, 0] {
                sums.take(step, length, |number| &all[step][number]);
            }
            sums.write(&mut rows, &(2..4), 1);
            for (step, number) in [(0, 0), (0, 3), (1, 0), (1, 3)] {
                for row in 0..columns - 1 {
                    // SAFETY: it was written.
                    #[expect(unsafe_code, reason = "see above")]
                    let sum = unsafe { room[number][[2 + step, 1 + row]].assume_init() };
                    let length = WIDTH.min(length - row * WIDTH);
                    let expected = sum_of_lanes(first_lanes(all[step][number][row].0, length));
                    assert_eq!(sum, expected, "{length}: {step}, {number}, {row}");
                }
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_first_lanes_by_halves() {
        are_those_of_the_first_lanes::<1>(&[WIDTH, 1, 17, 0]);
        are_those_of_the_first_lanes::<2>(&[2 * WIDTH, WIDTH + 5, WIDTH, 17, 0]);
    }
}
