//! Functions of the lanes along an axis, compiled here for both element types: softmax, its logarithm, their gradients,
//! cumulative sums.
//!
//! A lane whose elements are contiguous is computed where it is. Of others, some neighboring ones are copied to a buffer,
//! as rows of columns, so that each operation is one on a whole row. The length of a row is not a constant: the compiler
//! would take a short loop over it apart, and make slow code of the loop over rows.

#![allow(unsafe_code, reason = "each block has its argument")]
#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it"
)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use ndarray::{Array, ArrayView, Axis, Dimension};

use super::axes::Axes;
use super::lanes::{blocks, rows};
use super::max::{Largest, column_extreme, largest_number};
use super::product_of_others;
use super::wide::{self, Loop, written};
use crate::element::{Any, Element, Family};
use crate::math::{exp, ln};
use crate::memory;
use crate::parallel::{split, split_mut, worth};
use crate::registers::{self, Kernel, Lanes, Register};

/// The elements of the widest register.
pub(super) const WIDTH: usize = 16;

/// Independent results of a reduction: enough for the widest registers to work without pauses.
pub(super) const LANES: usize = 4 * WIDTH;

/// The most neighboring lanes that are copied at a time: lines of the cache that are read one after the other.
pub(super) const COLUMNS: usize = LANES;

/// A function of the lanes along an axis, and of the lanes of a second array.
#[derive(Clone, Copy, Debug)]
pub enum Along {
    /// eˣ / Σ eˣ: NaN if all are −∞, or one is ∞.
    Softmax,
    /// y · (g − Σ g · y) of the gradients g and the softmax y.
    SoftmaxGradient,
    /// x − ln Σ eˣ: NaN if all are −∞, or one is ∞.
    LogSoftmax,
    /// g − eʸ · Σ g of the gradients g and the logarithms y of softmax.
    LogSoftmaxGradient,
    /// The sums of all elements up to each, or from each on. They are added in `f64`.
    CumSum {
        /// Whether sums begin at the end.
        reversed: bool,
    },
    /// The product of all other elements, for each element.
    ProductOfOthers,
}

/// Returns a function of the lanes of `x` along an axis, and of those of `y` if it is a function of two arrays.
///
/// # Panics
/// If the axis is out of range, or the shapes differ.
#[track_caller]
pub fn along<T: Element, D: Dimension>(
    function: Along,
    x: &ArrayView<'_, T, D>,
    y: Option<&ArrayView<'_, T, D>>,
    axis: Axis,
) -> Array<T, D> {
    let reduced_axes = Axes::one(axis);
    reduced_axes.check("a function of the lanes", x.shape());
    if let Some(y) = y {
        assert!(
            x.shape() == y.shape(),
            "lanes of arrays of one shape are needed, found {:?} and {:?}",
            x.shape(),
            y.shape()
        );
    }
    let axes: Vec<usize> = (0..x.ndim()).collect();
    let [_, length, inner] = blocks(&axes, x.shape(), reduced_axes).unwrap_or([1; 3]);
    let (rows_x, rows_y) = (rows(x), y.map(rows));
    let mut results = memory::take(x.len());
    if !x.is_empty() {
        let arrays = (
            &*rows_x,
            rows_y.as_deref().unwrap_or(&rows_x),
            &mut results.spare_capacity_mut()[..x.len()],
        );
        match T::into_any::<Arrays<'_>>(arrays) {
            Any::F32(arrays) => single(function, arrays, [length, inner]),
            Any::F64(arrays) => double(function, arrays, [length, inner]),
        }
    }
    // SAFETY: every element of every lane was written.
    unsafe {
        results.set_len(x.len());
    }
    // INVARIANT: there is an element for each.
    Array::from_shape_vec(x.raw_dim(), results).expect("one for each")
}

/// The elements of two arrays and room for the results.
struct Arrays<'a>(PhantomData<&'a ()>);

