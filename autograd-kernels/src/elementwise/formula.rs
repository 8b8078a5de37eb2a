//! The formula of an elementwise function.

use super::dual::Dual;
use super::each::each;
use super::entries::{Elements, Place};
use super::faster::Faster;
use super::item::Item;
use super::tile::Side;
use crate::element::real::{Literal, Real};
use crate::loops::wide::{Loop, LoopInto, baseline_beside, compiled_beside};

/// The formula of an elementwise function, of `I` numbers and with `O` results.
#[doc(hidden)]
pub trait Formula<const I: usize, const O: usize>: Send + Sync {
    /// The entries of a block of elements, in the lists that have one for each element.
    type Entries;

    /// The items of the input tensors, whose numbers are the inputs.
    const INPUTS: &'static [Item] = &[Item::Number; I];

    /// The items of the output tensors.
    const OUTPUTS: &'static [Item] = &[Item::Number; O];

    /// What the input tensors have an item for, if it is a formula of pairs.
    const SIDES: &'static [Side] = &[];

    /// Whether it is a formula of pairs.
    const OF_PAIRS: bool = !Self::SIDES.is_empty();

    /// Whether there are loops that add its results for pairs.
    const IS_SUMMED: bool = false;

    /// Whether the compiler makes vector code of its derivatives: there are no functions and loops over rows in it, which
    /// it would leave as calls and loops.
    const IS_WRITTEN_OUT: bool = true;

    /// Whether the compiler makes vector code of its values: it calls no functions, and has no loops.
    const IS_VECTOR_CODE: bool = true;

    /// Whether it has its derivatives in reverse, as [`Self::pulled_back`].
    const IS_REVERSED: bool = false;

    /// Whether [`Self::outputs`] are those that this returns, too: the compiler makes vector code of them, which it may not of
    /// a formula that calls functions.
    const OUTPUTS_IN_REVERSE: bool = false;

    /// Whether it has the sine, cosine or tangent of a number, and is NaN where that is, with all derivatives that depend on
    /// it: loops may then take angles for near, and compute again what is NaN.
    const HAS_ANGLES: bool = false;

    /// Whether the inputs are angles, of which the formula has the sine or the cosine: loops may then tell the compiler
    /// that they are not large.
    const OF_ANGLE: bool = false;

    /// Whether the program that its loops are compiled in is optimized, as far as the macro can tell. In the tests of this
    /// crate, which take long to compile, those that say so have loops for each instruction set.
    const IS_OPTIMIZED: bool = !cfg!(test);

