//! Reductions of lanes, compiled here for both element types: the maximum and the minimum, the product, the logarithm of
//! the sum of exponentials, and the squares of deviations.
//!
//! Lanes are computed where they are or side by side, as in [`along`](super::along).

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it"
)]

use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::along::{
    COLUMNS, Row, WIDTH, column_sums, gather, in_halves, map_all, map_columns, sum, sum_of, update,
};
use super::axes::Axes;
use super::lanes::{Lanes, reduced};
use super::max::{
    Extreme, Largest, Smallest, column_extreme, first, first_of_columns, lane_extreme,
};
use super::mean_var::mean_var;
use crate::element::{Any, Element, Family};
use crate::math::{exp, ln};
use crate::memory;
use crate::parallel::{split_mut, worth};
use crate::registers::{self, Kernel, Register, widest};

/// A reduction of lanes.
#[derive(Clone, Copy, Debug)]
pub enum Reduction {
    /// NaN if an element is NaN, −∞ if there are none.
    Max,
    /// NaN if an element is NaN, ∞ if there are none.
    Min,
    /// 1 if there are no elements.
    Product,
    /// ln Σ eˣ: −∞ if there are no elements, or all are −∞.
    LogSumExp,
    /// Σ (x − mean)², in two passes, which a large mean does not make inexact.
    SquaredDeviations,
}

/// Returns a reduction over `axes`.
///
/// # Panics
/// If one of the axes does not exist, or the rank of `E` is not that of the result.
#[track_caller]
pub fn reduce_lanes<T: Element, D: Dimension, E: Dimension>(
    reduction: Reduction,
    x: &ArrayView<'_, T, D>,
    axes: Axes,
) -> Array<T, E> {
    let shape = axes.shape("reduce", x.shape());
    let lanes = Lanes::of(x, axes);
    let mut results = memory::take(lanes.outer * lanes.inner);
    let arrays = (&lanes, &mut results);
    match T::into_any::<Arrays<'_>>(arrays) {
        Any::F32((lanes, results)) => single(reduction, lanes, results),
        Any::F64((lanes, results)) => double(reduction, lanes, results),
    }
    reduced(results, &shape)
}

/// Returns the extremes over `axes`, and the index of the first element of each lane that is the extreme.
///
/// # Panics
/// If one of the axes does not exist, a lane has no elements, or the rank of `E` is not that of the result.
#[track_caller]
pub fn first_extremes<T: Element, D: Dimension, E: Dimension>(
    extreme: Reduction,
    x: &ArrayView<'_, T, D>,
    axes: Axes,
) -> (Array<T, E>, Vec<usize>) {
    let shape = axes.shape("reduce", x.shape());
    let lanes = Lanes::of(x, axes);
    let count = lanes.outer * lanes.inner;
    assert!(
        lanes.length > 0 || count == 0,
        "a lane without elements has no extreme"
    );
    let mut results = memory::take(count);
    let mut indices = Vec::with_capacity(count);
    let is_max = matches!(extreme, Reduction::Max);
    match T::into_any::<Arrays<'_>>((&lanes, &mut results)) {
        Any::F32((lanes, results)) => first_single(is_max, lanes, results, &mut indices),
        Any::F64((lanes, results)) => first_double(is_max, lanes, results, &mut indices),
    }
    (reduced(results, &shape), indices)
}

/// Lanes, and their results.
struct Arrays<'a>(PhantomData<&'a ()>);

impl<'a> Family for Arrays<'a> {
    type Of<T: Element> = (&'a Lanes<'a, T>, &'a mut Vec<T>);
}

#[inline(never)]
fn single(reduction: Reduction, lanes: &Lanes<'_, f32>, results: &mut Vec<f32>) {
    of(reduction, lanes, results);
}

#[inline(never)]
fn double(reduction: Reduction, lanes: &Lanes<'_, f64>, results: &mut Vec<f64>) {
    of(reduction, lanes, results);
}

fn of<T: registers::Lanes>(reduction: Reduction, lanes: &Lanes<'_, T>, results: &mut Vec<T>) {
    match reduction {
        Reduction::Max => lanes_or_parts(OfExtreme(Largest), lanes, results),
        Reduction::Min => lanes_or_parts(OfExtreme(Smallest), lanes, results),
        Reduction::Product => lanes_or_parts(Product, lanes, results),
        Reduction::LogSumExp => lanes_or_parts(LogSumExp, lanes, results),
        Reduction::SquaredDeviations => each_lane(SquaredDeviations, lanes, results),
    }
}

#[inline(never)]
fn first_single(
    is_max: bool,
    lanes: &Lanes<'_, f32>,
    results: &mut Vec<f32>,
    indices: &mut Vec<usize>,
) {
    first_of(is_max, lanes, results, indices);
}

#[inline(never)]
fn first_double(
    is_max: bool,
    lanes: &Lanes<'_, f64>,
    results: &mut Vec<f64>,
    indices: &mut Vec<usize>,
) {
    first_of(is_max, lanes, results, indices);
}

fn first_of<T: registers::Lanes>(
    is_max: bool,
    lanes: &Lanes<'_, T>,
    results: &mut Vec<T>,
    indices: &mut Vec<usize>,
) {
    if is_max {
        each_lane(First(Largest, indices), lanes, results);
    } else {
        each_lane(First(Smallest, indices), lanes, results);
    }
}

/// A reduction of a lane.
trait LaneReduction<T: Element> {
    /// Reduces a lane.
    ///
    /// # Safety
    /// The processor has the registers.
    unsafe fn lane<R: Register<Element = T>>(&mut self, x: &[T]) -> T;

