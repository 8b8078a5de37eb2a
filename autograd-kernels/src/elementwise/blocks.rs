//! The loops of one formula, each compiled for its derivatives.

use std::marker::PhantomData;

use super::evaluation::{Evaluation, Loops, Results, Wanted, sealed};
use super::faster::Faster;
use super::formula::{Formula, compiled_for};
use super::groups::{MOST_AT_ONCE, OneGroup};
use super::item::{Item, spots};
use super::order::{AllInputs, First, Order, Second, Third, Variables};
use super::recorded::Replay;
use super::replayed::{MOST_DUAL, MOST_DUAL_OF_PAIRS, outputs, partials};
use super::replayed_pairs::{add_partials, add_values};
use super::sides::{Outputs, PartialsOf, TileLoop};
use super::tile::{Side, Tile};
use super::work::{AllComponents, PartialWork, TangentWork, ValueWork, one_component};
use crate::element::Element;

/// A formula with its loops, to be differentiated up to `ORDER` times.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Blocks<F, const I: usize, const O: usize, const ORDER: usize>(pub F);

impl<F, const I: usize, const O: usize, const ORDER: usize> sealed::Sealed
    for Blocks<F, I, O, ORDER>
{
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize, const ORDER: usize> Loops<T>
    for Blocks<F, I, O, ORDER>
{
    fn inputs(&self) -> &'static [Item] {
        F::INPUTS
    }

    fn outputs(&self) -> &'static [Item] {
        F::OUTPUTS
    }

    fn order(&self) -> usize {
        ORDER
    }

    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize)) {
        self.0.list_values(note);
    }

    fn list_entries(&self, note: &mut dyn FnMut(&'static str, usize)) {
        self.0.list_entries(note);
    }

    fn run(
        &self,
        evaluation: Evaluation,
        wanted: Wanted,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
        kept: &mut Option<Replay<T>>,
    ) {
        let formula = &self.0;
        // With one input and one output, a direction is multiplied by the same derivative as a gradient: one loop is
        // enough.
        let evaluation = match evaluation {
            Evaluation::Tangents if const { I == 1 && O == 1 } => Evaluation::Partials { order: 1 },
            evaluation => evaluation,
        };
        match evaluation {
            Evaluation::Values if const { !F::IS_VECTOR_CODE } && wanted == Wanted::Replayed => {
                outputs::<T, F, First, I, O>(formula, kept, inputs, results);
            }
            Evaluation::Values => {
                let work = ValueWork::<T, F, I, O> {
                    formula,
                    first,
                    inputs,
                };
                one_component::<F, _, _, I, O, O>(work, results);
            }
            Evaluation::Tangents if const { Self::HAS_REPLAYED_TANGENTS } => {
                outputs::<T, F, Second, I, O>(formula, kept, inputs, results);
            }
            Evaluation::Tangents => {
                if const { I > 1 || O > 1 } {
                    let work = TangentWork::<T, F, I, O> {
                        formula,
                        first,
                        inputs,
                    };
                    one_component::<F, _, _, I, O, O>(work, results);
                }
            }
            Evaluation::Partials { order } if const { Self::IS_REPLAYED } => {
                self.replayed(order, kept, inputs, results);
            }
            Evaluation::Partials { order: 1 } if const { Self::COMPILED > 0 } => match wanted {
                Wanted::Group(index) if const { I > 1 && Self::HAS_GROUPS } => {
                    self.group::<T, First, true>(index, first, inputs, results);
                }
                _ => {
                    if const { Self::ARE_ALL_AT_ONCE } {
                        self.one::<T, First, AllInputs, I>(first, inputs, results);
                    }
                }
            },
            Evaluation::Partials { order: 2 } if const { Self::COMPILED > 1 } => match wanted {
                Wanted::Group(index) if const { Self::HAS_GROUPS_OF_HIGHER_ORDERS } => {
                    self.group::<T, Second, false>(index, first, inputs, results);
                }
                Wanted::Inputs if const { Self::ARE_ALL_AT_ONCE } => {
                    self.one::<T, Second, AllInputs, I>(first, inputs, results);
                }
                _ => {
                    if const { Self::ARE_ALL_AT_ONCE } {
                        self.each::<T, Second, AllInputs, I>(first, inputs, results);
                    }
                }
            },
            Evaluation::Partials { order: 3 } if const { Self::COMPILED > 2 } => match wanted {
                Wanted::Group(index) if const { Self::HAS_GROUPS_OF_HIGHER_ORDERS } => {
                    self.group::<T, Third, false>(index, first, inputs, results);
                }
                _ => {
                    if const { Self::ARE_ALL_AT_ONCE } {
                        self.each::<T, Third, AllInputs, I>(first, inputs, results);
                    }
                }
            },
            Evaluation::Partials { order } => {
                unreachable!("order {order} of a formula of order {ORDER}")
            }
        }
    }

    fn most_groups(&self, order: usize) -> usize {
        if order > 1 && !Self::HAS_GROUPS_OF_HIGHER_ORDERS || !Self::HAS_GROUPS {
            0
        } else if F::IS_REVERSED {
            1
        } else {
            usize::MAX
        }
    }

    fn faster(&self) -> Option<&'static Faster> {
        F::faster()
    }

    fn sides(&self) -> &'static [Side] {
        F::SIDES
    }

    fn is_summed(&self) -> bool {
        F::IS_SUMMED
    }

    fn add_pairs(
        &self,
        evaluation: Evaluation,
        wanted: Wanted,
        tile: Tile<'_, '_, T>,
        kept: &mut Option<Replay<T>>,
    ) {
        let formula = &self.0;
        if const { !F::IS_SUMMED } {
            unreachable!("its results are not added");
        }
        match (evaluation, wanted) {
            (Evaluation::Values, Wanted::Replayed) if const { F::IS_SUMMED && !F::IS_VECTOR_CODE } =>
            {
                add_values::<T, F, I, O>(formula, kept, tile);
            }
            (Evaluation::Values, _) if const { F::IS_SUMMED } => {
                compiled_for::<F, I, O>(TileLoop::<_, _, Outputs, I, O, O>::new(formula, tile));
            }
            (Evaluation::Partials { order: 1 }, _)
                if const { F::IS_SUMMED && ORDER > 0 && Self::IS_REPLAYED } =>
            {
                add_partials(formula, kept, tile);
            }
            (Evaluation::Partials { order: 1 }, Wanted::Group(index))
                if const { F::IS_SUMMED && Self::COMPILED > 0 && I > 1 && Self::HAS_GROUPS } =>
            {
                of_group::<F, _, I, O>(index, TileWork(formula, tile));
            }
            (Evaluation::Partials { order: 1 }, _)
                if const { F::IS_SUMMED && Self::COMPILED > 0 && Self::ARE_ALL_AT_ONCE } =>
            {
                let all = TileLoop::<_, _, PartialsOf<AllInputs>, I, O, I>::new(formula, tile);
                compiled_for::<F, I, O>(all);
            }
            _ => unreachable!("{evaluation:?} is not added for pairs"),
        }
    }
}

