//! The values and derivatives of formulas, recorded and replayed for some elements at a time.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::entries::{ONE, Place};
use super::evaluation::{BLOCK, Results};
use super::formula::Formula;
use super::item::{Spot, slices, spots};
use super::order::Order;
use super::recorded::{Recorded, Replay, Replayed, Trace, WIDTH, Wanted};
use crate::element::Element;
use crate::element::real::{Literal, Real};
use crate::loops::wide::{Loop, compiled};

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
    compiled(Work {
        formula: &pairing,
        wanted: &Wanted::Gradients(wanted),
        of_inputs: &places,
        of_results: &of_results,
        kept,
        inputs,
        results,
    });
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
    compiled(Work {
        formula: &Outputs(Pairing::<F, D, I, O>::new(formula)),
        wanted: &Wanted::Values(O),
        of_inputs: &places,
        of_results: &of_results,
        kept,
        inputs,
        results,
    });
}

/// Returns spots so many slices on.
fn moved(spots: &[Spot], slices: usize) -> impl Iterator<Item = Spot> {
    spots.iter().map(move |spot| Spot {
        slice: slices + spot.slice,
        ..*spot
    })
}

/// The loop over the elements of a block.
struct Work<'a, 'b, 'c, T> {
    formula: &'a dyn Replayed<T>,
    wanted: &'a Wanted,
    /// Where the inputs of the program are.
    of_inputs: &'a [Spot],
    /// The results of the program that are wanted, and where they belong.
    of_results: &'a [(usize, Spot)],
    kept: &'a mut Option<Replay<T>>,
    inputs: &'a [&'a [T]],
    results: Results<'b, 'c, T>,
}

impl<T: Element> Loop for Work<'_, '_, '_, T> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let numbers = self.of_inputs.len();
        let replay = self.kept.get_or_insert_with(|| {
            let last = self.of_results.last().map_or(0, |(number, _)| number + 1);
            Replay::new(self.wanted.clone(), numbers, last)
        });
        let length = |(_, spot): &(usize, Spot)| self.results[spot.slice].len() / spot.width;
        let length = self.of_results.iter().map(length).max().unwrap_or(0);
        for start in (0..length).step_by(WIDTH) {
            for (number, spot) in self.of_inputs.iter().enumerate() {
                let input = self.inputs[spot.slice];
                // The same in each block.
                let is_repeated = input.len() <= BLOCK * spot.width;
                let start = if is_repeated { start % BLOCK } else { start };
                load(&input[start * spot.width..], *spot, replay.input(number));
            }
            replay.run(self.formula);
            let lanes = start..length.min(start + WIDTH);
            for &(number, spot) in self.of_results {
                let result = &mut self.results[spot.slice];
                let result = &mut result[lanes.start * spot.width..lanes.end * spot.width];
                store(result, spot, replay.results().lanes(number));
            }
        }
    }
}

/// Reads a number of some elements. After the last one it is repeated, which takes the branches that it takes.
#[cfg_attr(optimized, inline(always))]
pub(super) fn load<T: Element>(elements: &[T], spot: Spot, to: &mut [T; WIDTH]) {
    #[cfg_attr(optimized, inline(always))]
    fn each<T: Element, const N: usize>(elements: &[T], offset: usize, to: &mut [T; WIDTH]) {
        let (rows, _) = elements.as_chunks::<N>();
        // Of a length that the compiler knows.
        if let Some(rows) = rows.first_chunk::<WIDTH>() {
            for lane in 0..WIDTH {
                to[lane] = rows[lane][offset];
            }
            return;
        }
        for lane in 0..WIDTH {
            to[lane] = rows[lane.min(rows.len() - 1)][offset];
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
fn store<T: Element>(elements: &mut [MaybeUninit<T>], spot: Spot, lanes: &[T; WIDTH]) {
    #[cfg_attr(optimized, inline(always))]
    fn each<T: Element, const N: usize>(
        elements: &mut [MaybeUninit<T>],
        offset: usize,
        lanes: &[T; WIDTH],
    ) {
        let (rows, _) = elements.as_chunks_mut::<N>();
        // Of a length that the compiler knows.
        if let Some(rows) = rows.first_chunk_mut::<WIDTH>() {
            for lane in 0..WIDTH {
                rows[lane][offset].write(lanes[lane]);
            }
            return;
        }
        for (row, lane) in rows.iter_mut().zip(lanes) {
            row[offset].write(*lane);
        }
    }
    match spot.width {
        1 => each::<_, 1>(elements, 0, lanes),
        2 => each::<_, 2>(elements, spot.offset, lanes),
        3 => each::<_, 3>(elements, spot.offset, lanes),
        4 => each::<_, 4>(elements, spot.offset, lanes),
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
