//! Groups of parameters with different settings.

use std::panic::Location;

use crate::optim::rule::Settings;
use crate::optim::slot::Slot;

/// Returns whether the parameter of a path belongs to a group.
pub(super) type Matches = Box<dyn Fn(&str) -> bool + Send + Sync>;

pub(super) struct Group<R> {
    matches: Matches,
    pub(super) settings: Settings<R>,
    /// The line that created the group, as a closure has no name.
    asked_at: &'static Location<'static>,
}

impl<R> Group<R> {
    #[track_caller]
    pub(super) fn new(matches: Matches, settings: Settings<R>) -> Self {
        Self {
            matches,
            settings,
            asked_at: Location::caller(),
        }
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        (self.matches)(path)
    }

    /// Returns the reason why no parameter belongs to this group, the one at `place`. The parameters that it was
    /// meant for would silently be trained with different settings.
    pub(super) fn without_members(&self, place: usize, slots: &[Slot]) -> Option<String> {
        let is_own = |slot: &&Slot| slot.tied_to.is_none();
        let mut own = slots.iter().filter(is_own);
        if own.any(|slot| slot.group == Some(place)) {
            return None;
        }
        let matching = slots.iter().find(|slot| self.matches(&slot.path));
        let reason = match matching {
            None if slots.is_empty() => "the model has no parameters".to_owned(),
            None => {
                let paths = slots.iter().filter(is_own).map(|slot| &slot.path[..]);
                format!(
                    "it matches none of the paths {}",
                    listed(&paths.collect::<Vec<_>>())
                )
            }
            Some(slot) => match slot.tied_to {
                Some(first) => format!(
                    "`{}` is tied to `{}`, which decides the group",
                    slot.path, slots[first].path
                ),
                None => format!("`{}` belongs to an earlier group", slot.path),
            },
        };
        Some(format!(
            "no parameter belongs to the group of {}: {reason}",
            self.asked_at
        ))
    }
}

/// Lists the paths of a model, up to a limit.
fn listed(paths: &[&str]) -> String {
    const SHOWN: usize = 12;
    let shown = paths.iter().take(SHOWN).map(|path| format!("`{path}`"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
