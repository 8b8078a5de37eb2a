//! The loops of one formula, each compiled for its derivatives.

use super::evaluation::{Evaluation, Loops, Results, Wanted, sealed};
use super::formula::Formula;
use super::groups::{MOST_AT_ONCE, OneGroup, group};
use super::item::Item;
use super::order::{AllInputs, First, Order, Second, Third, Variables};
use super::work::{AllComponents, OneComponent, PartialWork, TangentWork, ValueWork};
use crate::element::Element;
use crate::loops::wide::compiled;

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
    ) {
        let formula = &self.0;
        // With one input and one output, a direction is multiplied by the same derivative as a gradient: one loop is
        // enough.
        let evaluation = match evaluation {
            Evaluation::Tangents if const { I == 1 && O == 1 } => Evaluation::Partials { order: 1 },
            evaluation => evaluation,
        };
        match evaluation {
            Evaluation::Values => {
                let work = ValueWork::<T, F, I, O> {
                    formula,
                    first,
                    inputs,
                };
                compiled(OneComponent::<_, _, O>(work, results));
            }
            Evaluation::Tangents => {
                if const { I > 1 || O > 1 } {
                    let work = TangentWork::<T, F, I, O> {
                        formula,
                        first,
                        inputs,
                    };
                    compiled(OneComponent::<_, _, O>(work, results));
                }
            }
            Evaluation::Partials { order: 1 } if const { ORDER > 0 } => match wanted {
                Wanted::Group(index) if const { I > 1 } => {
                    self.group::<T, First, true>(index, first, inputs, results);
                }
                _ => {
                    if const { I <= MOST_AT_ONCE } {
                        self.one::<T, First, AllInputs, I>(first, inputs, results);
                    }
                }
            },
            Evaluation::Partials { order: 2 } if const { ORDER > 1 } => match wanted {
                Wanted::Group(index) if const { has_rows(F::INPUTS) } => {
                    self.group::<T, Second, false>(index, first, inputs, results);
                }
                Wanted::Inputs if const { I <= MOST_AT_ONCE } => {
                    self.one::<T, Second, AllInputs, I>(first, inputs, results);
                }
                _ => {
                    if const { I <= MOST_AT_ONCE } {
                        self.each::<T, Second, AllInputs, I>(first, inputs, results);
                    }
                }
            },
            Evaluation::Partials { order: 3 } if const { ORDER > 2 } => match wanted {
                Wanted::Group(index) if const { has_rows(F::INPUTS) } => {
                    self.group::<T, Third, false>(index, first, inputs, results);
                }
                _ => {
                    if const { I <= MOST_AT_ONCE } {
                        self.each::<T, Third, AllInputs, I>(first, inputs, results);
                    }
                }
            },
            Evaluation::Partials { order } => {
                unreachable!("order {order} of a formula of order {ORDER}")
            }
        }
    }
}

impl<F: Formula<I, O>, const I: usize, const O: usize, const ORDER: usize> Blocks<F, I, O, ORDER> {
    /// Writes the derivatives with respect to the variables themselves.
    fn one<T: Element, D: Order, V: Variables, const N: usize>(
        &self,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        let work = PartialWork::<_, _, D, V, I, O, N, true>::new(&self.0, first, inputs);
        compiled(OneComponent::<_, _, N>(work, &mut results[V::START..]));
    }

    /// Writes the derivatives with respect to all components of the variables and of the gradients.
    fn each<T: Element, D: Order, V: Variables, const N: usize>(
        &self,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        let work = PartialWork::<_, _, D, V, I, O, N, false>::new(&self.0, first, inputs);
        compiled(AllComponents(work, results));
    }

    /// Writes the derivatives with respect to a group of inputs: to these themselves if they are `ALONE`.
    fn group<T: Element, D: Order, const ALONE: bool>(
        &self,
        index: usize,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        macro_rules! groups {
            ($($index:literal)*) => {
                match index {
                    $($index if const { group(F::INPUTS, $index).count > 0 } => {
                        self.group_of::<T, D, $index, ALONE>(first, inputs, results);
                    })*
                    _ => unreachable!("group {index} of {:?}", F::INPUTS),
                }
            };
        }
        // For the longest rows, and for rows of one number.
        groups!(
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27
        );
    }

    fn group_of<T: Element, D: Order, const INDEX: usize, const ALONE: bool>(
        &self,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        macro_rules! lengths {
            ($($count:literal)*) => {$(
                if const { group(F::INPUTS, INDEX).count == $count } {
                    if ALONE {
                        self.one::<T, D, OneGroup<F, I, O, INDEX>, $count>(first, inputs, results);
                    } else {
                        self.each::<T, D, OneGroup<F, I, O, INDEX>, $count>(first, inputs, results);
                    }
                }
            )*};
        }
        // Up to the widest.
        lengths!(1 2 3 4);
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