    /// Returns what was found out about its loop, if that may be no vector code.
    fn faster() -> Option<&'static Faster> {
        None
    }

    /// Returns the entries of a block.
    fn entries(&self, elements: Elements) -> Self::Entries;

    /// Computes the formula for the element at a place of the block.
    fn at<R: Real>(&self, entries: &Self::Entries, at: Place, inputs: [R; I]) -> [R; O]
    where
        f64: Literal<R>;

    /// Computes the formula as loops do.
    #[cfg_attr(optimized, inline(always))]
    fn outputs<R: Real>(&self, entries: &Self::Entries, at: Place, inputs: [R; I]) -> [R; O]
    where
        f64: Literal<R>,
    {
        if const { Self::OUTPUTS_IN_REVERSE } {
            return self.pulled_back(entries, at, inputs, [R::from(0.0); O]).1;
        }
        self.at(entries, at, inputs)
    }

    /// Returns Σₖ gₖ ∂fₖ with respect to each input, and the outputs: in reverse if [`Self::IS_REVERSED`].
    #[cfg_attr(optimized, inline(always))]
    fn pulled_back<R: Real>(
        &self,
        entries: &Self::Entries,
        at: Place,
        inputs: [R; I],
        gradients: [R; O],
    ) -> ([R; I], [R; O])
    where
        f64: Literal<R>,
    {
        pulled_back(self, entries, at, inputs, gradients, [false; I])
    }

    /// Calls `note` with the name and the length of each list that has an entry for each element.
    fn list_entries(&self, _note: &mut dyn FnMut(&'static str, usize)) {}

    /// Calls `note` with the type and the size of each value that it holds.
    fn list_values(&self, _note: &mut dyn FnMut(&'static str, usize)) {}
}

/// The formula of a scan with slices.
#[doc(hidden)]
pub trait SliceFormula: Send + Sync {
    /// Computes a step. The numbers are those of all inputs, which are these items; the states, which are the first, become
    /// the new ones.
    fn at<R: Real>(&self, items: &[Item], numbers: &mut [R], outputs: &mut [R])
    where
        f64: Literal<R>;

    /// Calls `note` with the type and the size of each value that it holds.
    fn list_values(&self, _note: &mut dyn FnMut(&'static str, usize)) {}
}

/// Runs a loop over a formula, as code of the formula's module: with the widest registers that the processor has, or without
/// optimization, where that would be three copies of slow code, in one.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn compiled_for<F: Formula<I, O>, const I: usize, const O: usize>(work: impl Loop) {
    compiled_into::<F, _, I, O>(work, &mut []);
}

/// [`compiled_for`], of a loop that writes to a slice.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn compiled_into<F: Formula<I, O>, U, const I: usize, const O: usize>(
    work: impl LoopInto<U>,
    out: &mut [U],
) {
    if const { F::IS_OPTIMIZED } {
        compiled_beside::<F, U>(work, out);
    } else {
        baseline_beside::<F, U>(work, out);
    }
}

/// Returns a number without its derivatives, as an expression that is not differentiated gets it.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn plain<R: Real>(number: R) -> f64 {
    number.plain()
}

/// Returns a row without its derivatives, like [`plain`].
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn plain_row<R: Real, const N: usize>(row: [R; N]) -> [f64; N] {
    let mut numbers = [0.0; N];
    each!(number < N => {
        numbers[number] = row[number].plain();
    });
    numbers
}

/// Returns a row of numbers that are not differentiated.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn from_plain<R: Real, const N: usize>(row: [f64; N]) -> [R; N] {
    let mut numbers = [R::from(0.0); N];
    each!(number < N => {
        numbers[number] = R::from(row[number]);
    });
    numbers
}

/// Returns the row that starts at a place.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn row<R: Real, const I: usize, const N: usize>(numbers: &[R; I], start: usize) -> [R; N] {
    let mut row = [R::from(0.0); N];
    each!(number < N => {
        row[number] = numbers[start + number];
    });
    row
}

/// Writes a row to the numbers from a place on.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn put<R: Real, const O: usize, const N: usize>(
    numbers: &mut [R; O],
    start: usize,
    row: [R; N],
) {
    each!(number < N => {
        numbers[start + number] = row[number];
    });
}

/// Takes the numbers of a formula apart: one slice for each input.
#[doc(hidden)]
pub fn parts<'a, R, const I: usize>(mut numbers: &'a mut [R], items: &[Item]) -> [&'a mut [R]; I] {
    std::array::from_fn(|input| {
        let part = numbers.split_off_mut(..items[input].numbers());
        // INVARIANT: the loops have as many numbers.
        part.expect("the numbers of an input")
    })
}

/// Calls `note` with the type and the size of a value.
#[doc(hidden)]
pub fn list_value<V>(_value: &V, note: &mut dyn FnMut(&'static str, usize)) {
    note(std::any::type_name::<V>(), size_of::<V>());
}

/// Returns Σₖ gₖ ∂fₖ with respect to each input that is not `held`, and the outputs.
#[doc(hidden)]
#[cfg_attr(optimized, inline(always))]
pub fn pulled_back<F: Formula<I, O> + ?Sized, R: Real, const I: usize, const O: usize>(
    formula: &F,
    entries: &F::Entries,
    at: Place,
    inputs: [R; I],
    gradients: [R; O],
    held: [bool; I],
) -> ([R; I], [R; O]) {
    let mut numbers = [Dual::<R, I>::from(0.0); I];
    each!(input < I => {
        numbers[input] = if held[input] {
            Dual::constant(inputs[input])
        } else {
            Dual::variable(inputs[input], input)
        };
    });
    let results = formula.at(entries, at, numbers);
    let (mut sums, mut outputs) = ([R::from(0.0); I], [R::from(0.0); O]);
    each!(output < O => {
        outputs[output] = results[output].value;
        each!(input < I => {
            if let Some(slope) = results[output].tangent(input) {
                sums[input] += gradients[output] * slope;
            }
        });
    });
    (sums, outputs)
}