impl<'a> Family for Arrays<'a> {
    type Of<T: Element> = (&'a [T], &'a [T], &'a mut [MaybeUninit<T>]);
}

type Slices<'a, T> = <Arrays<'a> as Family>::Of<T>;

// Without built-in functions no crate may need it: then one that does compiles it. So for the next.
#[cfg_attr(feature = "ops", inline(never))]
#[cfg_attr(not(feature = "ops"), inline)]
fn single(function: Along, arrays: Slices<'_, f32>, lengths: [usize; 2]) {
    of(function, arrays, lengths);
}

#[cfg_attr(feature = "ops", inline(never))]
#[cfg_attr(not(feature = "ops"), inline)]
fn double(function: Along, arrays: Slices<'_, f64>, lengths: [usize; 2]) {
    of(function, arrays, lengths);
}

fn of<T: Lanes>(function: Along, arrays: Slices<'_, T>, lengths: [usize; 2]) {
    match function {
        Along::Softmax => each_lane(Softmax, arrays, lengths),
        Along::SoftmaxGradient => each_lane(SoftmaxGradient, arrays, lengths),
        Along::LogSoftmax => each_lane(LogSoftmax, arrays, lengths),
        Along::LogSoftmaxGradient => each_lane(LogSoftmaxGradient, arrays, lengths),
        Along::CumSum { reversed: false } => each_lane(CumSum::<false>, arrays, lengths),
        Along::CumSum { reversed: true } => each_lane(CumSum::<true>, arrays, lengths),
        Along::ProductOfOthers => each_lane(ProductOfOthers, arrays, lengths),
    }
}

/// A function of a lane.
trait LaneFunction<T>: Copy + Sync {
    /// Whether it is a function of two lanes.
    const OF_TWO: bool;

    /// Writes the results of a lane, all of them.
    ///
    /// # Safety
    /// The processor has the registers.
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T], y: &[T], out: &mut [MaybeUninit<T>]);

    /// Replaces the elements of lanes that are side by side, in rows of this width.
    fn columns(self, x: &mut [T], y: &[T], width: usize);
}

fn each_lane<T: Lanes, F: LaneFunction<T>>(
    function: F,
    (x, y, out): Slices<'_, T>,
    [length, inner]: [usize; 2],
) {
    let at_least = worth::FORMULA.div_ceil(length);
    if inner == 1 {
        return split_mut(out, length, at_least, |first, out| {
            let range = first * length..first * length + out.len();
            let lanes = EachLane {
                function,
                x: &x[range.clone()],
                y: &y[range],
                out,
                length,
            };
            // SAFETY: it has no conditions.
            unsafe {
                registers::widest(lanes);
            }
        });
    }
    let blocks = x.len() / (length * inner);
    let pieces = inner.div_ceil(COLUMNS);
    let columns = Columns {
        x,
        y,
        out: Out(out.as_mut_ptr()),
        length,
        inner,
    };
    split(blocks * pieces, at_least.div_ceil(COLUMNS), |range| {
        for piece in range {
            wide::widest(EachColumn {
                function,
                columns: &columns,
                start: piece / pieces * length * inner,
                first: piece % pieces * COLUMNS,
            });
        }
    });
}

/// A loop over lanes whose elements are contiguous.
struct EachLane<'a, T, F> {
    function: F,
    x: &'a [T],
    y: &'a [T],
    out: &'a mut [MaybeUninit<T>],
    length: usize,
}

impl<T: Lanes, F: LaneFunction<T>> Kernel<T> for EachLane<'_, T, F> {
    #[cfg_attr(optimized, inline(always))]
    unsafe fn run<R: Register<Element = T>>(self) {
        let Self { length, .. } = self;
        let lanes = self.x.chunks_exact(length).zip(self.y.chunks_exact(length));
        for ((x, y), out) in lanes.zip(self.out.chunks_exact_mut(length)) {
            // SAFETY: the processor has the registers.
            unsafe { self.function.lane::<R>(x, y, out) };
        }
    }
}

/// Blocks of `length` rows of `inner` elements, whose columns are lanes.
struct Columns<'a, T> {
    x: &'a [T],
    y: &'a [T],
    out: Out<T>,
    length: usize,
    inner: usize,
}

/// The results, which several threads write.
struct Out<T>(*mut MaybeUninit<T>);

// SAFETY: each thread writes other columns.
unsafe impl<T: Send> Sync for Out<T> {}

/// The lanes from the column `first` on of the block that begins at `start`.
struct EachColumn<'a, 'b, T, F> {
    function: F,
    columns: &'a Columns<'b, T>,
    start: usize,
    first: usize,
}

