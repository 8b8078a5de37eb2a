//! Blocks of rows: taken apart into a slice for each number before a loop, and put together after it.

use std::mem::MaybeUninit;

use super::evaluation::BLOCK;
use crate::element::Element;
use crate::loops::wide::{Loop, compiled};

/// Copies the numbers of `rows`, each of `parts.len()` numbers, to the beginning of one slice for each.
pub(super) fn take_apart<T: Element>(rows: &[T], parts: &mut [[T; BLOCK]]) {
    compiled(Apart(rows, parts));
}

/// Copies numbers to `rows`, each of `parts.len()` numbers, from the beginning of one slice for each.
pub(super) fn put_together<T: Element>(
    parts: &[&mut [MaybeUninit<T>]],
    rows: &mut [MaybeUninit<T>],
) {
    compiled(Together(parts, rows));
}

struct Apart<'a, T>(&'a [T], &'a mut [[T; BLOCK]]);

struct Together<'a, 'b, T>(&'a [&'b mut [MaybeUninit<T>]], &'a mut [MaybeUninit<T>]);

/// Calls a function for the usual lengths with the length as a constant: the loop then has no inner one.
macro_rules! of_length {
    ($length:expr, $function:ident($($argument:expr),*), $otherwise:expr) => {
        match $length {
            1 => $function::<1, _>($($argument),*),
            2 => $function::<2, _>($($argument),*),
            3 => $function::<3, _>($($argument),*),
            4 => $function::<4, _>($($argument),*),
            6 => $function::<6, _>($($argument),*),
            8 => $function::<8, _>($($argument),*),
            9 => $function::<9, _>($($argument),*),
            _ => $otherwise,
        }
    };
}

impl<T: Element> Loop for Apart<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<const N: usize, T: Copy>(rows: &[T], parts: &mut [[T; BLOCK]]) {
            let (Some(parts), (rows, _)) = (parts.first_chunk_mut::<N>(), rows.as_chunks::<N>())
            else {
                return;
            };
            // Of a length that the compiler knows.
            if let (Some(rows), BLOCK) = (rows.first_chunk::<BLOCK>(), rows.len()) {
                for at in 0..BLOCK {
                    for number in 0..N {
                        parts[number][at] = rows[at][number];
                    }
                }
                return;
            }
            for (at, row) in rows.iter().enumerate().take(BLOCK) {
                for number in 0..N {
                    parts[number][at] = row[number];
                }
            }
        }
        let Self(rows, parts) = self;
        let length = parts.len();
        of_length!(length, each(rows, parts), {
            for (number, part) in parts.iter_mut().enumerate() {
                let numbers = rows.iter().skip(number).step_by(length);
                for (to, from) in part.iter_mut().zip(numbers) {
                    *to = *from;
                }
            }
        });
    }
}

impl<T: Element> Loop for Together<'_, '_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<const N: usize, T: Copy>(parts: &[&mut [T]], rows: &mut [T]) {
            let (rows, _) = rows.as_chunks_mut::<N>();
            // Of a length that the compiler knows.
            if rows.len() == BLOCK
                && parts.iter().all(|part| part.len() == BLOCK)
                && let Some(rows) = rows.first_chunk_mut::<BLOCK>()
            {
                let parts: [&[T; BLOCK]; N] = std::array::from_fn(
                    #[cfg_attr(optimized, inline(always))]
                    |number| match parts[number].first_chunk() {
                        Some(part) => part,
                        None => unreachable!("as long as was checked"),
                    },
                );
                for at in 0..BLOCK {
                    for number in 0..N {
                        rows[at][number] = parts[number][at];
                    }
                }
                return;
            }
            for (at, row) in rows.iter_mut().enumerate() {
                for number in 0..N {
                    row[number] = parts[number][at];
                }
            }
        }
        let Self(parts, rows) = self;
        let length = parts.len();
        of_length!(length, each(parts, rows), {
            for (number, part) in parts.iter().enumerate() {
                let numbers = rows.iter_mut().skip(number).step_by(length);
                for (to, from) in numbers.zip(part.iter()) {
                    *to = *from;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_put_together_as_they_were() {
        for length in 1..=17 {
            for count in [1, 5, BLOCK] {
                let rows: Vec<f64> = (0..length * count).map(|at| at as f64).collect();
                let mut parts = vec![[f64::NAN; BLOCK]; length];
                take_apart(&rows, &mut parts);
                assert_eq!(parts[length - 1][count - 1], rows[length * count - 1]);
                let mut parts: Vec<Vec<_>> = parts
                    .iter()
                    .map(|part| {
                        part[..count]
                            .iter()
                            .copied()
                            .map(MaybeUninit::new)
                            .collect()
                    })
                    .collect();
                let parts: Vec<_> = parts.iter_mut().map(|part| &mut part[..]).collect();
                let mut again = vec![MaybeUninit::new(f64::NAN); rows.len()];
                put_together(&parts, &mut again);
                // SAFETY: made of numbers.
                #[expect(unsafe_code, reason = "see above")]
                let again: Vec<f64> = again
                    .iter()
                    .map(|number| unsafe { number.assume_init() })
                    .collect();
                assert_eq!(again, rows);
            }
        }
    }
}
