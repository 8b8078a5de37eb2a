//! The update of one parameter.

use std::fmt;

use autograd_core::Element;

/// An optimizer's formula, with its settings.
pub trait Rule: Clone + fmt::Debug {
    /// The names of the saved arrays of each parameter; `None` where fewer than three are saved.
    fn kinds(&self) -> [Option<&'static str>; 3];

    /// Describes settings that contradict each other.
    fn contradiction(&self) -> Option<String> {
        None
    }

    /// Updates elements of a parameter and of its saved arrays.
    fn update<T: Element>(&self, step: Step, value: &mut [T], saved: [&mut [T]; 3], grad: &[T]);
}

/// The part of an update that differs between parameters.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub rate: f64,
    /// The number of this update, from 1.
    pub count: u64,
}

/// The settings of a group.
#[derive(Clone, Debug)]
pub(super) struct Settings<R> {
    pub(super) rule: R,
    pub(super) lr_scale: f64,
}