impl<T: Element, F: LaneFunction<T>> Loop for EachColumn<'_, '_, T, F> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Columns { length, inner, .. } = *self.columns;
        let count = (inner - self.first).min(COLUMNS);
        let gathered = |elements: &[T]| {
            let block = &elements[self.start..self.start + length * inner];
            gather(block, inner, self.first, count)
        };
        let mut x = gathered(self.columns.x);
        let y = if F::OF_TWO {
            gathered(self.columns.y)
        } else {
            Vec::new()
        };
        let width = count.next_multiple_of(WIDTH);
        self.function.columns(&mut x, &y, width);
        for (row, elements) in x.chunks_exact(width).enumerate() {
            let place = self.start + row * inner + self.first;
            // SAFETY: `out` has as many elements as `x` has, and the row's part from `place` on is one of these columns
            // alone, which no other thread writes.
            let out =
                unsafe { std::slice::from_raw_parts_mut(self.columns.out.0.add(place), count) };
            wide::copied(&elements[..count], out);
        }
        memory::give_back(x);
        memory::give_back(y);
    }
}

/// Returns some columns of a block, in rows whose width is a multiple of [`WIDTH`]; the columns that are added are zeros.
#[cfg_attr(optimized, inline(always))]
pub(super) fn gather<T: Element>(block: &[T], inner: usize, first: usize, count: usize) -> Vec<T> {
    let rows = block.chunks_exact(inner);
    let width = count.next_multiple_of(WIDTH);
    let mut columns = memory::take(rows.len() * width);
    for row in rows {
        columns.extend_from_slice(&row[first..first + count]);
        columns.resize(columns.len() + width - count, T::zero());
    }
    columns
}

/// Returns a copy in memory that is reused.
#[cfg_attr(optimized, inline(always))]
fn copied<T: Element>(x: &[T]) -> Vec<T> {
    let mut copy = memory::take(x.len());
    copy.extend_from_slice(x);
    copy
}

/// Writes f of the elements of two lanes, and returns the results. The last elements are computed as many at a time as
/// the others.
#[cfg_attr(optimized, inline(always))]
fn map<'a, T: Element>(
    x: &[T],
    y: &[T],
    out: &'a mut [MaybeUninit<T>],
    f: impl Fn(T, T) -> T,
) -> &'a mut [T] {
    #[cfg_attr(optimized, inline(always))]
    fn each<T: Copy>(x: &[T], y: &[T], out: &mut [MaybeUninit<T>], f: &impl Fn(T, T) -> T) {
        for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
            *out = MaybeUninit::new(f(x, y));
        }
    }
    let whole = x.len() / WIDTH * WIDTH;
    each(&x[..whole], &y[..whole], &mut out[..whole], &f);
    if let (Some(&last_x), Some(&last_y)) = (x[whole..].last(), y[whole..].last()) {
        let (mut rest_x, mut rest_y) = ([last_x; WIDTH], [last_y; WIDTH]);
        let count = x.len() - whole;
        rest_x[..count].copy_from_slice(&x[whole..]);
        rest_y[..count].copy_from_slice(&y[whole..]);
        let mut rest = [MaybeUninit::uninit(); WIDTH];
        each(&rest_x, &rest_y, &mut rest, &f);
        out[whole..].copy_from_slice(&rest[..count]);
    }
    // SAFETY: both loops have written an element for each of `x`, of which there are as many as in `out`.
    unsafe { written(out) }
}

/// The number of elements, or rows of columns, that are added one after the other before sums are added in pairs.
pub(super) const BLOCK: usize = 128;

/// Sums in pairs: of 2ᵏ blocks each, as many as the number of blocks so far has ones.
struct Pairs<S> {
    sums: [S; 48],
    count: usize,
    blocks: usize,
}

impl<S: Copy> Pairs<S> {
    #[cfg_attr(optimized, inline(always))]
    fn new(zero: S) -> Self {
        Self {
            sums: [zero; 48],
            count: 0,
            blocks: 0,
        }
    }

    #[cfg_attr(optimized, inline(always))]
    fn push(&mut self, mut sum: S, add: impl Fn(S, S) -> S) {
        for _ in 0..self.blocks.trailing_ones() {
            self.count -= 1;
            sum = add(self.sums[self.count], sum);
        }
        self.sums[self.count] = sum;
        self.count += 1;
        self.blocks += 1;
    }

    #[cfg_attr(optimized, inline(always))]
    fn total(self, zero: S, add: impl Fn(S, S) -> S) -> S {
        let sums = self.sums[..self.count].iter().rev();
        sums.fold(zero, |total, &sum| add(sum, total))
    }
}

