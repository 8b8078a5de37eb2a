//! Loops over pairs that add results while they are in registers.
//!
//! Only derivatives of the first order and values have such loops: those of other orders write tiles of results, which
//! `pairs` adds afterwards.

use std::marker::PhantomData;

use super::dual::Dual;
use super::each::{each, each_of_many};
use super::entries::{Elements, Place};
use super::evaluation::LANES;
use super::formula::Formula;
use super::item::of_numbers;
use super::order::{First, Variables, reversed};
use super::terms::Terms;
use super::tile::{Side, TILE, Tile, WIDTH};
use crate::element::Element;
use crate::element::number::Number;
use crate::loops::wide::Loop;

/// The results of one pair.
pub(super) trait Results<T: Element, F, const I: usize, const O: usize, const N: usize> {
    /// Whether there are gradients of the outputs.
    const OF_GRADIENTS: bool;

    /// The first result among all.
    const START: usize;

    /// What the results have a sum for.
    const SIDES: [Side; N];

    fn at<M: Number<T>>(
        formula: &F,
        entries: &F::Entries,
        inputs: [M; I],
        gradients: [M; O],
    ) -> [M; N]
    where
        F: Formula<I, O>;
}

/// The outputs.
pub(super) struct Outputs;

impl<T: Element, F, const I: usize, const O: usize> Results<T, F, I, O, O> for Outputs {
    const OF_GRADIENTS: bool = false;
    const START: usize = 0;
    const SIDES: [Side; O] = [Side::Row; O];

    #[cfg_attr(optimized, inline(always))]
    fn at<M: Number<T>>(
        formula: &F,
        entries: &F::Entries,
        inputs: [M; I],
        _gradients: [M; O],
    ) -> [M; O]
    where
        F: Formula<I, O>,
    {
        let mut numbers = [Dual::<M, 0>::constant(M::from(0.0)); I];
        each!(input < I => {
            numbers[input] = Dual::constant(inputs[input]);
        });
        let results = formula.outputs(entries, Place(0), numbers);
        let mut outputs = [M::from(0.0); O];
        each!(output < O => {
            outputs[output] = results[output].value;
        });
        outputs
    }
}

/// The partial derivatives of the pairing, with respect to variables.
pub(super) struct PartialsOf<V>(PhantomData<V>);

impl<T: Element, F: Formula<I, O>, V: Variables, const I: usize, const O: usize, const N: usize>
    Results<T, F, I, O, N> for PartialsOf<V>
{
    const OF_GRADIENTS: bool = true;
    const START: usize = V::START;
    const SIDES: [Side; N] = {
        let (all, mut own) = (
            of_numbers::<_, I>(F::INPUTS, F::SIDES, Side::All),
            [Side::All; N],
        );
        let mut variable = 0;
        while variable < N {
            own[variable] = all[V::START + variable];
            variable += 1;
        }
        own
    };

    #[cfg_attr(optimized, inline(always))]
    fn at<M: Number<T>>(
        formula: &F,
        entries: &F::Entries,
        inputs: [M; I],
        gradients: [M; O],
    ) -> [M; N] {
        let mut partials = [M::from(0.0); N];
        if const { F::IS_REVERSED } {
            let zero = M::from(0.0);
            let (mut numbers, mut of_outputs) = ([[zero]; I], [[zero]; O]);
            each!(input < I => {
                numbers[input] = [inputs[input]];
            });
            each!(output < O => {
                of_outputs[output] = [gradients[output]];
            });
            let (sums, _) =
                reversed::<First, _, _, I, O>(formula, entries, Place(0), numbers, of_outputs);
            each!(variable < N => {
                [partials[variable]] = sums[V::START + variable];
            });
            return partials;
        }
        let mut numbers = [Dual::<M, N>::constant(M::from(0.0)); I];
        each!(input < I => {
            numbers[input] = match V::place(input) {
                Some(place) => Dual::variable(inputs[input], place),
                None => Dual::constant(inputs[input]),
            };
        });
        let results = formula.at(entries, Place(0), numbers);
        let mut sums = [Terms::none(); N];
        each!(output < O => {
            each!(variable < N => {
                let product = gradients[output] * results[output].signed(variable);
                sums[variable].add(product, results[output].has(variable));
            });
        });
        each!(variable < N => {
            partials[variable] = sums[variable].sum();
        });
        partials
    }
}

/// Sums at the beginning of a line of the cache, which no register's width crosses.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Sums<T, const LENGTH: usize>([T; LENGTH]);

/// The loop over the pairs of a tile.
///
/// Its sums are used in few places, and by no iterator, which compares addresses. Else the compiler does not find out that
/// nothing else refers to them: it would read the values of the formula again for each pair, in case that they changed.
pub(super) struct TileLoop<'a, 'b, T, F, K, const I: usize, const O: usize, const N: usize> {
    formula: &'a F,
    tile: Tile<'a, 'b, T>,
    of: PhantomData<K>,
}

impl<'a, 'b, T, F, K, const I: usize, const O: usize, const N: usize>
    TileLoop<'a, 'b, T, F, K, I, O, N>
{
    pub(super) fn new(formula: &'a F, tile: Tile<'a, 'b, T>) -> Self {
        Self {
            formula,
            tile,
            of: PhantomData,
        }
    }
}

