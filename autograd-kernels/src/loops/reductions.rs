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
use std::ops::Range;

use ndarray::{Array, ArrayView, Dimension};

use super::along::{
    COLUMNS, Row, WIDTH, column_sums, gather, in_halves, map_all, map_columns, sum, sum_of,
};
use super::axes::Axes;
use super::each_lane::of_each_lane;
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
    let mut results = Vec::new();
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
    assert!(
        lanes.length > 0 || lanes.outer * lanes.inner == 0,
        "a lane without elements has no extreme"
    );
    let is_max = matches!(extreme, Reduction::Max);
    let mut results = Vec::new();
    let indices = match T::into_any::<Arrays<'_>>((&lanes, &mut results)) {
        Any::F32((lanes, results)) => first_single(is_max, lanes, results),
        Any::F64((lanes, results)) => first_double(is_max, lanes, results),
    };
    (reduced(results, &shape), indices)
}

/// Lanes, and their results.
struct Arrays<'a>(PhantomData<&'a ()>);

impl<'a> Family for Arrays<'a> {
    type Of<T: Element> = (&'a Lanes<'a, T>, &'a mut Vec<T>);
}

// Without built-in functions only pairs use it: then a crate that has pairs compiles it. So for the next three.
#[cfg_attr(feature = "ops", inline(never))]
#[cfg_attr(not(feature = "ops"), inline)]
fn single(reduction: Reduction, lanes: &Lanes<'_, f32>, results: &mut Vec<f32>) {
    of(reduction, lanes, results);
}

#[cfg_attr(feature = "ops", inline(never))]
#[cfg_attr(not(feature = "ops"), inline)]
fn double(reduction: Reduction, lanes: &Lanes<'_, f64>, results: &mut Vec<f64>) {
    of(reduction, lanes, results);
}

fn of<T: registers::Lanes>(reduction: Reduction, lanes: &Lanes<'_, T>, results: &mut Vec<T>) {
    *results = match reduction {
        Reduction::Max => lanes_or_parts(OfExtreme(Largest), lanes),
        Reduction::Min => lanes_or_parts(OfExtreme(Smallest), lanes),
        Reduction::Product => lanes_or_parts(Product, lanes),
        Reduction::LogSumExp => lanes_or_parts(LogSumExp, lanes),
        Reduction::SquaredDeviations => each_lane(SquaredDeviations, lanes),
    };
}

#[cfg_attr(feature = "ops", inline(never))]
#[cfg_attr(not(feature = "ops"), inline)]
fn first_single(is_max: bool, lanes: &Lanes<'_, f32>, results: &mut Vec<f32>) -> Vec<usize> {
    first_of(is_max, lanes, results)
}

#[cfg_attr(feature = "ops", inline(never))]
#[cfg_attr(not(feature = "ops"), inline)]
fn first_double(is_max: bool, lanes: &Lanes<'_, f64>, results: &mut Vec<f64>) -> Vec<usize> {
    first_of(is_max, lanes, results)
}

fn first_of<T: registers::Lanes>(
    is_max: bool,
    lanes: &Lanes<'_, T>,
    results: &mut Vec<T>,
) -> Vec<usize> {
    let found = if is_max {
        each_lane(First(Largest), lanes)
    } else {
        each_lane(First(Smallest), lanes)
    };
    *results = memory::take(found.len());
    results.extend(found.iter().map(|(extreme, _)| extreme));
    found.into_iter().map(|(_, index)| index).collect()
}

/// A reduction of a lane.
trait LaneReduction<T: Element>: Copy + Sync {
    /// What a lane is reduced to.
    type Result: Copy + Send;

    /// Returns the result of a lane without elements.
    fn of_none(self) -> Self::Result;

    /// Reduces a lane.
    ///
    /// # Safety
    /// The processor has the registers.
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T]) -> Self::Result;

    /// Reduces lanes that are side by side, in rows of this width, of which the first `count` are wanted. May change the
    /// elements.
    fn columns(self, x: &mut [T], width: usize, count: usize) -> [Self::Result; COLUMNS];
}