/// The number of elements that are added side by side before sums are added in pairs: several pages, between which the
/// processor would pause.
const LONG: usize = 64 * LANES;

/// Returns Σ f(x, y) of two lanes, added in pairs.
#[cfg_attr(optimized, inline(always))]
pub(super) fn sum<T: Element>(x: &[T], y: &[T], f: impl Fn(T, T) -> T) -> T {
    if x.len() < LANES {
        return block_sum::<T, WIDTH>(x, y, &f);
    }
    if x.len() <= LONG {
        return block_sum::<T, LANES>(x, y, &f);
    }
    let mut pairs = Pairs::new(T::zero());
    for (x, y) in x.chunks(LONG).zip(y.chunks(LONG)) {
        pairs.push(block_sum::<T, LANES>(x, y, &f), plus());
    }
    pairs.total(T::zero(), plus())
}

/// Returns the function x + y: a closure in each place would be another function, and so would what it is passed to.
#[cfg_attr(optimized, inline(always))]
fn plus<T: Element>() -> impl Fn(T, T) -> T + Copy {
    #[cfg_attr(optimized, inline(always))]
    |x, y| x + y
}

/// Returns Σ f(x, y), added side by side.
#[cfg_attr(optimized, inline(always))]
pub(super) fn block_sum<T: Element, const LANES: usize>(
    x: &[T],
    y: &[T],
    f: &impl Fn(T, T) -> T,
) -> T {
    let mut lanes = [T::zero(); LANES];
    let ((whole_x, rest_x), (whole_y, rest_y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in whole_x.iter().zip(whole_y) {
        for lane in 0..LANES {
            lanes[lane] += f(x[lane], y[lane]);
        }
    }
    // A copy: lanes whose index is not a constant are not in registers.
    let mut sums = lanes;
    for (sum, (&x, &y)) in sums.iter_mut().zip(rest_x.iter().zip(rest_y)) {
        *sum += f(x, y);
    }
    in_halves(&mut sums, plus())
}

/// Returns f of the first half of lanes and the second one, and so on. The number of lanes is a power of two, at most
/// [`LANES`]. Each step is a loop of a length that the compiler knows: whether it takes a loop over steps apart depends
/// on the profile.
#[cfg_attr(optimized, inline(always))]
pub(super) fn in_halves<T: Copy>(lanes: &mut [T], f: impl Fn(T, T) -> T) -> T {
    macro_rules! step {
        ($($half:literal)*) => {$(
            if let Some(lanes) = lanes.first_chunk_mut::<{ 2 * $half }>() {
                for lane in 0..$half {
                    lanes[lane] = f(lanes[lane], lanes[$half + lane]);
                }
            }
        )*};
    }
    const { assert!(LANES == 64, "the first step") };
    step!(32 16 8 4 2 1);
    lanes[0]
}

/// Returns Σ f(x), added in pairs, for an f that takes long: it is computed of a block before that is summed.
#[cfg_attr(optimized, inline(always))]
pub(super) fn sum_of<T: Element>(x: &[T], f: impl Fn(T) -> T) -> T {
    let mut pairs = Pairs::new(T::zero());
    for x in x.chunks(BLOCK) {
        let mut terms = [MaybeUninit::uninit(); BLOCK];
        let terms = map(x, x, &mut terms[..x.len()], |x, _| f(x));
        pairs.push(block_sum::<T, WIDTH>(terms, terms, &|x, _| x), plus());
    }
    pairs.total(T::zero(), plus())
}

/// A number for each column.
pub(super) type Row<T> = [T; COLUMNS];

/// Replaces the numbers of columns by f of them and of the elements of a row.
#[cfg_attr(optimized, inline(always))]
pub(super) fn update<T: Element>(row: &mut [T], x: &[T], f: impl Fn(T, T) -> T) {
    for (number, &x) in row.iter_mut().zip(x) {
        *number = f(*number, x);
    }
}

/// Returns the sum of each column of f(x, y), added in pairs.
#[cfg_attr(optimized, inline(always))]
pub(super) fn column_sums<T: Element>(
    x: &[T],
    y: &[T],
    width: usize,
    f: impl Fn(T, T) -> T,
) -> Row<T> {
    let mut pairs = Pairs::new([T::zero(); COLUMNS]);
    let blocks = x.chunks(BLOCK * width).zip(y.chunks(BLOCK * width));
    for (x, y) in blocks {
        let mut sums = [T::zero(); COLUMNS];
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact(width)) {
            for ((sum, &x), &y) in sums[..width].iter_mut().zip(x).zip(y) {
                *sum += f(x, y);
            }
        }
        pairs.push(sums, plus_row());
    }
    pairs.total([T::zero(); COLUMNS], plus_row())
}

/// Returns the function x + y, column by column.
#[cfg_attr(optimized, inline(always))]
fn plus_row<T: Element>() -> impl Fn(Row<T>, Row<T>) -> Row<T> + Copy {
    #[cfg_attr(optimized, inline(always))]
    |mut x, y| {
        update(&mut x, &y, plus());
        x
    }
}

/// Replaces elements by f of them and of the number of their column.
#[cfg_attr(optimized, inline(always))]
pub(super) fn map_columns<T: Element>(
    x: &mut [T],
    of: &Row<T>,
    width: usize,
    f: impl Fn(T, T) -> T,
) {
    for x in x.chunks_exact_mut(width) {
        update(x, &of[..width], &f);
    }
}

/// Replaces elements by f of them.
#[cfg_attr(optimized, inline(always))]
pub(super) fn map_all<T: Element>(x: &mut [T], f: impl Fn(T) -> T) {
    for x in x {
        *x = f(*x);
    }
}

#[derive(Clone, Copy)]
struct Softmax;

impl<T: Element> LaneFunction<T> for Softmax {
    const OF_TWO: bool = false;

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T], _: &[T], out: &mut [MaybeUninit<T>]) {
        // SAFETY: the processor has the registers. An element that is NaN makes the sum NaN.
        let largest = unsafe { largest_number::<T, R>(x) };
        let out = map(x, x, out, |x, _| exp(x - largest));
        let inverse = T::one() / sum(out, out, |x, _| x);
        for x in out {
            *x *= inverse;
        }
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], _: &[T], width: usize) {
        let largest = column_extreme(Largest, x, width);
        map_columns(x, &largest, width, |x, largest| x - largest);
        map_all(x, |x| exp(x));
        let sums = column_sums(x, x, width, |x, _| x);
        map_columns(x, &sums.map(|sum| T::one() / sum), width, |x, inverse| {
            x * inverse
        });
    }
}

