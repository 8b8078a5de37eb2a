//! What optimizers with one update for each parameter have in common: which parameters there are, which group
//! they belong to, what is kept of them.

use std::fmt;

use super::group::{Group, Matches};
use super::settings::not_negative;
use super::slot::{Slot, mismatch, slots};
use super::state::{LEARNING_RATE, Reader, number, write};
use crate::Element;
use crate::nn::{AnyParameter, Field, Path, StateDict, StateError, VisitorMut, assign};

/// How one parameter is updated: an optimizer's formula, with its settings.
pub(super) trait Rule: Clone + fmt::Debug {
    /// The names of the arrays that are kept of each parameter, in their places.
    fn kinds(&self) -> [Option<&'static str>; 3];

    /// What in the settings contradicts itself.
    fn contradiction(&self) -> Option<String> {
        None
    }

    /// Updates elements of a parameter and what is kept of them.
    fn update<T: Element>(&self, step: Step, value: &mut [T], kept: [&mut [T]; 3], grad: &[T]);
}

/// What is the parameter's own in an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) rate: f64,
    /// The number of this update, from 1.
    pub(super) count: u64,
}

/// The settings of a group.
#[derive(Clone, Debug)]
pub(super) struct Settings<R> {
    pub(super) rule: R,
    pub(super) rate_factor: f64,
}

pub(super) struct Stepper<R> {
    rate: f64,
    /// Of what belongs to no group.
    pub(super) settings: Settings<R>,
    groups: Vec<Group<R>>,
    /// In the order of the visit; none before the first step.
    slots: Option<Vec<Slot>>,
}

impl<R: Rule> Stepper<R> {
    #[track_caller]
    pub(super) fn new(rate: f64, rule: R) -> Self {
        Self {
            rate: not_negative("learning rate", rate),
            settings: Settings {
                rule,
                rate_factor: 1.0,
            },
            groups: vec![],
            slots: None,
        }
    }

    /// One without groups and slots, whose settings become those of a group.
    pub(super) fn template(&self) -> Self {
        Self {
            rate: self.rate,
            settings: self.settings.clone(),
            groups: vec![],
            slots: None,
        }
    }

    /// Adds a group with the settings of `group`.
    #[track_caller]
    pub(super) fn add_group(&mut self, matches: Matches, group: Self) {
        assert!(group.groups.is_empty(), "a group has no groups of its own");
        let mut settings = group.settings;
        if group.rate != self.rate {
            assert!(
                self.rate > 0.0,
                "a group has the learning rate {}, which has no ratio to that of the optimizer, 0",
                group.rate
            );
            settings.rate_factor *= group.rate / self.rate;
        }
        self.groups.push(Group::new(matches, settings));
    }

    pub(super) fn learning_rate(&self) -> f64 {
        self.rate
    }

    #[track_caller]
    pub(super) fn set_learning_rate(&mut self, rate: f64) {
        self.rate = not_negative("learning rate", rate);
    }

    #[track_caller]
    pub(super) fn step(&mut self, model: &mut dyn Field) {
        if let Some(slots) = &self.slots {
            if let Some(problem) = mismatch(slots, model) {
                panic!("step of another model: {problem}");
            }
        } else {
            self.slots = Some(self.bind(model));
        }
        let mut update = Update {
            rate: self.rate,
            settings: &self.settings,
            groups: &self.groups,
            // INVARIANT: they were made above if there were none.
            slots: self.slots.as_mut().expect("slots of the model"),
            count: 0,
        };
        model.visit_mut(&Path::root(), &mut update);
        for slot in update.slots {
            slot.shared = None;
        }
    }

    /// The model's slots, each in its group.
    #[track_caller]
    fn bind(&self, model: &dyn Field) -> Vec<Slot> {
        let groups = self.groups.iter().map(|group| &group.settings);
        for settings in std::iter::once(&self.settings).chain(groups) {
            if let Some(problem) = settings.rule.contradiction() {
                panic!("{problem}");
            }
        }
        let mut slots = slots(model);
        for slot in &mut slots {
            let mut groups = self.groups.iter();
            slot.group = groups.position(|group| group.matches(&slot.path));
        }
        for (place, group) in self.groups.iter().enumerate() {
            if let Some(problem) = group.without_members(place, &slots) {
                panic!("{problem}");
            }
        }
        slots
    }

    pub(super) fn state_dict(&self) -> StateDict {
        let mut state = StateDict::new();
        state.insert(LEARNING_RATE, number(self.rate));
        for slot in self.slots.iter().flatten().filter(|slot| slot.steps > 0) {
            let settings = settings_of(&self.settings, &self.groups, slot);
            write(&mut state, slot, settings.rule.kinds());
        }
        state
    }

    #[track_caller]
    pub(super) fn load_state_dict(
        &mut self,
        model: &dyn Field,
        state: &StateDict,
    ) -> Result<(), StateError> {
        let mut slots = self.bind(model);
        let mut reader = Reader::new(state);
        let rate = reader.at_least_zero(LEARNING_RATE);
        for slot in slots.iter_mut().filter(|slot| slot.tied_to.is_none()) {
            let settings = settings_of(&self.settings, &self.groups, slot);
            reader.read(slot, settings.rule.kinds());
        }
        reader.finish()?;
        (self.rate, self.slots) = (rate, Some(slots));
        Ok(())
    }
}

