//! The loops of functions, over rows of lanes.

use std::marker::PhantomData;

use super::rows::{Row, WIDTH, rows_of};
use crate::element::Element;
use crate::element::number::Number;
use crate::element::real::Real;
use crate::elementwise::angles::are_near;
use crate::elementwise::dual::Dual;
use crate::loops::wide::{Loop, compiled};

/// A function of one number, and of a whole number that is the same for all lanes.
pub(super) trait OfOne: 'static {
    const SLOPE: Slope = Slope::Other;
    /// Whether it is a function of an angle, which takes less time where all are near.
    const OF_ANGLE: bool = false;

    fn at<R: Real>(x: R, parameter: i32) -> R;
}

/// What the derivative of a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slope {
    /// 0 everywhere.
    Zero,
    /// The function.
    Itself,
    Other,
}

/// A function of two numbers.
pub(super) trait OfTwo: 'static {
    fn at<R: Real>(x: R, y: R) -> R;
}

/// Computes a function for some operands: the rows of values for each, then those of slopes along each variable.
type Run<T> = fn(Operands<'_, T>);

/// What a loop reads and writes.
pub(super) struct Operands<'a, T> {
    /// The rows that were computed before, so many of each number.
    pub(super) rows: &'a [Row<T>],
    /// How many: not known to the compiler, as a function takes longer than to count them.
    pub(super) depth: usize,
    /// The numbers that are operands.
    pub(super) places: &'a [u32],
    pub(super) results: &'a mut [Row<T>],
    pub(super) parameter: i32,
}

/// A function with its loops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function<T> {
    /// By the operands that are variables: a bit for each, the lowest for the first.
    runs: [Run<T>; 4],
    pub(super) parameter: i32,
    pub(super) slope: Slope,
}

impl<T: Element> Function<T> {
    pub(super) fn of_one<F: OfOne>(parameter: i32) -> Self {
        let (values, slopes) = (one::<T, F, 0>, one::<T, F, 1>);
        Self {
            runs: [values, slopes, values, slopes],
            parameter,
            slope: F::SLOPE,
        }
    }

    pub(super) fn of_two<F: OfTwo>() -> Self {
        Self {
            runs: [
                two::<T, F, false, false>,
                two::<T, F, true, false>,
                two::<T, F, false, true>,
                two::<T, F, true, true>,
            ],
            parameter: 0,
            slope: Slope::Other,
        }
    }

    /// Returns the loop that computes the slopes along these variables, a bit for each.
    pub(super) fn run(&self, variables: usize) -> Run<T> {
        self.runs[variables]
    }

    /// Returns whether all loops are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let key = |function: &Self| [0, 1, 2, 3].map(|variables| function.key(variables));
        key(self) == key(other) && self.slope == other.slope
    }

    /// Computes the slopes along all variables, of the numbers of one lane.
    pub(super) fn slopes<const N: usize>(&self, operands: [T; N]) -> [T; N] {
        let rows = operands.map(|operand| Row([operand; WIDTH]));
        let mut results = [Row([T::zero(); WIDTH]); 3];
        self.run((1 << N) - 1)(Operands {
            rows: &rows,
            depth: 1,
            places: &[0, 1][..N],
            results: &mut results[..=N],
            parameter: self.parameter,
        });
        std::array::from_fn(|variable| results[1 + variable].0[0])
    }

    /// Returns numbers that are equal only where that loop is the same.
    pub(super) fn key(&self, variables: usize) -> [usize; 2] {
        let parameter = self.parameter.cast_unsigned();
        [self.runs[variables] as usize, parameter as usize]
    }
}

fn one<T: Element, F: OfOne, const N: usize>(operands: Operands<'_, T>) {
    compiled(One::<T, F, N>(operands, PhantomData));
}

fn two<T: Element, F: OfTwo, const X: bool, const Y: bool>(operands: Operands<'_, T>) {
    compiled(Two::<T, F, X, Y>(operands, PhantomData));
}