#[derive(Clone, Copy)]
struct LogSoftmax;

impl<T: Element> LaneFunction<T> for LogSoftmax {
    const OF_TWO: bool = false;

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T], _: &[T], out: &mut [MaybeUninit<T>]) {
        // SAFETY: the processor has the registers. An element that is NaN makes the sum NaN.
        let largest = unsafe { largest_number::<T, R>(x) };
        let log_sum = ln(sum_of(x, |x| exp(x - largest)));
        map(x, x, out, |x, _| (x - largest) - log_sum);
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], _: &[T], width: usize) {
        let largest = column_extreme(Largest, x, width);
        map_columns(x, &largest, width, |x, largest| x - largest);
        let mut exponentials = copied(x);
        map_all(&mut exponentials, |x| exp(x));
        let mut logs = column_sums(&exponentials, &exponentials, width, |x, _| x);
        memory::give_back(exponentials);
        map_all(&mut logs, |sum| ln(sum));
        map_columns(x, &logs, width, |x, log| x - log);
    }
}

#[derive(Clone, Copy)]
struct SoftmaxGradient;

impl<T: Element> LaneFunction<T> for SoftmaxGradient {
    const OF_TWO: bool = true;

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, g: &[T], y: &[T], out: &mut [MaybeUninit<T>]) {
        let mean = sum(g, y, |g, y| g * y);
        map(g, y, out, |g, y| y * (g - mean));
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, g: &mut [T], y: &[T], width: usize) {
        let means = column_sums(g, y, width, |g, y| g * y);
        map_columns(g, &means, width, |g, mean| g - mean);
        update(g, y, |g, y| y * g);
    }
}

#[derive(Clone, Copy)]
struct LogSoftmaxGradient;