impl<F: Formula<I, O>, const I: usize, const O: usize, const ORDER: usize> Blocks<F, I, O, ORDER> {
    /// Whether derivatives are replayed. A formula with entries for each element is another one there.
    const IS_REPLAYED: bool = {
        let most = if F::OF_PAIRS {
            MOST_DUAL_OF_PAIRS
        } else {
            MOST_DUAL
        };
        (I > most || !F::IS_WRITTEN_OUT) && size_of::<F::Entries>() == 0 && !F::IS_REVERSED
    };

    /// Whether derivatives along a direction are.
    const HAS_REPLAYED_TANGENTS: bool =
        !F::IS_WRITTEN_OUT && size_of::<F::Entries>() == 0 && ORDER > 1 && !F::OUTPUTS_IN_REVERSE;

    /// Whether one loop computes the derivatives with respect to all inputs.
    const ARE_ALL_AT_ONCE: bool = I <= MOST_AT_ONCE || F::IS_REVERSED;

    /// Whether there are loops for groups of the inputs. Of many in reverse, a program would take long to compile.
    const HAS_GROUPS: bool = !Self::IS_REPLAYED && (I <= MOST_AT_ONCE || !F::IS_REVERSED);

    /// Whether there are loops for groups of the inputs at higher orders too. In reverse, one for a group is nearly the loop
    /// for all.
    const HAS_GROUPS_OF_HIGHER_ORDERS: bool =
        Self::HAS_GROUPS && has_rows(F::INPUTS) && !F::IS_REVERSED;

    /// The highest order of derivatives that compiled loops compute.
    const COMPILED: usize = if Self::IS_REPLAYED { 0 } else { ORDER };

    /// Writes the derivatives of an order that are wanted, by a replay.
    fn replayed<T: Element>(
        &self,
        order: usize,
        kept: &mut Option<Replay<T>>,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        let formula = &self.0;
        match order {
            1 if const { ORDER > 0 } => {
                partials::<T, F, First, I, O>(formula, kept, inputs, results);
            }
            2 if const { ORDER > 1 } => {
                partials::<T, F, Second, I, O>(formula, kept, inputs, results);
            }
            3 if const { ORDER > 2 } => {
                partials::<T, F, Third, I, O>(formula, kept, inputs, results);
            }
            order => unreachable!("order {order} of a formula of order {ORDER}"),
        }
    }

