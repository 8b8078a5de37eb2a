//! Numbers of some lanes at once, whose operations are recorded for a pass backward.
//!
//! Dual numbers carry a tangent for each variable, which pays for few: the compiler then holds all of them in registers.
//! A formula of many numbers, as with rows of states and weights, is recorded instead: each operation is a loop over the
//! lanes of a block, which keeps the value and the slopes, and the gradients with respect to all inputs follow from one
//! pass over the operations in reverse. The slopes are those of dual numbers, of each operation alone.
//!
//! The lanes of a number must take the same branches. Where a comparison has different results, the block is said to be
//! divided, and its lanes are computed with dual numbers.

mod number;
mod tape;

pub(crate) use tape::{Lanes, Recorded, Tape, WIDTH, tape};

use super::each::each;
use crate::element::Element;

/// Returns the results of a formula that is computed by `call`, recorded on a tape that was cleared.
pub(crate) fn recorded<T: Element, const I: usize, const O: usize>(
    inputs: [(&[T], bool); I],
    call: impl FnOnce([Recorded<T>; I]) -> [Recorded<T>; O],
) -> [Recorded<T>; O] {
    let mut numbers = [Recorded::Constant(T::zero()); I];
    tape().with_borrow_mut(|tape: &mut Tape<T>| {
        tape.clear();
        each!(input < I => {
            let (elements, is_wanted) = inputs[input];
            numbers[input] = tape.input(elements, is_wanted);
        });
    });
    call(numbers)
}

/// Returns the values of the results of a formula that is computed by `call`, if all lanes took the same branches.
pub(crate) fn values<T: Element, const I: usize, const O: usize>(
    inputs: [&[T]; I],
    call: impl FnOnce([Recorded<T>; I]) -> [Recorded<T>; O],
) -> Option<[Lanes<T>; O]> {
    let results = recorded(inputs.map(|elements| (elements, false)), call);
    tape().with_borrow(|tape: &Tape<T>| {
        let lanes = || results.map(|result| tape.lanes(result));
        (!tape.is_divided()).then(lanes)
    })
}
