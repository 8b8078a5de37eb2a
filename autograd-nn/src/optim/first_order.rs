//! The optimizers that update each parameter from its gradient: the slots of the parameters and their groups.

use std::fmt;

use crate::optim::group::Group;
use crate::optim::optimizer::Optimizer;
use crate::optim::rule::{Rule, Settings};
use crate::optim::settings::not_negative;
use crate::optim::slot::{Slot, mismatch, slots};
use crate::optim::state::{LEARNING_RATE, Reader, number, write};
use crate::parameter::any::assign;
use crate::state::dict::StateDict;
use crate::state::error::StateError;
use crate::visit::{Field, each_parameter_mut};

/// An optimizer that updates each parameter by a formula, from its gradient: [`Sgd`](super::Sgd),
/// [`Adam`](super::Adam) or [`AdamW`](super::AdamW).
///
/// ```
/// use pullback::optim::{AdamW, Optimizer};
///
/// let optimizer = AdamW::new(1e-3)
///     .weight_decay(0.1)
///     .param_group(|path| path.ends_with("bias"), |group| group.weight_decay(0.0));
/// assert_eq!(optimizer.learning_rate(), 1e-3);
/// ```
pub struct FirstOrder<R> {
    rate: f64,
    /// The settings of the parameters without a group.
    pub(super) settings: Settings<R>,
    groups: Vec<Group<R>>,
    /// In the order of the visit; `None` before the first step.
    slots: Option<Vec<Slot>>,
}

impl<R: Rule> FirstOrder<R> {
    #[track_caller]
    pub(super) fn of(rate: f64, rule: R) -> Self {
        Self {
            rate: not_negative("learning rate", rate),
            settings: Settings {
                rule,
                lr_scale: 1.0,
            },
            groups: vec![],
            slots: None,
        }
    }

    /// Adds a group of parameters with different settings: those whose dotted path fulfills `matches`. Their settings
    /// are those of the optimizer so far, changed by `change`. A parameter belongs to the first group that matches; a
    /// tied parameter is matched by its first path. The first step assigns the groups.
    ///
    /// If no parameter belongs to a group, the first step panics and lists the paths. Frozen parameters count, as
    /// they may be trained later.
    ///
    /// If `change` sets another learning rate, its ratio to the optimizer's stays fixed: see
    /// [`set_learning_rate`](Optimizer::set_learning_rate).
    ///
    /// # Panics
    /// If the group has groups of its own, or another learning rate while the optimizer's is 0.
    ///
    /// ```
    /// use pullback::optim::AdamW;
    ///
    /// let optimizer = AdamW::new(0.01)
    ///     .param_group(|path| path.ends_with("bias"), |group| group.weight_decay(0.0))
    ///     .param_group(|path| path.starts_with("encoder."), |group| group.lr_scale(0.1));
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn param_group(
        mut self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
        change: impl FnOnce(Self) -> Self,
    ) -> Self {
        let template = Self {
            rate: self.rate,
            settings: self.settings.clone(),
            groups: vec![],
            slots: None,
        };
        let group = change(template);
        assert!(group.groups.is_empty(), "a group cannot have groups");
        let mut settings = group.settings;
        if group.rate != self.rate {
            assert!(
                self.rate > 0.0,
                "a group has the learning rate {}, but the optimizer's is 0: their ratio is undefined",
                group.rate
            );
            settings.lr_scale *= group.rate / self.rate;
        }
        self.groups.push(Group::new(Box::new(matches), settings));
        self
    }

    /// Multiplies the learning rate of a group by `factor`. A schedule changes the rate, and not the factor.
    ///
    /// # Panics
    /// If `factor` is negative or not finite.
    #[must_use]
    #[track_caller]
    pub fn lr_scale(mut self, factor: f64) -> Self {
        self.settings.lr_scale *= not_negative("scale of the learning rate", factor);
        self
    }

    /// Creates the slots of the model, each with its group.
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
}

impl<R: Rule> Optimizer for FirstOrder<R> {
    #[track_caller]
    fn step(&mut self, model: &mut dyn Field) {
        if let Some(slots) = &self.slots {
            if let Some(problem) = mismatch(slots, model) {
                panic!("step of another model: {problem}");
            }
        } else {
            self.slots = Some(self.bind(model));
        }
        // INVARIANT: the slots are created above if there are none.
        let slots = self.slots.as_mut().expect("slots of the model");
        let mut place = 0;
        each_parameter_mut(model, |parameter| {
            let tied_to = slots[place].tied_to;
            place += 1;
            if let Some(first) = tied_to {
                if let Some(value) = &slots[first].shared {
                    // INVARIANT: tied parameters have one element type and shape.
                    parameter.update_any(&mut |own| assign(own, value));
                }
                return;
            }
            let slot = &mut slots[place - 1];
            let settings = settings_of(&self.settings, &self.groups, slot);
            let rate = self.rate * settings.lr_scale;
            if slot.update(&settings.rule, rate, parameter) && slot.has_ties {
                slot.shared = Some(parameter.to_any());
            }
        });
        for slot in slots {
            slot.shared = None;
        }
    }

    fn learning_rate(&self) -> f64 {
        self.rate
    }

    #[track_caller]
    fn set_learning_rate(&mut self, rate: f64) {
        self.rate = not_negative("learning rate", rate);
    }

    fn state_dict(&self) -> StateDict {
        let mut state = StateDict::new();
        state.insert(LEARNING_RATE, number(self.rate));
        for slot in self.slots.iter().flatten().filter(|slot| slot.steps > 0) {
            let settings = settings_of(&self.settings, &self.groups, slot);
            write(&mut state, slot, settings.rule.kinds());
        }
        state
    }

    #[track_caller]
    fn load_state_dict(&mut self, model: &dyn Field, state: &StateDict) -> Result<(), StateError> {
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

impl<R: Rule> fmt::Debug for FirstOrder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<_> = self.groups.iter().map(|group| &group.settings).collect();
        f.debug_struct("FirstOrder")
            .field("rate", &self.rate)
            .field("settings", &self.settings)
            .field("groups", &groups)
            .finish_non_exhaustive()
    }
}