    /// Writes the derivatives with respect to the variables themselves.
    fn one<T: Element, D: Order, V: Variables, const N: usize>(
        &self,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        let work = PartialWork::<_, _, D, V, I, O, N, true>::new(&self.0, first, inputs);
        let first = const { spots::<I>(F::INPUTS, F::OF_PAIRS) }[V::START].slice;
        one_component::<F, _, _, I, O, N>(work, &mut results[first..]);
    }

    /// Writes the derivatives with respect to all components of the variables and of the gradients.
    fn each<T: Element, D: Order, V: Variables, const N: usize>(
        &self,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        let work = PartialWork::<_, _, D, V, I, O, N, false>::new(&self.0, first, inputs);
        compiled_for::<F, I, O>(AllComponents(work, results));
    }

    /// Writes the derivatives with respect to a group of inputs: to these themselves if they are `ALONE`.
    fn group<T: Element, D: Order, const ALONE: bool>(
        &self,
        index: usize,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        let work = GroupWork::<_, _, D, ORDER, I, O, ALONE> {
            blocks: self,
            first,
            inputs,
            results,
            of: PhantomData,
        };
        of_group::<F, _, I, O>(index, work);
    }
}

/// Work on a group of inputs.
trait OfGroup {
    fn run<V: Variables, const N: usize>(self);
}

/// Does work on the group `index` of the inputs of a formula.
fn of_group<F: Formula<I, O>, W: OfGroup, const I: usize, const O: usize>(index: usize, work: W) {
    match Groups::<F, W, I, O>::RUNS.get(index) {
        Some(Some(run)) => run(work),
        _ => unreachable!("group {index} of {:?}", F::INPUTS),
    }
}

/// Work on each group of the inputs of a formula, for the longest rows, and for rows of one number.
struct Groups<F, W, const I: usize, const O: usize>(PhantomData<(F, W)>);

impl<F: Formula<I, O>, W: OfGroup, const I: usize, const O: usize> Groups<F, W, I, O> {
    /// Pointers in a constant: of calls in branches that are never taken, rustc would visit all that they call.
    const RUNS: [Option<fn(W)>; 36] = {
        let mut runs: [Option<fn(W)>; 36] = [None; 36];
        macro_rules! groups {
            ($($index:literal)*) => {$(
                // Up to the widest.
                runs[$index] = match OneGroup::<F, I, O, $index>::GROUP.count {
                    1 => Some(W::run::<OneGroup<F, I, O, $index>, 1>),
                    2 => Some(W::run::<OneGroup<F, I, O, $index>, 2>),
                    3 => Some(W::run::<OneGroup<F, I, O, $index>, 3>),
                    4 => Some(W::run::<OneGroup<F, I, O, $index>, 4>),
                    _ => None,
                };
            )*};
        }
        groups!(
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
        );
        runs
    };
}

/// The derivatives with respect to a group.
struct GroupWork<
    'a,
    'b,
    'c,
    T,
    F,
    D,
    const ORDER: usize,
    const I: usize,
    const O: usize,
    const ALONE: bool,
> {
    blocks: &'a Blocks<F, I, O, ORDER>,
    first: usize,
    inputs: &'a [&'a [T]],
    results: Results<'b, 'c, T>,
    of: PhantomData<D>,
}

impl<T, F, D, const ORDER: usize, const I: usize, const O: usize, const ALONE: bool> OfGroup
    for GroupWork<'_, '_, '_, T, F, D, ORDER, I, O, ALONE>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    fn run<V: Variables, const N: usize>(self) {
        let Self {
            blocks,
            first,
            inputs,
            results,
            ..
        } = self;
        if ALONE {
            blocks.one::<T, D, V, N>(first, inputs, results);
        } else {
            blocks.each::<T, D, V, N>(first, inputs, results);
        }
    }
}

/// The derivatives with respect to a group, added for the pairs of a tile.
struct TileWork<'a, 'b, 'c, T, F, const I: usize, const O: usize>(&'a F, Tile<'b, 'c, T>);

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize> OfGroup
    for TileWork<'_, '_, '_, T, F, I, O>
{
    fn run<V: Variables, const N: usize>(self) {
        let Self(formula, tile) = self;
        compiled_for::<F, I, O>(TileLoop::<_, _, PartialsOf<V>, I, O, N>::new(formula, tile));
    }
}

/// Returns whether an item is a row.
const fn has_rows(items: &[Item]) -> bool {
    let mut input = 0;
    while input < items.len() {
        if matches!(items[input], Item::Row(_)) {
            return true;
        }
        input += 1;
    }
    false
}