impl<T: Element> LaneFunction<T> for LogSoftmaxGradient {
    const OF_TWO: bool = true;

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, g: &[T], y: &[T], out: &mut [MaybeUninit<T>]) {
        let total = sum(g, g, |g, _| g);
        map(g, y, out, |g, y| g - exp(y) * total);
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, g: &mut [T], y: &[T], width: usize) {
        let totals = column_sums(g, g, width, |g, _| g);
        let mut products = copied(y);
        map_all(&mut products, |y| exp(y));
        map_columns(&mut products, &totals, width, |y, total| y * total);
        update(g, &products, |g, product| g - product);
        memory::give_back(products);
    }
}

/// The number of elements of a lane whose sums are formed apart from those before: the next step then waits for one
/// operation, not for one of each element.
const STEP: usize = 8;

#[derive(Clone, Copy)]
struct CumSum<const REVERSED: bool>;

impl<T: Element, const REVERSED: bool> LaneFunction<T> for CumSum<REVERSED> {
    const OF_TWO: bool = false;

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T], _: &[T], out: &mut [MaybeUninit<T>]) {
        let place = |index: usize| if REVERSED { x.len() - 1 - index } else { index };
        let mut before = 0.0;
        for start in (0..x.len()).step_by(STEP) {
            let count = (x.len() - start).min(STEP);
            let mut sums = [0.0; STEP];
            let mut sum = 0.0;
            for index in 0..count {
                sum += x[place(start + index)].as_f64();
                sums[index] = sum;
            }
            for index in 0..count {
                let sum = T::from_f64(before + sums[index]);
                out[place(start + index)] = MaybeUninit::new(sum);
            }
            before += sum;
        }
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], _: &[T], width: usize) {
        let mut sums = [0.0; COLUMNS];
        let add = |x: &mut [T]| {
            for (sum, x) in sums[..width].iter_mut().zip(x) {
                *sum += x.as_f64();
                *x = T::from_f64(*sum);
            }
        };
        let rows = x.chunks_exact_mut(width);
        if REVERSED {
            rows.rev().for_each(add);
        } else {
            rows.for_each(add);
        }
    }
}

#[derive(Clone, Copy)]
struct ProductOfOthers;

impl<T: Element> LaneFunction<T> for ProductOfOthers {
    const OF_TWO: bool = false;

    #[cfg_attr(optimized, inline(always))]
    unsafe fn lane<R: Register<Element = T>>(self, x: &[T], _: &[T], out: &mut [MaybeUninit<T>]) {
        product_of_others::of_lane(x, out);
    }

    #[cfg_attr(optimized, inline(always))]
    fn columns(self, x: &mut [T], _: &[T], width: usize) {
        let mut before = memory::take(x.len());
        let mut product = [T::one(); COLUMNS];
        let product = &mut product[..width];
        for x in x.chunks_exact(width) {
            before.extend_from_slice(product);
            update(product, x, |product, x| product * x);
        }
        product.fill(T::one());
        let rows = x.chunks_exact_mut(width).zip(before.chunks_exact(width));
        for (x, before) in rows.rev() {
            for ((x, &before), product) in x.iter_mut().zip(before).zip(&mut *product) {
                let others = before * *product;
                *product *= *x;
                *x = others;
            }
        }
        memory::give_back(before);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array3, Array4, s};

    use super::*;
    use crate::parallel::set_threads;
    use crate::testing::numbers;

    /// A function of a lane and of a second one.
    type ByHand = fn(&[f64], &[f64]) -> Vec<f64>;

    /// All functions, whether they have two lanes, and they themselves by hand.
    fn functions() -> Vec<(Along, bool, ByHand)> {
        fn sum(x: &[f64]) -> f64 {
            x.iter().sum()
        }
        vec![
            (Along::Softmax, false, |x, _| {
                let exp: Vec<f64> = x.iter().map(|x| x.exp()).collect();
                exp.iter().map(|e| e / sum(&exp)).collect()
            }),
            (Along::LogSoftmax, false, |x, _| {
                let exp: Vec<f64> = x.iter().map(|x| x.exp()).collect();
                x.iter().map(|x| x - sum(&exp).ln()).collect()
            }),
            (Along::SoftmaxGradient, true, |g, y| {
                let mean: f64 = g.iter().zip(y).map(|(g, y)| g * y).sum();
                g.iter().zip(y).map(|(g, y)| y * (g - mean)).collect()
            }),
            (Along::LogSoftmaxGradient, true, |g, y| {
                g.iter().zip(y).map(|(x, y)| x - y.exp() * sum(g)).collect()
            }),
            (Along::CumSum { reversed: false }, false, |x, _| {
                (1..=x.len()).map(|end| sum(&x[..end])).collect()
            }),
            (Along::CumSum { reversed: true }, false, |x, _| {
                (0..x.len()).map(|start| sum(&x[start..])).collect()
            }),
            (Along::ProductOfOthers, false, |x, _| {
                let product = |i| {
                    let others = x.iter().enumerate().filter(|(j, _)| *j != i);
                    others.map(|(_, x)| x).product()
                };
                (0..x.len()).map(product).collect()
            }),
        ]
    }