    /// Reduces lanes that are side by side, in rows of this width, of which the first `count` are wanted. May change the
    /// elements.
    fn columns(&mut self, x: &mut [T], width: usize, count: usize) -> Row<T>;
}

fn each_lane<T: registers::Lanes>(
    reduction: impl LaneReduction<T>,
    lanes: &Lanes<'_, T>,
    results: &mut Vec<T>,
) {
    let each = EachLane {
        reduction,
        lanes,
        results,
    };
    // SAFETY: it has no conditions.
    unsafe { widest(each) }
}

/// The number of elements of a long lane that are reduced apart, on any thread.
const PART: usize = 1 << 16;

/// Reduces each lane, or the parts of a long one and then these reductions, which gives the same.
fn lanes_or_parts<T: registers::Lanes>(
    reduction: impl LaneReduction<T> + Copy + Sync,
    lanes: &Lanes<'_, T>,
    results: &mut Vec<T>,
) {
    if lanes.outer * lanes.inner != 1 || lanes.length < 2 * PART {
        return each_lane(reduction, lanes, results);
    }
    let elements = &*lanes.elements;
    let mut parts = vec![T::zero(); elements.len().div_ceil(PART)];
    split_mut(&mut parts, 1, worth::LOOP / PART, |first, parts| {
        let pieces = elements[first * PART..].chunks(PART);
        for (part, elements) in parts.iter_mut().zip(pieces) {
            // SAFETY: it has no conditions, here and below.
            unsafe { widest(OfLane(reduction, elements, part)) };
        }
    });
    let mut result = T::zero();
    unsafe { widest(OfLane(reduction, &parts, &mut result)) };
    results.push(result);
}

struct OfLane<'a, T, F>(F, &'a [T], &'a mut T);

impl<T: registers::Lanes, F: LaneReduction<T>> Kernel<T> for OfLane<'_, T, F> {
    #[inline(always)]
    unsafe fn run<R: Register<Element = T>>(mut self) {
        // SAFETY: the processor has the registers.
        *self.2 = unsafe { self.0.lane::<R>(self.1) };
    }
}

struct EachLane<'a, 'b, T: Element, F> {
    reduction: F,
    lanes: &'a Lanes<'b, T>,
    results: &'a mut Vec<T>,
}

