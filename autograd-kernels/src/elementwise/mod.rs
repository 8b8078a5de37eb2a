//! Loops over elements that compute a function of numbers, its derivatives, and derivatives of those.
//!
//! A function of numbers is written once, for any [`Real`]. Called with elements it gives values; with [`Dual`] numbers,
//! derivatives. [`Blocks`] has the loops: `level` says of which numbers, `work` has a block of elements at a time.
//! [`evaluate`] goes through arrays of any layout with them, on all threads, and knows nothing of the function.
//!
//! # Partial derivatives
//!
//! Let f have the inputs x and the outputs y, and let g be gradients of y: c₀(x, g) = Σₖ gₖ fₖ(x). Its derivatives with
//! respect to x are what a backward pass wants. They are functions of x and g, which are differentiated again along
//! directions w: c₁(x, g, w) is the derivative of c₀ along w, and so on. [`order::Level`] counts this.
//!
//! At level l the inputs have 2ˡ components each: themselves, directions, and directions of directions, as dual numbers
//! of dual numbers have. Along the direction that was added last, f is differentiated last, which is innermost. So a
//! component's number has a bit for each direction, the first direction's the highest; a new direction is a new lowest
//! bit.
//!
//! In c, which is the component with all bits of Σₖ gₖ fₖ(x), a component S of x occurs where the others, W = ¬S, are the
//! derivatives': ∂c/∂xᵢ is the component W of Σₖ gₖ ∂ᵢfₖ, and ∂c/∂gₖ that of fₖ.

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
use work::{AllComponents, OneComponent, Partials, Tangents, Values};

/// How many elements are computed at a time. Results wait in buffers of that size, of which the compiler knows that they
/// are no inputs.
const BLOCK: usize = 256;

/// Elements are computed in multiples of this, as many as the widest registers have: a loop over fewer would compute
/// the last ones alone, each in the time of a whole row.
const LANES: usize = 16;

/// A function of `I` numbers with `O` results.
#[doc(hidden)]
pub trait Formula<const I: usize, const O: usize>: Send + Sync {
    /// Computes it.
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

/// What is computed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The outputs, of the inputs.
    Values,
    /// The derivatives of the outputs along a direction, of the inputs and a direction for each.
    Tangents,
    /// The derivatives of c at this level, of all components of the inputs and of the outputs' gradients: those of the
    /// component 0 first, and of these the inputs' first.
    Partials { level: usize },
}

/// Which results of a pass are computed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    All,
    /// Of `Partials` at level 0, the derivative with respect to this input.
    Input(usize),
    /// Of `Partials` at level 1, those with respect to the inputs themselves, where no gradient has a direction.
    Inputs,
}

/// The loops of a formula, whatever it is.
#[doc(hidden)]
pub trait Loops<T: Element>: Send + Sync + sealed::Sealed {
    /// How many inputs it has.
    fn inputs(&self) -> usize;

    /// How many outputs it has.
    fn outputs(&self) -> usize;

    /// How often it can be differentiated.
    fn order(&self) -> usize;

    /// Calls `note` with the type and the size of each value that the formula holds.
    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize));

    /// Writes all elements of all results that are `asked` for and not empty. Inputs have as many, up to a multiple of
    /// [`LANES`]; one of at most [`BLOCK`] is the same in each block.
    fn run(&self, pass: Pass, asked: Asked, inputs: &[&[T]], results: Results<'_, '_, T>);
}

type Results<'a, 'b, T> = &'a mut [&'b mut [MaybeUninit<T>]];

mod sealed {
    /// Memory is taken for written that only these loops are known to write.
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

    fn run(&self, pass: Pass, asked: Asked, inputs: &[&[T]], results: Results<'_, '_, T>) {
        let formula = &self.0;
        // Of one input and one output, the derivative times the direction is that times the gradient: one loop is enough.
        let pass = match pass {
            Pass::Tangents if const { I == 1 && O == 1 } => Pass::Partials { level: 0 },
            pass => pass,
        };
        match pass {
            Pass::Values => {
                let work = Values::<T, F, I, O> { formula, inputs };
                compiled(OneComponent::<_, _, O>(work, results));
            }
            Pass::Tangents => {
                if const { I > 1 || O > 1 } {
                    let work = Tangents::<T, F, I, O> { formula, inputs };
                    compiled(OneComponent::<_, _, O>(work, results));
                }
            }
            Pass::Partials { level: 0 } => self.first(asked, inputs, results),
            Pass::Partials { level: 1 } if const { ORDER > 1 } => {
                if asked == Asked::Inputs {
                    let work =
                        Partials::<_, _, Second, AllInputs, I, O, I, true>::new(formula, inputs);
                    compiled(OneComponent::<_, _, I>(work, results));
                } else {
                    let work = Partials::new(formula, inputs);
                    compiled(AllComponents::<_, _, Second, I, O>(work, results));
                }
            }
            Pass::Partials { level: 2 } if const { ORDER > 2 } => {
                let work = Partials::new(formula, inputs);
                compiled(AllComponents::<_, _, Third, I, O>(work, results));
            }
            Pass::Partials { level } => {
                unreachable!("level {level} of a formula of order {ORDER}")
            }
        }
    }
}

impl<F, const I: usize, const O: usize, const ORDER: usize> Blocks<F, I, O, ORDER> {
    /// Writes derivatives of level 0: a loop for each input alone, or one for all.
    fn first<T: Element>(&self, asked: Asked, inputs: &[&[T]], results: Results<'_, '_, T>)
    where
        F: Formula<I, O>,
    {
        macro_rules! alone {
            ($($index:literal)*) => {
                match asked {
                    $(Asked::Input($index) if const { is_one_of($index, I) } => {
                        let work = Partials::<_, _, First, OneInput<$index>, I, O, 1, true>::new(
                            &self.0, inputs,
                        );
                        compiled(OneComponent::<_, _, 1>(work, &mut results[$index..]));
                    })*
                    _ => {
                        let work = Partials::<_, _, First, AllInputs, I, O, I, true>::new(
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

/// Returns whether there is such an input beside others.
const fn is_one_of(index: usize, inputs: usize) -> bool {
    inputs > 1 && index < inputs
}

#[cfg(test)]
mod tests;
