//! Saved values of a node, to list them.
//!
//! Generated code saves `(first, (second, …, ()))`, one item for each entry of the signature's `saved`, each in an
//! `Option`: an item that no gradient needs is not saved.

use crate::function::{SavedNumber, SavedShape, SavedValue};
use crate::saved::{Saved, SavedList};
use crate::tape;
use autograd_kernels::{Element, Shape};

/// An item that a node can save: a tensor, a list of tensors, a value.
#[doc(hidden)]
pub trait SavedItem: Clone + Send + Sync + 'static {
    /// Calls `note` with each description, without a name, and the index in a list.
    fn list(&self, note: &mut dyn FnMut(tape::SavedInfo, Option<usize>));
}

impl<T: Element> SavedItem for Saved<T> {
    fn list(&self, note: &mut dyn FnMut(tape::SavedInfo, Option<usize>)) {
        note(self.info(), None);
    }
}

impl<T: Element> SavedItem for SavedList<T> {
    fn list(&self, note: &mut dyn FnMut(tape::SavedInfo, Option<usize>)) {
        for (index, saved) in self.iter().enumerate() {
            note(saved.info(), Some(index));
        }
    }
}

impl<V: 'static> SavedItem for SavedValue<V> {
    fn list(&self, note: &mut dyn FnMut(tape::SavedInfo, Option<usize>)) {
        note(self.info(), None);
    }
}

impl<V: Copy + Send + Sync + 'static> SavedItem for SavedNumber<V> {
    fn list(&self, note: &mut dyn FnMut(tape::SavedInfo, Option<usize>)) {
        note(tape::SavedInfo::value::<V>(None), None);
    }
}

impl SavedItem for SavedShape {
    fn list(&self, note: &mut dyn FnMut(tape::SavedInfo, Option<usize>)) {
        note(tape::SavedInfo::value::<Shape>(None), None);
    }
}

/// All items that a node saves.
#[doc(hidden)]
pub trait SavedItems: Clone + Send + Sync + 'static {
    /// Calls `note` for each item, with the index of the signature's entry.
    fn list(&self, entry: usize, note: &mut dyn FnMut(usize, tape::SavedInfo, Option<usize>));
}

impl SavedItems for () {
    fn list(&self, _entry: usize, _note: &mut dyn FnMut(usize, tape::SavedInfo, Option<usize>)) {}
}

impl<A: SavedItem, B: SavedItems> SavedItems for (Option<A>, B) {
    fn list(&self, entry: usize, note: &mut dyn FnMut(usize, tape::SavedInfo, Option<usize>)) {
        if let Some(item) = &self.0 {
            item.list(&mut |info, index| note(entry, info, index));
        }
        self.1.list(entry + 1, note);
    }
}