impl<T, F, K, const I: usize, const O: usize, const N: usize> Loop
    for TileLoop<'_, '_, T, F, K, I, O, N>
where
    T: Element,
    F: Formula<I, O>,
    K: Results<T, F, I, O, N>,
{
    #[cfg_attr(optimized, inline(always))]
    fn run(mut self) {
        if const { F::HAS_ANGLES } && self.add::<T::Near, true>() {
            return;
        }
        self.add::<T::Number, false>();
    }
}

impl<T, F, K, const I: usize, const O: usize, const N: usize> TileLoop<'_, '_, T, F, K, I, O, N>
where
    T: Element,
    F: Formula<I, O>,
    K: Results<T, F, I, O, N>,
{
    /// Adds the results, by numbers of a type. If it `ENDS_AT_NAN`, it returns `false` after a row with one, and has added
    /// nothing to the sums of columns.
    #[cfg_attr(optimized, inline(always))]
    fn add<M: Number<T>, const ENDS_AT_NAN: bool>(&mut self) -> bool {
        let (formula, tile) = (self.formula, &mut self.tile);
        let entries = formula.entries(Elements { first: 0, count: 1 });
        let sides = const { of_numbers::<_, I>(F::INPUTS, F::SIDES, Side::All) };
        let padded = tile.columns.div_ceil(LANES) * LANES;
        assert!(padded > 0 && padded <= TILE, "a tile");
        let of_row = |input: usize, row: usize| {
            let elements = tile.inputs[input];
            elements[if elements.len() == 1 { 0 } else { row }]
        };
        let mut columns: [&[T]; I] = [&[]; I];
        each!(input < I => {
            if sides[input] == Side::Column {
                columns[input] = &tile.inputs[input][..padded];
            }
        });
        let mut of_columns = [Sums([T::zero(); TILE]); N];
        for row in tile.rows.clone() {
            let mut numbers = [T::zero(); I];
            each!(input < I => {
                if sides[input] != Side::Column {
                    numbers[input] = of_row(input, row);
                }
            });
            let mut gradients = [M::from(0.0); O];
            if K::OF_GRADIENTS {
                each!(output < O => {
                    gradients[output] = M::of(of_row(I + output, row));
                });
            }
            let mut of_rows = [Sums([T::zero(); WIDTH]); N];
            // The last columns come first: what is computed beyond them is removed again.
            let last = (padded - 1) / WIDTH * WIDTH;
            let mut start = last;
            loop {
                for at in 0..(padded - start).min(WIDTH) {
                    let column = start + at;
                    let mut x = [M::from(0.0); I];
                    each!(input < I => {
                        x[input] = M::of(if sides[input] == Side::Column {
                            // SAFETY: a column of the tile, for each of which there is an element.
                            #[expect(unsafe_code, reason = "a check would make the last ones run one by one")]
                            unsafe {
                                *columns[input].get_unchecked(column)
                            }
                        } else {
                            numbers[input]
                        });
                    });
                    let found = K::at(formula, &entries, x, gradients);
                    each_of_many!(result < N => {
                        let found = found[result].element();
                        // SAFETY: `column` is below `padded`, which is at most `TILE`, and `at` is below `WIDTH`.
                        #[expect(unsafe_code, reason = "as above")]
                        unsafe {
                            if K::SIDES[result] == Side::Column {
                                *of_columns[result].0.get_unchecked_mut(column) += found;
                            } else {
                                *of_rows[result].0.get_unchecked_mut(at) += found;
                            }
                        }
                    });
                }
                if start == last {
                    each!(result < N => {
                        if K::SIDES[result] != Side::Column {
                            of_rows[result].0[tile.columns - last..].fill(T::zero());
                        }
                    });
                    start = 0;
                } else {
                    start += WIDTH;
                }
                if start >= last {
                    break;
                }
            }
            if ENDS_AT_NAN && Self::have_nan(&of_rows, &of_columns, tile.columns) {
                return false;
            }
            each!(result < N => {
                let sums = &mut tile.sums[K::START + result];
                if K::SIDES[result] != Side::Column && !sums.is_empty() {
                    let sums = &mut sums[(row - tile.rows.start) * WIDTH..];
                    sums[..WIDTH].copy_from_slice(&of_rows[result].0);
                }
            });
        }
        each!(result < N => {
            let sums = &mut tile.sums[K::START + result];
            if K::SIDES[result] == Side::Column && !sums.is_empty() {
                let sums = &mut sums[..tile.columns];
                for column in 0..tile.columns {
                    sums[column] += of_columns[result].0[column];
                }
            }
        });
        true
    }

    /// Returns whether the sums of a row, or those of so many columns, have a NaN.
    #[cfg_attr(optimized, inline(always))]
    fn have_nan(
        of_rows: &[Sums<T, WIDTH>; N],
        of_columns: &[Sums<T, TILE>; N],
        columns: usize,
    ) -> bool {
        let mut any = false;
        each!(result < N => {
            if K::SIDES[result] == Side::Column {
                for column in 0..columns {
                    any |= of_columns[result].0[column].is_nan();
                }
            } else {
                for at in 0..WIDTH {
                    any |= of_rows[result].0[at].is_nan();
                }
            }
        });
        any
    }
}
