//! The loops of a formula as a trait object, and what they compute.

use std::mem::MaybeUninit;

use super::faster::Faster;
use super::item::Item;
use super::recorded::Replay;
use super::tile::{Side, Tile};
use crate::element::Element;

/// The number of elements that are computed at a time. Results are written to buffers of that size first: the compiler
/// can see that these do not overlap with the inputs.
pub(crate) const BLOCK: usize = 256;

/// The elements of the widest register. Loops compute multiples of it: the last elements, computed one by one, would
/// take the time of a whole register each.
pub(crate) const LANES: usize = 16;

/// The values or derivatives that loops compute.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// The outputs, of the inputs.
    Values,
    /// The derivatives of the outputs along a direction, of the inputs and a direction for each.
    Tangents,
    /// The partial derivatives of the pairing, of all components of the inputs and of the outputs' gradients: those of
    /// the component 0 first, and of these the inputs' first. The order starts at 1.
    Partials { order: usize },
}

/// The results of an evaluation that are computed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    All,
    /// For `Partials`, the derivatives with respect to the components of the inputs in this group; and with respect to
    /// the gradients' components, if it is the first.
    Group(usize),
    /// For `Partials` of order 2, the derivatives with respect to the inputs themselves, where no gradient has a
    /// direction.
    Inputs,
    /// For `Values`, all of them, by a replay.
    Replayed,
}

/// The loops of some formula.
#[doc(hidden)]
pub trait Loops<T: Element>: Send + Sync + sealed::Sealed {
    /// Returns the items of the input tensors.
    fn inputs(&self) -> &'static [Item];

    /// Returns the items of the output tensors.
    fn outputs(&self) -> &'static [Item];

    /// Returns how many times the formula can be differentiated.
    fn order(&self) -> usize;

    /// Calls `note` with the type and the size of each value that the formula holds.
    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize));

    /// Calls `note` with the name and the length of each list that has an entry for each element of the results.
    fn list_entries(&self, note: &mut dyn FnMut(&'static str, usize));

    /// Writes all elements of the results that are `wanted` and not empty. Inputs and results have the slices of
    /// their items, see [`Item::slices`]. Inputs have as many elements, rounded up to a multiple of [`LANES`]; an input of at
    /// most [`BLOCK`] elements is the same in each block. `first` is the index of the first element among all. What is `kept`
    /// is of the blocks before, with the same evaluation and the same results.
    fn run(
        &self,
        evaluation: Evaluation,
        wanted: Wanted,
        first: usize,
        inputs: &[&[T]],
        results: Results<'_, '_, T>,
        kept: &mut Option<Replay<T>>,
    );

    /// Returns the most groups of inputs whose `Partials` of an order are computed by a loop for each. Others are computed by
    /// one for all, also where not all are wanted.
    fn most_groups(&self, order: usize) -> usize;

    /// Returns what was found out about the loop of `Values` and its replay, if there is one.
    fn faster(&self) -> Option<&'static Faster>;

    /// Returns what the input tensors have an item for, if it is a formula of pairs.
    fn sides(&self) -> &'static [Side];

    /// Returns whether loops add its results for pairs.
    fn is_summed(&self) -> bool;

    /// Adds the results for some rows with the columns of a tile: values, or derivatives of the first order of a formula of
    /// pairs. What is `kept` is of the tiles before.
    fn add_pairs(
        &self,
        evaluation: Evaluation,
        wanted: Wanted,
        tile: Tile<'_, '_, T>,
        kept: &mut Option<Replay<T>>,
    );
}

/// The results that loops write; empty where one is not wanted.
pub(crate) type Results<'a, 'b, T> = &'a mut [&'b mut [MaybeUninit<T>]];

pub(crate) mod sealed {
    /// `evaluate` trusts, in unsafe code, that the loops have written all results. Other types cannot promise that.
    pub trait Sealed {}
}