    #[test]
    fn lanes_of_every_length_and_layout() {
        for shape in [
            (2, 3, 5),
            (1, 17, 1),
            (3, 1, 33),
            (2, 40, 16),
            (1, 300, 20),
            (0, 2, 3),
            (2, 0, 3),
            (2, 2, 700),
        ] {
            let x = numbers((shape.0 * shape.1, shape.2), 0.3)
                .into_shape_with_order(shape)
                .unwrap();
            let y: Array3<f64> = x.mapv(|x| 0.9 - 0.4 * x);
            for (function, of_two, lane) in functions() {
                for axis in 0..3 {
                    for (x, y) in [
                        (x.view(), y.view()),
                        (x.view().reversed_axes(), y.view().reversed_axes()),
                        (x.slice(s![.., ..;-1, ..]), y.slice(s![.., ..;-1, ..])),
                    ] {
                        let found = along(function, &x, of_two.then_some(&y), Axis(axis));
                        let single = along(
                            function,
                            &x.mapv(f32::from_f64).view(),
                            of_two.then_some(&y.mapv(f32::from_f64).view()),
                            Axis(axis),
                        );
                        let lanes = x.lanes(Axis(axis)).into_iter().zip(y.lanes(Axis(axis)));
                        let results = found
                            .lanes(Axis(axis))
                            .into_iter()
                            .zip(single.lanes(Axis(axis)));
                        for ((x, y), (found, single)) in lanes.zip(results) {
                            let expected = lane(&x.to_vec(), &y.to_vec());
                            for ((found, single), expected) in
                                found.iter().zip(single).zip(expected)
                            {
                                let scale = expected.abs().max(1.0);
                                assert!(
                                    (found - expected).abs() < 1e-12 * scale,
                                    "{function:?} {shape:?} {axis}"
                                );
                                assert!(
                                    (f64::from(*single) - expected).abs() < 1e-4 * scale,
                                    "{function:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn columns_and_rows_are_equal_on_any_number_of_threads() {
        let x = numbers((1000, 500), 0.1)
            .into_shape_with_order((2, 500, 10, 50))
            .unwrap();
        let x: Array4<f32> = x.mapv(f32::from_f64);
        for (function, of_two, _) in functions() {
            for axis in 0..4 {
                let y = of_two.then_some(x.view());
                let [one, two] = [1, 2].map(|threads| {
                    set_threads(threads);
                    along(function, &x.view(), y.as_ref(), Axis(axis))
                });
                assert_eq!(one, two, "{function:?}");
            }
        }
    }

    #[test]
    fn the_logarithm_is_exact_where_one_element_is_nearly_all() {
        for axis in 0..2 {
            let log_softmax = |x: [f64; 2]| {
                let shape = if axis == 0 { (2, 1) } else { (1, 2) };
                let x = ndarray::Array2::from_shape_vec(shape, x.to_vec()).unwrap();
                along(Along::LogSoftmax, &x.view(), None, Axis(axis))
                    .into_raw_vec_and_offset()
                    .0
            };
            assert!(log_softmax([0.0, -50.0])[1] + 50.0 < 1e-15);
            assert!((log_softmax([1e8, 1e8 - 8.0])[1] + 8.000_335).abs() < 1e-5);
            let infinity = f64::INFINITY;
            for bad in [[-infinity; 2], [infinity, 0.0], [f64::NAN, 0.0]] {
                assert!(log_softmax(bad)[0].is_nan(), "{bad:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "over axis 2: the axis is out of range")]
    fn an_axis_out_of_range_is_refused() {
        drop(along(
            Along::Softmax,
            &numbers((2, 3), 0.0).view(),
            None,
            Axis(2),
        ));
    }
}