fn settings_of<'s, R>(
    settings: &'s Settings<R>,
    groups: &'s [Group<R>],
    slot: &Slot,
) -> &'s Settings<R> {
    slot.group.map_or(settings, |group| &groups[group].settings)
}

/// Goes through the model and updates.
struct Update<'s, R> {
    rate: f64,
    settings: &'s Settings<R>,
    groups: &'s [Group<R>],
    slots: &'s mut [Slot],
    count: usize,
}

impl<R: Rule> VisitorMut for Update<'_, R> {
    fn parameter(&mut self, _: &Path<'_>, parameter: &mut dyn AnyParameter) {
        let place = self.count;
        self.count += 1;
        if let Some(first) = self.slots[place].tied_to {
            if let Some(value) = &self.slots[first].shared {
                // INVARIANT: only parameters of one element type and shape can be tied.
                parameter.update_any(&mut |own| assign(own, value));
            }
            return;
        }
        let slot = &mut self.slots[place];
        let settings = settings_of(self.settings, self.groups, slot);
        let rate = self.rate * settings.rate_factor;
        let updated = slot.update(&settings.rule, rate, parameter);
        if updated && slot.has_ties {
            slot.shared = Some(parameter.to_any());
        }
    }
}

impl<R: Rule> fmt::Debug for Stepper<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<_> = self.groups.iter().map(|group| &group.settings).collect();
        f.debug_struct("Stepper")
            .field("rate", &self.rate)
            .field("settings", &self.settings)
            .field("groups", &groups)
            .finish_non_exhaustive()
    }
}

/// What every optimizer of this kind has: groups, and [`Optimizer`](super::Optimizer) by its stepper.
macro_rules! optimizer {
    ($Name:ident, $name:literal) => {
        impl $Name {
            /// Gives the parameters for whose dotted path `matches` is true settings of their own: those that the
            /// optimizer has so far, with what `change` changes. A parameter belongs to the first group
            /// that matches, tied ones by their first path. Groups are decided by the first step.
            ///
            /// A group without parameters is a mistake: the first step panics, and says which paths there are.
            /// Frozen parameters count, as they may be trained later. A program for models of many kinds asks
            /// first whether there is what it has a group for.
            ///
            /// A group's learning rate, if it has another, is a multiple of the optimizer's from then on: see
            /// [`set_learning_rate`](super::Optimizer::set_learning_rate).
            ///
            /// # Panics
            /// If the group is given groups, or another learning rate than an optimizer whose rate is 0.
            ///
            /// ```
            #[doc = concat!("use pullback::optim::", $name, ";")]
            ///
            #[doc = concat!("let optimizer = ", $name, "::new(0.01)")]
            ///     .weight_decay(0.1)
            ///     .group(|path| path.ends_with("bias"), |group| group.weight_decay(0.0))
            ///     .group(|path| path.starts_with("encoder."), |group| group.rate_factor(0.1));
            /// # let _ = optimizer;
            /// ```
            #[must_use]
            #[track_caller]
            pub fn group(
                mut self,
                matches: impl Fn(&str) -> bool + Send + Sync + 'static,
                change: impl FnOnce(Self) -> Self,
            ) -> Self {
                let group = change(Self {
                    stepper: self.stepper.template(),
                });
                self.stepper.add_group(Box::new(matches), group.stepper);
                self
            }

            /// Multiplies the learning rate by `factor`, in a group: whatever a schedule makes of the rate, the
            /// group has this part of it.
            ///
            /// # Panics
            /// If the factor is negative or no number.
            ///
            /// ```
            #[doc = concat!("use pullback::optim::", $name, ";")]
            ///
            #[doc = concat!("let optimizer = ", $name, "::new(0.01)")]
            ///     .group(|path| path.starts_with("head."), |group| group.rate_factor(10.0));
            /// # let _ = optimizer;
            /// ```
            #[must_use]
            #[track_caller]
            pub fn rate_factor(mut self, factor: f64) -> Self {
                let factor = crate::optim::settings::not_negative("rate factor", factor);
                self.stepper.settings.rate_factor *= factor;
                self
            }
        }

        impl crate::optim::Optimizer for $Name {
            #[track_caller]
            fn step(&mut self, model: &mut dyn crate::nn::Field) {
                self.stepper.step(model);
            }

            fn learning_rate(&self) -> f64 {
                self.stepper.learning_rate()
            }

            #[track_caller]
            fn set_learning_rate(&mut self, rate: f64) {
                self.stepper.set_learning_rate(rate);
            }

            fn state_dict(&self) -> crate::nn::StateDict {
                self.stepper.state_dict()
            }

            #[track_caller]
            fn load_state_dict(
                &mut self,
                model: &dyn crate::nn::Field,
                state: &crate::nn::StateDict,
            ) -> Result<(), crate::nn::StateError> {
                self.stepper.load_state_dict(model, state)
            }
        }
    };
}

pub(super) use optimizer;
