//! What the rules for backward functions look at.

use crate::diagnostics::Diagnostics;
use crate::model::{Definition, Forward};
use crate::types::Floats;

/// What the rules for backward functions look at.
pub(super) struct Context<'a> {
    pub(super) definition: &'a Definition,
    pub(super) forward: &'a Forward,
    pub(super) floats: &'a Floats,
    pub(super) diagnostics: &'a mut Diagnostics,
}