impl<T: registers::Lanes, F: LaneReduction<T>> Kernel<T> for EachLane<'_, '_, T, F> {
    #[inline(always)]
    unsafe fn run<R: Register<Element = T>>(mut self) {
        let Lanes {
            ref elements,
            outer,
            length,
            inner,
        } = *self.lanes;
        if length == 0 {
            // SAFETY: the processor has the registers, here and below.
            let of_none = unsafe { self.reduction.lane::<R>(&[]) };
            self.results.resize(outer * inner, of_none);
        } else if inner == 1 {
            for x in elements.chunks_exact(length) {
                let result = unsafe { self.reduction.lane::<R>(x) };
                self.results.push(result);
            }
        } else if inner > 0 {
            for block in elements.chunks_exact(length * inner) {
                for first in (0..inner).step_by(COLUMNS) {
                    let count = (inner - first).min(COLUMNS);
                    let mut x = gather(block, inner, first, count);
                    let width = count.next_multiple_of(WIDTH);
                    let results = self.reduction.columns(&mut x, width, count);
                    self.results.extend_from_slice(&results[..count]);
                    memory::give_back(x);
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
struct OfExtreme<E>(E);

impl<T: Element, E: Extreme> LaneReduction<T> for OfExtreme<E> {
    #[inline(always)]
    unsafe fn lane<R: Register<Element = T>>(&mut self, x: &[T]) -> T {
        // SAFETY: as the trait requires.
        unsafe { lane_extreme::<T, R, E>(self.0, x) }
    }

    #[inline(always)]
    fn columns(&mut self, x: &mut [T], width: usize, _: usize) -> Row<T> {
        column_extreme(self.0, x, width)
    }
}

/// The extreme, and the indices of the first elements that are it.
struct First<'a, E>(E, &'a mut Vec<usize>);

impl<T: Element, E: Extreme> LaneReduction<T> for First<'_, E> {
    #[inline(always)]
    unsafe fn lane<R: Register<Element = T>>(&mut self, x: &[T]) -> T {
        // SAFETY: as the trait requires.
        let extreme = unsafe { lane_extreme::<T, R, E>(self.0, x) };
        self.1.push(first(x, extreme).unwrap_or_default());
        extreme
    }

    #[inline(always)]
    fn columns(&mut self, x: &mut [T], width: usize, count: usize) -> Row<T> {
        let extremes = column_extreme(self.0, x, width);
        let indices = first_of_columns(x, &extremes, width);
        self.1.extend_from_slice(&indices[..count]);
        extremes
    }
}

#[derive(Clone, Copy)]
struct Product;

impl<T: Element> LaneReduction<T> for Product {
    #[inline(always)]
    unsafe fn lane<R: Register<Element = T>>(&mut self, x: &[T]) -> T {
        // Four arrays: the compiler keeps one of all in memory.
        let [mut a, mut b, mut c, mut d] = [[T::one(); WIDTH]; 4];
        let (chunks, rest) = x.as_chunks::<{ 4 * WIDTH }>();
        for chunk in chunks {
            for lane in 0..WIDTH {
                a[lane] *= chunk[lane];
            }
            for lane in 0..WIDTH {
                b[lane] *= chunk[WIDTH + lane];
            }
            for lane in 0..WIDTH {
                c[lane] *= chunk[2 * WIDTH + lane];
            }
            for lane in 0..WIDTH {
                d[lane] *= chunk[3 * WIDTH + lane];
            }
        }
        let mut products = [a, b, c, d];
        let products = products.as_flattened_mut();
        update(products, rest, |product, x| product * x);
        in_halves(products, |x, y| x * y)
    }

    #[inline(always)]
    fn columns(&mut self, x: &mut [T], width: usize, _: usize) -> Row<T> {
        let mut product = [T::one(); COLUMNS];
        for x in x.chunks_exact(width) {
            update(&mut product[..width], x, |product, x| product * x);
        }
        product
    }
}

#[derive(Clone, Copy)]
struct LogSumExp;

impl<T: Element> LaneReduction<T> for LogSumExp {
    #[inline(always)]
    unsafe fn lane<R: Register<Element = T>>(&mut self, x: &[T]) -> T {
        // SAFETY: as the trait requires.
        let largest = unsafe { lane_extreme::<T, R, _>(Largest, x) };
        if largest.is_infinite() {
            return largest;
        }
        largest + ln(sum_of(x, |x| exp(x - largest)))
    }

    #[inline(always)]
    fn columns(&mut self, x: &mut [T], width: usize, _: usize) -> Row<T> {
        let largest = column_extreme(Largest, x, width);
        map_columns(x, &largest, width, |x, largest| x - largest);
        map_all(x, |x| exp(x));
        let mut sums = column_sums(x, x, width, |x, _| x);
        for (sum, largest) in sums.iter_mut().zip(largest) {
            *sum = if largest.is_infinite() {
                largest
            } else {
                largest + ln(*sum)
            };
        }
        sums
    }
}

#[derive(Clone, Copy)]
struct SquaredDeviations;

impl<T: Element> LaneReduction<T> for SquaredDeviations {
    #[inline(always)]
    unsafe fn lane<R: Register<Element = T>>(&mut self, x: &[T]) -> T {
        let mean = sum(x, x, |x, _| x) / T::from_f64(x.len() as f64);
        if !mean.is_finite() {
            return mean_var(x).1;
        }
        sum(x, x, |x, _| (x - mean) * (x - mean))
    }

    #[inline(always)]
    fn columns(&mut self, x: &mut [T], width: usize, count: usize) -> Row<T> {
        let length = x.len() / width;
        let means = column_sums(x, x, width, |x, _| x).map(|sum| sum / T::from_f64(length as f64));
        // The sum may be out of range, and the mean not.
        let mut others = Vec::new();
        for column in (0..count).filter(|&column| !means[column].is_finite()) {
            let lane: Vec<T> = x.iter().skip(column).step_by(width).copied().collect();
            others.push((column, mean_var(&lane).1));
        }
        map_columns(x, &means, width, |x, mean| (x - mean) * (x - mean));
        let mut squares = column_sums(x, x, width, |x, _| x);
        for (column, of_column) in others {
            squares[column] = of_column;
        }
        squares
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayD, Axis, s};

    use super::*;
    use crate::testing::numbers;

    fn by_hand(reduction: Reduction, x: &[f64]) -> f64 {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        match reduction {
            Reduction::Max => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Reduction::Min => x.iter().copied().fold(f64::INFINITY, f64::min),
            Reduction::Product => x.iter().product(),
            Reduction::LogSumExp => x.iter().map(|x| x.exp()).sum::<f64>().ln(),
            Reduction::SquaredDeviations => x.iter().map(|x| (x - mean) * (x - mean)).sum(),
        }
    }

    const ALL: [Reduction; 5] = [
        Reduction::Max,
        Reduction::Min,
        Reduction::Product,
        Reduction::LogSumExp,
        Reduction::SquaredDeviations,
    ];

    #[test]
    fn lanes_of_every_length_and_layout() {
        for shape in [
            (1, 1),
            (3, 5),
            (70, 33),
            (300, 16),
            (16, 1000),
            (2, 200),
            (0, 3),
        ] {
            let x = numbers(shape, 0.7) * 3.0;
            for x in [x.view(), x.t(), x.slice(s![..;-1, ..])] {
                for reduction in ALL {
                    for axis in 0..2 {
                        let found: ArrayD<f64> = reduce_lanes(reduction, &x, Axes::one(Axis(axis)));
                        let single = x.mapv(f32::from_f64);
                        let single: ArrayD<f32> =
                            reduce_lanes(reduction, &single.view(), Axes::one(Axis(axis)));
                        for ((lane, found), single) in
                            x.lanes(Axis(axis)).into_iter().zip(found).zip(single)
                        {
                            let expected = by_hand(reduction, &lane.to_vec());
                            let is_close = |found: f64, tolerance: f64| {
                                found == expected
                                    || found.is_nan() && expected.is_nan()
                                    || (found - expected).abs()
                                        <= tolerance * expected.abs().max(1e-3)
                            };
                            assert!(
                                is_close(found, 1e-12),
                                "{reduction:?} {shape:?}: {found} {expected}"
                            );
                            assert!(
                                is_close(f64::from(single), 1e-4),
                                "{reduction:?} {shape:?}: {single} {expected}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn parts_of_a_long_lane() {
        let x = numbers(3 * PART + 17, 0.2).mapv(|x| 1.0 + 1e-5 * x);
        for reduction in ALL {
            let found: ArrayD<f64> = reduce_lanes(reduction, &x.view(), Axes::all());
            let expected = by_hand(reduction, x.as_slice().unwrap());
            let found = found.first().unwrap();
            assert!(
                (found - expected).abs() <= 1e-9 * expected.abs(),
                "{reduction:?}: {found} {expected}"
            );
        }
    }

    #[test]
    fn first_extremes_are_of_every_layout() {
        let mut x = (numbers((40, 37), 0.5) * 4.0).mapv(f64::round);
        x[[7, 3]] = f64::NAN;
        for x in [x.view(), x.t(), x.slice(s![..;-1, ..;2])] {
            for axis in 0..2 {
                for reduction in [Reduction::Max, Reduction::Min] {
                    let axes = Axes::one(Axis(axis)).keepdim();
                    let (extremes, indices): (Array2<f64>, _) = first_extremes(reduction, &x, axes);
                    for ((lane, extreme), index) in
                        x.lanes(Axis(axis)).into_iter().zip(extremes).zip(indices)
                    {
                        let nan = lane.iter().position(|x| x.is_nan());
                        let expected = by_hand(reduction, &lane.to_vec());
                        let is_one = |x: &f64| *x == expected;
                        assert_eq!(Some(index), nan.or_else(|| lane.iter().position(is_one)));
                        assert!(extreme == expected || extreme.is_nan() && nan.is_some());
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_without_elements() {
        let x = Array2::<f64>::zeros((0, 3));
        let of = |reduction| {
            let found: Array2<f64> =
                reduce_lanes(reduction, &x.view(), Axes::one(Axis(0)).keepdim());
            assert_eq!(found.dim(), (1, 3));
            found[[0, 0]]
        };
        let infinity = f64::INFINITY;
        assert_eq!(ALL.map(of)[..4], [-infinity, infinity, 1.0, -infinity]);
    }

    #[test]
    fn infinities_of_exponentials() {
        let of = |x: &[f64]| {
            let x = ndarray::Array1::from(x.to_vec());
            let sum: ndarray::Array0<f64> =
                reduce_lanes(Reduction::LogSumExp, &x.view(), Axes::all());
            sum.into_scalar()
        };
        let infinity = f64::INFINITY;
        assert_eq!(of(&[0.0, infinity]), infinity);
        assert_eq!(of(&[0.0, -infinity]), 0.0);
        assert_eq!(of(&[-infinity; 2]), -infinity);
        assert_eq!(of(&[1e300; 2]), 1e300);
        assert!(of(&[f64::NAN, infinity]).is_nan());
    }
}
