//! One use of a scan: its loops, and what forward saved for backward.

use std::panic::Location;
use std::sync::Arc;

use autograd_kernels::{Checkpoints, Element, Item, ScanLoops};

use crate::elementwise::Held;
use crate::error::{ErrorKind, PassedOn};
use crate::tape::Shared;

/// A scan with its loops.
pub(super) struct NamedScan<T: Element, L: ?Sized> {
    /// The name of the function.
    pub(super) name: &'static str,
    /// The names of the tensors: states, steps and shared ones.
    pub(super) names: &'static [&'static str],
    /// The line that applied the function: the nodes of its derivatives are made elsewhere.
    pub(super) applied_at: &'static Location<'static>,
    /// Whether it runs from the last step.
    pub(super) is_reversed: bool,
    pub(super) checkpoints: Option<Checkpoints<T>>,
    pub(super) loops: L,
}

impl<T: Element, L: ScanLoops<T> + ?Sized> NamedScan<T, L> {
    /// Returns the number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.loops.inputs().len()
    }

    /// Returns the number of inputs and results, which is the number of places of each component.
    pub(super) fn width(&self) -> usize {
        self.inputs() + self.loops.results().len()
    }

    /// Returns the item of the tensor at a place, and whether it has an axis of steps.
    pub(super) fn item(&self, place: usize) -> (Item, bool) {
        let place = place % self.width();
        match place.checked_sub(self.inputs()) {
            None => self.loops.input(place),
            Some(result) => self.loops.result(result),
        }
    }
}

/// A handle on a scan.
pub(super) type ScanFunction<T> = Shared<NamedScan<T, dyn ScanLoops<T>>>;

impl<T: Element> ScanFunction<T> {
    pub(super) fn new(function: NamedScan<T, impl ScanLoops<T> + 'static>) -> Self {
        Self::of(Arc::new(function))
    }

    /// Returns an error if there are no loops for derivatives of this order.
    pub(super) fn has_order(&self, order: usize) -> Result<(), PassedOn> {
        let highest = self.loops.order();
        if order <= highest {
            return Ok(());
        }
        let exceeded = ErrorKind::OrderExceeded {
            order: highest,
            form: None,
        };
        Err(PassedOn(exceeded.of(self.name, self.applied_at)))
    }
}

impl<T: Element> Held for ScanFunction<T> {
    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize)) {
        self.loops.list_values(note);
        if let Some(checkpoints) = &self.checkpoints {
            note(std::any::type_name::<Vec<T>>(), checkpoints.bytes());
        }
    }
}
