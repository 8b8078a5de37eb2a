//! The loops of one formula, each compiled for its derivatives.

use super::evaluation::{Evaluation, Loops, Results, Wanted, sealed};
use super::formula::Formula;
use super::order::{AllInputs, First, OneInput, Second, Third};
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
    fn inputs(&self) -> usize {
        I
    }

    fn outputs(&self) -> usize {
        O
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
            Evaluation::Partials { order: 1 } if const { ORDER > 0 } => {
                self.first(wanted, first, inputs, results);
            }
            Evaluation::Partials { order: 2 } if const { ORDER > 1 } => {
                if wanted == Wanted::Inputs {
                    let work = PartialWork::<_, _, Second, AllInputs, I, O, I, true>::new(
                        formula, first, inputs,
                    );
                    compiled(OneComponent::<_, _, I>(work, results));
                } else {
                    let work = PartialWork::new(formula, first, inputs);
                    compiled(AllComponents::<_, _, Second, I, O>(work, results));
                }
            }
            Evaluation::Partials { order: 3 } if const { ORDER > 2 } => {
                let work = PartialWork::new(formula, first, inputs);
                compiled(AllComponents::<_, _, Third, I, O>(work, results));
            }
            Evaluation::Partials { order } => {
                unreachable!("order {order} of a formula of order {ORDER}")
            }
        }
    }
}

impl<F, const I: usize, const O: usize, const ORDER: usize> Blocks<F, I, O, ORDER> {
    /// Writes derivatives of order 1, by a loop for one input alone or for all.
    fn first<T: Element>(
        &self,
        wanted: Wanted,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) where
        F: Formula<I, O>,
    {
        macro_rules! alone {
            ($($index:literal)*) => {
                match wanted {
                    $(Wanted::Input($index) if const { is_one_of($index, I) } => {
                        let work = PartialWork::<_, _, First, OneInput<$index>, I, O, 1, true>::new(
                            &self.0, first, inputs,
                        );
                        compiled(OneComponent::<_, _, 1>(work, &mut results[$index..]));
                    })*
                    _ => {
                        let work = PartialWork::<_, _, First, AllInputs, I, O, I, true>::new(
                            &self.0, first, inputs,
                        );
                        compiled(OneComponent::<_, _, I>(work, results));
                    }
                }
            };
        }
        alone!(0 1 2 3 4 5 6 7 8 9 10 11);
    }
}

/// Returns whether a function of several inputs has the input `index`.
const fn is_one_of(index: usize, inputs: usize) -> bool {
    inputs > 1 && index < inputs
}
