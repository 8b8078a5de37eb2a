//! Shapes and data movement.

use pullback::prelude::*;

use super::{Attributes, Function};

pub const MISSING: &[&str] = &["concat", "index_select", "pad", "permute", "stack"];

pub fn function<T: Element>(_: &str, _: &Attributes) -> Option<Function<T>> {
    None
}
