//! Loops over elements that compute an elementwise function, its derivatives, and derivatives of those.
//!
//! The body of an elementwise function is a *formula*, written once for any [`Real`]: with elements it gives values, with
//! [`Dual`] numbers derivatives. [`Blocks`] has the loops of a formula: `order` has the numbers that a formula is called
//! with, `work` computes a block of elements at a time. [`evaluate`] runs the loops over arrays of any layout, on all
//! threads, whatever the formula is.
//!
//! # Partial derivatives
//!
//! Let f have the inputs x and the outputs y, and let g be gradients of y. A backward pass needs the derivatives, with
//! respect to x, of the *pairing* c₁(x, g) = Σₖ gₖ fₖ(x): derivatives of f of order 1. They are functions of x and g,
//! which are differentiated again along directions w: c₂(x, g, w) is the derivative of c₁ along w, and its partial
//! derivatives are of order 2, and so on.
//!
//! At order n the inputs have 2ⁿ⁻¹ components each: themselves, directions, and directions of directions, as dual numbers
//! of dual numbers have. Along the direction that was added last, f is differentiated last, which is innermost. So the
//! number of a component has a bit for each direction, the first direction's the highest; a new direction is a new lowest
//! bit.
//!
//! The pairing is the component with all bits of Σₖ gₖ fₖ(x). In it, a component S of x occurs where the derivatives have
//! the other bits, W = ¬S: ∂c/∂xᵢ is the component W of Σₖ gₖ ∂ᵢfₖ, and ∂c/∂gₖ that of fₖ.

#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it, without the branches of zipped iterators"
)]

mod dual;
mod evaluate;
mod floats;
mod order;
mod work;

use std::mem::MaybeUninit;

use crate::element::Element;
use crate::element::real::{Literal, Real};
use crate::loops::wide::compiled;

use dual::Dual;
pub use evaluate::evaluate;
use order::{AllInputs, First, OneInput, Second, Third};
use work::{AllComponents, OneComponent, PartialWork, TangentWork, ValueWork};

/// The number of elements that are computed at a time. Results are written to buffers of that size, which the compiler
/// can tell from the inputs.
const BLOCK: usize = 256;

/// The elements of the widest register. Loops compute multiples of it: the last elements, computed one by one, would take
/// the time of a whole register each.
const LANES: usize = 16;

/// The formula of an elementwise function, of `I` numbers and with `O` results.
#[doc(hidden)]
pub trait Formula<const I: usize, const O: usize>: Send + Sync {
    /// Computes the formula.
    fn at<R: Real>(&self, inputs: [R; I]) -> [R; O]
    where
        f64: Literal<R>;

    /// Calls `note` with the type and the size of each value that it holds.
    fn list_values(&self, _note: &mut dyn FnMut(&'static str, usize)) {}
}

/// Calls `note` with the type and the size of a value.
#[doc(hidden)]
pub fn list_value<V>(_value: &V, note: &mut dyn FnMut(&'static str, usize)) {
    note(std::any::type_name::<V>(), size_of::<V>());
}

/// Returns Σₖ gₖ ∂fₖ with respect to each input that is not `held`, and the outputs.
#[doc(hidden)]
#[inline(always)]
pub fn pulled_back<F: Formula<I, O>, R: Real, const I: usize, const O: usize>(
    formula: &F,
    inputs: [R; I],
    gradients: [R; O],
    held: [bool; I],
) -> ([R; I], [R; O]) {
    let mut numbers = [Dual::<R, I>::from(0.0); I];
    let mut input = 0;
    while input < I {
        numbers[input] = if held[input] {
            Dual::constant(inputs[input])
        } else {
            Dual::variable(inputs[input], input)
        };
        input += 1;
    }
    let results = formula.at(numbers);
    let (mut sums, mut outputs) = ([R::from(0.0); I], [R::from(0.0); O]);
    let mut output = 0;
    while output < O {
        outputs[output] = results[output].value;
        let mut input = 0;
        while input < I {
            if let Some(slope) = results[output].tangent(input) {
                sums[input] += gradients[output] * slope;
            }
            input += 1;
        }
        output += 1;
    }
    (sums, outputs)
}

/// A formula with its loops, to be differentiated up to `ORDER` times.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Blocks<F, const I: usize, const O: usize, const ORDER: usize>(pub F);

/// The values or derivatives that loops compute.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// The outputs, of the inputs.
    Values,
    /// The derivatives of the outputs along a direction, of the inputs and a direction for each.
    Tangents,
    /// The partial derivatives of the pairing of this order, from 1 on, of all components of the inputs and of the
    /// outputs' gradients: those of the component 0 first, and of these the inputs' first.
    Partials { order: usize },
}

/// The results of an evaluation that are computed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    All,
    /// Of `Partials` of order 1, the derivative with respect to this input.
    Input(usize),
    /// Of `Partials` of order 2, those with respect to the inputs themselves, where no gradient has a direction.
    Inputs,
}

/// The loops of some formula.
#[doc(hidden)]
pub trait Loops<T: Element>: Send + Sync + sealed::Sealed {
    /// Returns the number of inputs.
    fn inputs(&self) -> usize;