fn each_lane<T: registers::Lanes, F: LaneReduction<T>>(
    reduction: F,
    lanes: &Lanes<'_, T>,
) -> Vec<F::Result> {
    of_each_lane(
        lanes.shape(),
        reduction.of_none(),
        |blocks, columns, results| {
            let each = EachLane {
                reduction,
                lanes,
                blocks,
                columns,
                results,
            };
            // SAFETY: it has no conditions.
            unsafe { widest(each) }
        },
    )
}

/// The number of elements of a long lane that are reduced apart, on any thread.
const PART: usize = 1 << 16;

/// Reduces each lane, or the parts of a long one and then these reductions, which gives the same.
fn lanes_or_parts<T: registers::Lanes>(
    reduction: impl LaneReduction<T, Result = T>,
    lanes: &Lanes<'_, T>,
) -> Vec<T> {
    if lanes.outer * lanes.inner != 1 || lanes.length < 2 * PART {
        return each_lane(reduction, lanes);
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
    vec![result]
}

struct OfLane<'a, T, F>(F, &'a [T], &'a mut T);

impl<T: registers::Lanes, F: LaneReduction<T, Result = T>> Kernel<T> for OfLane<'_, T, F> {
    #[cfg_attr(optimized, inline(always))]
    unsafe fn run<R: Register<Element = T>>(self) {
        // SAFETY: the processor has the registers.
        *self.2 = unsafe { self.0.lane::<R>(self.1) };
    }
}

/// A loop over the lanes in these columns of these blocks.
struct EachLane<'a, 'b, T: Element, F: LaneReduction<T>> {
    reduction: F,
    lanes: &'a Lanes<'b, T>,
    blocks: Range<usize>,
    columns: Range<usize>,
    results: &'a mut [F::Result],
}

impl<T: registers::Lanes, F: LaneReduction<T>> Kernel<T> for EachLane<'_, '_, T, F> {
    #[cfg_attr(optimized, inline(always))]
    unsafe fn run<R: Register<Element = T>>(self) {
        let Lanes {
            ref elements,
            length,
            inner,
            ..
        } = *self.lanes;
        let block = length * inner;
        let elements = &elements[self.blocks.start * block..self.blocks.end * block];
        if inner == 1 {
            for (x, result) in elements.chunks_exact(length).zip(self.results) {
                // SAFETY: the processor has the registers.
                *result = unsafe { self.reduction.lane::<R>(x) };
            }
            return;
        }
        let results = self.results.chunks_exact_mut(self.columns.len());
        for (block, results) in elements.chunks_exact(block).zip(results) {
            let firsts = self.columns.clone().step_by(COLUMNS);
            for (first, results) in firsts.zip(results.chunks_mut(COLUMNS)) {
                let count = results.len();
                let mut x = gather(block, inner, first, count);
                let width = count.next_multiple_of(WIDTH);
                let found = self.reduction.columns(&mut x, width, count);
                results.copy_from_slice(&found[..count]);
                memory::give_back(x);
            }
        }
    }
}

#[derive(Clone, Copy)]
struct OfExtreme<E>(E);

impl<T: Element, E: Extreme> LaneReduction<T> for OfExtreme<E> {
    type Result = T;

    fn of_none(self) -> T {
        E::of_none()
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T]) -> T {
        // SAFETY: as the trait requires.
        unsafe { lane_extreme::<T, R, E>(self.0, x) }
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], width: usize, _: usize) -> Row<T> {
        column_extreme(self.0, x, width)
    }
}

/// The extreme, and the index of the first element that is it.
#[derive(Clone, Copy)]
struct First<E>(E);

impl<T: Element, E: Extreme> LaneReduction<T> for First<E> {
    type Result = (T, usize);

    fn of_none(self) -> (T, usize) {
        (E::of_none(), 0)
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T]) -> (T, usize) {
        // SAFETY: as the trait requires.
        let extreme = unsafe { lane_extreme::<T, R, E>(self.0, x) };
        (extreme, first(x, extreme).unwrap_or_default())
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], width: usize, _: usize) -> [(T, usize); COLUMNS] {
        let extremes = column_extreme(self.0, x, width);
        let indices = first_of_columns(x, &extremes, width);
        std::array::from_fn(|column| (extremes[column], indices[column]))
    }
}

