//! How one parameter is updated.

use std::fmt;

use autograd_core::Element;

/// An optimizer's formula, with its settings.
pub trait Rule: Clone + fmt::Debug {
    /// The names of the arrays that are saved for each parameter, in their places.
    fn kinds(&self) -> [Option<&'static str>; 3];

    /// What in the settings contradicts itself.
    fn contradiction(&self) -> Option<String> {
        None
    }

    /// Updates elements of a parameter and what is saved for them.
    fn update<T: Element>(&self, step: Step, value: &mut [T], saved: [&mut [T]; 3], grad: &[T]);
}

/// What differs between the parameters in an update.
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
