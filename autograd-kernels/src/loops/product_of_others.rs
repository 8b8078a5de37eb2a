//! The product of all other elements of a lane, for each element: of those before it and of those after it.

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    reason = "a loop is vector code only if all of its body is in it"
)]

use std::mem::MaybeUninit;

use super::wide::{self, Loop, written};
use crate::element::Element;
use crate::parallel::{split_mut, worth};

/// The number of elements that are computed one after the other, by any thread; they stay in the fastest cache.
const PART: usize = 4096;

/// The number of elements whose products are formed apart from those before: the next step then waits for one operation,
/// not for one of each element.
const STEP: usize = 8;

/// The products that are formed side by side.
const LANES: usize = 64;

/// Writes the products of all other elements of a lane.
#[cfg_attr(optimized, inline(always))]
pub(super) fn of_lane<T: Element>(x: &[T], out: &mut [MaybeUninit<T>]) {
    if x.len() <= PART {
        part(x, out, [T::one(); 2]);
    } else {
        parts(x, out);
    }
}

/// Writes the products of all other elements of a lane of several parts: the product of each is computed first.
fn parts<T: Element>(x: &[T], out: &mut [MaybeUninit<T>]) {
    let at_least = worth::FORMULA / PART;
    let mut others = vec![[T::one(); 2]; x.len().div_ceil(PART)];
    split_mut(&mut others, 1, at_least, |first, products| {
        wide::widest(Products {
            x: &x[first * PART..],
            products,
        });
    });
    exclusive(others.iter_mut().map(|[before, _]| before));
    exclusive(others.iter_mut().rev().map(|[_, after]| after));
    let (whole, rest) = out.split_at_mut(x.len() / PART * PART);
    split_mut(whole, PART, at_least, |first, out| {
        let x = &x[first * PART..];
        let others = &others[first..];
        wide::widest(Parts { x, out, others });
    });
    wide::widest(Parts {
        x: &x[x.len() - rest.len()..],
        out: rest,
        others: &others[others.len() - 1..],
    });
}

/// Replaces each number by the product of those before it.
fn exclusive<'a, T: Element>(products: impl Iterator<Item = &'a mut T>) {
    products.fold(T::one(), |before, product| {
        before * std::mem::replace(product, before)
    });
}

/// The products of parts.
struct Products<'a, T> {
    x: &'a [T],
    products: &'a mut [[T; 2]],
}

impl<T: Element> Loop for Products<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        for (products, part) in self.products.iter_mut().zip(self.x.chunks(PART)) {
            let mut lanes = [T::one(); LANES];
            let (rows, rest) = part.as_chunks::<LANES>();
            for x in rows {
                for lane in 0..LANES {
                    lanes[lane] *= x[lane];
                }
            }
            // A copy: lanes whose index is not a constant are not in registers.
            let products_of_lanes = lanes;
            let all = products_of_lanes.iter().chain(rest);
            *products = [all.fold(T::one(), |product, &x| product * x); 2];
        }
    }
}

/// The products of all other elements, of parts.
struct Parts<'a, T> {
    x: &'a [T],
    out: &'a mut [MaybeUninit<T>],
    /// Of each part, the products of those before and after it.
    others: &'a [[T; 2]],
}

impl<T: Element> Loop for Parts<'_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let parts = self.x.chunks(PART).zip(self.others);
        for (out, (x, &others)) in self.out.chunks_mut(PART).zip(parts) {
            part(x, out, others);
        }
    }
}

/// Writes the products of all other elements of a part, where `before` and `after` are those of the other parts.
#[cfg_attr(optimized, inline(always))]
fn part<T: Element>(x: &[T], out: &mut [MaybeUninit<T>], [mut before, mut after]: [T; 2]) {
    let (steps, rest) = x.as_chunks::<STEP>();
    let (out_steps, out_rest) = out.as_chunks_mut::<STEP>();
    for (x, out) in steps.iter().zip(out_steps) {
        let mut product = T::one();
        for (&x, out) in x.iter().zip(out) {
            out.write(before * product);
            product *= x;
        }
        before *= product;
    }
    for (&x, out) in rest.iter().zip(out_rest) {
        out.write(before);
        before *= x;
    }
    // SAFETY: the loops have written one for each of `x`.
    let out = unsafe { written(out) };
    let (out_steps, out_rest) = out.as_chunks_mut::<STEP>();
    for (&x, out) in rest.iter().zip(out_rest).rev() {
        *out *= after;
        after *= x;
    }
    for (x, out) in steps.iter().zip(out_steps).rev() {
        let mut product = T::one();
        for (&x, out) in x.iter().zip(out).rev() {
            *out *= after * product;
            product *= x;
        }
        after *= product;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::loops::along::{Along, along};
    use crate::parallel::set_threads;

    #[test]
    fn lanes_of_several_parts() {
        for length in [PART, PART + 1, 20 * PART, 20 * PART + 5] {
            // Powers of 2 whose products are in range, and exact.
            let mut x = Array2::from_shape_fn((3, length), |(lane, i)| {
                [0.5, 2.0, 1.0, 4.0, 0.25][(i + lane) % 5]
            });
            let products = x.map_axis(Axis(1), |lane| lane.product());
            let mut expected = products.insert_axis(Axis(1)) / &x;
            x[[2, PART - 1]] = 0.0;
            let others = expected[[2, PART - 1]];
            expected.row_mut(2).fill(0.0);
            expected[[2, PART - 1]] = others;
            for threads in [1, 2, 3] {
                set_threads(threads);
                let found = along(Along::ProductOfOthers, &x.view(), None, Axis(1));
                assert_eq!(found, expected, "{length}, {threads} threads");
                let single = x.mapv(f32::from_f64);
                let found = along(Along::ProductOfOthers, &single.view(), None, Axis(1));
                assert_eq!(found.mapv(f64::from), expected, "{length}");
            }
        }
    }

    #[test]
    fn bits_on_any_number_of_threads() {
        let x = Array2::from_shape_fn((1, 20 * PART + 3), |(_, i)| 1.0 + 1e-3 * (i as f64).sin());
        let [one, two, three] = [1, 2, 3].map(|threads| {
            set_threads(threads);
            along(Along::ProductOfOthers, &x.view(), None, Axis(1))
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}