/// Products are in double precision: those of a thousand numbers of single precision pass through the subnormal ones,
/// with which a processor takes a hundred times as long.
#[derive(Clone, Copy)]
struct Product;

impl<T: Element> LaneReduction<T> for Product {
    type Result = T;

    fn of_none(self) -> T {
        T::one()
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T]) -> T {
        // Four arrays: the compiler keeps one of all in memory.
        let [mut a, mut b, mut c, mut d] = [[1.0; WIDTH]; 4];
        let (chunks, rest) = x.as_chunks::<{ 4 * WIDTH }>();
        for chunk in chunks {
            for lane in 0..WIDTH {
                a[lane] *= chunk[lane].as_f64();
            }
            for lane in 0..WIDTH {
                b[lane] *= chunk[WIDTH + lane].as_f64();
            }
            for lane in 0..WIDTH {
                c[lane] *= chunk[2 * WIDTH + lane].as_f64();
            }
            for lane in 0..WIDTH {
                d[lane] *= chunk[3 * WIDTH + lane].as_f64();
            }
        }
        let mut products = [a, b, c, d];
        let products = products.as_flattened_mut();
        multiply(products, rest);
        T::from_f64(in_halves(products, |x, y| x * y))
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], width: usize, _: usize) -> Row<T> {
        let mut products = [1.0; COLUMNS];
        for x in x.chunks_exact(width) {
            multiply(&mut products[..width], x);
        }
        products.map(T::from_f64)
    }
}

/// Multiplies products by elements.
#[cfg_attr(optimized, inline(always))]
fn multiply<T: Element>(products: &mut [f64], x: &[T]) {
    for (product, x) in products.iter_mut().zip(x) {
        *product *= x.as_f64();
    }
}

#[derive(Clone, Copy)]
struct LogSumExp;

impl<T: Element> LaneReduction<T> for LogSumExp {
    type Result = T;

    fn of_none(self) -> T {
        T::neg_infinity()
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T]) -> T {
        // SAFETY: as the trait requires.
        let largest = unsafe { lane_extreme::<T, R, _>(Largest, x) };
        if largest.is_infinite() {
            return largest;
        }
        largest + ln(sum_of(x, |x| exp(x - largest)))
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], width: usize, _: usize) -> Row<T> {
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
    type Result = T;

    fn of_none(self) -> T {
        mean_var::<T>(&[]).1
    }

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T]) -> T {
        let mean = sum(x, x, |x, _| x) / T::from_f64(x.len() as f64);
        if !mean.is_finite() {
            return mean_var(x).1;
        }
        sum(x, x, |x, _| (x - mean) * (x - mean))
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], width: usize, count: usize) -> Row<T> {
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
    use std::thread::available_parallelism;

    use ndarray::{Array2, ArrayD, Axis, IxDyn, s};

    use super::*;
    use crate::loops::sum::sum_over;
    use crate::parallel::set_threads;
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
    fn any_number_of_threads_computes_the_same_bits() {
        // Many blocks, and one block of many columns.
        for shape in [[700, 1000, 1], [3, 70, 3001], [1, 300, 4007]] {
            let x = numbers(shape, 0.4);
            let all = || {
                let axes = Axes::one(Axis(1));
                let reduced =
                    ALL.map(|reduction| reduce_lanes::<_, _, IxDyn>(reduction, &x.view(), axes));
                let first: (Array2<f64>, _) = first_extremes(Reduction::Max, &x.view(), axes);
                let sum: Array2<f64> = sum_over(&x.view(), axes);
                (reduced, first, sum)
            };
            let [first, others @ ..] = [1, 2, 5].map(|threads| {
                set_threads(threads);
                all()
            });
            set_threads(available_parallelism().map_or(1, usize::from));
            assert!(others.iter().all(|others| *others == first));
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