    /// Returns the number of outputs.
    fn outputs(&self) -> usize;

    /// Returns how many times the formula can be differentiated.
    fn order(&self) -> usize;

    /// Calls `note` with the type and the size of each value that the formula holds.
    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize));

    /// Writes all elements of the results that are `wanted` and not empty. Inputs have as many elements, up to a multiple
    /// of [`LANES`]; an input of at most [`BLOCK`] elements is the same in each block.
    fn run(
        &self,
        evaluation: Evaluation,
        wanted: Wanted,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    );
}

type Results<'a, 'b, T> = &'a mut [&'b mut [MaybeUninit<T>]];

mod sealed {
    /// `evaluate` takes memory for written that only these loops are known to write.
    pub trait Sealed {}
}

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

    fn run(
        &self,
        evaluation: Evaluation,
        wanted: Wanted,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
    ) {
        let formula = &self.0;
        // With one input and one output, the derivative along a direction is that for a gradient: one loop is enough.
        let evaluation = match evaluation {
            Evaluation::Tangents if const { I == 1 && O == 1 } => Evaluation::Partials { order: 1 },
            evaluation => evaluation,
        };
        match evaluation {
            Evaluation::Values => {
                let work = ValueWork::<T, F, I, O> { formula, inputs };
                compiled(OneComponent::<_, _, O>(work, results));
            }
            Evaluation::Tangents => {
                if const { I > 1 || O > 1 } {
                    let work = TangentWork::<T, F, I, O> { formula, inputs };
                    compiled(OneComponent::<_, _, O>(work, results));
                }
            }
            Evaluation::Partials { order: 1 } => self.first(wanted, inputs, results),
            Evaluation::Partials { order: 2 } if const { ORDER > 1 } => {
                if wanted == Wanted::Inputs {
                    let work =
                        PartialWork::<_, _, Second, AllInputs, I, O, I, true>::new(formula, inputs);
                    compiled(OneComponent::<_, _, I>(work, results));
                } else {
                    let work = PartialWork::new(formula, inputs);
                    compiled(AllComponents::<_, _, Second, I, O>(work, results));
                }
            }
            Evaluation::Partials { order: 3 } if const { ORDER > 2 } => {
                let work = PartialWork::new(formula, inputs);
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
    fn first<T: Element>(&self, wanted: Wanted, inputs: &[&[T]], results: Results<'_, '_, T>)
    where
        F: Formula<I, O>,
    {
        macro_rules! alone {
            ($($index:literal)*) => {
                match wanted {
                    $(Wanted::Input($index) if const { is_one_of($index, I) } => {
                        let work = PartialWork::<_, _, First, OneInput<$index>, I, O, 1, true>::new(
                            &self.0, inputs,
                        );
                        compiled(OneComponent::<_, _, 1>(work, &mut results[$index..]));
                    })*
                    _ => {
                        let work = PartialWork::<_, _, First, AllInputs, I, O, I, true>::new(
                            &self.0, inputs,
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

#[cfg(test)]
mod tests;