/// A function of one number, and its slope if `N` is 1.
struct One<'a, T, F, const N: usize>(Operands<'a, T>, PhantomData<F>);

impl<T: Element, F: OfOne, const N: usize> Loop for One<'_, T, F, N> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<T: Element, M: Number<T>, F: OfOne, const N: usize>(
            x: &Row<T>,
            value: &mut Row<T>,
            mut slope: Option<&mut Row<T>>,
            parameter: i32,
        ) {
            for lane in 0..WIDTH {
                let number = M::of(x.0[lane]);
                if N == 1
                    && let Some(slope) = &mut slope
                {
                    let result = F::at(Dual::<_, 1>::variable(number, 0), parameter);
                    value.0[lane] = result.value.element();
                    slope.0[lane] = result.signed(0).element();
                } else {
                    let result = F::at(Dual::<_, 0>::constant(number), parameter);
                    value.0[lane] = result.value.element();
                }
            }
        }
        let Operands {
            rows,
            depth,
            places,
            results,
            parameter,
        } = self.0;
        let (values, slopes) = results.split_at_mut(places.len() * depth);
        let mut slopes = slopes.iter_mut();
        for (x, values) in places.iter().zip(values.chunks_exact_mut(depth)) {
            for (x, value) in rows_of(rows, *x as usize, depth).iter().zip(values) {
                let slope = if N == 1 { slopes.next() } else { None };
                if const { F::OF_ANGLE } && are_near(&x.0) {
                    each::<T, T::Near, F, N>(x, value, slope, parameter);
                } else {
                    each::<T, T::Number, F, N>(x, value, slope, parameter);
                }
            }
        }
    }
}

/// A function of two numbers, and the slopes along those that are variables.
struct Two<'a, T, F, const X: bool, const Y: bool>(Operands<'a, T>, PhantomData<F>);

impl<T: Element, F: OfTwo, const X: bool, const Y: bool> Loop for Two<'_, T, F, X, Y> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        #[cfg_attr(optimized, inline(always))]
        fn each<T: Element, F: OfTwo, const X: bool, const Y: bool>(
            x: &Row<T>,
            y: &Row<T>,
            value: &mut Row<T>,
            of_x: &mut Row<T>,
            of_y: &mut Row<T>,
        ) {
            for lane in 0..WIDTH {
                let number = |element: T, index: usize, is_variable: bool| {
                    let number = T::Number::of(element);
                    if is_variable {
                        Dual::<_, 2>::variable(number, index)
                    } else {
                        Dual::constant(number)
                    }
                };
                let result = F::at(number(x.0[lane], 0, X), number(y.0[lane], 1, Y));
                value.0[lane] = result.value.element();
                if X {
                    of_x.0[lane] = result.signed(0).element();
                }
                if Y {
                    of_y.0[lane] = result.signed(1).element();
                }
            }
        }
        let Operands {
            rows,
            depth,
            places,
            results,
            ..
        } = self.0;
        let (places, _) = places.as_chunks::<2>();
        let count = places.len() * depth;
        let (values, slopes) = results.split_at_mut(count);
        let (of_x, of_y) = slopes.split_at_mut(if X { count } else { 0 });
        let (mut of_x, mut of_y) = (of_x.iter_mut(), of_y.iter_mut());
        // Where there are no slopes.
        let mut unused = [Row([T::zero(); WIDTH]); 2];
        let [no_x, no_y] = &mut unused;
        for ([x, y], values) in places.iter().zip(values.chunks_exact_mut(depth)) {
            let [x, y] = [x, y].map(|operand| rows_of(rows, *operand as usize, depth));
            for ((x, y), value) in x.iter().zip(y).zip(values) {
                let of_x = of_x.next().unwrap_or(no_x);
                let of_y = of_y.next().unwrap_or(no_y);
                each::<T, F, X, Y>(x, y, value, of_x, of_y);
            }
        }
    }
}
