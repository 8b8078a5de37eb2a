//! The values and derivatives of formulas, recorded and replayed for some elements at a time.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::entries::{ONE, Place};
use super::evaluation::{BLOCK, Results};
use super::formula::Formula;
use super::item::{Spot, slices, spots};
use super::order::Order;
use super::recorded::{
    OfReplays, Recorded, Replay, Replayed, Row, Trace, WIDTH, Wanted, depth, of_depth,
};
use crate::element::Element;
use crate::element::real::{Literal, Real};

/// The most numbers of a formula whose derivatives are computed by dual numbers. With more, the loop is not vector code any
/// more, and takes long to compile.
pub(super) const MOST_DUAL: usize = 6;

/// The same of a formula of pairs, whose loop has more in registers: what is the same in a row is read once.
pub(super) const MOST_DUAL_OF_PAIRS: usize = 8;

/// Writes the derivatives of an order that are wanted.
pub(super) fn partials<T, F, D, const I: usize, const O: usize>(
    formula: &F,
    kept: &mut Option<Replay<T>>,
    inputs: &[&[T]],
    results: Results<'_, '_, T>,
) where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    let of_inputs = const { spots::<I>(F::INPUTS, F::OF_PAIRS) };
    let of_gradients = const { spots::<O>(F::OUTPUTS, F::OF_PAIRS) };
    let [own, outputs] = [F::INPUTS, F::OUTPUTS].map(|items| slices(items, F::OF_PAIRS));
    let mut places = Vec::new();
    for (numbers, first) in [(&of_inputs[..], 0), (&of_gradients, own)] {
        for component in 0..D::COUNT {
            places.extend(moved(numbers, component * (own + outputs) + first));
        }
    }
    // There are fewer results where they are tangents: of one input and one output.
    let is_wanted = |spot: &Spot| results.get(spot.slice).is_some_and(|of| !of.is_empty());
    let wanted: Vec<bool> = places.iter().map(is_wanted).collect();
    let of_results = places.iter().copied().enumerate();
    let of_results: Vec<(usize, Spot)> = of_results.filter(|(_, spot)| is_wanted(spot)).collect();
    let pairing = Pairing::<F, D, I, O>::new(formula);
    let work = Work {
        formula: &pairing,
        of_inputs: &places,
        of_results: &of_results,
        inputs,
        results,
    };
    replayed(Wanted::Gradients(wanted), kept, work);
}

/// Writes the values, or of the second order the tangents, of inputs and a direction for each.
pub(super) fn outputs<T, F, D, const I: usize, const O: usize>(
    formula: &F,
    kept: &mut Option<Replay<T>>,
    inputs: &[&[T]],
    results: Results<'_, '_, T>,
) where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    let of_inputs = const { spots::<I>(F::INPUTS, F::OF_PAIRS) };
    let own = slices(F::INPUTS, F::OF_PAIRS);
    let of_component = |component| moved(&of_inputs, component * own);
    let places: Vec<Spot> = (0..D::COUNT).flat_map(of_component).collect();
    let of_results = const { spots::<O>(F::OUTPUTS, F::OF_PAIRS) };
    let of_results = of_results.into_iter().enumerate();
    let is_wanted = |(_, spot): &(usize, Spot)| !results[spot.slice].is_empty();
    let of_results: Vec<(usize, Spot)> = of_results.filter(is_wanted).collect();
    let work = Work {
        formula: &Outputs(Pairing::<F, D, I, O>::new(formula)),
        of_inputs: &places,
        of_results: &of_results,
        inputs,
        results,
    };
    replayed(Wanted::Values(O), kept, work);
}

/// Returns spots so many slices on.
fn moved(spots: &[Spot], slices: usize) -> impl Iterator<Item = Spot> {
    spots.iter().map(move |spot| Spot {
        slice: slices + spot.slice,
        ..*spot
    })
}

/// Computes the elements of a block.
fn replayed<T: Element>(wanted: Wanted, kept: &mut Option<Replay<T>>, work: Work<'_, '_, '_, T>) {
    let length = |(_, spot): &(usize, Spot)| work.results[spot.slice].len() / spot.width;
    let length = work.of_results.iter().map(length).max().unwrap_or(0);
    let replay = kept.get_or_insert_with(|| {
        let last = work.of_results.last().map_or(0, |(number, _)| number + 1);
        Replay::new(wanted, depth::<T>(length), work.of_inputs.len(), last)
    });
    of_depth(replay.depth(), OfBlock(work, length, replay));
}

/// What the loop over a block reads and writes.
struct Work<'a, 'b, 'c, T> {
    formula: &'a dyn Replayed<T>,
    /// Where the inputs of the program are.
    of_inputs: &'a [Spot],
    /// The results of the program that are wanted, and where they belong.
    of_results: &'a [(usize, Spot)],
    inputs: &'a [&'a [T]],
    results: Results<'b, 'c, T>,
}

/// The loop over so many elements.
struct OfBlock<'a, 'b, 'c, 'd, T>(Work<'a, 'b, 'c, T>, usize, &'d mut Replay<T>);

impl<T: Element> OfReplays for OfBlock<'_, '_, '_, '_, T> {
    type Element = T;

    #[cfg_attr(optimized, inline(always))]
    fn run<const DEPTH: usize>(self) {
        let Self(work, length, replay) = self;
        for start in (0..length).step_by(replay.lanes()) {
            for (number, spot) in work.of_inputs.iter().enumerate() {
                let input = work.inputs[spot.slice];
                // The same in each block.
                let is_repeated = input.len() <= BLOCK * spot.width;
                let start = if is_repeated { start % BLOCK } else { start };
                let input = &input[start * spot.width..];
                load(input, *spot, replay.input::<DEPTH>(number));
            }
            replay.run(work.formula);
            let lanes = start..length.min(start + replay.lanes());
            for &(number, spot) in work.of_results {
                let result = &mut work.results[spot.slice];
                let result = &mut result[lanes.start * spot.width..lanes.end * spot.width];
                store(result, spot, replay.results().rows::<DEPTH>(number));
            }
        }
    }
}

/// Reads a number of some elements. After the last one it is repeated, which takes the branches that it takes.
#[cfg_attr(optimized, inline(always))]
pub(super) fn load<T: Element>(elements: &[T], spot: Spot, to: &mut [Row<T>]) {
    #[cfg_attr(optimized, inline(always))]
    fn each<T: Element, const N: usize>(elements: &[T], offset: usize, to: &mut [Row<T>]) {
        let (mut items, _) = elements.as_chunks::<N>();
        for to in to {
            let last = items.len() - 1;
            // Of a length that the compiler knows.
            if let Some(whole) = items.first_chunk::<WIDTH>() {
                for lane in 0..WIDTH {
                    to.0[lane] = whole[lane][offset];
                }
            } else {
                for lane in 0..WIDTH {
                    to.0[lane] = items[lane.min(last)][offset];
                }
            }
            items = &items[WIDTH.min(last)..];
        }
    }
    match spot.width {
        1 => each::<_, 1>(elements, 0, to),
        2 => each::<_, 2>(elements, spot.offset, to),
        3 => each::<_, 3>(elements, spot.offset, to),
        4 => each::<_, 4>(elements, spot.offset, to),
        width => unreachable!("rows of {width} numbers are taken apart"),
    }
}

/// Writes a number of some elements.
#[cfg_attr(optimized, inline(always))]
fn store<T: Element>(elements: &mut [MaybeUninit<T>], spot: Spot, rows: &[Row<T>]) {
    #[cfg_attr(optimized, inline(always))]
    fn each<T: Element, const N: usize>(
        elements: &mut [MaybeUninit<T>],
        offset: usize,
        rows: &[Row<T>],
    ) {
        let (items, _) = elements.as_chunks_mut::<N>();
        // Of a length that the compiler knows.
        let (whole, rest) = items.as_chunks_mut::<WIDTH>();
        let last = rows.get(whole.len());
        for (items, row) in whole.iter_mut().zip(rows) {
            for lane in 0..WIDTH {
                items[lane][offset].write(row.0[lane]);
            }
        }
        for (item, lane) in rest.iter_mut().zip(last.iter().flat_map(|row| &row.0)) {
            item[offset].write(*lane);
        }
    }
    match spot.width {
        1 => each::<_, 1>(elements, 0, rows),
        2 => each::<_, 2>(elements, spot.offset, rows),
        3 => each::<_, 3>(elements, spot.offset, rows),
        4 => each::<_, 4>(elements, spot.offset, rows),
        width => unreachable!("rows of {width} numbers are put together"),
    }
}

/// The pairing of an order: its rows are all components of the inputs, then of the gradients.
pub(super) struct Pairing<'a, F, D, const I: usize, const O: usize>(&'a F, PhantomData<D>);

impl<'a, F: Formula<I, O>, D: Order, const I: usize, const O: usize> Pairing<'a, F, D, I, O> {
    pub(super) fn new(formula: &'a F) -> Self {
        Self(formula, PhantomData)
    }

    /// Computes the results of numbers, of which `number` returns those of a row.
    fn compute<R: Real>(&self, mut number: impl FnMut(usize) -> R) -> [D::Of<R>; O]
    where
        f64: Literal<R>,
    {
        let mut numbers = [D::filled(R::from(0.0)); I];
        for component in 0..D::COUNT {
            for input in 0..I {
                numbers[input].as_mut()[component] = number(component * I + input);
            }
        }
        let entries = self.0.entries(ONE);
        D::call(self.0, &entries, Place(0), numbers)
    }
}

impl<T, F, D, const I: usize, const O: usize> Replayed<T> for Pairing<'_, F, D, I, O>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    fn record(&self, inputs: &[T]) -> Trace<T> {
        Trace::of(&inputs[..D::COUNT * I], || {
            let computed = self.compute(Recorded::<T>::Node);
            // A gradient is multiplied by the component of its result that has all other directions.
            let of_gradient = |row: usize| computed[row % O].as_ref()[D::COUNT - 1 - row / O];
            (0..D::COUNT * O).map(of_gradient).collect::<Vec<_>>()
        })
    }
}

/// The last component of each output: of the first order its value, of the second its tangent.
pub(super) struct Outputs<'a, F, D, const I: usize, const O: usize>(
    pub(super) Pairing<'a, F, D, I, O>,
);

impl<T, F, D, const I: usize, const O: usize> Replayed<T> for Outputs<'_, F, D, I, O>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    fn record(&self, inputs: &[T]) -> Trace<T> {
        Trace::of(inputs, || {
            let computed = self.0.compute(Recorded::<T>::Node);
            computed.map(|output| output.as_ref()[D::COUNT - 1])
        })
    }
}
